"""Requests to registries: kept-alive connections, HTTPS or HTTP, authorization, redirects, errors in our own words."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urljoin, urlsplit

from kubewasp.registry.connections import Deadline, Dialer, Server, Trust
from kubewasp.registry.credentials import CredentialSource
from kubewasp.registry.errors import DeniedError, RegistryError, UnreachableError
from kubewasp.registry.references import is_host
from kubewasp.registry.settings import host_name
from kubewasp.registry.tokens import Authorizer, challenges, no_access

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kubewasp.clock import Clock
    from kubewasp.registry.connections import Answer, Connection
    from kubewasp.registry.settings import Endpoint, RegistrySettings
    from kubewasp.registry.tokens import Actions, TokenRequest

_REDIRECTS: Final = (301, 302, 303, 307, 308)
_MAX_REDIRECTS: Final = 5
_MAX_IDLE: Final = 4  # connections per server
_DRAINED: Final = 64 << 10
_NO_ANSWER: Final = (OSError, http.client.HTTPException)


class BrokenError(UnreachableError):
    """The connection ended within a request or an answer; another attempt may succeed."""


class Body(Protocol):
    """Content to send, from its beginning each time."""

    @property
    def size(self) -> int: ...

    def parts(self) -> Iterator[bytes | memoryview]: ...


@dataclass(frozen=True, slots=True)
class BytesBody:
    """Content in memory."""

    content: bytes

    @property
    def size(self) -> int:
        return len(self.content)

    def parts(self) -> Iterator[bytes]:
        yield self.content


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a registry.

    Attributes:
        method: Method of HTTP.
        target: Path and query.
        headers: Headers of this request alone.
        body: Content, if any.
        actions: Rights that it needs.
        is_repeatable: Whether it may be sent again if a kept-alive connection turns out to be closed.
    """

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: Body | None = None
    actions: Actions = "pull"
    is_repeatable: bool = True


class Transport:
    """Requests over a pool of connections. Thread-safe."""

    def __init__(self, settings: RegistrySettings, clock: Clock, dialer: Dialer | None = None) -> None:
        self._dialer = dialer or Dialer()
        self._authorizer = Authorizer(CredentialSource(settings), clock)
        self._lock = threading.Lock()
        self._idle: dict[tuple[Server, Trust], list[Connection]] = {}
        self._schemes: dict[str, str] = {}

    def close(self) -> None:
        with self._lock:
            connections = [connection for idle in self._idle.values() for connection in idle]
            self._idle.clear()
        for connection in connections:
            connection.close()

    @contextmanager
    def open(self, endpoint: Endpoint, request: Request, deadline: Deadline) -> Iterator[Answer]:
        """The answer of the registry, also one of failure. Redirects of GET and HEAD are followed."""
        with _in_our_words(endpoint.server, deadline):
            server, trust = self._server(endpoint, deadline)
            answer, connection = self._authorized(endpoint, server, trust, request, deadline)
            for _ in range(_MAX_REDIRECTS):
                if answer.status not in _REDIRECTS or request.method not in ("GET", "HEAD"):
                    break
                location = answer.header("Location")
                self._end(connection, trust, answer)
                next_server, trust, target = _redirected(endpoint, connection, location, request.target)
                is_same, server = next_server == server, next_server
                request = Request(request.method, target, request.headers)
                if is_same:
                    answer, connection = self._authorized(endpoint, server, trust, request, deadline)
                else:  # without credentials
                    answer, connection = self._send(server, trust, request, {}, deadline)
            try:
                yield answer
            except BaseException:
                connection.close()
                raise
            self._end(connection, trust, answer)

    def scheme(self, endpoint: Endpoint, deadline: Deadline) -> str:
        """`https`, or `http` for an insecure registry that does not speak TLS."""
        with _in_our_words(endpoint.server, deadline):
            return self._server(endpoint, deadline)[0].scheme

    def _server(self, endpoint: Endpoint, deadline: Deadline) -> tuple[Server, Trust]:
        trust = Trust(endpoint.certificates, is_verified=not endpoint.insecure)
        scheme = "https" if not endpoint.insecure else self._schemes.get(endpoint.server)
        if scheme is not None:
            return Server.of(scheme, endpoint.server), trust
        server = Server.of("https", endpoint.server)
        try:
            self._keep(self._dialer.connect(server, trust, deadline), trust)
        except (ssl.SSLError, ConnectionError):
            server = Server.of("http", endpoint.server)
        self._schemes[endpoint.server] = server.scheme
        return server, trust

    def _authorized(
        self, endpoint: Endpoint, server: Server, trust: Trust, request: Request, deadline: Deadline
    ) -> tuple[Answer, Connection]:
        header = self._authorizer.known(endpoint, request.actions)
        answer, connection = self._send(server, trust, request, _authorization(header), deadline)
        if answer.status != HTTPStatus.UNAUTHORIZED:
            return answer, connection
        asked = challenges(answer.headers("WWW-Authenticate"))
        self._end(connection, trust, answer)
        if header:
            self._authorizer.forget(endpoint)

        def fetch(wanted: TokenRequest, limit: int) -> tuple[int, bytes]:
            return self._token(wanted, limit, deadline)

        header = self._authorizer.answer(
            endpoint, request.actions, asked, scheme=server.scheme, fetch=fetch, own_network=connection.network
        )
        answer, connection = self._send(server, trust, request, _authorization(header), deadline)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            self._end(connection, trust, answer)
            raise DeniedError(no_access(endpoint, self._authorizer.forget(endpoint)))
        return answer, connection

    def _token(self, wanted: TokenRequest, limit: int, deadline: Deadline) -> tuple[int, bytes]:
        body = BytesBody(wanted.body) if wanted.method == "POST" else None
        request = Request(wanted.method, wanted.target, wanted.headers, body)
        with _in_our_words(wanted.server.host, deadline):
            answer, connection = self._send(wanted.server, wanted.trust, request, {}, deadline)
            content = answer.read(limit)
            self._end(connection, wanted.trust, answer)
        return answer.status, content

    def _send(
        self, server: Server, trust: Trust, request: Request, authorization: Mapping[str, str], deadline: Deadline
    ) -> tuple[Answer, Connection]:
        headers = {**request.headers, **authorization}
        if request.body is not None:
            headers["Content-Length"] = str(request.body.size)
        elif request.method not in ("GET", "HEAD"):
            headers["Content-Length"] = "0"
        while True:
            connection = self._connection(server, trust, deadline)
            was_used = connection.is_used
            parts = None if request.body is None else request.body.parts()
            try:
                return connection.exchange(request.method, request.target, headers, parts, deadline), connection
            except (http.client.RemoteDisconnected, ConnectionError):
                connection.close()
                if not was_used or not request.is_repeatable:
                    raise
                # The server had closed a kept-alive connection. Each such connection is tried once.
            except BaseException:
                connection.close()
                raise

    def _connection(self, server: Server, trust: Trust, deadline: Deadline) -> Connection:
        with self._lock:
            idle = self._idle.get((server, trust))
            if idle:
                return idle.pop()
        return self._dialer.connect(server, trust, deadline)

    def _end(self, connection: Connection, trust: Trust, answer: Answer) -> None:
        """Keeps the connection for the next request, once the rest of a short answer is read."""
        if not answer.is_over and answer.length is not None and answer.length <= _DRAINED:
            try:
                answer.read(_DRAINED)
            except _NO_ANSWER:
                connection.close()
                return
        if answer.is_over:
            self._keep(connection, trust)
        else:
            connection.close()

    def _keep(self, connection: Connection, trust: Trust) -> None:
        with self._lock:
            idle = self._idle.setdefault((connection.server, trust), [])
            if len(idle) < _MAX_IDLE:
                idle.append(connection)
                return
        connection.close()


def _redirected(endpoint: Endpoint, connection: Connection, location: str, target: str) -> tuple[Server, Trust, str]:
    """Server, trust and target of a redirect; never from HTTPS to HTTP, nor from a public network into another."""
    server = connection.server
    try:
        found = urlsplit(urljoin(f"{server.scheme}://{server.host}{target}", location))
        host = found.netloc.lower()
        is_valid = bool(location) and found.scheme in ("http", "https") and is_host(host) and " " not in location
        after = Server.of(found.scheme, host) if is_valid else None
    except ValueError:
        after = None
    if after is None:
        raise DeniedError(f"{endpoint.host} redirects to an address that is not valid")
    target = (found.path or "/") + (f"?{found.query}" if found.query else "")
    if after == server:
        return server, Trust(endpoint.certificates, is_verified=not endpoint.insecure), target
    if after.scheme != "https" and not (server.scheme == "http" and after.name == host_name(endpoint.server)):
        raise DeniedError(f"{endpoint.host} redirects to {host} without TLS")
    if after.name == host_name(endpoint.server):
        return after, Trust(endpoint.certificates, is_verified=not endpoint.insecure), target
    return after, Trust(networks=frozenset((connection.network, "public"))), target


def _authorization(header: str) -> dict[str, str]:
    return {"Authorization": header} if header else {}


@contextmanager
def _in_our_words(host: str, deadline: Deadline) -> Iterator[None]:
    try:
        yield
    except RegistryError:
        raise
    except TimeoutError:
        raise UnreachableError(f"{host} did not answer in time, at most {deadline.seconds:g} s") from None
    except _NO_ANSWER as error:
        raise _problem(error, host) from None


def _problem(error: Exception, host: str) -> RegistryError:
    if isinstance(error, ssl.SSLCertVerificationError):
        problem = error.verify_message.rstrip(".") or "it cannot be verified"
        advice = "registries.hosts[].caFile, or a file in certs.d, names its authority"
        return UnreachableError(f"the certificate of {host} is not trusted: {problem}; {advice}")
    if isinstance(error, ssl.SSLError):
        problem = (error.reason or "unknown reason").replace("_", " ").lower()
        advice = "; a registry without TLS has to be insecure in the configuration of registries"
        return UnreachableError(f"no TLS connection to {host}: {problem}{advice}")
    if isinstance(error, http.client.RemoteDisconnected | http.client.IncompleteRead | ConnectionResetError):
        return BrokenError(f"{host} closed the connection before the end of its answer")
    if isinstance(error, http.client.HTTPException):
        return UnreachableError(f"the answer of {host} is not HTTP, or its head is too long")
    if isinstance(error, BrokenPipeError | ConnectionAbortedError):
        return BrokenError(f"{host} closed the connection")
    problem = str(getattr(error, "strerror", None) or "unknown reason")
    if isinstance(error, OSError) and error.errno and not isinstance(error, socket.gaierror):
        problem = os.strerror(error.errno)
    return UnreachableError(f"{host} cannot be reached: {problem}")
