"""Bodies between the event loop, which speaks ASGI, and the threads on which guests run.

A thread waits for the loop, never the other way round. What is small crosses once; what is large crosses in pieces, and
whoever is faster waits for the other, so that memory stays flat.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kubewasp.web.exchange import NO_BODY
from kubewasp.web.faults import GONE, ClientFault, GuestFault

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine

    from starlette.types import Receive, Send

    from kubewasp.web.exchange import Response

Answer = TypeVar("Answer")
# A request body up to this size is there before the guest is called; a response up to it is sent in one go.
PIECE: Final = 64 * 1024


class RequestBody:
    """Implements `Body`. `begin` runs on the event loop, `read` on a guest's thread."""

    def __init__(self, receive: Receive, length: int | None, limit: int, timeout: float) -> None:
        """A length of 0 means that there is none, and nobody is asked for it."""
        self.length = length
        self._receive = receive
        self._limit = limit
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._ready = bytearray()
        self._received = 0
        self._more = length != 0

    async def begin(self) -> None:
        """Waits for the beginning of the body: all of it, if it is small."""
        if self.is_at_end:
            return
        try:
            async with asyncio.timeout(self._timeout):
                while self._more and len(self._ready) < PIECE:
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

    def _take(self, message: Any) -> None:
        if message["type"] == "http.disconnect":
            raise ClientFault(GONE, "the client went away")
        chunk = message.get("body", b"")
        self._received += len(chunk)
        if self._received > self._limit:
            raise ClientFault(413, f"the request body is over the limit of {self._limit} bytes")
        self._ready += chunk
        self._more = message.get("more_body", False)

    def _too_slow(self) -> ClientFault:
        return ClientFault(408, f"the client sent nothing for {self._timeout:g} s")


class ResponseBody:
    """Implements `Sink`. `write` runs on a guest's thread, `finish` on the event loop."""

    def __init__(self, send: Send, extra: list[tuple[bytes, bytes]], timeout: float) -> None:
        self._send = send
        self._extra = extra
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._pending = bytearray()

    def write(self, chunk: bytes, response: Response) -> None:
        self._pending += chunk
        if len(self._pending) >= PIECE:
            too_slow = ClientFault(GONE, f"the client took nothing for {self._timeout:g} s")
            _on_loop(self._flush(response), self._loop, self._timeout, too_slow)

    async def finish(self, response: Response) -> None:
        body = b"" if response.status in NO_BODY else bytes(self._pending)
        if not response.started:
            response.headers.remove(b"content-length")
            if response.status not in NO_BODY:
                response.headers.add(b"content-length", str(len(body)).encode())
            await self._begin(response)
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _flush(self, response: Response) -> None:
        if not response.started:
            await self._begin(response)
        body = bytes(self._pending)
        self._pending.clear()
        if response.status not in NO_BODY:
            await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def _begin(self, response: Response) -> None:
        response.started = True
        headers = [*response.headers.end_to_end(), *self._extra]
        await self._send({"type": "http.response.start", "status": response.status, "headers": headers})


def _on_loop(
    step: Awaitable[Answer] | Coroutine[Any, Any, Answer],
    loop: asyncio.AbstractEventLoop,
    timeout: float,
    too_slow: ClientFault,
) -> Answer:
    """Has the loop do it and waits."""

    async def run() -> Answer:
        return await step

    future = asyncio.run_coroutine_threadsafe(run(), loop)
    try:
        return future.result(timeout)
    except TimeoutError:
        future.cancel()
        raise too_slow from None
    except CancelledError:
        raise ClientFault(GONE, "the server is shutting down") from None
    except RuntimeError as error:  # of the server: what the guest declared and what it wrote differ
        raise GuestFault("answer", str(error)) from None
