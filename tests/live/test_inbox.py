"""Inbox and thread of the owner of the cluster state."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from kubewasp.live.inbox import Inbox, OwnerThread, on_owner_thread

SOON = 120.0


class Owner:
    """A thread that has nothing to do but the actions of its inbox."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self.steps = 0
        self.ended: list[BaseException | None] = []
        self.has_ended = threading.Event()
        self.thread = OwnerThread(self.inbox, self._step, name="owner", on_end=self._end)

    def _step(self) -> float:
        self.steps += 1
        return SOON

    def _end(self, error: BaseException | None) -> None:
        self.ended.append(error)
        self.has_ended.set()

    def settled(self) -> None:
        """All actions posted so far have run."""
        done = threading.Event()
        self.inbox.post(done.set)
        assert done.wait(SOON)


@pytest.fixture
def owner() -> Iterator[Owner]:
    made = Owner()
    made.thread.start()
    yield made
    assert made.thread.stop(SOON)


def test_actions_run_on_the_owner_thread_in_the_order_of_posting(owner: Owner) -> None:
    seen: list[int] = []
    threads: set[str] = set()

    def action(number: int) -> None:
        seen.append(number)
        threads.add(threading.current_thread().name)

    for number in range(3000):
        owner.inbox.post(lambda number=number: action(number))  # type: ignore[misc]
    owner.settled()
    assert (seen, threads) == (list(range(3000)), {"owner"})
    assert len(owner.inbox) == 0


def test_a_thread_that_waits_is_woken(owner: Owner) -> None:
    owner.settled()
    before = owner.steps
    owner.inbox.wake()
    owner.settled()
    owner.settled()
    assert owner.steps > before


def test_an_action_that_fails_ends_the_thread_with_its_error(owner: Owner) -> None:
    def broken() -> None:
        raise ZeroDivisionError

    owner.inbox.post(broken)
    assert owner.has_ended.wait(SOON)
    assert [type(error) for error in owner.ended] == [ZeroDivisionError]


def test_a_stopped_thread_ends_without_an_error(owner: Owner) -> None:
    assert owner.thread.stop(SOON)
    assert owner.ended == [None]
    assert not owner.thread.is_alive


def test_a_coroutine_gets_the_result_or_the_error_of_a_function_on_the_thread(owner: Owner) -> None:
    def fail() -> None:
        raise KeyError("no")

    async def ask() -> str:
        with pytest.raises(KeyError):
            await on_owner_thread(owner.inbox, fail)
        return await on_owner_thread(owner.inbox, lambda: threading.current_thread().name)

    assert asyncio.run(ask()) == "owner"


def test_a_function_whose_caller_has_gone_is_not_run(owner: Owner) -> None:
    run: list[str] = []
    busy = threading.Event()

    async def leave() -> None:
        owner.inbox.post(lambda: busy.wait(SOON) and None)
        asked = asyncio.create_task(on_owner_thread(owner.inbox, lambda: run.append("late")))
        await asyncio.sleep(0)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        busy.set()
        await on_owner_thread(owner.inbox, lambda: run.append("next"))

    asyncio.run(leave())
    assert run == ["next"]


def stop_elsewhere(thread: OwnerThread) -> None:
    """Stops a thread from another one, without waiting for its end."""
    other = threading.Thread(target=thread.stop, args=(0.0,))
    other.start()
    other.join(SOON)


def test_a_stop_during_a_step_is_not_lost() -> None:
    made = Owner()

    def step() -> float:
        stop_elsewhere(thread)
        return SOON

    thread = OwnerThread(made.inbox, step, name="owner", on_end=made._end)
    thread.start()
    assert made.has_ended.wait(SOON / 2)
    assert made.ended == [None]


def test_a_wake_during_a_step_is_not_lost() -> None:
    made = Owner()
    steps: list[int] = []

    def step() -> float:
        steps.append(len(steps))
        if len(steps) == 1:
            made.inbox.wake()
        else:
            stop_elsewhere(thread)
        return SOON

    thread = OwnerThread(made.inbox, step, name="owner", on_end=made._end)
    thread.start()
    assert made.has_ended.wait(SOON / 2)
    assert (len(steps), made.ended) == (2, [None])
