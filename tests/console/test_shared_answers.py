"""Equal requests get one answer."""

import asyncio
from typing import Any

import pytest

from kubewasp.console.shared_answers import SharedAnswers
from tests.apiserver.running import FakeClock, asynchronous


class App:
    """Counts requests; answers when it is let go."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.go = asyncio.Event()
        self.go.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.paths.append(scope["path"])
        await self.go.wait()
        if scope["path"].endswith("broken"):
            raise ZeroDivisionError
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": f"answer {len(self.paths)}".encode()})


async def ask(app: SharedAnswers, path: str, *, method: str = "GET", query: bytes = b"", gzip: bool = False) -> bytes:
    got: list[Any] = []

    async def send(message: Any) -> None:
        got.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    headers = [(b"accept-encoding", b"gzip, br")] if gzip else []
    await app(
        {"type": "http", "method": method, "path": path, "query_string": query, "headers": headers}, receive, send
    )
    return b"".join(message.get("body", b"") for message in got)


@asynchronous
async def test_equal_requests_at_once_and_within_a_second_are_one() -> None:
    app, clock = App(), FakeClock()
    shared = SharedAnswers(app, clock, own=())
    app.go.clear()
    asked = [asyncio.create_task(ask(shared, "/api/v1/map")) for _ in range(10)]
    await asyncio.sleep(0)
    app.go.set()
    assert set(await asyncio.gather(*asked)) == {b"answer 1"}
    assert await ask(shared, "/api/v1/map") == b"answer 1"
    clock.time += 1.01
    assert await ask(shared, "/api/v1/map") == b"answer 2"


@asynchronous
async def test_other_requests_are_answered_for_themselves() -> None:
    app = App()
    shared = SharedAnswers(app, FakeClock(), own=("/api/v1/session",))
    for _ in range(2):
        await ask(shared, "/api/v1/map", query=b"by=zone")
        await ask(shared, "/api/v1/map", gzip=True)
        await ask(shared, "/api/v1/map", method="HEAD")
        await ask(shared, "/api/v1/session")
        await ask(shared, "/console/")
        await ask(shared, "/api/v1/plugins/p/abort", method="POST")
        await ask(shared, "/api/v1/map", query=b"x" * 5000)
    assert len(app.paths) == 3 + 2 * 4


@asynchronous
async def test_an_answer_is_made_for_the_others_if_its_first_client_leaves() -> None:
    app = App()
    shared = SharedAnswers(app, FakeClock(), own=())
    app.go.clear()
    first, second = (asyncio.create_task(ask(shared, "/api/v1/map")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    app.go.set()
    assert await second == b"answer 1"


@asynchronous
async def test_a_failure_is_not_kept() -> None:
    app = App()
    shared = SharedAnswers(app, FakeClock(), own=())
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await ask(shared, "/api/v1/broken")
    assert len(app.paths) == 2


@asynchronous
async def test_kept_answers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubewasp.console.shared_answers._MOST_BYTES", 20)
    app = App()
    shared = SharedAnswers(app, FakeClock(), own=())
    for number in range(5):
        await ask(shared, f"/api/v1/{number}")
    await ask(shared, "/api/v1/4")
    await ask(shared, "/api/v1/0")
    assert app.paths[5:] == ["/api/v1/0"]
