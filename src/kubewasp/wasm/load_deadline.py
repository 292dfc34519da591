"""Time limits of guests with load checks: a timer takes the rights to the guest's guard away.

HOT PATH (guard: make counts).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from wasmtime import Trap, TrapCode

from kubewasp.wasm import guard_timers
from kubewasp.wasm.deadlines import SleepBudget

if TYPE_CHECKING:
    from kubewasp.wasm.guard_timers import GuardTimer

# A fault within a memory that has room for it: only the guard's page has no rights. Guests fault beyond their memory.
_IN_GUARD: Final = re.compile(r"memory fault at wasm address 0x0 in linear memory of size 0x10000\b")


class LoadDeadline:
    """Implements `Deadline`. Calls are between `begin` and `end`, on one thread."""

    __slots__ = ("_page", "_sleep", "_timer", "is_over")

    def __init__(self) -> None:
        self.is_over = False
        self._sleep = SleepBudget()
        self._page = 0
        self._timer: GuardTimer | None = None

    def guard(self, page: int) -> None:
        """Sets the address of the instance's guard."""
        self._page = page

    @property
    def interrupt(self) -> BaseException | None:
        """No Python runs during a call: Ctrl-C is raised when it has ended."""
        return None

    @property
    def slept(self) -> float:
        return self._sleep.slept

    def begin(self) -> None:
        """To be called before calls; `end` must follow."""
        self._timer = guard_timers.take()

    def end(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.disarm()  # Ctrl-C may have come before the first time
            guard_timers.give_back(timer)

    def arm(self, seconds: float) -> None:
        self.is_over = False
        self._sleep.seconds, self._sleep.slept = seconds, 0.0
        if self._timer is not None:
            self._timer.arm(self._page, seconds)

    def disarm(self) -> None:
        if self._timer is not None:
            self._timer.disarm()

    def ended(self, error: Exception) -> None:
        """A trap of the guest's own is not taken for the end of its time, even if that has come meanwhile."""
        self.is_over = (
            self._timer is not None
            and self._timer.has_fired
            and isinstance(error, Trap)
            and error.trap_code is TrapCode.MEMORY_OUT_OF_BOUNDS
            and _IN_GUARD.search(error.message) is not None
        )

    def sleep(self, seconds: float) -> None:
        self._sleep.sleep(seconds)
