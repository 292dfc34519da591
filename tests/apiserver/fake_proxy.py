"""HTTP proxy on loopback: tunnels (CONNECT) and plain requests, or refusals."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import ssl
    from types import TracebackType


class FakeProxy:
    """`heads` has the request line and headers of each request; `refusal` is the answer to every request, if set."""

    def __init__(self, tls: ssl.SSLContext | None = None, *, refusal: bytes | None = None) -> None:
        self.heads: list[str] = []
        self.address = ""
        self._tls = tls
        self._refusal = refusal
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> FakeProxy:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self._tls)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head.decode())
            if self._refusal is not None:
                writer.write(self._refusal)
                await writer.drain()
                writer.close()
                return
            method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
            address = urlsplit(f"//{target}" if method == "CONNECT" else target)
            inner_reader, inner = await asyncio.open_connection(address.hostname, address.port)
            self._writers.add(inner)
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                inner.write(head)
            await asyncio.gather(_copy(reader, inner), _copy(inner_reader, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(65536):
        writer.write(chunk)
        await writer.drain()
    writer.close()
