"""Server processes of the web bars: `/plain` is Python, `/cgi` a process per request, all else is wasm."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.server import logs
from kubewasp.server.connection_table import HttpLimits
from kubewasp.server.http_server import Address, AppServer, listening_sockets
from kubewasp.web import create_app, read_web_config

if TYPE_CHECKING:
    import socket

    from starlette.types import Receive, Scope, Send

BODY = b"hello, world\n"
# The smallest program of a system, with the head and the body of a CGI program.
_PROGRAM = ("/bin/echo", "Content-Type: text/plain\n\nhello, world")


async def _plain(receive: Receive, send: Send) -> None:
    """The work of the guests: reads the request, answers a line of text."""
    while (await receive()).get("more_body"):
        pass
    await _answer(BODY, send)


async def _cgi(send: Send) -> None:
    process = await asyncio.create_subprocess_exec(*_PROGRAM, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    await _answer(output.partition(b"\n\n")[2], send)


async def _answer(body: bytes, send: Send) -> None:
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _serve(document: str, listening: socket.socket) -> None:
    app = create_app(read_web_config(json.loads(document)))

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/plain":
            await _plain(receive, send)
        elif scope["path"] == "/cgi":
            await _cgi(send)
        else:
            await app(scope, receive, send)

    limits = HttpLimits(requests=2048)
    server = AppServer(either, Address(port=0), limits=limits, listening=listening, immediate=app.immediate)
    await server.start()
    logs.configure(stream=Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - access log
    gc.freeze()  # as `http serve` does
    os.write(1, f"{server.address.port}\n".encode())  # at once: the processes share standard output
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await server.stop()
    app.close()


def main(document: str, count: int) -> None:
    """Serves with so many processes; each prints the port once it is ready, and ends with standard input."""
    sockets = listening_sockets(Address(port=0), 4096, count)
    number = next((number for number in range(1, count) if not os.fork()), 0)  # before any thread and engine
    asyncio.run(_serve(document, sockets[number]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
