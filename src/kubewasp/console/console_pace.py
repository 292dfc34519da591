"""CPU time of the console in a scheduler's process: bounded, as Python's lock lets only one of their threads run.

While pods are being scheduled, the console gets a small share of the time, saved up for a moment's burst; else a large
one. Work waits for the console's own turns, never the scheduler for it.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final, TypeVar

from kubewasp.errors import KubewaspError

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")

BUSY_SHARE: Final = 0.015
IDLE_SHARE: Final = 0.5
# Seconds of CPU time that may be saved up: about one first view of a large cluster.
_SAVED: Final = 0.3
_BUSY_INTERVAL: Final = 3.0
_LONGEST_WAIT: Final = 8.0
_LONGEST_PAUSE: Final = 1.0
_LEAST_REST: Final = 0.002


class TooBusyError(KubewaspError):
    """The scheduler needs the time; the text is for the viewer."""


class Pace:
    """Turns of the console's threads, one at a time. Safe from any thread."""

    def __init__(
        self,
        is_busy: Callable[[], bool],
        *,
        now: Callable[[], float] = time.monotonic,
        spent: Callable[[], float] = time.thread_time,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        """`is_busy`: whether pods are being scheduled. `spent`: CPU time of the calling thread."""
        self._is_busy = is_busy
        self._now = now
        self._spent = spent
        self._closed = threading.Event()
        self._sleep = sleep or self._closed.wait
        self._turn = threading.RLock()
        self._saved = _SAVED
        self._counted_at = now()
        self._began = 0.0  # CPU time of the thread in turn that is counted
        self._owner = 0  # thread in turn
        self._used = 0.0

    def used(self) -> float:
        """CPU seconds of all turns so far, with the current one of this thread."""
        return self._used + (self._spent() - self._began if self._is_own_turn() else 0.0)

    def close(self) -> None:
        """Ends all waiting: there are no further turns, and work in its turn does not rest."""
        self._closed.set()

    def debt(self) -> float:
        """Seconds until the time that was used is paid back; 0 if some is left."""
        return max(0.0, -self._balance()) / self._share()

    def next_change(self) -> float:
        """Seconds after which pages may hear of a change: even answers from a cache cost the event loop some time."""
        return max(self.debt(), _BUSY_INTERVAL if self._is_busy() else 0.0)

    def run(self, work: Callable[[], Result]) -> Result:
        """Runs a piece of work in its turn. Raises TooBusyError if that would take too long."""
        if not self._turn.acquire(timeout=_LONGEST_WAIT):
            raise TooBusyError("the scheduler is busy, and other views come first: try again in a few seconds")
        try:
            if self._is_own_turn():
                return work()
            return self._in_turn(work)
        finally:
            self._turn.release()

    def _in_turn(self, work: Callable[[], Result]) -> Result:
        wait = self.debt()
        if not self._closed.is_set() and 0 < wait <= _LONGEST_WAIT:
            self._sleep(wait)
        if self._closed.is_set():
            raise TooBusyError("the process is shutting down")
        if wait > _LONGEST_WAIT:
            raise TooBusyError(f"the scheduler is busy: the console has its next turn in {wait:.0f} seconds")
        self._owner, self._began = threading.get_ident(), self._spent()
        try:
            return work()
        finally:
            self._owner = 0
            self._count()

    def rest(self) -> None:
        """Called now and then by long work in its turn: pauses until the time since the last call is paid back."""
        if not self._is_own_turn() or self._spent() - self._began < _LEAST_REST:
            return
        self._count()
        self._sleep(min(max(self.debt(), 0.0), _LONGEST_PAUSE) or _LEAST_REST / 10)
        self._began = self._spent()

    def _is_own_turn(self) -> bool:
        return self._owner == threading.get_ident()

    def _count(self) -> None:
        used, self._began = self._spent() - self._began, self._spent()
        self._used += used
        self._saved = self._balance() - used
        self._counted_at = self._now()

    def _balance(self) -> float:
        return min(_SAVED, self._saved + (self._now() - self._counted_at) * self._share())

    def _share(self) -> float:
        return BUSY_SHARE if self._is_busy() else IDLE_SHARE
