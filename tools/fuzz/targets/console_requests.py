"""Requests to the console of a running scheduler: paths, parameters, header fields and sign-in forms.

Input: a request line without the version, header fields, an empty line, a body. It goes to a console that is open, and
to one with a token. Each gives one response, never an error of its own; the second one no data without the token.
"""

from __future__ import annotations

import asyncio
import functools
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.console.actions import action_routes
from kubewasp.console.authorities import OpenAuthority, TokenAuthority
from kubewasp.console.event_streams import EventStreams
from kubewasp.console.live_console import Serving, gated, live_pages
from kubewasp.server.http_framing import RequestError, RequestReader
from kubewasp.server.http_server import Address
from tests.console.live_cluster import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Message, Scope

TOKEN: Final = "fuzzed-token-of-the-console"  # noqa: S105 - of no other console
_SECRET: Final = b"hunter2"
_LINE: Final = re.compile(rb"([A-Z]{1,8}) (/[\x21\x22\x24-\x7e]*)\r\n")
_PAGE: Final = re.compile(r"/|/console|/console/.*", re.DOTALL)
_SECONDS: Final = 30.0
_MOST_BYTES: Final = 16 * 1024 * 1024


def seeds() -> Iterator[bytes]:
    """Requests of a page, of a program and of an attacker."""
    host = b"Host: localhost\r\n"
    for target in (
        b"/api/v1/session",
        b"/api/v1/overview?run=live",
        b"/api/v1/pending?limit=10&after=0",
        b"/api/v1/pods/default/a",
        b"/api/v1/pods/default/huge/decision?weights=NodeResourcesFit:2&without=TaintToleration&sort=total&only=rejected",
        b"/api/v1/map?by=zone",
        b"/api/v1/map/scores?pod=default/a&plugin=total",
        b"/api/v1/nodes/n1?limit=1",
        b"/api/v1/queue?part=unschedulable",
        b"/api/v1/plugins",
        b"/api/v1/search?q=%E2%80%AEa",
        b"/api/v1/events",
        b"/api/v1/../v1/overview",
        b"/console/..%2f..%2fetc/passwd",
        b"/console/",
        b"/",
    ):
        yield b"GET " + target + b"\r\n" + host + b"\r\n"
    bearer = b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"
    yield b"GET /api/v1/overview\r\n" + host + bearer + b"Sec-Fetch-Site: same-origin\r\n\r\n"
    yield b"GET /api/v1/events\r\n" + host + bearer + b"Last-Event-ID: 12\r\n\r\n"
    yield b"GET /api/v1/overview\r\n" + host + b"Cookie: kubewasp-console=a; b=\xff\r\n\r\n"
    yield b"POST /api/v1/plugins/p/promote\r\n" + host + b"X-CSRF-Token: " + b"0" * 64 + b"\r\n\r\n"
    form = b"Content-Type: application/x-www-form-urlencoded\r\n"
    for token in (TOKEN.encode(), b"a", b"%FF%00", b""):
        body = b"token=" + token
        length = b"Content-Length: %d\r\n" % len(body)
        yield b"POST /console/sign-in\r\n" + host + b"Origin: http://localhost\r\n" + form + length + b"\r\n" + body
    yield b"POST /console/sign-out\r\n" + host + b"\r\n"


def one(data: bytes) -> str:
    return _consoles().check(data)


class _Consoles:
    """The two consoles of one cluster."""

    def __init__(self) -> None:
        cluster = LiveCluster(Path(tempfile.mkdtemp(prefix="kubewasp-fuzz-")))
        cluster.pod("a")
        cluster.run()
        cluster.pod("huge", cpu="64")
        cluster.run()
        self.promoted: list[str] = []
        pages = live_pages(cluster.source, cluster.pace, action_routes(self))
        self._streams = EventStreams(cluster.source.generation, SYSTEM_CLOCK)
        self._apps = [
            gated(pages, Serving(Address(), authority), self._streams, SYSTEM_CLOCK)
            for authority in (OpenAuthority(), TokenAuthority(TOKEN))
        ]
        self._loop = asyncio.new_event_loop()

    def reload(self, cause: str, *, forgive: bool = False) -> None: ...

    def status(self) -> dict[str, Any]:
        return {}

    async def promote(self, plugin: str = "") -> str:
        self.promoted.append(plugin)
        return "promoted"

    async def abort(self, plugin: str = "") -> str:
        self.promoted.append(plugin)
        return "aborted"

    def check(self, data: bytes) -> str:
        found = _request(data)
        if found is None:
            return "no request"
        scope, body = found
        opened, guarded = (
            self._loop.run_until_complete(asyncio.wait_for(_answer(app, scope, body), _SECONDS)) for app in self._apps
        )
        _check_guarded(scope, *guarded)
        if self.promoted:
            raise AssertionError("an action without a CSRF token")
        return f"{scope['method']} {opened[0]} {guarded[0]}"


@functools.cache
def _consoles() -> _Consoles:
    return _Consoles()


def _request(data: bytes) -> tuple[Scope, bytes] | None:
    """Scope and body, as the server's framing would let them through."""
    line = _LINE.match(data)
    if line is None:
        return None
    pending = bytearray(line[1] + b" " + line[2] + b" HTTP/1.1\r\n" + data[line.end() :])
    try:
        head = RequestReader().head(pending)
    except RequestError:
        return None
    if head is None:
        return None
    request = head[0]
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method.decode(),
        "scheme": "http",
        "path": unquote(request.path.decode("ascii")),
        "raw_path": request.path,
        "query_string": request.query,
        "root_path": "",
        "headers": request.headers(),
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 10260),
    }
    return scope, bytes(pending)


async def _answer(app: ASGIApp, scope: Scope, body: bytes) -> tuple[int, bytes]:
    """Status and body of the one response; an event stream is left after its beginning."""
    messages: list[Message] = []
    has_event = asyncio.Event()
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        await has_event.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        messages.append(message)
        piece = message.get("body", b"")
        if message["type"] == "http.response.body" and (not piece or b"retry: " in piece):
            has_event.set()

    await app(dict(scope), receive, send)
    starts = [message for message in messages if message["type"] == "http.response.start"]
    if len(starts) != 1:
        raise AssertionError(f"{len(starts)} responses")
    answer = b"".join(message.get("body", b"") for message in messages)
    status = int(starts[0]["status"])
    if status >= 500 and status != 503:
        raise AssertionError(f"status {status}: {answer[:300]!r}")
    if _SECRET in answer or len(answer) > _MOST_BYTES:
        raise AssertionError("an answer with a secret, or without a bound")
    return status, answer


def _check_guarded(scope: Scope, status: int, answer: bytes) -> None:
    """Without the token there are the page, redirects and errors."""
    if TOKEN.encode() in answer:
        raise AssertionError("the token is in an answer")
    has_token = any(TOKEN.encode() in value for _, value in scope["headers"])
    if status < 300 and not has_token and not _PAGE.fullmatch(scope["path"]):
        raise AssertionError(f"an answer without a token: {scope['path']}")
