"""Connections for short requests: HTTP/1.1, kept alive, one request at a time on each (hot path: 0.14 ms a request).

A scheduler makes two requests for each pod, and nothing else it does outside of the cycle costs as much. The parser is
that of httptools; what a general client does besides (cookies, redirects, decompression, streams) is left out.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import httptools

if TYPE_CHECKING:
    import ssl

    from kubewasp.apiserver.auth import Access

CONNECT_TIMEOUT: Final = 10.0
# Shorter than the 90 s after which the API server closes an idle connection: we do not write to one it just closed.
IDLE_SECONDS: Final = 60.0

_MOST_HEADERS: Final = 256
_LENGTHS: Final = frozenset((b"content-length", b"transfer-encoding"))
# A page of 500 objects of 1.5 MiB, the most that etcd takes; whoever sends more is no API server.
_MOST_BODY_BYTES: Final = 1024 * 1024 * 1024


class ConnectError(Exception):
    """No connection could be made; its cause says why."""


class ConnectionLostError(Exception):
    """The connection ended before the answer was complete. `heard` says whether a part of it had come."""

    def __init__(self, *, heard: bool) -> None:
        super().__init__("the connection was lost")
        self.heard = heard


class NotHttpError(Exception):
    """What came is not an answer in HTTP."""


@dataclass(slots=True)
class Answer:
    """One answer. Of the headers only what is needed is kept."""

    status: int = 0
    phrase: str = ""
    retry_after: str = ""
    body: bytes = b""


class Connection(asyncio.Protocol):
    """A connection to a server. Its user must not send a request before the last one was answered."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Answer] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._answer = Answer()
        self._parts: list[bytes] = []
        self._size = self._headers = 0
        self._heard = False
        self._has_length = self._is_open_ended = False
        self.is_reusable = True
        self.idle_since = 0.0

    def send(self, request: bytes) -> asyncio.Future[Answer]:
        """Sends a request. Who does not wait for the answer must close the connection."""
        waiter: asyncio.Future[Answer] = self._loop.create_future()
        if self._transport is None or self._transport.is_closing():
            waiter.set_exception(ConnectionLostError(heard=False))
            return waiter
        self._waiter = waiter
        self._heard = False
        self._transport.write(request)
        return waiter

    def give_up(self) -> None:
        """The answer has not come in time."""
        self._fail(TimeoutError())

    def close(self) -> None:
        self.is_reusable = False
        if self._transport is not None:
            self._transport.abort()

    # ------------------------------------------------------------------ asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment] # asyncio's own types cannot say which it is

    def data_received(self, data: bytes) -> None:
        self._heard = True
        if self._waiter is None:  # nobody asked
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, NotHttpError) as error:
            self._fail(NotHttpError(str(error)))
            self.close()

    def eof_received(self) -> None:
        """An answer without a length ends with the connection: so do servers of HTTP/1.0, and some that refuse us."""
        if self._is_open_ended and self._waiter is not None:
            self.on_message_complete()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_reusable = False
        self._transport = None
        lost = ConnectionLostError(heard=self._heard)
        lost.__cause__ = error
        self._fail(lost)

    def _fail(self, error: Exception) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)

    # ------------------------------------------------------------------ the parser's callbacks

    def on_message_begin(self) -> None:
        self._answer, self._parts = Answer(), []
        self._size = self._headers = 0
        self._has_length = self._is_open_ended = False

    def on_status(self, status: bytes) -> None:
        self._answer.phrase += status.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers += 1
        if self._headers > _MOST_HEADERS:
            raise NotHttpError("too many headers")
        if len(name) == len(b"retry-after") and name.lower() == b"retry-after":
            self._answer.retry_after = value.decode("latin-1")
        elif name.lower() in _LENGTHS:
            self._has_length = True

    def on_headers_complete(self) -> None:
        self._is_open_ended = not self._has_length

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size > _MOST_BODY_BYTES:
            raise NotHttpError("the answer is too large")
        self._parts.append(body)

    def on_message_complete(self) -> None:
        answer = self._answer
        answer.status = self._parser.get_status_code()
        if answer.status < 200:  # the final answer follows
            return
        parts = self._parts
        answer.body = parts[0] if len(parts) == 1 else b"".join(parts)
        self._parts = []
        self.is_reusable = self.is_reusable and self._parser.should_keep_alive()
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(answer)


class ConnectionPool:
    """The connections that wait for a next request, by server and by how it is trusted."""

    def __init__(self) -> None:
        self._idle: dict[tuple[str, ssl.SSLContext | None, str | None], deque[Connection]] = {}
        self._all: set[Connection] = set()

    def idle(self, access: Access) -> Connection | None:
        """The connection that was used last, if one is left that can be used."""
        waiting = self._idle.get((access.server, access.ssl, access.server_name))
        while waiting:
            connection = waiting.pop()
            if _is_fresh(connection):
                return connection
            self.drop(connection)
        return None

    def _forget_old(self) -> None:
        """Of all servers and all ways to trust them: certificates are replaced while the process runs."""
        for key, waiting in list(self._idle.items()):
            while waiting and not _is_fresh(waiting[0]):
                self.drop(waiting.popleft())
            if not waiting:
                del self._idle[key]

    async def opened(self, access: Access) -> Connection:
        """A new connection; ConnectError if it cannot be made."""
        self._forget_old()
        loop = asyncio.get_running_loop()
        parts = urlsplit(access.server)
        is_tls = parts.scheme == "https"
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                _, connection = await loop.create_connection(
                    lambda: Connection(loop),
                    parts.hostname or "",
                    parts.port or (443 if is_tls else 80),
                    ssl=access.ssl if is_tls else None,
                    server_hostname=(access.server_name or parts.hostname) if is_tls else None,
                )
        except (OSError, TimeoutError, ValueError) as error:
            raise ConnectError from error
        self._all.add(connection)
        return connection

    def put_back(self, access: Access, connection: Connection) -> None:
        if not connection.is_reusable:
            self.drop(connection)
            return
        connection.idle_since = time.monotonic()
        self._idle.setdefault((access.server, access.ssl, access.server_name), deque()).append(connection)

    def drop(self, connection: Connection) -> None:
        self._all.discard(connection)
        connection.close()

    def close(self) -> None:
        for connection in list(self._all):
            self.drop(connection)
        self._idle.clear()


def _is_fresh(connection: Connection) -> bool:
    return connection.is_reusable and time.monotonic() - connection.idle_since < IDLE_SECONDS
