"""HTTP load generator: keep-alive connections on loopback, each with one request at a time."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field


@dataclass
class Load:
    """Outcome of a load: seconds of each request, failures, total time, CPU time of the generator and of the server."""

    seconds: list[float] = field(default_factory=list)
    failures: int = 0
    took: float = 0.0
    own_cpu: float = 0.0
    cpu: float = 0.0  # if measured

    @property
    def rate(self) -> float:
        return len(self.seconds) / self.took

    @property
    def cpu_per_request(self) -> float:
        return self.cpu / len(self.seconds)

    def percentile(self, share: float) -> float:
        return sorted(self.seconds)[min(int(len(self.seconds) * share), len(self.seconds) - 1)]


class _Client(asyncio.Protocol):
    """Repeats the same request until the end time."""

    def __init__(self, request: bytes, load: Load, until: float) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._request = request
        self._load = load
        self._until = until
        self._answer = bytearray()
        self._began = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def ask(self) -> None:
        self._began = time.perf_counter()
        self._transport.write(self._request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, separator, body = self._answer.partition(b"\r\n\r\n")
        if not separator:
            return
        at = head.lower().index(b"content-length:") + 15
        if len(body) < int(head[at:].split(b"\r\n", 1)[0]):
            return
        now = time.perf_counter()
        self._load.seconds.append(now - self._began)
        self._load.failures += not head.startswith(b"HTTP/1.1 200")
        self._answer.clear()
        if now < self._until:
            self.ask()
        elif not self.ended.done():
            self.ended.set_result(None)

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.ended.done():
            self._load.failures += 1
            self.ended.set_result(None)


async def run(host: str, port: int, path: str, *, connections: int, seconds: float) -> Load:
    """Runs the load; all connections are open before the first request."""
    load = Load()
    loop = asyncio.get_running_loop()
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n\r\n".encode()
    until = time.perf_counter() + seconds + connections / 2000
    clients = []
    for _ in range(connections):
        _, client = await loop.create_connection(lambda: _Client(request, load, until), host, port)
        clients.append(client)
    began, own = time.perf_counter(), time.process_time()
    for client in clients:
        client.ask()
    await asyncio.gather(*[client.ended for client in clients])
    load.took, load.own_cpu = time.perf_counter() - began, time.process_time() - own
    for client in clients:
        client._transport.close()
    return load


async def upload(host: str, port: int, path: str, size: int) -> int:
    """Sends a body of that size while reading the answer; returns the size of the returned body."""
    reader, writer = await asyncio.open_connection(host, port, limit=1 << 20)
    chunk = b"~" * 65536

    async def send() -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n"
        writer.write(head.encode())
        for _ in range(size // len(chunk)):
            writer.write(chunk)
            await writer.drain()

    sending = asyncio.create_task(send())
    received = 0
    while piece := await reader.read(1 << 20):
        received += piece.count(b"~")
    await sending
    writer.close()
    return received
