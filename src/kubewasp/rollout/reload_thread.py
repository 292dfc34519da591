"""Thread that notices changes, stages them and hands them over; one change after the other.

A change is waited for until it has settled: files of a volume are replaced one by one. A change during a staging is
staged after it.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

logger = logging.getLogger(__name__)

# In seconds: between two looks at files; without further changes until a change is staged; at most.
POLL: Final = 1.0
SETTLED: Final = 0.5
_LONGEST: Final = 10.0
_JITTER: Final = 0.2
# Seconds until a failed reload is tried again: at first, and at most.
FIRST_RETRY: Final = 10.0
LAST_RETRY: Final = 300.0


class Changes(Protocol):
    """Changes to look for."""

    def in_files(self) -> Sequence[str]:
        """Files that have changed since the last call."""

    def in_tags(self) -> Sequence[str]:
        """Addresses that mean something else since they were staged."""

    @property
    def interval(self) -> float | None:
        """Seconds between two looks at tags; None: neither files nor tags are watched."""


class ReloadRequests:
    """Work for the thread: reloads that were asked for, and jobs such as closing a guest. Safe from any thread."""

    def __init__(self) -> None:
        self.jobs: deque[Callable[[], None]] = deque()
        self.causes: deque[str] = deque()
        self.wake = threading.Event()

    def ask(self, cause: str) -> None:
        """Requests a reload, without waiting for changes to settle."""
        self.causes.append(cause)
        self.wake.set()

    def do(self, job: Callable[[], None]) -> None:
        """Leaves some work to the thread, such as closing a guest."""
        self.jobs.append(job)
        self.wake.set()


class ReloadThread:
    """Runs `reload(cause)` after changes and on request, and other work in between.

    `reload` returns the text of a failure, or nothing. A failed reload is tried again, at growing intervals: a registry
    may be back, a file complete.
    """

    def __init__(
        self,
        requests: ReloadRequests,
        changes: Changes,
        reload: Callable[[str], str],
        *,
        name: str = "kubewasp-reload",
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._requests = requests
        self._changes = changes
        self._reload = reload
        self._clock = clock
        self._chance = chance
        self._stopping = threading.Event()
        self._cause = ""
        self._noticed_at = self._first_noticed_at = 0.0
        self._tags_at = self._next_look()
        self._retry_at: float | None = None
        self._pause = FIRST_RETRY
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after its present work. Does not wait: a compilation may take long."""
        self._stopping.set()
        self._requests.wake.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            seconds = self.step()
            if seconds:
                self._requests.wake.wait(seconds)
            self._requests.wake.clear()

    def step(self) -> float:
        """Does what is due; returns the seconds until the next look."""
        self._do_jobs()
        if self._requests.causes:
            cause = self._requests.causes.popleft()
            self._requests.causes.clear()
            self._cause = ""
            self._reloaded(cause)
            return 0.0
        if self._changes.interval is None:
            return POLL
        now = self._clock()
        noticed = self._look(now)
        if not noticed and self._retry_at is not None and now >= self._retry_at:
            self._reloaded("the last reload failed")
            return 0.0
        if noticed:
            self._first_noticed_at = self._first_noticed_at if self._cause else now
            self._cause, self._noticed_at = self._cause or noticed, now
        if self._cause:
            quiet, waited = now - self._noticed_at, now - self._first_noticed_at
            if quiet < SETTLED and waited < _LONGEST:
                return SETTLED
            cause, self._cause = self._cause, ""
            self._reloaded(cause)
            return 0.0
        return POLL

    def _do_jobs(self) -> None:
        while self._requests.jobs:
            job = self._requests.jobs.popleft()
            try:
                job()
            except Exception:
                logger.exception("Work after a reload failed")
            del job  # it may hold a guest

    def _look(self, now: float) -> str:
        files = self._changes.in_files()
        if files:
            return f"{files[0]} has changed"
        if now >= self._tags_at:
            self._tags_at = self._next_look()
            tags = self._changes.in_tags()
            if tags:
                return f"{tags[0]} has moved"
        return ""

    def _next_look(self) -> float:
        """With a jitter: replicas do not ask a registry all at once."""
        interval = self._changes.interval or 0.0
        return self._clock() + interval * (1 + _JITTER * (2 * self._chance() - 1))

    def _reloaded(self, cause: str) -> None:
        failure = self._reload(cause)
        if not failure:
            self._retry_at, self._pause = None, FIRST_RETRY
            return
        self._retry_at = self._clock() + self._pause
        self._pause = min(2 * self._pause, LAST_RETRY)
