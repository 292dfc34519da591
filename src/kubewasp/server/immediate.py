"""Responses without a task: an application may answer a request at once, on the event loop, before ASGI begins.

HOT PATH (guard: make counts); measured by `make bars ARGS='--only web'`. The head was read by http_framing.py, and is
not parsed again; the response is sent in one piece. Requests with a body, an expectation or an upgrade go the way of
ASGI, and so do those whose application gives no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import Scope

    from kubewasp.server.http_framing import Head

_METHODS: Final = {name.encode(): name for name in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")}
_STATUS_LINES: Final = {int(status): f"HTTP/1.1 {int(status)} {status.phrase}\r\n".encode() for status in HTTPStatus}


class Answer(NamedTuple):
    """Complete response. Names of headers are in lower case, and `content-length` is one of them if there is a body."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def message(self, more: Iterable[tuple[bytes, bytes]], *, is_head: bool) -> bytes:
        """The bytes to send, with further headers; without the body for the method HEAD."""
        fields = b"".join([b"%b: %b\r\n" % pair for pair in (*more, *self.headers)])
        line = _STATUS_LINES.get(self.status) or b"HTTP/1.1 %d \r\n" % self.status
        return line + fields + b"\r\n" + (b"" if is_head else self.body)


# Answer to a request without a body, in the form of an ASGI scope; None, without any effect, if it takes longer.
Immediate = Callable[["Scope"], Answer | None]


def immediate_scope(head: Head, client: object, server: object, scheme: str | None) -> Scope | None:
    """ASGI scope of a request; None if the request needs the way of ASGI."""
    method = _METHODS.get(head.method)
    if method is None or not head.is_plain or head.length != 0:
        return None
    raw = head.path
    path = raw.decode("ascii")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": scheme,
        "path": unquote(path) if "%" in path else path,
        "raw_path": raw,
        "query_string": head.query,
        "root_path": "",
        "headers": head.headers(),
        "client": client,
        "server": server,
    }


def forwarded(immediate: Immediate, trusted_proxies: list[str]) -> Immediate:
    """The same with client and scheme as proxies report them, by uvicorn's middleware for ASGI."""
    if not trusted_proxies:
        return immediate
    from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware  # here: other servers need no uvicorn

    middleware = ProxyHeadersMiddleware(_nothing, trusted_proxies)

    def answer(scope: Scope) -> Answer | None:
        seen = middleware(scope, _nothing, _nothing)  # type: ignore[arg-type]
        with suppress(StopIteration):  # it waits for nothing but the application, which does nothing
            seen.send(None)
        return immediate(scope)

    return answer


async def _nothing(*_: object) -> None:
    """Application that only has its scope changed by a middleware."""
