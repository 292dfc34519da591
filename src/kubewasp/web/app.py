"""The ASGI app: finds the route, runs its guests on a thread, sends their answer. Can be mounted in any ASGI server.

    app = create_app(load_web_config("web.yaml"))

HOT PATH: `python -m tools.bench.bars --only web` measures it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from kubewasp.web.body_streams import RequestBody, ResponseBody
from kubewasp.web.exchange import Headers, Request, Response
from kubewasp.web.faults import GONE, ClientFault, GuestFault
from kubewasp.web.guests import load_guest
from kubewasp.web.reload import Reloader
from kubewasp.web.request_limits import WebLimits
from kubewasp.web.routes import RouteTable
from kubewasp.web.web_metrics import WebMetrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Receive, Scope, Send

    from kubewasp.web.guests import Guest
    from kubewasp.web.site_config import Respond, RouteConfig, WebConfig

logger = logging.getLogger(__name__)
REQUEST_ID: Final = b"x-request-id"
_GIVEN_ID: Final = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
_NO_ROUTE: Final = "none"


class BrokenOffError(ConnectionAbortedError):
    """A guest failed in the middle of its answer. To a server, an app that raises means: close the connection."""


def create_app(config: WebConfig) -> WebApp:
    """Loads all guests; GuestLoadError if one of them cannot be used."""
    return WebApp(config)


class WebApp:
    """Serves until it is closed. Guests run on threads of its own."""

    def __init__(self, config: WebConfig) -> None:
        self.guests = {name: load_guest(guest) for name, guest in config.guests.items()}
        self.metrics = WebMetrics(self.guests.values())
        self.reloader = Reloader(list(self.guests.values()), config.reload_seconds)
        self._table = RouteTable(config.routes)
        self._chains = {id(route): _Chain(route, self.guests) for route in config.routes}
        self._threads = ThreadPoolExecutor(config.workers, thread_name_prefix="kubewasp-web")
        self.reloader.start()

    def close(self) -> None:
        """Requests under way are still answered."""
        self.reloader.stop()
        self._threads.shutdown(wait=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                self.close()
                return

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        self.metrics.in_flight += 1
        exchange = _Exchange(scope, send)
        try:
            found = self._table.match(exchange.path, exchange.method)
            if found.route is None:
                await exchange.refuse(405 if found.allowed else 404, found.allowed)
                return
            exchange.route = found.route.shown
            await self._run(self._chains[id(found.route)], exchange, receive)
        except GuestFault as fault:
            self.metrics.failed(fault.guest, fault.kind)
            await exchange.fail(fault.status, fault)
        except ClientFault as fault:
            await exchange.fail(fault.status, fault)
        except Exception as error:
            logger.exception("Request failed", extra={"requestID": exchange.id})
            await exchange.fail(500, error)
        finally:
            self.metrics.in_flight -= 1
            seconds = time.perf_counter() - began
            self.metrics.answered(exchange.route, exchange.method, exchange.status, seconds)
            _log_access(exchange, seconds)

    async def _run(self, chain: _Chain, exchange: _Exchange, receive: Receive) -> None:
        limits = chain.limits
        length = exchange.content_length()
        if length is not None and length > limits.request_body:
            raise ClientFault(413, f"the request body is over the limit of {limits.request_body} bytes")
        body = RequestBody(receive, length, limits.request_body, limits.client_timeout)
        await body.begin()
        request = exchange.request(body, chain.route)
        sink = exchange.sink(limits.client_timeout)
        response = exchange.response = Response(sink, limits.response_body)
        async with chain.places:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._threads, chain.run, request, response)
        await sink.finish(response)
        for guest in chain.guests:
            if guest.prepares:
                loop.run_in_executor(self._threads, guest.prepare)


class _Chain:
    """A route's middlewares and its handler."""

    def __init__(self, route: RouteConfig, guests: dict[str, Guest]) -> None:
        names = [*route.middlewares, *([route.handler] if route.handler else [])]
        self.route = route
        self.guests = [guests[name] for name in names]
        self.limits = self.guests[-1].config.limits if self.guests else WebLimits()
        self.places = asyncio.Semaphore(self.limits.instances)

    def run(self, request: Request, response: Response) -> None:
        """On a guest's thread."""
        self._run_from(0, request, response)

    def _run_from(self, index: int, request: Request, response: Response) -> None:
        if index < len(self.guests):
            self.guests[index].run(request, response, lambda: self._run_from(index + 1, request, response))
        elif self.route.respond is not None:
            _respond(self.route.respond, response)


def _respond(answer: Respond, response: Response) -> None:
    response.set_status(answer.status)
    for name, value in answer.headers:
        response.headers.set(name.encode(), value.encode())
    response.write(answer.body.encode())


class _Exchange:
    """One request and what becomes of it, on the event loop."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"].removeprefix(scope.get("root_path", ""))
        self.route = _NO_ROUTE
        self.status = 0
        self.sent = 0
        self.response: Response | None = None
        self._scope = scope
        self._send = send
        self._headers = Headers(scope["headers"])
        given = self._headers.first(REQUEST_ID) or b""
        self.id = given.decode() if _GIVEN_ID.fullmatch(given) else uuid.uuid4().hex

    @property
    def client(self) -> str:
        client = self._scope.get("client")
        return client[0] if client else ""

    def content_length(self) -> int | None:
        """None if it is not known before the body ends; a request without either header has no body."""
        given = self._headers.first(b"content-length")
        if given is None:
            return None if self._headers.first(b"transfer-encoding") or self._is_newer else 0
        return int(given) if given.isdigit() else None

    @property
    def _is_newer(self) -> bool:
        """HTTP/2 has bodies without either header."""
        return not str(self._scope.get("http_version", "1.1")).startswith("1")

    def request(self, body: RequestBody, route: RouteConfig) -> Request:
        self._headers.set(REQUEST_ID, self.id.encode())
        scope = self._scope
        root = scope.get("root_path", "")
        taken = len(route.path.rstrip("/")) if route.is_prefix else len(self.path)
        return Request(
            method=self.method,
            path=scope.get("raw_path") or scope["path"].encode(),
            query=scope.get("query_string", b""),
            headers=self._headers,
            body=body,
            id=self.id,
            protocol=f"HTTP/{scope.get('http_version', '1.1')}",
            scheme=scope.get("scheme", "http"),
            client=tuple(scope.get("client") or ("", 0)),
            server=tuple(scope.get("server") or ("", 0)),
            script=root + self.path[:taken],
            path_info=self.path[taken:],
        )

    def sink(self, timeout: float) -> ResponseBody:
        return ResponseBody(self._count, [(REQUEST_ID, self.id.encode())], timeout)

    async def refuse(self, status: int, allowed: Sequence[str] = ()) -> None:
        headers = [(b"allow", ", ".join(allowed).encode())] if allowed else []
        await self._tell(status, headers)

    async def fail(self, status: int, error: Exception) -> None:
        """Details are for the log: whoever asks may be anybody."""
        started = self.response is not None and self.response.started
        if status >= 500:
            keys: dict[str, Any] = {"requestID": self.id, "path": self.path, "status": status}
            if isinstance(error, GuestFault):
                keys |= {"guest": error.guest, "kind": error.kind, "problem": error.detail}
            logger.error("Guest failed%s", " while answering" if started else "", extra=keys)
        if started:
            self.status = status
            raise BrokenOffError(f"request {self.id}: the answer cannot be ended")
        if status == GONE:
            self.status = GONE
            return
        await self._tell(status, [(b"connection", b"close")] if status in (408, 413) else [])

    async def _tell(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        body = f"{status} {HTTPStatus(status).phrase}\nrequest id: {self.id}\n".encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (REQUEST_ID, self.id.encode()),
            *headers,
        ]
        await self._count({"type": "http.response.start", "status": status, "headers": headers})
        await self._count({"type": "http.response.body", "body": body, "more_body": False})

    async def _count(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.sent += len(message.get("body", b""))
        await self._send(message)


def _log_access(exchange: _Exchange, seconds: float) -> None:
    if logger.isEnabledFor(logging.INFO):
        # The query is left out: it may hold secrets.
        keys = {
            "method": exchange.method,
            "path": exchange.path,
            "status": exchange.status,
            "bytes": exchange.sent,
            "seconds": round(seconds, 6),
            "client": exchange.client,
            "route": exchange.route,
            "requestID": exchange.id,
        }
        logger.info("Request", extra=keys)
