"""HTTP messages: headers, request and response, shared by the handlers and middlewares of a route."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from kubewasp.web.errors import GuestError

if TYPE_CHECKING:
    from collections.abc import Iterable

_TOKEN: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(rb"[^\x00-\x08\x0a-\x1f\x7f]*")
# Hop-by-hop headers: the server sets them.
_HOP_BY_HOP: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade")
)
OF_THE_SERVER: Final = _HOP_BY_HOP | {b"content-length"}
NO_BODY: Final = (204, 304)


class Body(Protocol):
    """Readable body, consumed once."""

    length: int | None

    def read(self, limit: int) -> bytes:
        """At most `limit` bytes; blocks until there are some; empty at the end."""

    @property
    def is_at_end(self) -> bool:
        """True if the end of the body is known to be reached."""


class BytesBody:
    """`Body` in memory."""

    def __init__(self, content: bytes) -> None:
        self.length: int | None = len(content)
        self._content = memoryview(content)

    def read(self, limit: int) -> bytes:
        chunk = bytes(self._content[:limit])
        self._content = self._content[limit:]
        return chunk

    @property
    def is_at_end(self) -> bool:
        return not self._content


class Sink(Protocol):
    """Destination of a response body."""

    def write(self, chunk: bytes, response: Response) -> None: ...


class Headers:
    """Ordered multi-value headers with lower-case names."""

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self.pairs = list(pairs)

    def values(self, name: bytes) -> list[bytes]:
        name = name.lower()
        return [value for known, value in self.pairs if known == name]

    def first(self, name: bytes) -> bytes | None:
        return next(iter(self.values(name)), None)

    def names(self) -> list[bytes]:
        return list(dict.fromkeys(name for name, _ in self.pairs))

    def set(self, name: bytes, value: bytes) -> None:
        self.remove(name)
        self.add(name, value)

    def add(self, name: bytes, value: bytes) -> None:
        if not _TOKEN.fullmatch(name):
            raise GuestError("answer", f"invalid header name: {name[:80]!r}")
        if not _VALUE.fullmatch(value):
            raise GuestError("answer", f"header {name.decode()}: value has a control character")
        self.pairs.append((name.lower(), value.strip(b" \t")))

    def remove(self, name: bytes) -> None:
        name = name.lower()
        self.pairs = [pair for pair in self.pairs if pair[0] != name]


@dataclass(slots=True)
class Request:
    """Request as received; middlewares may change it for the next handler."""

    method: str
    path: bytes  # percent-encoded, without the query
    query: bytes
    headers: Headers
    body: Body
    id: str = ""
    protocol: str = "HTTP/1.1"
    scheme: str = "http"
    client: tuple[str, int] = ("", 0)
    server: tuple[str, int] = ("", 0)
    script: str = ""  # decoded path up to the end of the route's path or prefix (SCRIPT_NAME)
    path_info: str = ""  # decoded rest of the path (PATH_INFO)
    brief: bool = False  # on the event loop: guests must be quick and must not wait (OverrunError)

    @property
    def target(self) -> bytes:
        return (self.path or b"/") + (b"?" + self.query if self.query else b"")


@dataclass(slots=True)
class Response:
    """Response under construction. Body chunks go to the sink at once, unless a middleware buffers them."""

    sink: Sink
    body_limit: int
    status: int = 200
    headers: Headers = field(default_factory=Headers)
    held: bytearray | None = None
    hold_limit: int = 0
    started: bool = False
    written: int = 0
    _holders: int = 0

    def set_status(self, status: int) -> None:
        if not 200 <= status <= 599:
            raise GuestError("answer", f"status {status}: expected a number from 200 to 599")
        self.status = status

    def write(self, chunk: bytes) -> None:
        if self.held is not None:
            if len(self.held) + len(chunk) > self.hold_limit:
                raise GuestError(
                    "too-large", f"response buffered for a middleware is over the limit of {self.hold_limit} bytes"
                )
            self.held += chunk
        else:
            self._send(chunk)

    def hold(self, limit: int) -> None:
        """Buffers the body until every holder has released it."""
        self._holders += 1
        if self.held is None:
            self.held = bytearray()
            self.hold_limit = limit

    def release(self) -> None:
        self._holders -= 1
        if self._holders == 0 and self.held is not None:
            chunk, self.held = bytes(self.held), None
            self._send(chunk)

    def _send(self, chunk: bytes) -> None:
        self.written += len(chunk)
        if self.written > self.body_limit:
            raise GuestError("too-large", f"response body is over the limit of {self.body_limit} bytes")
        self.sink.write(chunk, self)
