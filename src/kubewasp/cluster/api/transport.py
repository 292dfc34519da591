"""HTTP towards one API server: one request, one answer (hot path). No retries and no limits: those are the client's.

A binding request may cost 0.4 ms of CPU. With aiohttp and TLS it takes 0.15 to 0.3 ms, so there is no connection
handling of our own; a bare asyncio protocol would take 0.1 ms. By itself aiohttp sends a GET, PUT or
DELETE once more, never a POST or PATCH, if the server closes the connection before it answers; ours are all safe to
repeat, by their resourceVersion or uid.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from kubewasp.cluster.api.errors import (
    DISCONNECTED,
    INVALID_ANSWER,
    TIMED_OUT,
    UNREACHABLE,
    UNTRUSTED,
    ApiError,
    error_of_answer,
)
from kubewasp.cluster.api.request_info import request_info

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from kubewasp.cluster.api.auth import Access

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
PROTOBUF_STREAM: Final = f"{PROTOBUF};stream=watch"

_CONNECT_TIMEOUT: Final = 10.0
# Shorter than the 90 s after which the API server closes an idle connection: we do not write to one it just closed.
_IDLE_SECONDS: Final = 60.0
# A dead peer is noticed after about a minute, though a watch may be silent for longer than that.
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 60_000))
_MOST_HEADER_SETS: Final = 32


class Transport:
    """Connections that are kept alive; closes with `close`. Belongs to the event loop of its first request.

    The observer hears of each answer: method, path, status (0 if there was none), seconds.
    """

    def __init__(self, observer: Callable[[str, str, int, float], None] | None = None) -> None:
        self._observer = observer
        self._session: aiohttp.ClientSession | None = None
        self._headers: dict[tuple[str, str, str], dict[str, str]] = {}

    async def close(self) -> None:
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
        try:
            async with self._opened().request(
                method,
                _url(access, path, query),
                data=body or None,
                headers=self._header_set(access.authorization, content_type if body else "", accept),
                timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=_CONNECT_TIMEOUT),
                allow_redirects=False,
                **_route(access),
            ) as answer:
                content = await answer.read()
                status = answer.status
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise no_answer(error, access, method, path, query) from error
        finally:
            if self._observer is not None:
                self._observer(method, path, status, loop.time() - began)
        if status < 300:
            return content
        raise _refused(answer, content, method, path, query)

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
                _url(access, path, query),
                headers=self._header_set(access.authorization, "", PROTOBUF_STREAM),
                timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=_CONNECT_TIMEOUT),
                allow_redirects=False,
                **_route(access),
            ) as answer:
                if self._observer is not None:
                    self._observer(method, path, answer.status, loop.time() - began)
                if answer.status >= 300:
                    raise _refused(answer, await answer.read(), method, path, query)
                yield b""
                async for chunk in answer.content.iter_any():
                    yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise no_answer(error, access, method, path, query) from error

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            # Without a limit here: each watch has a connection, and how many requests are under way the client says.
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS, socket_factory=_socket)
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


def no_answer(
    error: BaseException, access: Access, method: str, path: str, query: Mapping[str, str] | None
) -> ApiError:
    """What to tell of a request that got no answer."""
    request, server = request_info(method, path, query), access.server
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        problem = getattr(error.certificate_error, "verify_message", "") or "it cannot be verified"
        return ApiError(
            request,
            0,
            UNTRUSTED,
            f"the certificate of {server} is not trusted: {problem}",
            advice="the certificate authority of the kubeconfig must be the one of this cluster",
        )
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return ApiError(request, 0, UNTRUSTED, f"no TLS connection to {server}: {_tls_problem(error.os_error)}")
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        problem = "no connection in time"
        if isinstance(error, aiohttp.ClientConnectorError):
            problem = _problem(error.os_error)
        advice = "is the API server running, and is this its address?"
        return ApiError(request, 0, UNREACHABLE, f"{server} cannot be reached: {problem}", advice=advice)
    if isinstance(error, TimeoutError):
        return ApiError(request, 0, TIMED_OUT, f"{server} did not answer in time")
    if isinstance(error, aiohttp.InvalidURL | ValueError):
        return ApiError(request, 0, UNREACHABLE, f"{server} is not a valid address")
    if isinstance(error, aiohttp.ClientResponseError):
        return ApiError(request, 0, INVALID_ANSWER, f"{server} did not answer in HTTP")
    if isinstance(error, aiohttp.ClientPayloadError):
        return ApiError(request, 0, DISCONNECTED, f"{server} closed the connection in the middle of its answer")
    if isinstance(error, ssl.SSLError) or isinstance(error.__cause__, ssl.SSLError):
        return ApiError(request, 0, DISCONNECTED, f"{server} ended the TLS connection: {_tls_problem(error)}")
    return ApiError(request, 0, DISCONNECTED, f"{server} closed the connection without an answer")


def _problem(error: OSError) -> str:
    """The system's word for it. asyncio's own repeats the address; that of a name that is not found has no number."""
    if isinstance(error, socket.gaierror) or not error.errno or error.errno < 0:
        return error.strerror or "unknown reason"
    return os.strerror(error.errno)


def _tls_problem(error: BaseException) -> str:
    return (getattr(error, "reason", None) or "unknown reason").replace("_", " ").lower()


def _refused(
    answer: aiohttp.ClientResponse, content: bytes, method: str, path: str, query: Mapping[str, str] | None
) -> ApiError:
    return error_of_answer(
        request_info(method, path, query),
        answer.status,
        content,
        phrase=answer.reason or "",
        retry_after=_seconds(answer.headers.get("Retry-After")),
    )


def _seconds(text: str | None) -> float | None:
    """Of a Retry-After header; the API server writes whole seconds, never a date."""
    return float(text) if text and text.isascii() and text.isdigit() and len(text) < 6 else None


def _url(access: Access, path: str, query: Mapping[str, str] | None) -> URL:
    text = f"{access.server}{path}?{urlencode(query)}" if query else access.server + path
    return URL(text, encoded=True)


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
