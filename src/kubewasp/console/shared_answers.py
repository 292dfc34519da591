"""ASGI middleware: equal requests within a second get the same answer, which is made once.

Ten pages of the same view ask at the same moment, after the same event; a running scheduler pays for one of them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from kubewasp.clock import Clock

_API: Final = "/api/"
_SECONDS: Final = 1.0
_MOST_BYTES: Final = 32 * 1024 * 1024
_MOST_QUERY: Final = 4096

_Key = tuple[str, str, bytes, bool]


class SharedAnswers:
    """Middleware for the answers of the API, except those of `own`: paths whose answers differ by viewer."""

    def __init__(self, app: ASGIApp, clock: Clock, *, own: Collection[str], seconds: float = _SECONDS) -> None:
        self._app = app
        self._clock = clock
        self._own = frozenset(own)
        self._seconds = seconds
        self._making: dict[_Key, asyncio.Task[list[Message]]] = {}
        self._made: OrderedDict[_Key, tuple[float, int, list[Message]]] = OrderedDict()
        self._size = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._is_shared(scope):
            await self._app(scope, receive, send)
            return
        for message in await self._answer(_key(scope), scope):
            await send(dict(message))

    def _is_shared(self, scope: Scope) -> bool:
        path = scope["path"]
        return (
            scope["method"] in ("GET", "HEAD")
            and path.startswith(_API)
            and path not in self._own
            and len(scope["query_string"]) <= _MOST_QUERY
        )

    async def _answer(self, key: _Key, scope: Scope) -> list[Message]:
        self._drop_old()
        made = self._made.get(key)
        if made is not None:
            return made[2]
        task = self._making.get(key)
        if task is None:
            task = self._making[key] = asyncio.create_task(self._make(dict(scope)))
            task.add_done_callback(lambda done: self._keep(key, done))
        return await asyncio.shield(task)  # others may wait for it, or ask in a moment

    async def _make(self, scope: Scope) -> list[Message]:
        messages: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def collect(message: Message) -> None:
            messages.append(message)

        await self._app(scope, receive, collect)
        return messages

    def _keep(self, key: _Key, done: asyncio.Task[list[Message]]) -> None:
        del self._making[key]
        if done.cancelled() or done.exception() is not None:
            return
        messages = done.result()
        size = sum(len(message.get("body", b"")) for message in messages)
        self._made[key] = self._clock.now() + self._seconds, size, messages
        self._size += size
        self._drop_old()

    def _drop_old(self) -> None:
        now = self._clock.now()
        while self._made:
            until, size, _ = next(iter(self._made.values()))
            if now < until and self._size <= _MOST_BYTES:
                return
            self._size -= size
            self._made.popitem(last=False)


def _key(scope: Scope) -> _Key:
    accepted: Any = next((value for name, value in scope["headers"] if name == b"accept-encoding"), b"")
    return scope["method"], scope["path"], scope["query_string"], b"gzip" in accepted
