"""HTTP requests to an API server, and error texts for requests without a response. Retries and limits: `client`.

HOT PATH (guard: make counts): two requests for each pod. A GET, PUT or DELETE is sent once more, never a POST or PATCH,
if the server closes a kept-alive connection before it answers. All of ours are safe to repeat, by their
resourceVersion or uid.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode, urlsplit

from kubewasp.apiserver.api_resources import request_info
from kubewasp.apiserver.errors import (
    DISCONNECTED,
    INVALID_ANSWER,
    TIMED_OUT,
    UNREACHABLE,
    UNTRUSTED,
    ApiError,
    error_of_answer,
)
from kubewasp.apiserver.http_connection import (
    ConnectError,
    ConnectionLostError,
    ConnectionPool,
    NotHttpError,
    ProxyError,
    proxy_authorization,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from kubewasp.apiserver.http_connection import Access, Connection, Response

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
PROTOBUF_STREAM: Final = f"{PROTOBUF};stream=watch"

_MOST_HEADS: Final = 32
_REPEATABLE: Final = frozenset(("GET", "PUT", "DELETE"))
_NO_RESPONSE: Final = (ConnectError, ConnectionLostError, NotHttpError, TimeoutError, OSError, ValueError)

# By X.509 verification error of OpenSSL: expired certificate, host name mismatch, IP address mismatch.
_OTHER_HOST: Final = "the server of the kubeconfig, or its tls-server-name, must be one that the certificate names"
_OTHER_AUTHORITY: Final = "the certificate authority of the kubeconfig must be the one of this cluster"
_VERIFY_ADVICE: Final = {10: "the API server needs a new one", 62: _OTHER_HOST, 64: _OTHER_HOST}


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    target: str
    body: bytes
    content_type: str
    accept: str
    timeout: float


class Transport:
    """Requests and streams over a pool of connections. Bound to the event loop of the first request.

    The observer is called for each response with method, path, status (0 without a response) and seconds.
    """

    def __init__(self, observer: Callable[[str, str, int, float], None] | None = None) -> None:
        self._observer = observer
        self._pool = ConnectionPool()
        # Prefix of the target and header lines, by their inputs.
        self._heads: dict[tuple[str, str | None, str, str, str], tuple[str, str]] = {}

    async def close(self) -> None:
        self._pool.close()

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
        """Body of a response of success; ApiError otherwise."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        status = 0
        target = f"{path}?{urlencode(query)}" if query else path
        request = _Request(method, target, body, content_type if body else "", accept, timeout)
        try:
            response = await self._exchange(access, request)
            status = response.status
        except _NO_RESPONSE as error:
            raise _no_response(error, access, method, path, query) from error
        finally:
            if self._observer is not None:
                self._observer(method, path, status, loop.time() - began)
        if status < 300:
            return response.body
        raise _refused(response, method, path, query)

    async def stream(
        self, access: Access, path: str, *, query: Mapping[str, str], timeout: float
    ) -> AsyncGenerator[bytes, None]:
        """Bytes of a watch as they arrive, until the server ends it; ApiError if it breaks.

        The first chunk is empty: the server has accepted the watch. Each stream has its own connection.
        """
        method = "GET"
        loop = asyncio.get_running_loop()
        began = loop.time()
        request = _Request(method, f"{path}?{urlencode(query)}", b"", "", PROTOBUF_STREAM, timeout)
        try:
            connection = await self._pool.opened(access, for_stream=True)
            timer = loop.call_later(timeout, connection.give_up)
            try:
                response = await connection.open_stream(self._encoded(access, request))
                if self._observer is not None:
                    self._observer(method, path, response.status, loop.time() - began)
                if response.stream is None:
                    raise _refused(response, method, path, query)
                yield b""
                while chunk := await response.stream.read():
                    yield chunk
            finally:
                timer.cancel()
                self._pool.drop(connection)
        except _NO_RESPONSE as error:
            raise _no_response(error, access, method, path, query) from error

    async def _exchange(self, access: Access, request: _Request) -> Response:
        connection = self._pool.idle(access)
        if connection is not None:
            try:
                return await self._exchange_on(access, connection, request)
            except ConnectionLostError as error:
                if error.began or request.method not in _REPEATABLE:
                    raise
        return await self._exchange_on(access, await self._pool.opened(access), request)

    async def _exchange_on(self, access: Access, connection: Connection, request: _Request) -> Response:
        timer = asyncio.get_running_loop().call_later(request.timeout, connection.give_up)
        try:
            response = await connection.send(self._encoded(access, request))
        except BaseException:
            self._pool.drop(connection)  # a late response would answer the next request
            raise
        finally:
            timer.cancel()
        self._pool.put_back(access, connection)
        return response

    def _encoded(self, access: Access, request: _Request) -> bytes:
        key = (access.server, access.proxy, access.authorization, request.content_type, request.accept)
        head = self._heads.get(key)
        if head is None:
            if len(self._heads) >= _MOST_HEADS:
                self._heads.clear()  # tokens change
            head = self._heads[key] = _head(access, request)
        body = request.body
        length = f"Content-Length: {len(body)}\r\n" if body or request.method != "GET" else ""
        return f"{request.method} {head[0]}{request.target} HTTP/1.1\r\n{head[1]}{length}\r\n".encode("latin-1") + body


def _head(access: Access, request: _Request) -> tuple[str, str]:
    """Prefix of the target, and header lines."""
    server = urlsplit(access.server)
    prefix = server.path.rstrip("/")
    # No compression: it costs both sides more CPU than it saves on a network between machines of a rack.
    headers = {
        "Host": server.netloc,
        "Accept": request.accept,
        "Accept-Encoding": "identity",
        "User-Agent": "kubewasp",
        "Content-Type": request.content_type,
        "Authorization": access.authorization,
    }
    if access.proxy is not None and server.scheme == "http":
        prefix = f"http://{server.netloc}{prefix}"
        headers["Proxy-Authorization"] = proxy_authorization(access.proxy)
    return prefix, "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value)


def _refused(response: Response, method: str, path: str, query: Mapping[str, str] | None) -> ApiError:
    return error_of_answer(
        request_info(method, path, query),
        response.status,
        response.body,
        phrase=response.phrase,
        retry_after=_seconds(response.retry_after),
    )


def _seconds(text: str) -> float | None:
    """Retry-After header in seconds; the API server never sends a date."""
    return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


def _no_response(
    error: BaseException, access: Access, method: str, path: str, query: Mapping[str, str] | None
) -> ApiError:
    request, server = request_info(method, path, query), access.server
    if isinstance(error, ConnectError):
        reason, message, advice = _not_connected(error.__cause__, access)
        return ApiError(request, 0, reason, message, advice=advice)
    if isinstance(error, TimeoutError):
        return ApiError(request, 0, TIMED_OUT, f"{server} did not answer in time")
    if isinstance(error, ValueError):
        return ApiError(request, 0, UNREACHABLE, f"{server} is not a valid address")
    if isinstance(error, NotHttpError):
        return ApiError(request, 0, INVALID_ANSWER, f"{server} did not answer in HTTP")
    if isinstance(error, ConnectionLostError) and error.began:
        return ApiError(request, 0, DISCONNECTED, f"{server} closed the connection in the middle of its answer")
    if isinstance(error, ssl.SSLError) or isinstance(error.__cause__, ssl.SSLError):
        problem = _tls_problem(error if isinstance(error, ssl.SSLError) else error.__cause__)
        return ApiError(request, 0, DISCONNECTED, f"{server} ended the TLS connection: {problem}")
    return ApiError(request, 0, DISCONNECTED, f"{server} closed the connection without an answer")


def _not_connected(error: BaseException | None, access: Access) -> tuple[str, str, str]:
    """Reason, message and advice."""
    server = access.server
    if isinstance(error, ssl.SSLCertVerificationError):
        problem = error.verify_message.rstrip(".") or "it cannot be verified"
        advice = _VERIFY_ADVICE.get(error.verify_code, _OTHER_AUTHORITY)
        return UNTRUSTED, f"the certificate of {server} is not trusted: {problem}", advice
    if isinstance(error, ssl.SSLError):
        problem = _tls_problem(error)
        advice = "does it speak plain HTTP?" if problem == "wrong version number" else ""
        return UNTRUSTED, f"no TLS connection to {server}: {problem}", advice
    if isinstance(error, ValueError):
        return UNREACHABLE, f"{server} is not a valid address", ""
    problem = "no connection in time"
    if isinstance(error, ProxyError):
        problem = str(error)
    elif isinstance(error, OSError) and not isinstance(error, TimeoutError):
        problem = _problem(error)
    if access.proxy is not None:
        advice = "see proxy-url of the kubeconfig, or HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the environment"
        return UNREACHABLE, f"{server} cannot be reached through its proxy: {problem}", advice
    return UNREACHABLE, f"{server} cannot be reached: {problem}", "is the API server running, and is this its address?"


def _problem(error: OSError) -> str:
    """Text of the system. asyncio's own repeats the address; resolver errors have no errno."""
    if isinstance(error, socket.gaierror) or not error.errno or error.errno < 0:
        return error.strerror or "unknown reason"
    return os.strerror(error.errno)


def _tls_problem(error: BaseException | None) -> str:
    return (getattr(error, "reason", None) or "unknown reason").replace("_", " ").lower()
