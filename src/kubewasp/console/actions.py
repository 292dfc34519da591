"""Actions of the console: promote and abort a version on trial. The gate has checked right and CSRF token."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import orjson
from starlette.responses import Response
from starlette.routing import Route

from kubewasp.console.viewer import viewer_of
from kubewasp.errors import KubewaspError
from kubewasp.server.redaction import without_secrets

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from kubewasp.server.rollout_endpoints import RolloutControl

logger = logging.getLogger(__name__)
_MAX_NAME: Final = 256
_HEADERS: Final = {"Cache-Control": "no-store"}


def action_routes(rollout: RolloutControl) -> list[Route]:
    """`POST /api/v1/plugins/{name}/promote` and `/abort`."""
    return [_route("promote", rollout.promote), _route("abort", rollout.abort)]


def _route(action: str, act: Callable[[str], Awaitable[str]]) -> Route:
    async def respond(request: Request) -> Response:
        viewer, plugin = viewer_of(request.scope), request.path_params["name"]
        if not viewer.may_act:
            return _error(403, "no right to act")
        if request.query_params:
            return _error(400, "actions take no parameters")
        if len(plugin) > _MAX_NAME:
            return _error(400, "name: too long")
        fields = {"action": action, "plugin": plugin, "viewer": viewer.name}
        try:
            state = without_secrets(await act(plugin))
        except KubewaspError as error:
            logger.warning("Console action failed", extra={**fields, "err": str(error)})
            return _error(409, without_secrets(str(error)))
        logger.info("Console action", extra={**fields, "result": state})
        return Response(orjson.dumps({"state": state}), 200, _HEADERS, "application/json")

    return Route(f"/api/v1/plugins/{{name}}/{action}", respond, methods=["POST"])


def _error(status: int, message: str) -> Response:
    body = orjson.dumps({"error": {"code": status, "message": message, "hint": ""}})
    return Response(body, status, _HEADERS, "application/json")
