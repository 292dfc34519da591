"""The time of this package: injected, so that tests never wait."""

from __future__ import annotations

import asyncio
import time
from typing import Final, Protocol

_MICROSECOND_IN_NANOSECONDS: Final = 1_000


class Clock(Protocol):
    """`now` never goes back and counts seconds; `wall_microseconds` is the time of day, since 1970."""

    def now(self) -> float: ...

    def wall_microseconds(self) -> int: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The clocks of this machine."""

    # Linux' monotonic clock stands still while a machine is suspended, and a lease does not: this one counts on.
    _CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", None)

    def now(self) -> float:
        return time.monotonic() if self._CLOCK is None else time.clock_gettime(self._CLOCK)

    def wall_microseconds(self) -> int:
        return time.time_ns() // _MICROSECOND_IN_NANOSECONDS

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


SYSTEM_CLOCK: Final = SystemClock()
