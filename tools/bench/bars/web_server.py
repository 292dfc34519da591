"""Server process of the web bars: `/plain` is Python, all else is wasm."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING

from kubewasp.server.http_server import Address, AppServer
from kubewasp.web import create_app, read_web_config

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

BODY = b"hello, world\n"


async def _plain(receive: Receive, send: Send) -> None:
    """The work of the guests: reads the request, answers a line of text."""
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(BODY)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": BODY})


async def _main(document: str) -> None:
    app = create_app(read_web_config(json.loads(document)))

    async def both(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/plain":
            await _plain(receive, send)
        else:
            await app(scope, receive, send)

    server = AppServer(both, Address(port=0), backlog=4096)
    await server.start()
    print(server.address.port, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await server.stop()
    app.close()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
