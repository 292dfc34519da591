"""Runner, clocks and clients for tests in an event loop."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, ParamSpec

from kubewasp.apiserver.auth import fixed
from kubewasp.apiserver.client import ApiClient
from kubewasp.apiserver.http_connection import Access

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from tests.apiserver.fake_server import FakeServer

P = ParamSpec("P")
_LONGEST = 20.0


class FakeClock:
    """Clock on which a sleep takes no time and moves the clock."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.sleeps: list[float] = []

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


def asynchronous(test: Callable[P, Coroutine[None, None, None]]) -> Callable[P, None]:
    """Test of a coroutine, with a time limit; no task may be left."""

    async def checked(*args: P.args, **kwargs: P.kwargs) -> None:
        async with asyncio.timeout(_LONGEST):
            await test(*args, **kwargs)
        for _ in range(3):
            await asyncio.sleep(0)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks are left: {left}"

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(checked(*args, **kwargs))

    return run


def client_of(server: FakeServer, clock: FakeClock | None = None, **limits: float) -> ApiClient:
    clock = clock or FakeClock()
    return ApiClient(
        fixed(Access(server.url)), clock=clock, qps=limits.get("qps", -1), burst=int(limits.get("burst", 0))
    )


async def stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class ManualClock:
    """Clock moved by the test: `advance` wakes sleepers that are due, `asleep` waits for sleepers."""

    def __init__(self) -> None:
        self.time = 1000.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._changed = asyncio.Event()

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        entry = (self.time + seconds, asyncio.get_running_loop().create_future())
        self._sleepers.append(entry)
        self._changed.set()
        try:
            await entry[1]
        finally:
            self._sleepers.remove(entry)
            self._changed.set()

    async def asleep(self, count: int) -> None:
        while len(self._sleepers) != count or any(woken.done() for _, woken in self._sleepers):
            self._changed.clear()
            await self._changed.wait()

    async def advance(self, seconds: float, then_asleep: int) -> None:
        self.time += seconds
        for due, woken in self._sleepers:
            if due <= self.time and not woken.done():
                woken.set_result(None)
        await self.asleep(then_asleep)
