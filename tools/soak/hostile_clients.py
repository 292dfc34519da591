"""Hostile HTTP clients of one port of this machine, in a process of their own; ends when its input does.

`python -m tools.soak.hostile_clients PORT` prints the number of attacks of each kind at its end, as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import socket
import struct
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Final, Self

from tools.testbed.process import importable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
    Attack = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

# Seconds that a client keeps a connection that the server does not close; between two bytes of a slow one.
PATIENCE: Final = 30.0
_SLOWLY: Final = 1.0
_PAUSE: Final = 0.2
_HEAD: Final = b"HTTP/1.1\r\nHost: localhost\r\n"
_MEGABYTE: Final = 1 << 20


async def silence(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    """A connection without a request."""
    await reader.read()


async def half_head(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A head that never ends, a byte per second."""
    writer.write(b"GET /metrics " + _HEAD + b"X-Slow: ")
    await _drip(writer)


async def slow_body(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A body of a gigabyte, a byte per second."""
    writer.write(b"POST /metrics " + _HEAD + b"Content-Length: 1000000000\r\n\r\n")
    await _drip(writer)


async def huge_header(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A header of 8 MiB."""
    writer.write(b"GET /livez " + _HEAD + b"X-Huge: ")
    for _ in range(8):
        writer.write(b"x" * _MEGABYTE)
        await writer.drain()
    writer.write(b"\r\n\r\n")
    await reader.read()


async def many_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """20,000 header fields."""
    writer.write(b"GET /livez " + _HEAD + b"".join(b"X-%d: y\r\n" % number for number in range(20_000)) + b"\r\n")
    await reader.read()


async def huge_target(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A request target of 1 MiB."""
    writer.write(b"GET /debug/decisions?pod=" + b"%61" * (_MEGABYTE // 3) + b" " + _HEAD + b"\r\n")
    await reader.read()


async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Random bytes, and the beginning of a TLS handshake, after a good request."""
    noise = random.randbytes(4096)
    writer.write(b"GET /livez " + _HEAD + b"\r\n" + b"\x16\x03\x01\x02\x00\x01" + noise)
    await reader.read()


async def pipelined(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """1,000 requests sent ahead, whose answers are not read."""
    writer.write((b"GET /readyz?verbose " + _HEAD + b"\r\n") * 1000)
    await asyncio.sleep(PATIENCE)


async def unread_answers(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The metrics, ten times, whose answers are not read."""
    writer.write((b"GET /metrics " + _HEAD + b"\r\n") * 10)
    await asyncio.sleep(PATIENCE)


async def chunked_garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A chunked body with a size that is none, and two lengths."""
    writer.write(b"POST /livez " + _HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nZZZZ\r\nGET / ")
    await reader.read()


async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A connection that is reset in the middle of a request."""
    writer.write(b"GET /configz HTT")
    await writer.drain()
    link: socket.socket = writer.get_extra_info("socket")
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await asyncio.sleep(0.01)


# Number of clients, and seconds between two attacks of one of them. More silent connections than a server keeps open.
ATTACKS: Final[dict[Attack, tuple[int, float]]] = {
    silence: (300, _PAUSE),
    half_head: (30, _PAUSE),
    slow_body: (30, _PAUSE),
    huge_header: (1, 2.0),
    many_headers: (1, 2.0),
    huge_target: (1, 2.0),
    garbage: (2, 0.5),
    pipelined: (2, _PAUSE),
    unread_answers: (2, _PAUSE),
    chunked_garbage: (2, 0.5),
    reset: (2, 0.04),
}
NAMES: Final = tuple(attack.__name__ for attack in ATTACKS)


async def _drip(writer: asyncio.StreamWriter) -> None:
    while True:
        await writer.drain()
        await asyncio.sleep(_SLOWLY)
        writer.write(b"x")


async def client(port: int, attack: Attack, pause: float, counts: Counter[str]) -> None:
    """One client, again and again."""
    while True:
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(PATIENCE):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                counts[attack.__name__] += 1
                try:
                    await attack(reader, writer)
                finally:
                    writer.transport.abort()
        await asyncio.sleep(pause)


async def attack_until_end_of_input(port: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    clients = [
        asyncio.create_task(client(port, attack, pause, counts))
        for attack, (number, pause) in ATTACKS.items()
        for _ in range(number)
    ]
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for task in clients:
        task.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    return counts


class HostileClients:
    """The process of the clients, in a `with` block; `counts` are the attacks, after its end."""

    def __init__(self, port: int) -> None:
        self.counts: dict[str, int] = {}
        self._port = port
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.soak.hostile_clients", str(self._port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **importable()},
            start_new_session=True,  # Ctrl-C ends the soak, and it stops the clients
        )
        return self

    def stop(self) -> None:
        if self._process is None:
            return
        output, _ = self._process.communicate()
        if self._process.returncode:
            raise RuntimeError(f"the hostile clients ended with code {self._process.returncode}")
        self._process = None
        self.counts = json.loads(output)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


if __name__ == "__main__":
    text = json.dumps(asyncio.run(attack_until_end_of_input(int(sys.argv[1]))))
    with contextlib.suppress(BrokenPipeError):  # the soak was killed
        sys.stdout.write(text)
        sys.stdout.flush()
