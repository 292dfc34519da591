"""A console over made-up answers: the real page and its routes, on a free port, with events that a test sends.

`python -m tests.console.fake_console [NODES] [MODE]` serves one to look at.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from kubewasp.console.page import page_routes
from tests.console.fake_answers import FakeCluster, NotThereError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request


class FakeConsole:
    """A server of its own thread. `change()` sends an event; `stop()` and `start()` disconnect and reconnect."""

    def __init__(self, cluster: FakeCluster, port: int = 0) -> None:
        self.cluster = cluster
        self.asked: list[str] = []
        self.actions: list[tuple[str, str]] = []
        self._queues: set[asyncio.Queue[str | None]] = set()
        with contextlib.closing(socket.socket()) as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", port))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}/console/"
        self.start()

    def start(self) -> None:
        routes = [
            *page_routes(root=True),
            Route("/api/v1/events", self._events),
            Mount(
                "/api/v1",
                routes=[Route("/{path:path}", self._answer, methods=["GET", "POST"])],
                middleware=[Middleware(GZipMiddleware, minimum_size=4096)],
            ),
        ]
        config = uvicorn.Config(
            Starlette(routes=routes), "127.0.0.1", self.port, log_level="warning", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        deadline = time.monotonic() + 20
        while not self._server.started and time.monotonic() < deadline:
            time.sleep(0.01)

    def _run(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._server.serve())
        self._loop.close()

    def stop(self) -> None:
        self._send(None)
        self._server.should_exit = True
        self._thread.join(10)

    def change(self) -> None:
        self.cluster.change_count += 1
        self._send(json.dumps({"generation": self.cluster.change_count, "time": "2026-03-14T10:00:00.000Z"}))

    @property
    def listeners(self) -> int:
        return len(self._queues)

    def _send(self, text: str | None) -> None:
        for queue in list(self._queues):
            self._loop.call_soon_threadsafe(queue.put_nowait, text)

    async def _answer(self, request: Request) -> Response:
        path = unquote(request.scope["raw_path"].decode().partition("?")[0].removeprefix("/api/v1"))
        self.asked.append(str(request.url).partition("/api/v1")[2])
        if request.method == "POST":
            self.actions.append((path, request.headers.get("x-csrf-token", "")))
            self.cluster.state["promoted"] = True
            return JSONResponse({"state": "promoted"})
        try:
            found: Any = await asyncio.to_thread(self.cluster.answer, path, dict(request.query_params))
        except NotThereError as error:
            return JSONResponse({"error": {"code": 404, "message": str(error), "hint": "it may be gone"}}, 404)
        return JSONResponse(found, headers={"Cache-Control": "no-store"})

    async def _events(self, request: Request) -> Response:
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._queues.add(queue)

        async def stream() -> AsyncIterator[str]:
            try:
                yield "retry: 1000\n\n"
                while (text := await queue.get()) is not None:
                    yield f"event: change\ndata: {text}\n\n"
            finally:
                self._queues.discard(queue)

        return StreamingResponse(stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


def main() -> None:
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 240
    console = FakeConsole(FakeCluster(nodes, sys.argv[2] if len(sys.argv) > 2 else "live"), port=8300)
    print(console.address, flush=True)
    while True:
        time.sleep(3)
        console.change()


if __name__ == "__main__":
    main()
