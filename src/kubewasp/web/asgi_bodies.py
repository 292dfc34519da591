"""Request and response bodies between the ASGI event loop and guest threads.

A guest thread blocks on the loop, never the reverse. Small bodies cross in one step, large ones in chunks with
backpressure both ways, so memory use stays flat.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Final, TypeVar

from kubewasp.web.errors import CLIENT_CLOSED_REQUEST, ClientError, GuestError, OverrunError
from kubewasp.web.http_messages import NO_BODY

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from starlette.types import Message, Receive, Send

    from kubewasp.server.immediate import Answer
    from kubewasp.web.exchange import Exchange
    from kubewasp.web.http_messages import Response

Result = TypeVar("Result")
# Request bodies up to this size are read before the guest is called; responses up to it are sent in one message.
CHUNK: Final = 64 * 1024


class RequestBody:
    """`Body` over ASGI `receive`. `begin` runs on the event loop, `read` on a guest thread."""

    def __init__(self, receive: Receive, length: int | None, limit: int, timeout: float) -> None:
        """Length 0: no body, `receive` is never called. Length None: unknown until the end."""
        self.length = length
        self._receive = receive
        self._limit = limit
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._ready = bytearray()
        self._received = 0
        self._more = length != 0

    async def begin(self) -> None:
        """Receives the first chunk: the whole body, if it is small."""
        if self.is_at_end:
            return
        try:
            async with asyncio.timeout(self._timeout):
                while self._more and len(self._ready) < CHUNK:
                    self._take(await self._receive())
        except TimeoutError:
            raise self._too_slow() from None
        if not self._more:
            self.length = self._received

    def read(self, limit: int) -> bytes:
        while self._more and not self._ready:
            self._take(_on_loop(self._receive(), self._loop, self._timeout, self._too_slow()))
        chunk = bytes(self._ready[:limit])
        del self._ready[:limit]
        return chunk

    @property
    def is_at_end(self) -> bool:
        return not self._more and not self._ready

    @property
    def is_streamed(self) -> bool:
        """True after `begin` if the guest may have to wait for the rest."""
        return self._more

    def whole(self) -> bytes:
        """A copy of a body that is not streamed."""
        return bytes(self._ready)

    def _take(self, message: Message) -> None:
        if message["type"] == "http.disconnect":
            raise ClientError(CLIENT_CLOSED_REQUEST, "client disconnected")
        chunk = message.get("body", b"")
        self._received += len(chunk)
        if self._received > self._limit:
            raise ClientError(413, f"request body is over the limit of {self._limit} bytes")
        self._ready += chunk
        self._more = message.get("more_body", False)

    def _too_slow(self) -> ClientError:
        return ClientError(408, f"client sent nothing for {self._timeout:g} s")


class HeldBody:
    """`Sink` of a request on the event loop: keeps what is written, up to the size of a chunk."""

    __slots__ = ("_pieces", "_size")

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, chunk: bytes, _response: Response) -> None:
        self._size += len(chunk)
        if self._size >= CHUNK:
            raise OverrunError("response is long")
        self._pieces.append(chunk)

    def content(self) -> bytes:
        return b"".join(self._pieces)


class ResponseBody:
    """`Sink` over ASGI `send`. `write` runs on a guest thread, `finish` on the event loop."""

    def __init__(self, send: Send, exchange: Exchange, timeout: float) -> None:
        self._send = send
        self._exchange = exchange
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._pending = bytearray()

    def write(self, chunk: bytes, response: Response) -> None:
        self._pending += chunk
        if len(self._pending) >= CHUNK:
            too_slow = ClientError(CLIENT_CLOSED_REQUEST, f"client accepted nothing for {self._timeout:g} s")
            _on_loop(self._flush(response), self._loop, self._timeout, too_slow)

    async def finish(self, response: Response) -> None:
        body = bytes(self._pending)
        if not response.started:
            response.started = True
            await send_answer(self._send, self._exchange.answer(response, body))
            return
        await self._send_body(body if response.status not in NO_BODY else b"", more=False)

    async def _flush(self, response: Response) -> None:
        if not response.started:
            response.started = True
            self._exchange.status = response.status
            headers = self._exchange.head(response, length=response.headers.first(b"content-length"))
            await self._send({"type": "http.response.start", "status": response.status, "headers": headers})
        body = bytes(self._pending)
        self._pending.clear()
        if response.status not in NO_BODY:
            await self._send_body(body, more=True)

    async def _send_body(self, body: bytes, *, more: bool) -> None:
        self._exchange.sent += len(body)
        await self._send({"type": "http.response.body", "body": body, "more_body": more})


async def send_answer(send: Send, answer: Answer) -> None:
    await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})


def _on_loop(step: Awaitable[Result], loop: asyncio.AbstractEventLoop, timeout: float, too_slow: ClientError) -> Result:
    """Runs an awaitable on the loop and blocks this thread until it is done."""

    async def run() -> Result:
        return await step

    future = asyncio.run_coroutine_threadsafe(run(), loop)
    try:
        return future.result(timeout)
    except TimeoutError:
        future.cancel()
        raise too_slow from None
    except CancelledError:
        raise ClientError(CLIENT_CLOSED_REQUEST, "server is shutting down") from None
    except RuntimeError as error:  # from the server: content-length and body differ
        raise GuestError("answer", str(error)) from None
