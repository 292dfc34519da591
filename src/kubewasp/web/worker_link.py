"""Channel between a web server's supervisor and one worker process: lines of JSON on a socket pair.

The supervisor asks for a stop, a reload or a report; the worker says that it is ready or why it is not, and reports.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import socket

# Metrics of a server with thousands of routes take a few megabytes.
_MAX_LINE: Final = 64 * 1024 * 1024


class WorkerLink:
    """One end of the channel. Sending to an end that has gone has no effect."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, connection: socket.socket) -> WorkerLink:
        return cls(*await asyncio.open_unix_connection(sock=connection, limit=_MAX_LINE))

    def send(self, kind: str, content: Any = None) -> None:
        if not self._writer.is_closing():
            self._writer.write(json.dumps([kind, content]).encode() + b"\n")

    async def receive(self) -> tuple[str, Any] | None:
        """The next message; None if the other end has gone."""
        try:
            line = await self._reader.readline()
        except (OSError, ValueError):  # reset, or a line over the limit
            return None
        if not line.endswith(b"\n"):
            return None
        kind, content = json.loads(line)
        return kind, content

    async def close(self) -> None:
        """Sends the rest, and closes."""
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()
