"""ASGI middleware for large responses: a few at a time, in pieces that wait for the client, within a time limit.

Without it, every client that asks for the metrics and does not read them would hold a copy.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

AT_ONCE: Final = 8
SECONDS: Final = 30.0
PIECE: Final = 64 * 1024


class ResponseTurns:
    """`exempt`: first parts of paths that are answered at once, such as `livez`."""

    def __init__(
        self, app: ASGIApp, *, exempt: Collection[str], at_once: int = AT_ONCE, seconds: float = SECONDS
    ) -> None:
        self._app = app
        self._exempt = frozenset(exempt)
        self._turns = asyncio.Semaphore(at_once)
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].lstrip("/").partition("/")[0] in self._exempt:
            await self._app(scope, receive, send)
            return
        head_is_sent = False

        async def send_pieces(message: Message) -> None:
            nonlocal head_is_sent
            head_is_sent = head_is_sent or message["type"] == "http.response.start"
            body = message.get("body", b"")
            for at in range(0, len(body) - PIECE, PIECE):
                await send({**message, "body": body[at : at + PIECE], "more_body": True})
            await send(message if len(body) <= PIECE else {**message, "body": body[-(len(body) % PIECE or PIECE) :]})

        try:
            async with asyncio.timeout(self._seconds), self._turns:
                await self._app(scope, receive, send_pieces)
        except TimeoutError:
            if not head_is_sent:  # otherwise the server closes the connection: the response is incomplete
                await _unavailable(send)


async def _unavailable(send: Send) -> None:
    text = b"too many requests in progress\n"
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(text)),
        (b"retry-after", b"1"),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": text})
