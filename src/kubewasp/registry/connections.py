"""Connections to registries: name service, proxy, TLS, one request after another. Every step has a deadline.

`http.client` parses answers. Requests are written here: its own connections give a server all time for a header.
"""

from __future__ import annotations

import base64
import http.client
import io
import socket
import ssl
import urllib.request
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import unquote, urlsplit

from kubewasp.registry.addresses import Network, Resolver, network_of, resolve
from kubewasp.registry.errors import DeniedError, RegistryError
from kubewasp.registry.settings import Certificates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kubewasp.clock import Clock

READ_TIMEOUT: Final = 30.0
_MAX_HEAD: Final = 1 << 20  # of an answer, with all that comes before it
_BUFFER: Final = 64 << 10
_CHUNK: Final = 1 << 20
_PORTS: Final = {"http": 80, "https": 443}


class Deadline:
    """End of an operation; a single wait is limited as well."""

    def __init__(self, clock: Clock, seconds: float, read_timeout: float = READ_TIMEOUT) -> None:
        self.seconds: Final = seconds
        self._clock = clock
        self._until = clock.now() + seconds
        self._read_timeout = read_timeout

    def left(self) -> float:
        """Seconds of the next wait; TimeoutError after the end."""
        rest = self._until - self._clock.now()
        if rest <= 0:
            raise TimeoutError
        return min(rest, self._read_timeout)


@dataclass(frozen=True, slots=True)
class Server:
    """Scheme, host name and port."""

    scheme: str
    name: str
    port: int

    @classmethod
    def of(cls, scheme: str, host: str) -> Server:
        """The server of a host such as `example.com:5000` or `[::1]`."""
        found = urlsplit(f"//{host}")
        return cls(scheme, found.hostname or "", found.port or _PORTS[scheme])

    @property
    def host(self) -> str:
        """Value of a Host header."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name if self.port == _PORTS[self.scheme] else f"{name}:{self.port}"


@dataclass(frozen=True, slots=True)
class Trust:
    """The way a server is trusted: certificates, or no verification; networks it may be in, None for all."""

    certificates: Certificates = field(default_factory=Certificates)
    is_verified: bool = True
    networks: frozenset[Network] | None = None


class _TimedReader(io.RawIOBase):
    """Reading side of a connection: every wait within the deadline, and not more than `allowance` bytes."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline
        self.allowance = _MAX_HEAD

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._sock.settimeout(self._deadline.left())
        count = self._sock.recv_into(buffer)
        self.allowance -= count
        if self.allowance < 0:
            raise http.client.HTTPException("more than allowed")
        return count


class Answer:
    """Answer of a server: status and headers, and the body as it arrives."""

    def __init__(self, answer: http.client.HTTPResponse, reader: _TimedReader) -> None:
        self.status: Final = answer.status
        self._answer = answer
        self._reader = reader

    def header(self, name: str) -> str:
        """The value without blanks around it; empty if there is none, or if it is not plain text."""
        found = self._answer.headers.get(name, "").strip()
        return found if found.isascii() and found.isprintable() else ""

    def headers(self, name: str) -> list[str]:
        return [found.strip() for found in self._answer.headers.get_all(name, [])]

    @property
    def media_type(self) -> str:
        return self.header("Content-Type").partition(";")[0].strip().lower()

    @property
    def length(self) -> int | None:
        """Length of the body that is left; None if the server does not tell."""
        return self._answer.length

    @property
    def is_over(self) -> bool:
        """Whether the body was read to its end, and another request may follow."""
        return self._answer.isclosed() and not self._answer.will_close

    def read(self, limit: int) -> bytes:
        """The whole body, and at most one byte more than the limit."""
        content, buffer = bytearray(), memoryview(bytearray(min(limit + 1, _CHUNK)))
        while len(content) <= limit and (count := self.read_into(buffer[: limit + 1 - len(content)], limit)):
            content += buffer[:count]
        return bytes(content)

    def read_into(self, buffer: memoryview, limit: int) -> int:
        """Fills the buffer; 0 at the end. `limit` bounds what a server may send around the content."""
        self._reader.allowance = max(self._reader.allowance, limit * 8 + _MAX_HEAD)
        count = self._answer.readinto(buffer)
        if not count and buffer and self._answer.length:
            raise http.client.IncompleteRead(b"", self._answer.length)
        return count

    def close(self) -> None:
        self._answer.close()


class _AnswerSource:
    """What `http.client.HTTPResponse` takes for a socket."""

    def __init__(self, reader: io.BufferedReader) -> None:
        self._reader = reader

    def makefile(self, _mode: str) -> io.BufferedReader:
        return self._reader


class Connection:
    """An open connection. One request at a time; the answer has to be read before the next."""

    def __init__(
        self, sock: socket.socket, server: Server, network: Network, *, proxy_headers: Mapping[str, str] | None = None
    ) -> None:
        """`network`: of the server's address. `proxy_headers`: requests go to a proxy in plain HTTP, with these."""
        self.server: Final = server
        self.network: Final = network
        self._sock = sock
        self._proxy_headers = proxy_headers
        self.is_used = False

    def exchange(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Iterable[bytes | memoryview] | None,
        deadline: Deadline,
    ) -> Answer:
        """Sends a request and reads the head of its answer."""
        try:
            self._send(self._head(method, target, headers), deadline)
            for part in body or ():
                self._send(part, deadline)
        except (BrokenPipeError, ConnectionResetError):
            # A server may answer and close before it has read everything.
            if body is None:
                raise
        self.is_used = True
        return read_answer(self._sock, method, deadline)

    def close(self) -> None:
        self._sock.close()

    def _send(self, content: bytes | memoryview, deadline: Deadline) -> None:
        view = memoryview(content)
        while view:
            self._sock.settimeout(deadline.left())
            view = view[self._sock.send(view) :]

    def _head(self, method: str, target: str, headers: Mapping[str, str]) -> bytes:
        lines = {"Host": self.server.host, "User-Agent": "kubewasp", "Accept-Encoding": "identity", **headers}
        if self._proxy_headers is not None:
            target = f"http://{self.server.host}{target}"
            lines |= self._proxy_headers
        return request_head(method, target, lines)


def request_head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if not all(line.isascii() and line.isprintable() for line in lines) or " " in target:
        raise RegistryError("a request with characters that HTTP does not allow")
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def read_answer(sock: socket.socket, method: str, deadline: Deadline) -> Answer:
    """The head of an answer; the body is read from the result."""
    reader = _TimedReader(sock, deadline)
    source = _AnswerSource(io.BufferedReader(reader, _BUFFER))
    answer = http.client.HTTPResponse(cast("socket.socket", source), method=method)
    answer.begin()
    return Answer(answer, reader)


class Dialer:
    """Opens connections: directly, or through the proxy of the environment."""

    def __init__(self, resolver: Resolver = resolve) -> None:
        self._resolve = resolver

    def connect(self, server: Server, trust: Trust, deadline: Deadline) -> Connection:
        """OSError, ssl.SSLError and TimeoutError as the system reports them; DeniedError for a network."""
        proxy = _proxy(server)
        proxy_headers = None
        if proxy is None:
            sock, network = self._open(server, deadline, trust.networks)
        else:
            sock, _ = self._open(proxy.server, deadline, None)
            network = "public"  # the network of a server behind a proxy is the proxy's business
            proxy_headers = proxy.headers if server.scheme == "http" else None
        try:
            if proxy is not None and server.scheme == "https":
                _tunnel(sock, server, proxy, deadline)
            if server.scheme == "https":
                sock.settimeout(deadline.left())
                sock = _context(trust).wrap_socket(sock, server_hostname=server.name)
        except BaseException:
            sock.close()
            raise
        return Connection(sock, server, network, proxy_headers=proxy_headers)

    def _open(
        self, server: Server, deadline: Deadline, allowed: frozenset[Network] | None
    ) -> tuple[socket.socket, Network]:
        """A socket, and the network of its address."""
        addresses = self._resolve(server.name, server.port, deadline.left())
        if allowed is not None and not allowed.issuperset(map(network_of, addresses)):
            raise DeniedError(f"{server.host} has an address in a network that is not public")
        problem: OSError = OSError("no address")
        for address in addresses:
            try:
                sock = socket.create_connection((address, server.port), timeout=deadline.left())
            except OSError as error:
                problem = error
            else:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return sock, network_of(address)
        raise problem


@dataclass(frozen=True, slots=True)
class _Proxy:
    server: Server
    headers: Mapping[str, str] = field(repr=False)


def _proxy(server: Server) -> _Proxy | None:
    """The proxy of the environment: HTTPS_PROXY, HTTP_PROXY, NO_PROXY."""
    address = urllib.request.getproxies_environment().get(server.scheme)
    if not address or urllib.request.proxy_bypass(server.host):
        return None
    try:
        found = urlsplit(address if "://" in address else f"http://{address}")
        port = found.port or _PORTS["http"]
    except ValueError:
        found, port = urlsplit(""), 0
    if found.scheme != "http" or not found.hostname:
        raise RegistryError(f"{server.scheme.upper()}_PROXY: expected an address such as http://proxy.example.com:3128")
    headers = {}
    if found.username is not None:
        pair = f"{unquote(found.username)}:{unquote(found.password or '')}"
        headers["Proxy-Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    return _Proxy(Server("http", found.hostname, port), headers)


def _tunnel(sock: socket.socket, server: Server, proxy: _Proxy, deadline: Deadline) -> None:
    place = f"[{server.name}]:{server.port}" if ":" in server.name else f"{server.name}:{server.port}"
    sock.settimeout(deadline.left())
    sock.sendall(request_head("CONNECT", place, {"Host": place, "User-Agent": "kubewasp", **proxy.headers}))
    answer = read_answer(sock, "CONNECT", deadline)
    if answer.status != 200:
        raise OSError(None, f"the proxy answered HTTP {answer.status}")


def _context(trust: Trust) -> ssl.SSLContext:
    if trust == Trust(networks=trust.networks):
        return _default_context()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    certificates = trust.certificates
    if not trust.is_verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif certificates.ca_files:
        for file in certificates.ca_files:
            _reading(file, partial(context.load_verify_locations, file))
    else:
        context.load_default_certs()
    if certificates.cert_file:
        # The empty password keeps OpenSSL from asking for one on the terminal.
        load = partial(context.load_cert_chain, certificates.cert_file, certificates.key_file or None, password="")
        _reading(certificates.cert_file, load)
    # Private authorities often lack extensions of RFC 5280.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


@cache
def _default_context() -> ssl.SSLContext:
    """The authorities of the system; reading them takes as long as a request."""
    context = ssl.create_default_context()
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _reading(file: str, read: Callable[[], None]) -> None:
    try:
        read()
    except (ssl.SSLError, ValueError):
        raise RegistryError(f"{file}: not a valid PEM file, or its key is missing or protected by a password") from None
    except OSError as error:
        raise RegistryError(f"{file}: cannot be read: {error.strerror}") from None
