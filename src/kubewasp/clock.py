"""Clock interface and the system clock. Time is injected, so that tests and simulations never wait."""

from __future__ import annotations

import time
from typing import Final, Protocol


class Clock(Protocol):
    """Time in seconds, real or simulated."""

    def now(self) -> float:
        """Monotonic time since an arbitrary moment: for durations and deadlines."""

    def wall(self) -> float:
        """Wall-clock time since 1970."""


class AsyncClock(Clock, Protocol):
    """A clock that coroutines wait on."""

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The clock of this machine."""

    # Linux' monotonic clock stops while a machine is suspended; leases and deadlines do not.
    _CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", None)

    def now(self) -> float:
        return time.monotonic() if self._CLOCK is None else time.clock_gettime(self._CLOCK)

    def wall(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        import asyncio  # late: commands without a loop start faster

        await asyncio.sleep(seconds)


SYSTEM_CLOCK: Final = SystemClock()
