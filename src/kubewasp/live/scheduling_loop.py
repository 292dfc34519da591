"""Scheduling loop of a real cluster: the steps of the scheduler's thread between two actions of its inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from kubewasp.clock import Clock
    from kubewasp.live.inbox import Inbox
    from kubewasp.scheduler.attempt import Attempt
    from kubewasp.scheduler.queue import SchedulingQueue

# In seconds: flush of stuck pods, check of deadlines, maximum sleep.
_FLUSH_PERIOD: Final = 30.0
_TICK_PERIOD: Final = 0.02
_MAX_SLEEP: Final = 1.0


class Steps(Protocol):
    """The scheduler, as the loop uses it: itself, or one that records."""

    @property
    def clock(self) -> Clock: ...

    @property
    def queue(self) -> SchedulingQueue: ...

    def settle(self) -> None: ...

    def schedule_one(self) -> Attempt | None: ...

    def tick(self) -> None: ...

    def flush_stuck(self) -> None: ...

    def next_tick(self) -> float | None: ...


class SchedulingLoop:
    """Schedules one pod per step while active: as the leader, with a synced cluster state."""

    def __init__(self, scheduler: Steps, inbox: Inbox) -> None:
        self._scheduler = scheduler
        self._inbox = inbox
        self._is_active = False
        self._flushed_at = scheduler.clock.now()
        self._ticked_at = 0.0

    def set_active(self, active: bool) -> None:
        """Starts or stops scheduling; the current pod is completed. Safe from any thread."""
        self._is_active = active
        self._inbox.wake()

    def step(self) -> float:
        """Schedules the next pod, if any; returns the seconds until the next step."""
        scheduler = self._scheduler
        scheduler.settle()
        self._tick()
        if self._inbox:
            return 0.0
        if self._is_active and scheduler.schedule_one() is not None:
            return 0.0
        return self._idle_seconds()

    def _tick(self) -> None:
        scheduler, now = self._scheduler, self._scheduler.clock.now()
        if now - self._ticked_at < _TICK_PERIOD:
            return
        self._ticked_at = now
        scheduler.tick()
        if now - self._flushed_at >= _FLUSH_PERIOD:
            self._flushed_at = now
            scheduler.flush_stuck()

    def _idle_seconds(self) -> float:
        scheduler, now = self._scheduler, self._scheduler.clock.now()
        times = (scheduler.next_tick(), scheduler.queue.next_backoff())
        soonest = min((when for when in times if when is not None), default=now + _MAX_SLEEP)
        return min(max(soonest - now, _TICK_PERIOD), _MAX_SLEEP)
