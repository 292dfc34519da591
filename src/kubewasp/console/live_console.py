"""Console of a running scheduler: its server, with gate, events, actions, API and page.

It has a server of its own beside that of health and metrics, so that its clients cannot take the connections of probes,
and so that it can have TLS while probes and Prometheus need none (docs/rationale.md, "The console's own port").
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import Route

from kubewasp.console.access import ConsoleGate
from kubewasp.console.api import PREFIX
from kubewasp.console.api_answers import Answer, Answers, problem
from kubewasp.console.authorities import ConsoleAccessError
from kubewasp.console.console_pace import TooBusyError
from kubewasp.console.event_streams import PATH as EVENTS
from kubewasp.console.event_streams import EventStreams
from kubewasp.console.json_values import encoded
from kubewasp.console.page import page_routes
from kubewasp.console.shared_answers import SharedAnswers
from kubewasp.console.viewer import viewer_of
from kubewasp.console.views import overview
from kubewasp.server.allowed_hosts import is_loopback
from kubewasp.server.connection_table import HttpLimits
from kubewasp.server.http_server import AppServer
from kubewasp.server.response_turns import ResponseTurns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Receive, Scope, Send

    from kubewasp.clock import AsyncClock
    from kubewasp.console.authorities import Authority
    from kubewasp.console.console_pace import Pace
    from kubewasp.console.json_values import Document
    from kubewasp.console.live_source import LiveSource
    from kubewasp.console.recorded_decisions import RecordedDecisions
    from kubewasp.server.http_server import Address

DEFAULT_PORT: Final = 10260
_SESSION: Final = f"{PREFIX}/session"
_HEADERS: Final = {"Cache-Control": "no-store"}
_SAMPLE_SECONDS: Final = 5.0
_MIN_GZIP_BYTES: Final = 4096
# Streams of events are among them, at most 32.
_LIMITS: Final = HttpLimits(requests=96, reserved=32, bodies=8 * 1024 * 1024)
_RESPONSES_AT_ONCE: Final = 8
_GRACE_SECONDS: Final = 2


@dataclass(frozen=True, slots=True)
class Serving:
    """Where and for whom a console is served."""

    address: Address
    authority: Authority
    allowed_hosts: Sequence[str] = ()


def check_place(address: Address, *, is_open: bool) -> None:
    """ConsoleAccessError for an address on which a console may not be served. `is_open`: without credentials."""
    if is_local(address.host):
        return
    if is_open:
        raise ConsoleAccessError(
            f"the console cannot be open to everybody on {address}: use --console-access token or kubernetes, "
            f"or listen on 127.0.0.1"
        )
    if not address.certificate:
        raise ConsoleAccessError(
            f"the console needs TLS on {address}: give --console-cert and --console-key, or listen on 127.0.0.1"
        )


def is_local(host: str) -> bool:
    return host == "localhost" or is_loopback(host)


class LiveConsole:
    """Server of a console, from `start` to `stop`."""

    def __init__(self, serving: Serving, app: ASGIApp, source: LiveSource, pace: Pace, clock: AsyncClock) -> None:
        """`app` has the API and the page."""
        check_place(serving.address, is_open=not serving.authority.asks)
        self._source = source
        self._clock = clock
        self._pace = pace
        self._streams = EventStreams(source.generation, clock, debt=pace.next_change)
        self._sampling: asyncio.Task[None] | None = None
        self.server = AppServer(
            gated(app, serving, self._streams, clock),
            serving.address,
            limits=_LIMITS,
            allowed_hosts=serving.allowed_hosts,
            reserved_paths=(),
            grace_seconds=_GRACE_SECONDS,
        )

    @property
    def url(self) -> str:
        return f"{self.server.url}/console/"

    async def start(self) -> None:
        """Raises ServeError."""
        await self.server.start()
        self._sampling = asyncio.create_task(self._sample(), name="kubewasp-console-samples")

    async def stop(self) -> None:
        if self._sampling is not None:
            self._sampling.cancel()
        self._streams.close()  # else the server would wait for them, and for answers that wait for their turns
        self._pace.close()
        await self.server.stop()

    async def _sample(self) -> None:
        while True:
            self._source.sample()
            await self._clock.sleep(_SAMPLE_SECONDS)


def live_pages(
    source: LiveSource, pace: Pace, actions: Sequence[BaseRoute], recorded: RecordedDecisions | None = None
) -> ASGIApp:
    """Page, actions and API; a decision on a placed pod is the recorded one, if there is one."""
    answers = Answers(source)

    # Plain functions run on worker threads, and there in the console's turns.
    def session(request: Request) -> Response:
        return _response(pace, lambda: Answer(200, encoded(_session(source, request))))

    def respond(request: Request) -> Response:
        path = request.scope["raw_path"].decode("ascii", "replace").partition("?")[0].removeprefix(PREFIX)
        query = request.scope["query_string"].decode("ascii", "replace")
        return _response(pace, lambda: _recorded(path, query) or answers.answer(path, query))

    def _recorded(path: str, query: str) -> Answer | None:
        document = None if recorded is None else recorded.answer(path, query)
        return None if document is None else Answer(200, encoded(document))

    own = [*page_routes(root=True), *actions, Route(_SESSION, session), Route(PREFIX + "/{path:path}", respond)]
    return Starlette(routes=own, exception_handlers={HTTPException: _http_problem})


def _session(source: LiveSource, request: Request) -> Document:
    """The session with the rights of its viewer."""
    viewer, session = viewer_of(request.scope), source.session
    may = replace(session.capabilities, actions=session.capabilities.actions and viewer.may_act)
    name = viewer.name if viewer.is_signed_in else ""
    own = replace(session, capabilities=may, csrf=viewer.csrf, viewer=name)
    return overview.session(own, source.picture("", None))


def _response(pace: Pace, work: Callable[[], Answer]) -> Response:
    try:
        found = pace.run(work)
    except TooBusyError as error:
        found = problem(503, str(error))
    headers = {**_HEADERS, "Retry-After": "2"} if found.status == 503 else _HEADERS
    return Response(found.body, found.status, headers, "application/json")


async def _http_problem(_request: Request, error: Exception) -> Response:
    code = error.status_code if isinstance(error, HTTPException) else 500
    text = "there is nothing here" if code == 404 else "the method is not allowed" if code == 405 else "cannot answer"
    found = problem(code, text, "the console is at /console/, its API at /api/v1/")
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return Response(found.body, found.status, {**headers, **_HEADERS}, "application/json")


def gated(app: ASGIApp, serving: Serving, streams: EventStreams, clock: AsyncClock) -> ASGIApp:
    """The whole ASGI app of a console. Event streams take no turns: they have bounds of their own."""
    shared = SharedAnswers(GZipMiddleware(app, _MIN_GZIP_BYTES, compresslevel=1), clock, own=(_SESSION,))
    answers = ResponseTurns(shared, exempt=(), at_once=_RESPONSES_AT_ONCE)

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        await (streams if scope["path"] == EVENTS else answers)(scope, receive, send)

    return ConsoleGate(routed, serving.authority, clock, is_secure=bool(serving.address.certificate))
