"""Rate limit and backoff of the client."""

import asyncio
import time

import pytest

from kubewasp.apiserver.client import Backoff, TokenBucket
from kubewasp.clock import SystemClock
from tests.apiserver.running import FakeClock, ManualClock, asynchronous


@asynchronous
async def test_a_burst_goes_at_once_then_so_many_a_second() -> None:
    clock = FakeClock()
    limit = TokenBucket(5, 3, clock)
    for _ in range(13):
        await limit.wait()
    assert clock.time - 1000 == pytest.approx(10 / 5)
    assert clock.sleeps == [pytest.approx(0.2)] * 10


@asynchronous
async def test_the_bucket_fills_again_but_not_beyond_the_burst() -> None:
    clock = FakeClock()
    limit = TokenBucket(5, 3, clock)
    for _ in range(3):
        await limit.wait()
    clock.time += 3600
    for _ in range(3):
        await limit.wait()
    assert clock.sleeps == []
    await limit.wait()
    assert len(clock.sleeps) == 1


@asynchronous
async def test_zero_is_the_default_of_kube_scheduler_and_negative_no_limit() -> None:
    clock = FakeClock()
    limit = TokenBucket(0, 0, clock)
    for _ in range(100):
        await limit.wait()
    assert clock.sleeps == []
    await limit.wait()
    assert clock.sleeps == [pytest.approx(1 / 50)]
    free = TokenBucket(-1, 0, clock)
    for _ in range(1000):
        await free.wait()
    assert len(clock.sleeps) == 1


@asynchronous
async def test_who_stops_waiting_gives_the_token_back() -> None:
    clock = ManualClock()
    limit = TokenBucket(1, 1, clock)
    await limit.wait()
    waiting = asyncio.create_task(limit.wait())
    await clock.asleep(1)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    next_one = asyncio.create_task(limit.wait())
    await clock.asleep(1)
    await clock.advance(1, then_asleep=0)
    await next_one


def test_delays_double_up_to_the_most_with_jitter() -> None:
    backoff = Backoff(0.8, 30)
    for step in (0.8, 1.6, 3.2, 6.4, 12.8):
        assert step <= backoff.next() <= 2 * step
    assert 25.6 <= backoff.next() <= 30
    assert backoff.next() == 30
    backoff.reset()
    assert 0.8 <= backoff.next() <= 1.6


def test_the_system_clock_goes_forward_and_knows_the_day() -> None:
    clock = SystemClock()
    assert clock.now() <= clock.now()
    assert abs(clock.wall() - time.time()) < 60
    asyncio.run(clock.sleep(0))
