"""HTTP towards one API server: one request, one answer (hot path), or a stream. No retries, no limits: the client's.

Requests go over connections of our own (`connection`), which take half of aiohttp's time. Watches, and whatever goes
through a proxy, are aiohttp's. Either sends a GET, PUT or DELETE once more, never a POST or PATCH, if the server closes
a connection that was kept alive before it answers; ours are all safe to repeat, by their resourceVersion or uid.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit

import aiohttp
from yarl import URL

from kubewasp.apiserver.connection import CONNECT_TIMEOUT, IDLE_SECONDS, Answer, ConnectionLostError, ConnectionPool
from kubewasp.apiserver.errors import error_of_answer
from kubewasp.apiserver.failures import NO_ANSWER, no_answer
from kubewasp.apiserver.request_info import request_info

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from kubewasp.apiserver.auth import Access
    from kubewasp.apiserver.connection import Connection
    from kubewasp.apiserver.errors import ApiError

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
PROTOBUF_STREAM: Final = f"{PROTOBUF};stream=watch"

# A dead peer is noticed after about a minute, though a watch may be silent for longer than that.
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 60_000))
_MOST_HEADER_SETS: Final = 32
_REPEATABLE: Final = frozenset(("GET", "PUT", "DELETE"))


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    target: str
    body: bytes
    content_type: str
    accept: str
    timeout: float


class Transport:
    """Connections that are kept alive; closes with `close`. Belongs to the event loop of its first request.

    The observer hears of each answer: method, path, status (0 if there was none), seconds.
    """

    def __init__(self, observer: Callable[[str, str, int, float], None] | None = None) -> None:
        self._observer = observer
        self._pool = ConnectionPool()
        self._session: aiohttp.ClientSession | None = None
        self._headers: dict[tuple[str, str, str], dict[str, str]] = {}
        self._heads: dict[tuple[str, str, str, str], tuple[str, str]] = {}  # path of the server, header lines

    async def close(self) -> None:
        self._pool.close()
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(
        self,
        access: Access,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None,
        body: bytes,
        content_type: str,
        accept: str,
        timeout: float,
    ) -> bytes:
        """The body of the answer; ApiError if it is not one of success."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        status = 0
        target = f"{path}?{urlencode(query)}" if query else path
        request = _Request(method, target, body, content_type if body else "", accept, timeout)
        exchange = self._exchange if access.proxy is None else self._exchange_by_proxy
        try:
            answer = await exchange(access, request)
            status = answer.status
        except NO_ANSWER as error:
            raise no_answer(error, access, method, path, query) from error
        finally:
            if self._observer is not None:
                self._observer(method, path, status, loop.time() - began)
        if status < 300:
            return answer.body
        raise _refused(answer, method, path, query)

    async def _exchange(self, access: Access, request: _Request) -> Answer:
        connection = self._pool.idle(access)
        if connection is not None:
            try:
                return await self._answered(access, connection, request)
            except ConnectionLostError as error:
                if error.heard or request.method not in _REPEATABLE:
                    raise
        return await self._answered(access, await self._pool.opened(access), request)

    async def _answered(self, access: Access, connection: Connection, request: _Request) -> Answer:
        timer = asyncio.get_running_loop().call_later(request.timeout, connection.give_up)
        try:
            answer = await connection.send(self._on_the_wire(access, request))
        except BaseException:
            self._pool.drop(connection)  # whatever still comes belongs to nobody
            raise
        finally:
            timer.cancel()
        self._pool.put_back(access, connection)
        return answer

    def _on_the_wire(self, access: Access, request: _Request) -> bytes:
        key = (access.server, access.authorization, request.content_type, request.accept)
        parts = self._heads.get(key)
        if parts is None:
            if len(self._heads) >= _MOST_HEADER_SETS:
                self._heads.clear()  # tokens change
            server = urlsplit(access.server)
            headers = {"Host": server.netloc, **self._header_set(*key[1:])}
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            parts = self._heads[key] = (server.path.rstrip("/"), lines)
        body = request.body
        length = f"Content-Length: {len(body)}\r\n" if body or request.method != "GET" else ""
        return (
            f"{request.method} {parts[0]}{request.target} HTTP/1.1\r\n{parts[1]}{length}\r\n".encode("latin-1") + body
        )

    async def _exchange_by_proxy(self, access: Access, request: _Request) -> Answer:
        async with self._opened().request(
            request.method,
            URL(access.server + request.target, encoded=True),
            data=request.body or None,
            headers=self._header_set(access.authorization, request.content_type, request.accept),
            timeout=aiohttp.ClientTimeout(total=request.timeout, sock_connect=CONNECT_TIMEOUT),
            allow_redirects=False,
            **_route(access),
        ) as answer:
            content = await answer.read()
        return Answer(answer.status, answer.reason or "", answer.headers.get("Retry-After", ""), content)

    async def stream(
        self, access: Access, path: str, *, query: Mapping[str, str], timeout: float
    ) -> AsyncGenerator[bytes, None]:
        """The bytes of a watch as they come; ends when the server ends it, with ApiError if it breaks.

        An empty chunk comes first, when the server has agreed.
        """
        method = "GET"
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with self._opened().request(
                method,
                URL(f"{access.server}{path}?{urlencode(query)}", encoded=True),
                headers=self._header_set(access.authorization, "", PROTOBUF_STREAM),
                timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_TIMEOUT),
                allow_redirects=False,
                **_route(access),
            ) as answer:
                if self._observer is not None:
                    self._observer(method, path, answer.status, loop.time() - began)
                if answer.status >= 300:
                    retry_after = answer.headers.get("Retry-After", "")
                    told = Answer(answer.status, answer.reason or "", retry_after, await answer.read())
                    raise _refused(told, method, path, query)
                yield b""
                async for chunk in answer.content.iter_any():
                    yield chunk
        except NO_ANSWER as error:
            raise no_answer(error, access, method, path, query) from error

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            # Without a limit here: each watch has a connection, and how many requests are under way the client says.
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS, socket_factory=_socket)
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
            )
        return self._session

    def _header_set(self, authorization: str, content_type: str, accept: str) -> dict[str, str]:
        key = (authorization, content_type, accept)
        headers = self._headers.get(key)
        if headers is None:
            if len(self._headers) >= _MOST_HEADER_SETS:
                self._headers.clear()  # tokens change
            # Without compression: it costs both sides more CPU than it saves on a network between machines of a rack.
            headers = {"Accept": accept, "Accept-Encoding": "identity", "User-Agent": "kubewasp"}
            if content_type:
                headers["Content-Type"] = content_type
            if authorization:
                headers["Authorization"] = authorization
            self._headers[key] = headers
        return headers


def _refused(answer: Answer, method: str, path: str, query: Mapping[str, str] | None) -> ApiError:
    return error_of_answer(
        request_info(method, path, query),
        answer.status,
        answer.body,
        phrase=answer.phrase,
        retry_after=_seconds(answer.retry_after),
    )


def _seconds(text: str) -> float | None:
    """Of a Retry-After header; the API server writes whole seconds, never a date."""
    return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


def _route(access: Access) -> dict[str, Any]:
    if access.ssl is None:
        return {"proxy": access.proxy}
    return {"proxy": access.proxy, "ssl": access.ssl, "server_hostname": access.server_name}


def _socket(address: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        if hasattr(socket, option):  # not every system has all of them
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
