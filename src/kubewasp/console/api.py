"""HTTP side of the API: routes for the answers of a source, with compression, bounds and headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import Mount, Route

from kubewasp.console.api_answers import Answers, problem
from kubewasp.server.response_turns import ResponseTurns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp

    from kubewasp.console.console_source import ConsoleSource

PREFIX: Final = "/api/v1"
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_MIN_GZIP_BYTES: Final = 4096
_AT_ONCE: Final = 16


def api_routes(source: ConsoleSource) -> list[BaseRoute]:
    """Routes of the API. Routes below the same prefix with other needs, such as `/api/v1/events`, come before them."""
    answers = Answers(source)

    # A plain function runs on a worker thread: no answer keeps the event loop.
    def respond(request: Request) -> Response:
        raw = request.scope.get("raw_path") or request.scope["path"].encode()
        path = raw.decode("ascii", "replace").partition("?")[0].removeprefix(PREFIX)
        found = answers.answer(path, request.scope["query_string"].decode("ascii", "replace"))
        return Response(found.body, found.status, _HEADERS, "application/json")

    middleware = [
        Middleware(ResponseTurns, exempt=(), at_once=_AT_ONCE),
        Middleware(GZipMiddleware, minimum_size=_MIN_GZIP_BYTES),
    ]
    return [Mount(PREFIX, routes=[Route("/{path:path}", respond, methods=["GET"])], middleware=middleware)]


def console_app(source: ConsoleSource, routes: Sequence[BaseRoute] = ()) -> ASGIApp:
    """ASGI app of a console of its own: `routes` are those of the page and of events, before those of the API."""
    return Starlette(routes=[*routes, *api_routes(source)], exception_handlers={HTTPException: _problem})


async def _problem(_request: Request, error: Exception) -> Response:
    code = error.status_code if isinstance(error, HTTPException) else 500
    text = "there is nothing here" if code == 404 else "the method is not allowed" if code == 405 else "cannot answer"
    found = problem(code, text, "the console is at /console/, its API at /api/v1/")
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return Response(found.body, found.status, {**headers, **_HEADERS}, "application/json")
