"""Server-sent events of the console: changes, bounds, ends."""

import asyncio
from typing import Any

import orjson
import pytest

from kubewasp.console.event_streams import LIFETIME, EventStreams
from kubewasp.console.viewer import Viewer, note_viewer
from tests.apiserver.running import FakeClock, ManualClock, asynchronous


class Client:
    """One stream. `takes` False: a client that takes nothing after the head."""

    def __init__(self, streams: EventStreams, *, viewer: str = "anna", **headers: str) -> None:
        self.received: list[dict[str, Any]] = []
        self.takes = asyncio.Event()
        self.takes.set()
        self._gone = asyncio.Event()
        self._more = asyncio.Event()
        names = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": "GET", "path": "/api/v1/events", "query_string": b"", "headers": names}
        note_viewer(scope, Viewer(viewer))
        self.task = asyncio.create_task(streams(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        await self.takes.wait()
        self.received.append(message)
        self._more.set()

    async def leave(self) -> None:
        self._gone.set()
        await self.task

    @property
    def status(self) -> int:
        return int(self.received[0]["status"])

    @property
    def text(self) -> str:
        return b"".join(message.get("body", b"") for message in self.received).decode()

    def generations(self) -> list[int]:
        lines = [line.removeprefix("data: ") for line in self.text.splitlines() if line.startswith("data: ")]
        return [orjson.loads(line)["generation"] for line in lines]

    async def has(self, count: int) -> None:
        while len(self.generations()) < count:
            self._more.clear()
            await self._more.wait()


class Changes:
    """The generation of a source."""

    def __init__(self) -> None:
        self.generation = 1

    def __call__(self) -> int:
        return self.generation


@asynchronous
async def test_a_client_hears_of_the_state_and_of_changes() -> None:
    changes, clock = Changes(), ManualClock()
    streams = EventStreams(changes, clock)
    client = Client(streams)
    await client.has(1)
    assert dict(client.received[0]["headers"])[b"content-type"].startswith(b"text/event-stream")
    assert client.text.startswith("retry: 2000\n\nid: 1\nevent: change\ndata: {")
    await clock.asleep(1)
    changes.generation = 5
    await clock.advance(1, 1)
    await client.has(2)
    assert client.generations() == [1, 5]
    await clock.advance(1, 1)
    assert client.generations() == [1, 5]
    await client.leave()
    assert len(streams) == 0


@asynchronous
async def test_there_is_at_most_one_change_a_second_and_fewer_while_the_scheduler_is_busy() -> None:
    changes, clock, debts = Changes(), ManualClock(), [0.0]
    streams = EventStreams(changes, clock, debt=lambda: debts[0])
    client = Client(streams)
    await clock.asleep(1)
    for generation in range(2, 10):
        changes.generation = generation
    debts[0] = 7.0
    await clock.advance(1, 1)
    await client.has(2)
    changes.generation = 20
    await clock.advance(6, 1)
    assert client.generations() == [1, 9]
    await clock.advance(1, 1)
    await client.has(3)
    assert client.generations() == [1, 9, 20]
    await client.leave()


@asynchronous
async def test_a_client_that_connects_again_is_not_told_what_it_knows() -> None:
    changes, clock = Changes(), ManualClock()
    streams = EventStreams(changes, clock)
    client = Client(streams, last_event_id="1")
    await clock.asleep(1)
    changes.generation = 2
    await clock.advance(1, 1)
    await client.has(1)
    assert client.generations() == [2]
    await client.leave()


@pytest.mark.parametrize("last", ["", "-1", "x", "1" * 40, "²"])
@asynchronous
async def test_a_strange_last_event_is_no_event(last: str) -> None:
    streams = EventStreams(Changes(), ManualClock())
    client = Client(streams, last_event_id=last)
    await client.has(1)
    await client.leave()


@asynchronous
async def test_a_slow_client_gets_the_newest_change_only() -> None:
    changes, clock = Changes(), ManualClock()
    streams = EventStreams(changes, clock)
    slow, quick = Client(streams), Client(streams)
    await slow.has(1)
    slow.takes.clear()
    await clock.asleep(1)
    for generation in range(2, 6):
        changes.generation = generation
        await clock.advance(1, 1)
        await quick.has(generation)
    slow.takes.set()
    await slow.has(3)
    assert slow.generations() in ([1, 2, 5], [1, 5])
    await slow.leave()
    await quick.leave()


@asynchronous
async def test_a_client_that_takes_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubewasp.console.event_streams.PATIENCE", 0.01)
    streams = EventStreams(Changes(), ManualClock())
    client = Client(streams)
    client.takes.clear()
    await client.task
    assert len(streams) == 0
    assert client.received == []


@asynchronous
async def test_a_silent_stream_has_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubewasp.console.event_streams.HEARTBEAT", 0.01)
    client = Client(EventStreams(Changes(), ManualClock()))
    while client.text.count("\n: \n\n") < 3:
        await asyncio.sleep(0)
    await client.leave()


@asynchronous
async def test_the_number_of_streams_is_bounded_in_all_and_per_viewer() -> None:
    streams = EventStreams(Changes(), ManualClock(), most=3, most_per_viewer=2)
    clients = [Client(streams, viewer=name) for name in ("anna", "anna", "anna", "ben", "cleo")]
    for client in (clients[0], clients[1], clients[3]):
        await client.has(1)
    await asyncio.gather(clients[2].task, clients[4].task)
    assert [client.status for client in clients] == [200, 200, 503, 200, 503]
    assert dict(clients[2].received[0]["headers"])[b"retry-after"] == b"10"
    await clients[0].leave()
    again = Client(streams, viewer="anna")
    await again.has(1)
    for client in (clients[1], clients[3], again):
        await client.leave()


@asynchronous
async def test_a_stream_ends_after_its_time_so_that_rights_are_checked_again() -> None:
    changes, clock = Changes(), ManualClock()
    streams = EventStreams(changes, clock)
    client = Client(streams)
    await client.has(1)
    await clock.asleep(1)
    changes.generation = 2
    await clock.advance(LIFETIME, 0)
    await client.task
    assert client.received[-1] == {"type": "http.response.body", "body": b""}


@asynchronous
async def test_at_the_end_all_streams_end_in_order_and_no_new_one_begins() -> None:
    streams = EventStreams(Changes(), ManualClock())
    clients = [Client(streams) for _ in range(3)]
    for client in clients:
        await client.has(1)
    streams.close()
    await asyncio.gather(*(client.task for client in clients))
    assert all(client.received[-1] == {"type": "http.response.body", "body": b""} for client in clients)
    late = Client(streams)
    await late.task
    assert late.status == 503


@pytest.mark.parametrize(
    ("method", "query", "status"), [("POST", b"", 405), ("GET", b"run=a", 400), ("HEAD", b"", 200), ("GET", b"%", 400)]
)
@asynchronous
async def test_other_requests_are_answered_at_once(method: str, query: bytes, status: int) -> None:
    received: list[Any] = []

    async def send(message: Any) -> None:
        received.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    scope = {"type": "http", "method": method, "path": "/api/v1/events", "query_string": query, "headers": []}
    await EventStreams(Changes(), FakeClock())(scope, receive, send)
    assert received[0]["status"] == status
