"""Fuzz target: bytes of a client of the HTTP server.

Whatever a client sends, each complete request gets one response or the connection is closed, nothing is logged as an
error, and the next connection works. Framing is computed apart from the server, so a request that its parser sees and
the framing does not (request smuggling) is one response too many.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import re
import socket
import threading
from typing import TYPE_CHECKING, Final, Self

from kubewasp.server.http_framing import RequestError, RequestReader
from kubewasp.server.http_server import Address, AppServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import Receive, Scope, Send

_HOST: Final = b"Host: localhost\r\n"
_GET: Final = b"GET / HTTP/1.1\r\n" + _HOST
# Longer than every limit of the server.
_HANG_SECONDS: Final = 60.0
_STATUS: Final = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_LENGTH: Final = re.compile(rb"(?i)\r\ncontent-length: (\d+)\r\n")


def seeds() -> Iterator[bytes]:
    """Valid requests, and one for each class of requests that are refused."""
    post = b"POST /a?b=%20 HTTP/1.1\r\n" + _HOST
    yield _GET + b"\r\n"
    yield (_GET + b"\r\n") * 3
    yield b"HEAD /livez HTTP/1.0\r\n\r\n"
    yield b"OPTIONS * HTTP/1.1\r\n" + _HOST + b"\r\n"
    yield b"GET http://localhost/x HTTP/1.1\r\n" + _HOST + b"Connection: close\r\n\r\n"
    for fields, body in (
        (b"Content-Length: 5\r\n", b"abcde"),
        (b"Content-Length: 5\r\nContent-Length: 5\r\n", b"abcde"),
        (b"Content-Length: 1_0\r\n", b"0123456789"),
        (b"Content-Length: 5\r\nExpect: 100-continue\r\n", b"abcde"),
        (b"Transfer-Encoding: chunked\r\n", b"5;a=b\r\nabcde\r\n0\r\nX: y\r\n\r\n"),
        (b"Transfer-Encoding: chunked\r\n", b"0x5\r\nabcde\r\n0\r\n\r\n"),
        (b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", b"0\r\n\r\n"),
        (b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"),
        (b"Connection: upgrade\r\nUpgrade: websocket\r\n", b""),
        (b"X: a\r\n b\r\n", b""),
        (b"X: a\nY: b\r\n", b""),
        (b"X: a\0b\r\n", b""),
        (b"X : a\r\n", b""),
        (b"Host: other\r\n", b""),
        (b"X: " + b"a" * 40_000 + b"\r\n", b""),
    ):
        yield post + fields + b"\r\n" + body + _GET + b"\r\n"


class HttpHeads:
    """Server in this process, on its own thread, from `__enter__` to `__exit__`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kubewasp-fuzz-http", daemon=True)
        self._server = AppServer(_empty, Address(port=0), grace_seconds=1)
        self._errors = _Errors()

    def __enter__(self) -> Self:
        self._thread.start()
        self._loop.set_exception_handler(lambda _loop, context: self._errors.found.append(str(context)))
        asyncio.run_coroutine_threadsafe(self._server.start(), self._loop).result()
        logging.getLogger().addHandler(self._errors)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._server.stop(), self._loop).result()
        logging.getLogger().removeHandler(self._errors)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def check(self, data: bytes) -> None:
        """Raises AssertionError, or TimeoutError after a hang."""
        requests, is_refused = _framed(data)
        expected = requests + is_refused
        with self._connected() as client:
            responses = _Responses(client)
            _send(client, data)
            while len(responses.statuses) < expected and responses.read_one():
                pass
            client_is_done = _shut_down(client)
            while client_is_done and responses.read_one():
                pass
        # The parser may refuse an incomplete request that the framing would still wait for.
        if responses.statuses.count(200) > requests or len(responses.statuses) > requests + 1:
            raise AssertionError(f"{len(responses.statuses)} responses to {requests} requests: {data[:200]!r}")
        if self._errors.found:
            raise AssertionError(f"{self._errors.found.pop()}: {data[:200]!r}")
        with self._connected() as client:
            client.sendall(_GET + b"Connection: close\r\n\r\n")
            after = _Responses(client)
            if not after.read_one() or after.statuses != [200]:
                raise AssertionError(f"no answer to the next request: {data[:200]!r}")

    def _connected(self) -> socket.socket:
        address = self._server.address
        return socket.create_connection((address.host, address.port), timeout=_HANG_SECONDS)


@functools.cache
def _target() -> HttpHeads:
    return HttpHeads().__enter__()


def fuzz_one(data: bytes) -> None:
    """One input; the server is started with the first one and lives as long as the process."""
    _target().check(data)


async def _empty(scope: Scope, receive: Receive, send: Send) -> None:
    """Empty response after the whole body."""
    more = scope["type"] == "http"
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        more = message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body"})


def _framed(data: bytes) -> tuple[int, bool]:
    """Number of complete requests, and whether an invalid one ends them."""
    reader, pending, count = RequestReader(), bytearray(data), 0
    try:
        while True:
            if reader.expects_head:
                if reader.head(pending) is None:
                    return count, False
            elif pending:
                reader.body(pending)
            else:
                return count, False
            count += reader.expects_head
    except RequestError:
        return count, True


class _Responses:
    """Responses of one connection."""

    def __init__(self, client: socket.socket) -> None:
        self.statuses: list[int] = []
        self._client = client
        self._received = b""

    def read_one(self) -> bool:
        """Reads the next final response; False at the end of the connection."""
        while (found := self._complete()) is None:
            try:
                more = self._client.recv(65536)
            except ConnectionResetError:
                more = b""
            if not more:
                return False
            self._received += more
        status, self._received = found
        if status == 100:
            return self.read_one()
        self.statuses.append(status)
        return True

    def _complete(self) -> tuple[int, bytes] | None:
        head, end, rest = self._received.partition(b"\r\n\r\n")
        if not end:
            return None
        status, length = _STATUS.match(head), _LENGTH.search(head + b"\r\n")
        if status is None or (length is None and status[1] != b"100"):
            raise AssertionError(f"not a response: {head[:200]!r}")
        size = int(length[1]) if length is not None else 0
        return (int(status[1]), rest[size:]) if len(rest) >= size else None


class _Errors(logging.Handler):
    """Log records of errors."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record.getMessage())


def _send(client: socket.socket, data: bytes) -> None:
    try:
        client.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        return  # the server has closed the connection


def _shut_down(client: socket.socket) -> bool:
    try:
        client.shutdown(socket.SHUT_WR)
    except OSError:
        return False
    return True
