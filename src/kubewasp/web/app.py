"""ASGI application for wasm handlers: routing, guest threads, responses, access log.

HOT PATH (guard: make counts); measured by `make bars ARGS='--only web'`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from kubewasp.web.asgi_bodies import HeldBody, RequestBody, ResponseBody, send_answer
from kubewasp.web.errors import CLIENT_CLOSED_REQUEST, ClientError, GuestError, OverrunError
from kubewasp.web.exchange import Exchange, path_below
from kubewasp.web.handler_table import handler_table
from kubewasp.web.http_messages import BytesBody, Response
from kubewasp.web.web_metrics import WebMetrics
from kubewasp.web.web_reload import WebReloader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from starlette.types import Receive, Scope, Send

    from kubewasp.server.immediate import Answer
    from kubewasp.web.guests import Guest
    from kubewasp.web.handler_table import HandlerTable
    from kubewasp.web.http_messages import Request
    from kubewasp.web.routing import Pipeline
    from kubewasp.web.web_config import WebConfig

logger = logging.getLogger(__name__)


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

    def immediate(self, scope: Scope) -> Answer | None:
        """Answers a request without a body at once, if those of its route are short; None, without any effect, if not.

        For servers that can do without a task for each request; others use the ASGI interface.
        """
        pipeline = self.table.routes.match(path_below(scope), scope["method"]).pipeline
        if pipeline is None or not pipeline.is_short:
            return None
        began = time.perf_counter()
        exchange = Exchange(scope)
        answer = self._answer(pipeline, exchange, b"")
        if answer is not None:
            self._completed(exchange, time.perf_counter() - began)
        return answer

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        self.metrics.in_flight += 1
        exchange = Exchange(scope)
        try:
            await self._respond(exchange, receive, send)
        finally:
            self.metrics.in_flight -= 1
            self._completed(exchange, time.perf_counter() - began)

    async def _respond(self, exchange: Exchange, receive: Receive, send: Send) -> None:
        match = self.table.routes.match(exchange.path, exchange.method)
        if match.pipeline is None:
            await send_answer(send, exchange.refusal(405 if match.allowed else 404, match.allowed))
            return
        exchange.route = match.pipeline.route.shown
        limits = match.pipeline.limits
        sink = ResponseBody(send, exchange, limits.client_timeout)
        response = Response(sink, limits.response_body)
        try:
            answer = await self._run(match.pipeline, exchange, receive, response)
            if answer is None:
                await sink.finish(response)
        except Exception as error:  # noqa: BLE001 - answered, counted and logged
            answer = self._failed(exchange, error, is_late=response.started)
        if answer is not None:
            await send_answer(send, answer)

    def _completed(self, exchange: Exchange, seconds: float) -> None:
        self.metrics.completed(exchange.route, exchange.method, exchange.status, seconds)
        exchange.log_access(seconds)

    def _failed(self, exchange: Exchange, error: Exception, *, is_late: bool = False) -> Answer | None:
        """Answer to a request that failed; None if the client has gone; ResponseAbortedError if the head was sent."""
        status = 500
        if isinstance(error, GuestError | ClientError):
            status = error.status
        else:
            logger.error("Request failed", extra={"requestID": exchange.id.decode()}, exc_info=error)
        if isinstance(error, GuestError):
            self.metrics.failed(error.guest, error.kind)
        exchange.log_failure(status, error, is_late=is_late)
        exchange.status = status
        if is_late:
            raise ResponseAbortedError(f"request {exchange.id.decode()}: response aborted")
        return None if status == CLIENT_CLOSED_REQUEST else exchange.failure(status)

    async def _run(self, pipeline: Pipeline, exchange: Exchange, receive: Receive, response: Response) -> Answer | None:
        """The answer of a short request. None for others, which write to the response."""
        limits = pipeline.limits
        length = exchange.content_length()
        if length is not None and length > limits.request_body:
            raise ClientError(413, f"request body is over the limit of {limits.request_body} bytes")
        body = RequestBody(receive, length, limits.request_body, limits.client_timeout)
        if length != 0:
            await body.begin()
        if pipeline.is_short and not body.is_streamed:
            answer = self._answer(pipeline, exchange, body.whole())
            if answer is not None:
                return answer
        await self._run_on_thread(pipeline, exchange, body, response)
        self._prepare(pipeline)
        return None

    def _answer(self, pipeline: Pipeline, exchange: Exchange, body: bytes) -> Answer | None:
        """Runs a short request on the event loop. None, without any effect, if it is not short."""
        exchange.route = pipeline.route.shown
        held = HeldBody()
        response = Response(held, pipeline.limits.response_body)
        try:
            pipeline.run(exchange.request(BytesBody(body), pipeline.route, brief=True), response)
            answer: Answer | None = exchange.answer(response, held.content())
        except OverrunError:
            return None
        except Exception as error:  # noqa: BLE001 - answered, counted and logged
            answer = self._failed(exchange, error)
        self._prepare(pipeline)
        return answer

    def _prepare(self, pipeline: Pipeline) -> None:
        for guest in pipeline.guests:
            if guest.prepares:
                asyncio.get_running_loop().run_in_executor(self._threads, guest.prepare)

    async def _run_on_thread(
        self, pipeline: Pipeline, exchange: Exchange, body: RequestBody, response: Response
    ) -> None:
        request = exchange.request(body, pipeline.route)
        if body.is_streamed:
            async with _turn(self._uploads, pipeline.limits.client_timeout):
                await self._call(pipeline, request, response)
        else:
            await self._call(pipeline, request, response)

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
