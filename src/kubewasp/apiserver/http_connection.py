"""HTTP/1.1 connections to an API server: kept alive for short requests, one each for streams, with or without a proxy.

HOT PATH (guard: make counts): a scheduler sends two requests for each pod (0.14 ms of CPU each). The parser is that of
httptools; cookies, redirects and decompression are left out (docs/rationale.md, "Why connections of our own").
More than 400 lines: connection, streamed body and pool of one protocol.
"""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

import httptools

CONNECT_TIMEOUT: Final = 10.0
# The API server closes an idle connection after 90 s. A shorter limit here avoids requests on closing connections.
IDLE_SECONDS: Final = 60.0

_MOST_HEADERS: Final = 256
_LENGTHS: Final = frozenset((b"content-length", b"transfer-encoding"))
# A page of 500 objects of 1.5 MiB, the limit of etcd, is smaller.
_MOST_BODY_BYTES: Final = 1024 * 1024 * 1024
# A stream stops reading from its socket at this size: the rest waits in the API server.
_MOST_BUFFERED_BYTES: Final = 256 * 1024
# One buffer for each connection. Without it, asyncio allocates 256 KiB for each read: 0.03 ms where malloc maps pages.
_READ_BYTES: Final = 64 * 1024
# Detects a dead peer within about a minute: a watch may be silent for longer.
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 60_000))
_NOT_HTTP: Final = (httptools.HttpParserError, httptools.HttpParserUpgrade)


@dataclass(frozen=True, slots=True)
class Access:
    """Address of a server, its TLS context, its proxy, and the Authorization header (empty: none)."""

    server: str
    ssl: ssl.SSLContext | None = None
    server_name: str | None = None
    proxy: str | None = field(default=None, repr=False)
    authorization: str = field(default="", repr=False)


class ConnectError(Exception):
    """Failed connection attempt; `__cause__` is the reason."""


class ProxyError(Exception):
    """The proxy refused the tunnel, or is no HTTP proxy. The text never holds its address or password."""


class ConnectionLostError(Exception):
    """The connection ended before the response was complete. `began` is set once a part of it has arrived."""

    def __init__(self, *, began: bool) -> None:
        super().__init__("the connection was lost")
        self.began = began


class NotHttpError(Exception):
    """The received bytes are no HTTP response."""


@dataclass(slots=True)
class Response:
    """HTTP response with the only header in use. `stream` is set in place of `body` for a streamed response."""

    status: int = 0
    phrase: str = ""
    retry_after: str = ""
    body: bytes = b""
    stream: BodyStream | None = None


class BodyStream:
    """Body of a streamed response, with backpressure on the socket."""

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.ReadTransport) -> None:
        self._loop = loop
        self._transport = transport
        self._chunks: list[bytes] = []
        self._size = 0
        self._is_paused = self._is_ended = False
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None

    def feed(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size >= _MOST_BUFFERED_BYTES and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def end(self, error: Exception | None = None) -> None:
        """End of the body, or the error that cut it off."""
        if not self._is_ended:
            self._is_ended, self._error = True, error
            self._wake()

    async def read(self) -> bytes:
        """All bytes since the last call, at least one; empty at the end of the body."""
        while not self._chunks:
            if self._error is not None:
                raise self._error
            if self._is_ended:
                return b""
            self._reader = self._loop.create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        received = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks, self._size = [], 0
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        return received

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


class Connection(asyncio.BufferedProtocol):
    """Connection to a server, for one request at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Response] | None = None
        self._stream: BodyStream | None = None
        self._wants_stream = False
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._parser = httptools.HttpResponseParser(self)
        self._response = Response()
        self._parts: list[bytes] = []
        self._size = self._headers = 0
        self._began = self._has_length = self._is_open_ended = False
        self.is_reusable = True
        self.idle_since = 0.0

    def send(self, request: bytes) -> asyncio.Future[Response]:
        """Sends a request. A caller that stops waiting for the response must close the connection."""
        waiter: asyncio.Future[Response] = self._loop.create_future()
        if self._transport is None or self._transport.is_closing():
            waiter.set_exception(ConnectionLostError(began=False))
            return waiter
        self._waiter = waiter
        self._began = False
        self._transport.write(request)
        return waiter

    def open_stream(self, request: bytes) -> asyncio.Future[Response]:
        """As `send`, but a response of success is complete after its head: the body is its `stream`."""
        self._wants_stream = True
        return self.send(request)

    def give_up(self) -> None:
        """Fails the pending response with TimeoutError."""
        self._fail(TimeoutError())

    def close(self) -> None:
        self.is_reusable = False
        if self._transport is not None:
            self._transport.abort()

    def keep_alive(self) -> None:
        """Detects a dead peer without traffic, for streams. Short requests have their own timeout."""
        if self._transport is None:
            return
        connected: socket.socket = self._transport.get_extra_info("socket")
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEPALIVE:
            if hasattr(socket, option):  # TCP_USER_TIMEOUT: Linux only
                connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)

    async def start_tls(self, context: ssl.SSLContext, server_name: str) -> Connection:
        """TLS inside this connection, after a proxy has opened a tunnel. This object is of no use afterwards."""
        if self._transport is None:
            raise ConnectionLostError(began=True)
        inner = Connection(self._loop)
        transport = await self._loop.start_tls(self._transport, inner, context, server_hostname=server_name)
        if transport is None:  # closed meanwhile
            raise ConnectionLostError(began=True)
        inner.connection_made(transport)
        self._release()
        return inner

    # ------------------------------------------------------------------ asyncio.BufferedProtocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment] # BaseTransport in asyncio's own types

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - part of the interface
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.feed(self._buffer[:nbytes])

    def feed(self, data: bytes | memoryview) -> None:
        """Passes received bytes to the parser, which copies the body."""
        self._began = True
        if self._waiter is None and self._stream is None:  # unsolicited
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except (*_NOT_HTTP, NotHttpError) as error:
            self._fail(NotHttpError(str(error)))
            self.close()

    def eof_received(self) -> None:
        """A response without a length ends with the connection, as in HTTP/1.0."""
        if self._is_open_ended and (self._waiter is not None or self._stream is not None):
            self.on_message_complete()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_reusable = False
        lost = ConnectionLostError(began=self._began)
        lost.__cause__ = error
        self._fail(lost)
        self._release()

    def _release(self) -> None:
        """Drops the references in a circle. With TLS, 320 KiB would wait for a full run of the garbage collector."""
        self._transport = self._stream = None
        del self._parser, self._response

    def _fail(self, error: Exception) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
        if self._stream is not None:
            self._stream.end(error)

    # ------------------------------------------------------------------ callbacks of the parser

    def on_message_begin(self) -> None:
        self._response, self._parts = Response(), []
        self._size = self._headers = 0
        self._has_length = self._is_open_ended = False

    def on_status(self, status: bytes) -> None:
        self._response.phrase += status.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers += 1
        if self._headers > _MOST_HEADERS:
            raise NotHttpError("too many headers")
        if len(name) == len(b"retry-after") and name.lower() == b"retry-after":
            self._response.retry_after = value.decode("latin-1")
        elif name.lower() in _LENGTHS:
            self._has_length = True

    def on_headers_complete(self) -> None:
        self._is_open_ended = not self._has_length
        if self._wants_stream and 200 <= self._parser.get_status_code() < 300 and self._transport is not None:
            self._stream = self._response.stream = BodyStream(self._loop, self._transport)
            self._complete()

    def on_body(self, body: bytes) -> None:
        if self._stream is not None:
            self._stream.feed(body)
            return
        self._size += len(body)
        if self._size > _MOST_BODY_BYTES:
            raise NotHttpError("the answer is too large")
        self._parts.append(body)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() < 200:  # interim: the final response follows
            return
        self.is_reusable = self.is_reusable and self._parser.should_keep_alive()
        if self._stream is not None:
            self._stream.end()
            self._stream = None
            return
        self._response.body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts = []
        self._complete()

    def _complete(self) -> None:
        self._response.status = self._parser.get_status_code()
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(self._response)


_PoolKey = tuple[str, ssl.SSLContext | None, str | None, str | None]


class ConnectionPool:
    """Idle connections by server, TLS context and proxy; closes all connections, also those in use."""

    def __init__(self) -> None:
        self._idle: dict[_PoolKey, deque[Connection]] = {}
        self._all: set[Connection] = set()

    def idle(self, access: Access) -> Connection | None:
        """The most recently used idle connection, if there is a usable one."""
        waiting = self._idle.get((access.server, access.ssl, access.server_name, access.proxy))
        while waiting:
            connection = waiting.pop()
            if _is_fresh(connection):
                return connection
            self.drop(connection)
        return None

    async def opened(self, access: Access, *, for_stream: bool = False) -> Connection:
        """A new connection; ConnectError if the server or its proxy cannot be reached."""
        self._drop_stale()
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                connection = await _connect(access)
        except (OSError, TimeoutError, ValueError, ProxyError) as error:
            raise ConnectError from error
        self._all.add(connection)
        if for_stream:
            connection.keep_alive()
        return connection

    def put_back(self, access: Access, connection: Connection) -> None:
        if not connection.is_reusable:
            self.drop(connection)
            return
        connection.idle_since = time.monotonic()
        key = (access.server, access.ssl, access.server_name, access.proxy)
        self._idle.setdefault(key, deque()).append(connection)

    def drop(self, connection: Connection) -> None:
        self._all.discard(connection)
        connection.close()

    def close(self) -> None:
        for connection in list(self._all):
            self.drop(connection)
        self._idle.clear()

    def _drop_stale(self) -> None:
        """Under every key: TLS contexts are replaced while the process runs."""
        for key, waiting in list(self._idle.items()):
            while waiting and not _is_fresh(waiting[0]):
                self.drop(waiting.popleft())
            if not waiting:
                del self._idle[key]


def _is_fresh(connection: Connection) -> bool:
    return connection.is_reusable and time.monotonic() - connection.idle_since < IDLE_SECONDS


async def _connect(access: Access) -> Connection:
    server = urlsplit(access.server)
    if access.proxy is None:
        return await _dial(server, access.ssl, access.server_name)
    connection = await _dial(urlsplit(access.proxy), access.ssl, None)
    if server.scheme != "https":
        return connection  # requests name the server in their target
    try:
        await _open_tunnel(connection, server, proxy_authorization(access.proxy))
        context = access.ssl or ssl.create_default_context()
        return await connection.start_tls(context, access.server_name or server.hostname or "")
    except BaseException as error:
        connection.close()
        if isinstance(error, ConnectionLostError | NotHttpError):
            raise ProxyError("the proxy closed the connection") from None
        raise


async def _dial(address: SplitResult, context: ssl.SSLContext | None, server_name: str | None) -> Connection:
    loop = asyncio.get_running_loop()
    is_tls = address.scheme == "https"
    _, connection = await loop.create_connection(
        lambda: Connection(loop),
        address.hostname or "",
        address.port or (443 if is_tls else 80),
        ssl=(context or ssl.create_default_context()) if is_tls else None,
        server_hostname=(server_name or address.hostname) if is_tls else None,
    )
    return connection


async def _open_tunnel(connection: Connection, server: SplitResult, authorization: str) -> None:
    host = f"[{server.hostname}]" if ":" in (server.hostname or "") else server.hostname
    target = f"{host}:{server.port or 443}"
    header = f"Proxy-Authorization: {authorization}\r\n" if authorization else ""
    response = await connection.open_stream(
        f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nUser-Agent: kubewasp\r\n{header}\r\n".encode("latin-1")
    )
    if response.stream is None:
        raise ProxyError(f"the proxy answered HTTP status {response.status} {response.phrase}".rstrip())


def proxy_authorization(proxy: str) -> str:
    """Basic credentials of a proxy address such as `http://user:password@proxy:3128`; empty without a user."""
    address = urlsplit(proxy)
    if not address.username:
        return ""
    pair = f"{unquote(address.username)}:{unquote(address.password or '')}"
    return "Basic " + base64.b64encode(pair.encode()).decode("ascii")
