"""Console of a running scheduler: its server, with gate, events, actions, API and page.

It has a server of its own beside that of health and metrics, so that its clients cannot take the connections of probes,
and so that it can have TLS while probes and Prometheus need none (docs/rationale.md, "The console's own port").
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from starlette.middleware.gzip import GZipMiddleware

from kubewasp.console.access import ConsoleGate
from kubewasp.console.authorities import ConsoleAccessError, OpenAuthority
from kubewasp.console.events import PATH as EVENTS
from kubewasp.console.events import EventStreams
from kubewasp.console.shared_answers import SharedAnswers
from kubewasp.server.allowed_hosts import is_loopback
from kubewasp.server.connection_table import HttpLimits
from kubewasp.server.http_server import AppServer
from kubewasp.server.response_turns import ResponseTurns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

    from kubewasp.clock import AsyncClock
    from kubewasp.console.authorities import Authority
    from kubewasp.console.live_source import LiveSource
    from kubewasp.console.pace import Pace
    from kubewasp.server.http_server import Address

DEFAULT_PORT: Final = 10260
_SESSION: Final = "/api/v1/session"
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

    def __post_init__(self) -> None:
        address = self.address
        is_local = address.host == "localhost" or is_loopback(address.host)
        if not is_local and not address.certificate:
            raise ConsoleAccessError(
                f"the console is served without TLS on loopback only: {address} needs a certificate"
            )
        if not is_local and isinstance(self.authority, OpenAuthority):
            raise ConsoleAccessError(f"the console is open on loopback only: {address} needs tokens, or Kubernetes")


class LiveConsole:
    """Server of a console, from `start` to `stop`."""

    def __init__(self, serving: Serving, app: ASGIApp, source: LiveSource, pace: Pace, clock: AsyncClock) -> None:
        """`app` has the API and the page."""
        self._source = source
        self._clock = clock
        self._streams = EventStreams(source.generation, clock, debt=pace.debt)
        self._sampling: asyncio.Task[None] | None = None
        self.server = AppServer(
            console_app(app, serving, self._streams, clock),
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
        self._streams.close()  # else the server would wait for them
        await self.server.stop()

    async def _sample(self) -> None:
        while True:
            self._source.sample()
            await self._clock.sleep(_SAMPLE_SECONDS)


def console_app(app: ASGIApp, serving: Serving, streams: EventStreams, clock: AsyncClock) -> ASGIApp:
    """The whole ASGI app of a console. Event streams take no turns: they have bounds of their own."""
    shared = SharedAnswers(GZipMiddleware(app, _MIN_GZIP_BYTES, compresslevel=1), clock, own=(_SESSION,))
    answers = ResponseTurns(shared, exempt=(), at_once=_RESPONSES_AT_ONCE)

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        await (streams if scope["path"] == EVENTS else answers)(scope, receive, send)

    return ConsoleGate(routed, serving.authority, clock, is_secure=bool(serving.address.certificate))
