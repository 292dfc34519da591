"""The client-side rate limit: a token bucket as client-go has it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kubewasp.clock import AsyncClock

DEFAULT_QPS: Final = 50.0
DEFAULT_BURST: Final = 100


class TokenBucket:
    """Lets `burst` calls through at once and `qps` a second in the long run, in the order in which they came.

    Zero stands for the default of kube-scheduler, a negative `qps` for no limit.
    """

    def __init__(self, qps: float, burst: int, clock: AsyncClock) -> None:
        self._qps = qps or DEFAULT_QPS
        self._burst = burst or DEFAULT_BURST
        self._clock = clock
        self._tokens = float(self._burst)
        self._filled_at = clock.now()

    async def wait(self) -> float:
        """Waits for a turn; the seconds that it took."""
        if self._qps < 0:
            return 0.0
        delay = self._take()
        if delay > 0:
            try:
                await self._clock.sleep(delay)
            except asyncio.CancelledError:
                self._tokens += 1
                raise
        return delay

    def _take(self) -> float:
        """Takes a token, from the future if there is none; the seconds until it is there."""
        now = self._clock.now()
        self._tokens = min(self._tokens + (now - self._filled_at) * self._qps, self._burst) - 1
        self._filled_at = now
        return max(0.0, -self._tokens / self._qps)
