"""Accept loop of an HTTP server. asyncio's own counts neither connections nor open TLS handshakes."""

from __future__ import annotations

import asyncio
import functools
import logging
from typing import TYPE_CHECKING, Final

from kubewasp.server.http_protocol import GuardedProtocol

if TYPE_CHECKING:
    import socket

    import uvicorn
    from uvicorn.server import ServerState

    from kubewasp.server.http_protocol import Guard

# Per turn of the event loop; a new connection can send its head before this many others replace it.
_ACCEPTED_AT_ONCE: Final = 64
_PAUSE_SECONDS: Final = 0.1
_SHUTDOWN_SECONDS: Final = 2.0
logger = logging.getLogger(__name__)


class Listener:
    """Accepts connections from its construction to `close`."""

    def __init__(self, listening: socket.socket, config: uvicorn.Config, state: ServerState, guard: Guard) -> None:
        self._listening = listening
        self._config = config
        self._state = state
        self._guard = guard
        self._loop = asyncio.get_running_loop()
        self._handshakes: set[asyncio.Task[None]] = set()
        self._resumption: asyncio.TimerHandle | None = None
        listening.setblocking(False)
        self._resume()

    def close(self) -> None:
        """Ends accepting and all handshakes; open connections remain."""
        self._loop.remove_reader(self._listening)
        if self._resumption is not None:
            self._resumption.cancel()
        for task in list(self._handshakes):
            task.cancel()
        self._listening.close()

    def _resume(self) -> None:
        self._resumption = None
        self._loop.add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connection, _address = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # no file descriptor or no memory left
                self._guard.log.event("Cannot accept HTTP connections", error.errno, reason=error.strerror)
                self._guard.table.drop_oldest_idle()
                self._loop.remove_reader(self._listening)
                self._resumption = self._loop.call_later(_PAUSE_SECONDS, self._resume)
                return
            self._connect(connection)

    def _connect(self, connection: socket.socket) -> None:
        protocol = GuardedProtocol(self._config, self._state, self._guard)
        if not self._guard.table.admit(protocol):
            self._guard.log.event("HTTP connection refused", "busy", reason="all connections are busy")
            connection.close()
            return
        connection.setblocking(False)
        task = self._loop.create_task(self._shake_hands(protocol, connection))
        protocol.handshake = task
        self._handshakes.add(task)
        task.add_done_callback(functools.partial(self._connected, protocol, connection))

    async def _shake_hands(self, protocol: GuardedProtocol, connection: socket.socket) -> None:
        context = self._config.ssl
        await self._loop.connect_accepted_socket(
            lambda: protocol,
            connection,
            ssl=context,
            ssl_handshake_timeout=self._guard.table.limits.head_time if context else None,
            ssl_shutdown_timeout=_SHUTDOWN_SECONDS if context else None,
        )

    def _connected(self, protocol: GuardedProtocol, connection: socket.socket, task: asyncio.Task[None]) -> None:
        self._handshakes.discard(task)
        protocol.handshake = None
        error = None if task.cancelled() else task.exception()
        if not protocol.was_open:  # and will not learn of the end
            self._guard.table.removed(protocol)
            if connection.fileno() >= 0:
                self._loop.call_soon(connection.close)
        if error is not None and not isinstance(error, OSError):
            logger.error("HTTP connection failed", exc_info=error)
