"""One request of a web server and its response: id, request for the guests, answers, access log.

HOT PATH (guard: make counts); measured by `make bars ARGS='--only web'`.
"""

from __future__ import annotations

import logging
import random
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from kubewasp.server.event_log import EventLog
from kubewasp.server.immediate import Answer
from kubewasp.web.errors import ClientError, GuestError
from kubewasp.web.http_messages import NO_BODY, OF_THE_SERVER, Headers, Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Scope

    from kubewasp.web.http_messages import Body, Response
    from kubewasp.web.web_config import RouteConfig

logger = logging.getLogger(__name__)
REQUEST_ID: Final = b"x-request-id"
NO_ROUTE: Final = "none"
_VALID_ID: Final = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
_LENGTH: Final = re.compile(rb"[0-9]{1,18}")
_CLOSED_AFTER: Final = (400, 408, 413, 503)


class Exchange:
    """One request and its response, on the event loop."""

    __slots__ = ("_headers", "id", "method", "path", "route", "scope", "sent", "status")

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.method: str = scope["method"]
        self.path = path_below(scope)
        self.route = NO_ROUTE
        self.status = 0
        self.sent = 0
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]
        given = next((value for name, value in self._headers if name == REQUEST_ID), b"")
        # Unique, not secret.
        self.id = given if _VALID_ID.fullmatch(given) else b"%032x" % random.getrandbits(128)

    @property
    def client(self) -> str:
        client = self.scope.get("client")
        return client[0] if client else ""

    def content_length(self) -> int | None:
        """Length of the request body; None if unknown. HTTP/1 requests without either header have no body."""
        headers = Headers(self._headers)
        given = headers.values(b"content-length")
        if not given:
            return None if headers.first(b"transfer-encoding") or self._is_http2 else 0
        if len(given) > 1 or not _LENGTH.fullmatch(given[0]):
            raise ClientError(400, "content-length: expected one number")
        return int(given[0])

    @property
    def _is_http2(self) -> bool:
        """HTTP/2 and newer: bodies need neither content-length nor transfer-encoding."""
        return not str(self.scope.get("http_version", "1.1")).startswith("1")

    def request(self, body: Body, route: RouteConfig, *, brief: bool = False) -> Request:
        """The request for the guests, which may change it."""
        pairs = [pair for pair in self._headers if pair[0] != REQUEST_ID]
        pairs.append((REQUEST_ID, self.id))
        scope = self.scope
        path = self.path
        matched = len(route.path.rstrip("/")) if route.is_prefix else len(path)
        return Request(
            self.method,
            scope.get("raw_path") or scope["path"].encode(),
            scope.get("query_string", b""),
            Headers(pairs),
            body,
            self.id.decode(),
            f"HTTP/{scope.get('http_version', '1.1')}",
            scope.get("scheme", "http"),
            tuple(scope.get("client") or ("", 0)),
            tuple(scope.get("server") or ("", 0)),
            scope.get("root_path", "") + path[:matched],
            path[matched:],
            brief,
        )

    # ------------------------------------------------------------------ answers

    def answer(self, response: Response, body: bytes) -> Answer:
        """A complete response of the guests."""
        has_body = response.status not in NO_BODY
        headers = self.head(response, length=b"%d" % len(body) if has_body else None)
        return self._noted(Answer(response.status, headers, body if has_body else b""))

    def head(self, response: Response, *, length: bytes | None) -> list[tuple[bytes, bytes]]:
        """Headers of a response, without those that the server sets, with its length if known and the request id."""
        headers = [pair for pair in response.headers.pairs if pair[0] not in OF_THE_SERVER]
        if length is not None:
            headers.append((b"content-length", length))
        headers.append((REQUEST_ID, self.id))
        return headers

    def refusal(self, status: int, allowed: Sequence[str] = ()) -> Answer:
        """Response to a request without a route."""
        return self._status(status, [(b"allow", ", ".join(allowed).encode())] if allowed else [])

    def failure(self, status: int) -> Answer:
        """Error response without details, which go to the log."""
        return self._status(status, [(b"connection", b"close")] if status in _CLOSED_AFTER else [])

    def _status(self, status: int, headers: list[tuple[bytes, bytes]]) -> Answer:
        body = b"%d %b\nrequest id: %b\n" % (status, HTTPStatus(status).phrase.encode(), self.id)
        first = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", b"%d" % len(body)),
            (REQUEST_ID, self.id),
        ]
        return self._noted(Answer(status, first + headers, body))

    def _noted(self, answer: Answer) -> Answer:
        self.status = answer.status
        self.sent = len(answer.body)
        return answer

    # ------------------------------------------------------------------ log

    def log_failure(self, status: int, error: Exception, *, is_late: bool = False) -> None:
        """`is_late`: after the head of the response."""
        if status < 500 or isinstance(error, ClientError):
            return
        keys: dict[str, str | int] = {"requestID": self.id.decode(), "path": self.path, "status": status}
        if isinstance(error, GuestError):
            keys |= {"guest": error.guest, "kind": error.kind, "problem": error.detail}
        logger.error("Guest failed%s", " after the response head" if is_late else "", extra=keys)

    def log_access(self, seconds: float) -> None:
        if _access.is_on:
            # Without the query string, which may hold secrets.
            fields = {
                "method": self.method,
                "path": self.path,
                "status": self.status,
                "bytes": self.sent,
                "seconds": round(seconds, 6),
                "client": self.client,
                "route": self.route,
                "requestID": self.id.decode(),
            }
            _access.write("Request", fields)


_access: Final = EventLog(logger, Exchange.log_access.__code__)


def path_below(scope: Scope) -> str:
    """Path of a request, below that where the application is mounted."""
    path: str = scope["path"]
    root = scope.get("root_path")
    return path.removeprefix(root) if root else path
