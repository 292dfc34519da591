"""ASGI application for wasm handlers: routing, guest threads, responses, access log.

HOT PATH (guard: make counts); measured by `make bars ARGS='--only web'`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from kubewasp.web.asgi_bodies import RequestBody, ResponseBody
from kubewasp.web.errors import CLIENT_CLOSED_REQUEST, ClientError, GuestError, OverrunError
from kubewasp.web.handler_table import handler_table
from kubewasp.web.http_messages import Headers, Request, Response
from kubewasp.web.web_metrics import WebMetrics
from kubewasp.web.web_reload import WebReloader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from starlette.types import Message, Receive, Scope, Send

    from kubewasp.web.guests import Guest
    from kubewasp.web.handler_table import HandlerTable
    from kubewasp.web.http_messages import Body
    from kubewasp.web.routing import Pipeline
    from kubewasp.web.web_config import RouteConfig, WebConfig

logger = logging.getLogger(__name__)
REQUEST_ID: Final = b"x-request-id"
_VALID_ID: Final = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
_LENGTH: Final = re.compile(rb"[0-9]{1,18}")
_NO_ROUTE: Final = "none"


class ResponseAbortedError(ConnectionAbortedError):
    """Guest failure after the head of the response was sent. Raised to the ASGI server, which closes the connection."""


def create_app(config: WebConfig, *, read: Callable[[], WebConfig] | None = None, file: str = "") -> WebApp:
    """The ASGI application for a configuration, with all guests loaded.

    It runs in any ASGI server (`uvicorn site:app`), or mounted below a path of another application:

        from kubewasp.web import create_app, load_web_config
        from starlette.applications import Starlette
        from starlette.routing import Mount

        app = create_app(load_web_config("web.yaml"))
        site = Starlette(routes=[Mount("/plugins", app)])

    As the application of a server it closes itself at the end of the ASGI lifespan; mounted, it needs `close()`.

    With `read`, the configuration is read again when `file` has changed, and routes and guests are replaced.

    Raises GuestLoadError for a guest that cannot be used.
    """
    return WebApp(config, read=read, file=file)


class WebApp:
    """ASGI application. Guests run on its own threads; `close` ends them."""

    def __init__(self, config: WebConfig, *, read: Callable[[], WebConfig] | None = None, file: str = "") -> None:
        self.table = handler_table(config)
        self.reloader = WebReloader(lambda: self.table, self._take, config.reload_seconds, read=read, file=file)
        self.metrics = WebMetrics(lambda: list(self.guests.values()), self.reloader.counts)
        self._threads = ThreadPoolExecutor(config.threads, thread_name_prefix="kubewasp-web")
        # A guest occupies its thread while it waits for the rest of a large body: half of the threads do not wait.
        self._uploads = asyncio.Semaphore(max(1, config.threads // 2))
        self.reloader.start()

    @property
    def guests(self) -> Mapping[str, Guest]:
        """The guests in use, by name."""
        return self.table.guests

    def _take(self, table: HandlerTable) -> None:
        """Replaces the handlers: requests that begin now have the new ones."""
        self.table = table

    def close(self) -> None:
        """Stops reloading and accepts no new requests; requests in progress are completed."""
        self.reloader.stop()
        self._threads.shutdown(wait=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI entry point for `http` and `lifespan`; WebSocket connections are closed."""
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                self.close()
                return

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        self.metrics.in_flight += 1
        exchange = _Exchange(scope, send)
        try:
            match = self.table.routes.match(exchange.path, exchange.method)
            if match.pipeline is None:
                await exchange.refuse(405 if match.allowed else 404, match.allowed)
                return
            exchange.route = match.pipeline.route.shown
            await self._run(match.pipeline, exchange, receive)
        except GuestError as error:
            self.metrics.failed(error.guest, error.kind)
            await exchange.fail(error.status, error)
        except ClientError as error:
            await exchange.fail(error.status, error)
        except Exception as error:
            logger.exception("Request failed", extra={"requestID": exchange.id})
            await exchange.fail(500, error)
        finally:
            self.metrics.in_flight -= 1
            seconds = time.perf_counter() - began
            self.metrics.completed(exchange.route, exchange.method, exchange.status, seconds)
            _log_access(exchange, seconds)

    async def _run(self, pipeline: Pipeline, exchange: _Exchange, receive: Receive) -> None:
        limits = pipeline.limits
        length = exchange.content_length()
        if length is not None and length > limits.request_body:
            raise ClientError(413, f"request body is over the limit of {limits.request_body} bytes")
        body = RequestBody(receive, length, limits.request_body, limits.client_timeout)
        if length != 0:
            await body.begin()
        is_short = pipeline.is_short and not body.is_streamed and not pipeline.slots.locked()
        if not is_short or not await self._run_here(pipeline, exchange, body):
            await self._run_on_thread(pipeline, exchange, body)
        for guest in pipeline.guests:
            if guest.prepares:
                asyncio.get_running_loop().run_in_executor(self._threads, guest.prepare)

    async def _run_here(self, pipeline: Pipeline, exchange: _Exchange, body: RequestBody) -> bool:
        """Runs a short request on the event loop. False, without any effect, if it is not short."""
        sink = exchange.sink(pipeline.limits.client_timeout, brief=True)
        response = Response(sink, pipeline.limits.response_body)
        try:
            pipeline.run(exchange.request(body.whole(), pipeline.route, brief=True), response)
        except OverrunError:
            return False
        exchange.response = response
        await sink.finish(response)
        return True

    async def _run_on_thread(self, pipeline: Pipeline, exchange: _Exchange, body: RequestBody) -> None:
        limits = pipeline.limits
        sink = exchange.sink(limits.client_timeout)
        response = exchange.response = Response(sink, limits.response_body)
        request = exchange.request(body, pipeline.route)
        if body.is_streamed:
            async with _turn(self._uploads, limits.client_timeout):
                await self._call(pipeline, request, response)
        else:
            await self._call(pipeline, request, response)
        await sink.finish(response)

    async def _call(self, pipeline: Pipeline, request: Request, response: Response) -> None:
        async with pipeline.slots:
            await asyncio.get_running_loop().run_in_executor(self._threads, pipeline.run, request, response)


@asynccontextmanager
async def _turn(turns: asyncio.Semaphore, timeout: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(timeout):
            await turns.acquire()
    except TimeoutError:
        raise ClientError(503, f"more large bodies in progress than half of the threads for {timeout:g} s") from None
    try:
        yield
    finally:
        turns.release()


class _Exchange:
    """One request and its response on the event loop."""

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
        self.id = given.decode() if _VALID_ID.fullmatch(given) else os.urandom(16).hex()

    @property
    def client(self) -> str:
        client = self._scope.get("client")
        return client[0] if client else ""

    def content_length(self) -> int | None:
        """Length of the request body; None if unknown. HTTP/1 requests without either header have no body."""
        given = self._headers.values(b"content-length")
        if not given:
            return None if self._headers.first(b"transfer-encoding") or self._is_http2 else 0
        if len(given) > 1 or not _LENGTH.fullmatch(given[0]):
            raise ClientError(400, "content-length: expected one number")
        return int(given[0])

    @property
    def _is_http2(self) -> bool:
        """HTTP/2 and newer: bodies need neither content-length nor transfer-encoding."""
        return not str(self._scope.get("http_version", "1.1")).startswith("1")

    def request(self, body: Body, route: RouteConfig, *, brief: bool = False) -> Request:
        """The request for the guests, which may change it."""
        headers = Headers(self._headers.pairs)
        headers.set(REQUEST_ID, self.id.encode())
        scope = self._scope
        root = scope.get("root_path", "")
        matched = len(route.path.rstrip("/")) if route.is_prefix else len(self.path)
        return Request(
            method=self.method,
            path=scope.get("raw_path") or scope["path"].encode(),
            query=scope.get("query_string", b""),
            headers=headers,
            body=body,
            id=self.id,
            protocol=f"HTTP/{scope.get('http_version', '1.1')}",
            scheme=scope.get("scheme", "http"),
            client=tuple(scope.get("client") or ("", 0)),
            server=tuple(scope.get("server") or ("", 0)),
            script=root + self.path[:matched],
            path_info=self.path[matched:],
            brief=brief,
        )

    def sink(self, timeout: float, *, brief: bool = False) -> ResponseBody:
        return ResponseBody(self._send_counted, [(REQUEST_ID, self.id.encode())], timeout, brief=brief)

    async def refuse(self, status: int, allowed: Sequence[str] = ()) -> None:
        """Response for a request without a route."""
        headers = [(b"allow", ", ".join(allowed).encode())] if allowed else []
        await self._send_status(status, headers)

    async def fail(self, status: int, error: Exception) -> None:
        """Error response without details, which go to the log; ResponseAbortedError if the head was sent already."""
        started = self.response is not None and self.response.started
        if status >= 500 and not isinstance(error, ClientError):
            keys: dict[str, str | int] = {"requestID": self.id, "path": self.path, "status": status}
            if isinstance(error, GuestError):
                keys |= {"guest": error.guest, "kind": error.kind, "problem": error.detail}
            logger.error("Guest failed%s", " after the response head" if started else "", extra=keys)
        if started:
            self.status = status
            raise ResponseAbortedError(f"request {self.id}: response aborted")
        if status == CLIENT_CLOSED_REQUEST:
            self.status = CLIENT_CLOSED_REQUEST
            return
        await self._send_status(status, [(b"connection", b"close")] if status in (400, 408, 413, 503) else [])

    async def _send_status(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        body = f"{status} {HTTPStatus(status).phrase}\nrequest id: {self.id}\n".encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (REQUEST_ID, self.id.encode()),
            *headers,
        ]
        await self._send_counted({"type": "http.response.start", "status": status, "headers": headers})
        await self._send_counted({"type": "http.response.body", "body": body, "more_body": False})

    async def _send_counted(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.sent += len(message.get("body", b""))
        await self._send(message)


def _log_access(exchange: _Exchange, seconds: float) -> None:
    if logger.isEnabledFor(logging.INFO):
        # Without the query string, which may hold secrets.
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
