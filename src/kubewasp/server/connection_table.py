"""Open connections of an HTTP server: their number, requests in progress, and the oldest idle connection.

Capacity is `limits.requests` plus `limits.reserved`: requests of other paths than health never take the whole of it,
so a new connection always finds an idle one to replace, or room (docs/rationale.md, "Health under attack").
"""

from __future__ import annotations

import resource
from dataclasses import dataclass, replace
from typing import Final, Protocol

from kubewasp.server.http_framing import MAX_HEAD_BYTES

# Bytes of a body between socket and application: uvicorn's high-water mark and one read of asyncio.
HELD_PER_BODY: Final = (64 + 256) * 1024
# Open files left to everything else: API server, guests, logs.
_OTHER_FILES: Final = 256
_LONGEST_STEP: Final = 2.0


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Limits of one HTTP server. Times in seconds, sizes in bytes."""

    requests: int = 256  # in progress, without health; also the number of connections that they need
    reserved: int = 32  # further connections
    head_bytes: int = MAX_HEAD_BYTES
    head_time: float = 10.0  # from the connection, or the end of the previous response, to the end of the head
    bodies: int = 64 * 1024 * 1024  # bytes of request bodies held by all connections
    grace: float = 10.0  # before the rates below count
    rate: int = 4 * 1024  # bytes per second of a request body, and of a response that the client does not take

    def within_open_files(self) -> HttpLimits:
        """These limits, reduced so that two servers fit into the process's limit of open files."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY:
            return self
        room = max(16, (soft - _OTHER_FILES) // 2 - self.reserved)
        return replace(self, requests=min(self.requests, room))


class Connection(Protocol):
    """Connection in the table."""

    def drop(self, reason: str) -> None:
        """Closes it at once; `ConnectionTable.removed` follows. A reason goes to the log."""

    def check(self, elapsed: float) -> None:
        """Closes it if its client is too slow. `elapsed`: seconds since the last check."""


class ConnectionTable:
    """Connections in the order in which they became idle. For the event loop."""

    def __init__(self, limits: HttpLimits, now: float) -> None:
        self.limits = limits
        self.bodies = 0  # bytes reserved for bodies
        self._idle: dict[Connection, None] = {}
        self._busy: dict[Connection, bool] = {}  # True: counts as a request
        self._requests = 0
        self._checked = now

    def __len__(self) -> int:
        return len(self._idle) + len(self._busy)

    def admit(self, connection: Connection) -> bool:
        """Takes a new connection, in place of the oldest idle one if there is no room. False: all are busy."""
        if len(self) >= self.limits.requests + self.limits.reserved and not self.drop_oldest_idle():
            return False
        self._idle[connection] = None
        return True

    def drop_oldest_idle(self) -> bool:
        oldest = next(iter(self._idle), None)
        if oldest is None:
            return False
        del self._idle[oldest]
        oldest.drop("replaced by a newer connection")
        return True

    def begin(self, connection: Connection, *, is_reserved: bool) -> bool:
        """Start of a request. False: too many are in progress. `is_reserved`: health, answered in any case."""
        if not is_reserved and self._requests >= self.limits.requests:
            return False
        self._idle.pop(connection, None)
        self._busy[connection] = not is_reserved
        self._requests += not is_reserved
        return True

    def end(self, connection: Connection) -> None:
        """End of a request; the connection is idle again."""
        if self._leave(connection):
            self._idle[connection] = None

    def removed(self, connection: Connection) -> None:
        self._idle.pop(connection, None)
        self._leave(connection)

    def reserve_body(self, length: int | None) -> int:
        """Bytes reserved for a body; 0 if the total of all bodies would be exceeded. To be given back."""
        size = HELD_PER_BODY if length is None else min(length, HELD_PER_BODY)
        if self.bodies + size > self.limits.bodies:
            return 0
        self.bodies += size
        return size

    def check(self, now: float) -> None:
        """Once a second: closes connections with clients that are too slow."""
        # A busy event loop is no fault of the clients.
        elapsed, self._checked = min(now - self._checked, _LONGEST_STEP), now
        for connection in [*self._idle, *self._busy]:
            connection.check(elapsed)

    def drop_all(self) -> None:
        for connection in [*self._idle, *self._busy]:
            connection.drop("")

    def _leave(self, connection: Connection) -> bool:
        counted = self._busy.pop(connection, None)
        self._requests -= counted is True
        return counted is not None
