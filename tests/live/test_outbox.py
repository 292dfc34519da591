"""Requests from other threads to the event loop."""

import asyncio
import threading

from kubewasp.live.outbox import Outbox

SOON = 60.0


def test_requests_of_all_threads_are_sent_and_drained() -> None:
    sent: list[int] = []

    async def request(number: int) -> None:
        await asyncio.sleep(0)
        sent.append(number)

    async def run() -> bool:
        outbox = Outbox(asyncio.get_running_loop())
        await asyncio.gather(*(asyncio.to_thread(outbox.put, request(number)) for number in range(50)))
        drained = await outbox.drained(SOON)
        assert outbox.under_way == 0
        return drained

    assert asyncio.run(run())
    assert sorted(sent) == list(range(50))


def test_a_request_that_does_not_end_in_time_is_counted() -> None:
    async def run() -> tuple[bool, int]:
        outbox = Outbox(asyncio.get_running_loop())
        never = asyncio.Event()

        async def wait() -> None:
            await never.wait()

        outbox.put(wait())
        drained = await outbox.drained(0.0)
        under_way = outbox.under_way
        never.set()
        await outbox.drained(SOON)
        return drained, under_way

    assert asyncio.run(run()) == (False, 1)


def test_a_request_after_the_end_of_the_loop_is_dropped() -> None:
    loop = asyncio.new_event_loop()
    outbox = Outbox(loop)
    loop.close()
    errors: list[BaseException] = []

    async def request() -> None: ...

    def put() -> None:
        try:
            outbox.put(request())
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    thread = threading.Thread(target=put)
    thread.start()
    thread.join(SOON)
    assert (errors, outbox.under_way) == ([], 0)
