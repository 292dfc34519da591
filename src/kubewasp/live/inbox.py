"""The scheduler against a real cluster: it runs on a thread of its own, and nothing else touches it.

Whoever has something for it (a change of the cluster, the end of a bind) posts an action; the thread takes actions in
between two pods. What the scheduler wants done in the cluster goes through its client, which must not block.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.scheduler import Attempt, Scheduler

logger = logging.getLogger(__name__)

# How many actions are taken at most before the next pod is tried, and how often pods that are stuck are looked at.
_MOST_ACTIONS = 1000
_FLUSH_PERIOD = 30.0
_LOOK_PERIOD = 0.02
_LONGEST_WAIT = 1.0


class Reporter(Protocol):
    """Tells the cluster what became of a pod. Called on the scheduler's thread; must not block."""

    def scheduled(self, pod: Pod, node: str) -> None:
        """The pod was bound."""

    def expected(self, pod: Pod, node: str) -> None:
        """The pod is to go to that node, but this may take a while: it waits for permission, or for its volumes."""

    def failed(self, pod: Pod, reason: str, message: str) -> None:
        """The pod has no node, and why; it may have been nominated to one."""

    def deleting(self, pod: Pod, message: str) -> None:
        """The pod is not tried, as it is being deleted."""


class LiveScheduler:
    """Runs a scheduler until it is stopped. It schedules while it is told to: as the leader, with all caches filled."""

    def __init__(
        self,
        scheduler: Scheduler,
        reporter: Reporter,
        *,
        on_end: Callable[[BaseException | None], None],
        on_attempt: Callable[[Attempt], None] = lambda _attempt: None,
    ) -> None:
        self.scheduler = scheduler
        self._reporter = reporter
        self._on_end = on_end
        self._on_attempt = on_attempt
        self._actions: deque[Callable[[], None]] = deque()
        self._wake = threading.Event()
        self._is_stopping = False
        self._is_active = False
        self._flushed_at = scheduler.clock.now()
        self._looked_at = 0.0
        self._thread = threading.Thread(target=self._run, name="kubewasp-scheduler", daemon=True)
        scheduler.on_settled = self._tell

    # ------------------------------------------------------------------ from any thread

    def start(self) -> None:
        self._thread.start()

    def post(self, action: Callable[[], None]) -> None:
        """Has something done on the scheduler's thread, soon, and in the order of posting."""
        self._actions.append(action)
        self._wake.set()

    def set_active(self, active: bool) -> None:
        """Whether pods are scheduled. Where not, the pod at hand is the last one."""
        self._is_active = active
        self._wake.set()

    def stop(self, timeout: float) -> bool:
        """Ends the thread after the pod at hand; returns whether it has ended in time."""
        self._is_stopping = True
        self._wake.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def backlog(self) -> int:
        """How many actions wait to be taken."""
        return len(self._actions)

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            while not self._is_stopping:
                self._wake.clear()
                self._take_actions()
                self._look_at_the_clock()
                if self._actions or self._try_next():
                    continue
                self._wake.wait(self._idle_seconds())
        except BaseException as raised:
            logger.exception("the scheduler's thread ended")
            error = raised
        self._on_end(error)

    def _take_actions(self) -> None:
        for _ in range(min(len(self._actions), _MOST_ACTIONS)):
            self._actions.popleft()()

    def _look_at_the_clock(self) -> None:
        scheduler, now = self.scheduler, self.scheduler.clock.now()
        if now - self._looked_at < _LOOK_PERIOD:
            return
        self._looked_at = now
        for attempt in scheduler.expire_waiting():
            self._tell(attempt)
        scheduler.retry_bindings()
        if now - self._flushed_at >= _FLUSH_PERIOD:
            self._flushed_at = now
            scheduler.flush_stuck()

    def _try_next(self) -> bool:
        """Whether there was a pod to try."""
        if not self._is_active:
            return False
        attempt = self.scheduler.schedule_one()
        if attempt is None:
            return False
        self._tell(attempt)
        return True

    def _idle_seconds(self) -> float:
        scheduler, now = self.scheduler, self.scheduler.clock.now()
        times = (scheduler.next_deadline(), scheduler.next_retry(), scheduler.queue.next_backoff())
        soonest = min((when for when in times if when is not None), default=now + _LONGEST_WAIT)
        return min(max(soonest - now, _LOOK_PERIOD), _LONGEST_WAIT)

    def _tell(self, attempt: Attempt) -> None:
        self._on_attempt(attempt)
        if attempt.is_waiting or attempt.is_binding:
            if attempt.is_waiting or self.scheduler.is_held_up(attempt.pod.uid):
                self._reporter.expected(attempt.pod, attempt.node)
        elif attempt.node:
            self._reporter.scheduled(attempt.pod, attempt.node)
        elif attempt.pod.is_terminating:
            self._reporter.deleting(attempt.pod, attempt.message)
        elif self.scheduler.queue.get(attempt.pod.uid) is not None:  # else it is gone, or somebody else has bound it
            reason = "SchedulerError" if attempt.is_error else "Unschedulable"
            self._reporter.failed(attempt.pod, reason, attempt.message)
