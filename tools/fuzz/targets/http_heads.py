"""Bytes of a client of the HTTP server.

Each complete request gets one response or the connection is closed, nothing is logged as an error, and the next
connection works. Framing is computed apart from the server, so a request that its parser sees and the framing does not
(request smuggling) is one response too many.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import re
import select
import socket
import threading
from typing import TYPE_CHECKING, Final, Self

from kubewasp.server.http_framing import RequestError, RequestReader
from kubewasp.server.http_server import Address, AppServer
from tools.fuzz.labels import error_label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

_HOST: Final = b"Host: localhost\r\n"
_GET: Final = b"GET / HTTP/1.1\r\n" + _HOST
# Longer than every limit of the server, shorter than that of a worker.
_HANG_SECONDS: Final = 40.0
_STATUS: Final = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_LENGTH: Final = re.compile(rb"(?i)\r\ncontent-length: (\d+)\r\n")
# Requests that a label tells apart.
_COUNTED: Final = 3
_LOGGERS: Final = ("kubewasp.server", "uvicorn", "asyncio")


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


def one(data: bytes) -> str:
    """The server is started with the first input and lives as long as the process."""
    return _server().check(data)


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


class HttpHeads:
    """Server in this process, on its own thread, from `__enter__` to `__exit__`."""

    def __init__(self, app: ASGIApp = _empty) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kubewasp-fuzz-http", daemon=True)
        self._server = AppServer(app, Address(port=0), grace_seconds=1)
        self._errors = _Errors()

    def __enter__(self) -> Self:
        self._thread.start()
        self._loop.set_exception_handler(lambda _loop, context: self._errors.found.append(str(context)))
        asyncio.run_coroutine_threadsafe(self._server.start(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._server.stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def check(self, data: bytes) -> str:
        """Label of the outcome. Raises AssertionError, or TimeoutError after a hang."""
        requests, refusal = _framed(data)
        with self._errors:
            statuses = self._exchange(data, requests + (refusal is not None))
            after = self._exchange(_GET + b"Connection: close\r\n\r\n", 1)
        # The parser may refuse an incomplete request that the framing would still wait for.
        if statuses.count(200) > requests or len(statuses) > requests + 1:
            raise AssertionError(f"{len(statuses)} responses to {requests} requests: {data[:200]!r}")
        if self._errors.found:
            raise AssertionError(f"{self._errors.found.pop()}: {data[:200]!r}")
        if after != [200]:
            raise AssertionError(f"no answer to the next request: {data[:200]!r}")
        shown = f"{min(requests, _COUNTED)} requests, {sorted(set(statuses))}"
        return shown if refusal is None else f"{error_label(refusal)}; {shown}"

    def _exchange(self, data: bytes, expected: int) -> list[int]:
        """Statuses of the responses on one connection, which this client ends after the expected ones."""
        address = self._server.address
        with socket.create_connection((address.host, address.port), timeout=_HANG_SECONDS) as connection:
            client = _Client(connection, data)
            while (client.is_sending or len(client.statuses) < expected) and client.step():
                pass
            client.end()
            while client.step():
                pass
            return client.statuses


@functools.cache
def _server() -> HttpHeads:
    return HttpHeads().__enter__()


def _framed(data: bytes) -> tuple[int, RequestError | None]:
    """Number of complete requests, and the reason why an invalid one ends them."""
    reader, pending, count = RequestReader(), bytearray(data), 0
    try:
        while True:
            if reader.expects_head:
                if reader.head(pending) is None:
                    return count, None
            elif pending:
                reader.body(pending)
            else:
                return count, None
            count += reader.expects_head
    except RequestError as error:
        return count, error


class _Client:
    """One connection: sends and receives at the same time, as responses may come before the last request is sent."""

    def __init__(self, connection: socket.socket, data: bytes) -> None:
        self.statuses: list[int] = []
        self._connection = connection
        self._unsent = memoryview(data)
        self._received = bytearray()

    @property
    def is_sending(self) -> bool:
        return len(self._unsent) > 0

    def step(self) -> bool:
        """Sends or receives some bytes; False at the end of the connection."""
        writing = [self._connection] if self._unsent else []
        readable, writable, _ = select.select([self._connection], writing, [], _HANG_SECONDS)
        if not readable and not writable:
            raise TimeoutError("the server neither answers nor closes the connection")
        try:
            if writable:
                self._unsent = self._unsent[self._connection.send(self._unsent) :]
            if not readable:
                return True
            more = self._connection.recv(65536)
        except (BrokenPipeError, ConnectionResetError):
            return False
        self._received += more
        self._read_responses()
        return bool(more)

    def end(self) -> None:
        """Sends no more."""
        self._unsent = self._unsent[:0]
        try:
            self._connection.shutdown(socket.SHUT_WR)
        except OSError:
            return  # the server has closed the connection

    def _read_responses(self) -> None:
        at = 0
        while (end := self._received.find(b"\r\n\r\n", at) + 4) >= 4:
            head = bytes(self._received[at : end - 2])
            status, length = _STATUS.match(head), _LENGTH.search(head)
            if status is None or (length is None and status[1] != b"100"):
                raise AssertionError(f"not a response: {head[:200]!r}")
            end += int(length[1]) if length is not None else 0
            if end > len(self._received):
                break
            at = end
            if status[1] != b"100":
                self.statuses.append(int(status[1]))
        del self._received[:at]


class _Errors(logging.Handler):
    """Log records of errors, from `__enter__` to `__exit__`."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def __enter__(self) -> None:
        self.found.clear()
        for name in _LOGGERS:
            logging.getLogger(name).addHandler(self)

    def __exit__(self, *_: object) -> None:
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record.getMessage())
