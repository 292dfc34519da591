"""Endpoints of reloads and rollouts: status, reload, promote, abort. On loopback only, and not for web pages.

Whoever may connect from this machine (this pod) may use them, as `kubectl exec` and `kubectl port-forward` do. A page
in a browser on the same machine may not: its requests name their origin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import orjson
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from kubewasp.errors import KubewaspError
from kubewasp.server.allowed_hosts import is_loopback
from kubewasp.server.redaction import document_without_secrets

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

_HEADERS: Final = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
_MAX_NAME: Final = 256


class Reloadable(Protocol):
    """A process that can reload its configuration."""

    def reload(self, cause: str, *, forgive: bool = False) -> None: ...

    def status(self) -> Mapping[str, Any]: ...


class RolloutControl(Reloadable, Protocol):
    """A process with versions on trial."""

    async def promote(self, plugin: str = "") -> str: ...

    async def abort(self, plugin: str = "") -> str: ...


def reload_routes(process: Reloadable) -> list[Route]:
    """`GET /rollout` and `POST /reload`."""

    async def status(request: Request) -> Response:
        return _refusal(request) or _json(process.status())

    async def reload(request: Request) -> Response:
        refused = _refusal(request)
        if refused is not None:
            return refused
        process.reload("POST /reload", forgive=request.query_params.get("retry") == "true")
        return _json({"message": "reload requested"}, status=202)

    return [Route("/rollout", status), Route("/reload", reload, methods=["POST"])]


def rollout_routes(process: RolloutControl) -> list[Route]:
    """The same, and `POST /rollout/promote` and `/rollout/abort`, for the only version on trial or `?plugin=NAME`."""
    promote = _action("/rollout/promote", process.promote)
    return [*reload_routes(process), promote, _action("/rollout/abort", process.abort)]


def _action(path: str, act: Callable[[str], Awaitable[str]]) -> Route:
    async def respond(request: Request) -> Response:
        refused = _refusal(request)
        if refused is not None:
            return refused
        plugin = request.query_params.get("plugin", "")
        if len(plugin) > _MAX_NAME:
            return _text("plugin: too long", 400)
        try:
            return _json({"message": await act(plugin)})
        except KubewaspError as error:
            return _text(str(error), 409)

    return Route(path, respond, methods=["POST"])


def _refusal(request: Request) -> Response | None:
    if request.client is None or not is_loopback(request.client.host):
        return _text("available on loopback only: use kubectl exec or kubectl port-forward", 403)
    is_page = "origin" in request.headers or request.headers.get("sec-fetch-site", "none") != "none"
    return _text("not for web pages: use kubewasp rollout", 403) if is_page else None


def _json(content: Mapping[str, Any], *, status: int = 200) -> Response:
    body = orjson.dumps(document_without_secrets(dict(content)))
    return Response(body, status_code=status, media_type="application/json", headers=_HEADERS)


def _text(text: str, status: int) -> Response:
    return PlainTextResponse(f"{text}\n", status_code=status, headers=_HEADERS)
