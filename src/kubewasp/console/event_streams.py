"""Server-sent events: `change` when a page would show something else, at most one a second.

Streams are long requests, so they are bounded in number, per viewer and in time; what a slow client does not take is
replaced by the next change. They do not take turns with other responses (server/response_turns.py), and their
server is not that of health and metrics.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

from kubewasp.console.viewer import viewer_of
from kubewasp.k8s import timestamps

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send

    from kubewasp.clock import AsyncClock

PATH: Final = "/api/v1/events"
MOST_STREAMS: Final = 32
MOST_PER_VIEWER: Final = 16
INTERVAL: Final = 1.0
HEARTBEAT: Final = 15.0
LIFETIME: Final = 300.0  # then the client connects again, and its rights are checked again
PATIENCE: Final = 30.0  # for a client to take an event; the server has its own limits
_RETRY_MILLISECONDS: Final = 2000
_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class EventStreams:
    """ASGI app of the events of one console, and the one task behind all streams."""

    def __init__(
        self,
        generation: Callable[[], int],
        clock: AsyncClock,
        *,
        debt: Callable[[], float] = lambda: 0.0,
        most: int = MOST_STREAMS,
        most_per_viewer: int = MOST_PER_VIEWER,
    ) -> None:
        """`generation` grows with each change. `debt`: seconds before which no view could be made anew."""
        self._generation = generation
        self._clock = clock
        self._debt = debt
        self._most = most
        self._most_per_viewer = most_per_viewer
        self._streams: set[_Stream] = set()
        self._viewers: Counter[str] = Counter()
        self._watching: asyncio.Task[None] | None = None
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._streams)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, viewer = Request(scope, receive), viewer_of(scope).name
        refused = self._refusal(request, viewer)
        if refused is not None:
            await refused(scope, receive, send)
            return
        stream = _Stream(send, self._clock, _last_id(request))
        self._streams.add(stream)
        self._viewers[viewer] += 1
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(), name="kubewasp-console-events")
        try:
            stream.offer(self._generation())
            await stream.serve(request)
        finally:
            self._streams.discard(stream)
            self._viewers[viewer] -= 1
            if not self._viewers[viewer]:
                del self._viewers[viewer]
            if not self._streams and self._watching is not None:
                self._watching.cancel()
                self._watching = None

    def close(self) -> None:
        """Ends all streams; clients connect again, to this process or the next one."""
        self._is_closed = True
        for stream in self._streams:
            stream.end()

    def _refusal(self, request: Request, viewer: str) -> Response | None:
        if request.method not in ("GET", "HEAD"):
            return _error(HTTPStatus.METHOD_NOT_ALLOWED, "events are read by GET", {"Allow": "GET, HEAD"})
        if request.query_params:
            return _error(HTTPStatus.BAD_REQUEST, "events take no parameters")
        if request.method == "HEAD":
            return Response(headers={name.decode(): value.decode() for name, value in _HEADERS})
        later = {"Retry-After": "10"}
        if self._is_closed:
            return _error(HTTPStatus.SERVICE_UNAVAILABLE, "the process is shutting down", later)
        if len(self._streams) >= self._most or self._viewers[viewer] >= self._most_per_viewer:
            return _error(HTTPStatus.SERVICE_UNAVAILABLE, "too many event streams: close other pages", later)
        return None

    async def _watch(self) -> None:
        told = self._generation()
        while True:
            await self._clock.sleep(max(INTERVAL, self._debt()))
            now = self._generation()
            if now != told:
                told = now
                for stream in self._streams:
                    stream.offer(now)


class _Stream:
    """One client. Only the newest change waits for it."""

    def __init__(self, send: Send, clock: AsyncClock, told: int | None) -> None:
        self._send = send
        self._clock = clock
        self._told = told
        self._newest: int | None = None
        self._news = asyncio.Event()
        self._is_ended = False

    def offer(self, generation: int) -> None:
        self._newest = generation
        self._news.set()

    def end(self) -> None:
        self._is_ended = True
        self._news.set()

    async def serve(self, request: Request) -> None:
        """Sends events until the client is gone, takes none, or its time is over."""
        gone = asyncio.create_task(_gone(request))
        gone.add_done_callback(lambda _: self.end())
        try:
            async with asyncio.timeout(PATIENCE):
                await self._send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await self._put(b"retry: %d\n\n" % _RETRY_MILLISECONDS)
            ends = self._clock.now() + LIFETIME
            while not self._is_ended and self._clock.now() < ends:
                await self._next()
            if not gone.done():
                async with asyncio.timeout(PATIENCE):
                    await self._send({"type": "http.response.body", "body": b""})
        except TimeoutError:
            pass  # the server closes the connection: the response is incomplete
        finally:
            gone.cancel()

    async def _next(self) -> None:
        try:
            async with asyncio.timeout(HEARTBEAT):
                await self._news.wait()
        except TimeoutError:
            await self._put(b": \n\n")
            return
        self._news.clear()
        if self._newest is not None and self._newest != self._told and not self._is_ended:
            self._told = self._newest
            data = orjson.dumps({"generation": self._told, "time": timestamps.in_milliseconds(self._clock.wall())})
            await self._put(b"id: %d\nevent: change\ndata: %b\n\n" % (self._told, data))

    async def _put(self, text: bytes) -> None:
        async with asyncio.timeout(PATIENCE):
            await self._send({"type": "http.response.body", "body": text, "more_body": True})


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _last_id(request: Request) -> int | None:
    text = request.headers.get("last-event-id", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None


def _error(status: HTTPStatus, message: str, headers: dict[str, str] | None = None) -> Response:
    body = orjson.dumps({"error": {"code": int(status), "message": message, "hint": ""}})
    return Response(body, status, headers, "application/json")
