"""Large responses to clients that do not read them."""

import asyncio
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from kubewasp.server.response_turns import PIECE, ResponseTurns

CONTENT = bytes(range(256)) * 1000


async def large(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": CONTENT})


async def receive() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


class Reader:
    """Client that takes its response when allowed."""

    def __init__(self, allowed: asyncio.Event) -> None:
        self.messages: list[Any] = []
        self._allowed = allowed

    async def send(self, message: Message) -> None:
        self.messages.append(message)
        if message["type"] == "http.response.body":
            await self._allowed.wait()

    @property
    def status(self) -> int:
        status: int = self.messages[0]["status"] if self.messages else 0
        return status


def scope(path: str) -> Scope:
    return {"type": "http", "path": path}


def test_a_response_goes_out_in_pieces() -> None:
    async def run() -> list[Any]:
        ready = asyncio.Event()
        ready.set()
        reader = Reader(ready)
        await ResponseTurns(large, exempt=())(scope("/metrics"), receive, reader.send)
        return reader.messages

    _, *bodies = asyncio.run(run())
    assert b"".join(message["body"] for message in bodies) == CONTENT
    assert [message.get("more_body", False) for message in bodies] == [True] * (len(bodies) - 1) + [False]
    assert max(len(message["body"]) for message in bodies) == PIECE


def test_few_responses_are_held_at_once_and_health_does_not_wait() -> None:
    async def run() -> None:
        slow, fast = asyncio.Event(), asyncio.Event()
        fast.set()
        app = ResponseTurns(large, exempt=["livez"], at_once=2, seconds=600)
        readers = [Reader(slow) for _ in range(10)]
        tasks = [asyncio.create_task(app(scope("/metrics"), receive, reader.send)) for reader in readers]
        while sum(bool(reader.messages) for reader in readers) < 2:
            await asyncio.sleep(0)
        probe = Reader(fast)
        for path in ("/livez", "/livez/ping"):
            await app(scope(path), receive, probe.send)
        assert probe.status == 200
        assert [len(reader.messages) for reader in readers] == [2, 2] + [0] * 8  # head and first piece
        slow.set()
        await asyncio.gather(*tasks)
        assert all(reader.status == 200 for reader in readers)

    asyncio.run(run())


def test_a_request_without_a_turn_in_time_is_refused() -> None:
    async def run() -> int:
        ready = asyncio.Event()
        ready.set()
        app, reader = ResponseTurns(large, exempt=(), at_once=1, seconds=0.01), Reader(ready)
        async with app._turns:
            await app(scope("/metrics"), receive, reader.send)
        return reader.status

    assert asyncio.run(run()) == 503


def test_a_client_that_does_not_read_loses_its_turn() -> None:
    async def run() -> None:
        app, reader = ResponseTurns(large, exempt=(), at_once=1, seconds=0.01), Reader(asyncio.Event())
        await app(scope("/metrics"), receive, reader.send)
        assert [message["type"] for message in reader.messages] == ["http.response.start", "http.response.body"]
        assert not app._turns.locked()

    asyncio.run(run())
