"""HTTP connection: uvicorn's protocol behind strict framing, limits of time and size, and a check of the host.

One request is handed over at a time; what a client sends ahead waits in the socket. Uses names of uvicorn that are
not documented (docs/rationale.md, "Limits of HTTP connections"); tests/server/test_http_protocol.py guards them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kubewasp.server.allowed_hosts import AllowedHosts, is_loopback
from kubewasp.server.http_framing import RequestError, RequestReader
from kubewasp.server.immediate import immediate_scope

if TYPE_CHECKING:
    import uvicorn
    from uvicorn.server import ServerState

    from kubewasp.server.connection_table import ConnectionTable
    from kubewasp.server.http_framing import Head
    from kubewasp.server.immediate import Immediate
    from kubewasp.server.limited_log import LimitedLog

# Pause and resume of uvicorn's writer: at least this was sent in between.
_DRAINED: Final = 48 * 1024
_REFUSED: Final = "HTTP request refused"
_DROPPED: Final = "HTTP connection closed"


@dataclass(frozen=True, slots=True)
class Guard:
    """Shared by all connections of a server."""

    table: ConnectionTable
    log: LimitedLog
    hosts: AllowedHosts = field(default_factory=AllowedHosts)
    reserved_paths: tuple[bytes, ...] = ()  # and those below them: answered however many requests are in progress
    immediate: Immediate | None = None

    def is_reserved(self, head: Head) -> bool:
        if not self.reserved_paths or head.has_body:
            return False
        return any(head.path == path or head.path.startswith(path + b"/") for path in self.reserved_paths)


class _Flow(FlowControl):
    """Reading that stays paused while it is held."""

    is_held = False

    def hold(self) -> None:
        self.is_held = True
        self.pause_reading()

    def release(self) -> None:
        self.is_held = False
        self.resume_reading()

    def resume_reading(self) -> None:
        if not self.is_held:
            super().resume_reading()


class GuardedProtocol(HttpToolsProtocol):
    """One connection, in the table from `accept` to the loss of the connection."""

    flow: _Flow

    def __init__(self, config: uvicorn.Config, state: ServerState, guard: Guard) -> None:
        super().__init__(config, state, {}, asyncio.get_running_loop())
        self.handshake: asyncio.Task[None] | None = None
        self._guard = guard
        self._limits = guard.table.limits
        self._reader = RequestReader(self._limits.head_bytes)
        self._pending = bytearray()
        self.was_open = False
        self._is_open = False
        self._is_local = False
        self._is_in_request = False  # from the head to the end of request and response
        self._reserved = 0  # bytes of the budget for bodies
        self._waited = 0.0  # seconds for the head, or for the body
        self._received = 0  # bytes of the body
        self._blocked = 0.0  # seconds with an unsent response
        self._unsent = 0
        self._drained = 0

    # ------------------------------------------------------------------ connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _Flow(transport)
        self.was_open = self._is_open = True
        self._is_local = self.server is None or is_loopback(self.server[0])

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_open = False
        self._pending.clear()
        self._give_back()
        self._guard.table.removed(self)
        super().connection_lost(exc)

    def drop(self, reason: str) -> None:
        if reason:
            self._guard.log.event(_DROPPED, reason, reason=reason)
        if self._is_open:
            self.transport.abort()
        elif self.handshake is not None:
            self.handshake.cancel()

    def check(self, elapsed: float) -> None:
        if not self._is_open:
            return  # the handshake has its own time limit
        self._check_writing(elapsed)
        if self.transport.is_closing():
            return
        limits = self._limits
        if self._is_reading_head and not self.flow.write_paused:
            self._waited += elapsed
            if self._waited > limits.head_time:
                if self._pending:
                    self._refuse(RequestError(408, f"no complete head within {limits.head_time:g} s"))
                else:
                    self.transport.close()
        elif not self._reader.expects_head and not self.flow.read_paused and not self._waits_for_continue:
            self._waited += elapsed
            if self._received < (self._waited - limits.grace) * limits.rate:
                self._refuse(RequestError(408, f"body slower than {limits.rate} bytes/s"))

    def _check_writing(self, elapsed: float) -> None:
        unsent = self.transport.get_write_buffer_size()
        self._drained += max(0, self._unsent - unsent)
        self._unsent = unsent
        self._blocked = self._blocked + elapsed if unsent else 0.0
        if not unsent:
            self._drained = 0
        if self._drained < (self._blocked - self._limits.grace) * self._limits.rate:
            self.drop(f"client takes its response slower than {self._limits.rate} bytes/s")

    # ------------------------------------------------------------------ requests

    @property
    def _is_reading_head(self) -> bool:
        return self._reader.expects_head and (self.cycle is None or self.cycle.response_complete)

    @property
    def _waits_for_continue(self) -> bool:
        return self.cycle is not None and self.cycle.waiting_for_100_continue

    def data_received(self, data: bytes) -> None:
        self._pending += data
        self._advance()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._drained += _DRAINED
        self._advance()

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._is_in_request = True

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._settle()
        if self._pending:
            self.loop.call_soon(self._advance)

    def _advance(self) -> None:
        """Hands over what belongs to the current request, or the head of the next one after it."""
        try:
            while self._pending and self._is_open and not self.transport.is_closing():
                if not self._reader.expects_head:
                    self._take_body()
                elif not self._is_reading_head or self.flow.write_paused:
                    break
                elif not self._take_head():
                    return
        except RequestError as error:
            self._refuse(error)
            return
        if self._is_open:
            self._keep()

    def _keep(self) -> None:
        """Reads on, unless something sent ahead is there."""
        if self._pending and not self.flow.is_held:
            self._hold()
        elif not self._pending and self.flow.is_held:
            self.flow.release()

    def _hold(self) -> None:
        """Keeps what was sent ahead of the response, and reads no more."""
        self.flow.hold()
        size = self._guard.table.reserve_body(len(self._pending))
        if not size:
            self.drop(f"bodies and requests sent ahead over {self._limits.bodies} bytes in total")
        self._reserved += size

    def _take_head(self) -> bool:
        found = self._reader.head(self._pending)
        if found is None:
            self._unset_keepalive_if_required()
            if self.flow.is_held:
                self.flow.release()
            return False
        head, text = found
        self._begin(head)
        if not self._answer_at_once(head):
            self._feed(text)
        elif self._pending:  # of a client that sends ahead: after the requests of others
            self.loop.call_soon(self._advance)
            self._keep()
            return False
        return True

    def _answer_at_once(self, head: Head) -> bool:
        immediate = self._guard.immediate
        scope = immediate and immediate_scope(head, self.client, self.server, self.scheme)
        answer = scope and immediate and immediate(scope)
        if not answer:
            return False
        self._unset_keepalive_if_required()
        self.transport.write(answer.message(self.server_state.default_headers, is_head=head.method == b"HEAD"))
        self.server_state.total_requests += 1
        self._settle()
        return True

    def _begin(self, head: Head) -> None:
        guard = self._guard
        if self._is_local and head.host.decode("latin-1") not in guard.hosts:
            raise RequestError(421, "host not allowed on a loopback address")
        if not guard.table.begin(self, is_reserved=guard.is_reserved(head)):
            raise RequestError(503, f"more than {self._limits.requests} requests in progress")
        self._waited, self._received = 0.0, 0
        if head.has_body:
            self._reserved = guard.table.reserve_body(head.length)
            if not self._reserved:
                raise RequestError(503, f"request bodies over {self._limits.bodies} bytes in total")

    def _take_body(self) -> None:
        piece = self._reader.body(self._pending)
        self._received += len(piece)
        self._feed(piece)
        self._settle()

    def _feed(self, data: bytes) -> None:
        """As in uvicorn, but without a log line for each refused request or upgrade."""
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            return  # the request is answered without the upgrade
        except httptools.HttpParserError:
            raise RequestError(400, "malformed request") from None

    def _settle(self) -> None:
        """After the end of the request and of its response: the connection is idle."""
        if self._is_reading_head and self._is_open:
            self._is_in_request = False
            self._waited = 0.0
            self._give_back()
            self._guard.table.end(self)

    def _give_back(self) -> None:
        self._guard.table.bodies -= self._reserved
        self._reserved = 0

    def _refuse(self, error: RequestError) -> None:
        """Answers with an error if no response has begun, and closes the connection."""
        self._guard.log.event(_REFUSED, error.reason, status=error.status, reason=error.reason)
        if self._is_in_request:
            if self.cycle.response_started:
                self.transport.abort()
                return
            self.cycle.disconnected = True  # its own response would be a second one
            self.cycle.message_event.set()
        self.transport.write(_response(error.status))
        self.transport.close()


def _response(status: int) -> bytes:
    phrase = HTTPStatus(status).phrase
    text = f"{status} {phrase}\n"
    lines = [
        f"HTTP/1.1 {status} {phrase}",
        "content-type: text/plain; charset=utf-8",
        f"content-length: {len(text)}",
        "connection: close",
        *(["retry-after: 1"] if status == HTTPStatus.SERVICE_UNAVAILABLE else []),
    ]
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode() + text.encode()
