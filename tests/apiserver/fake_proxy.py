"""HTTP proxy on loopback: tunnels (CONNECT) and plain requests, or refusals."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.apiserver.loopback import LoopbackServer

if TYPE_CHECKING:
    import ssl


class FakeProxy(LoopbackServer):
    """`heads` has the request line and headers of each request; `refusal` is the answer to every request, if set."""

    def __init__(self, tls: ssl.SSLContext | None = None, *, refusal: bytes | None = None) -> None:
        super().__init__(tls)
        self.heads: list[str] = []
        self._refusal = refusal

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

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
