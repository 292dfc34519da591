"""HTTP endpoints of a process: health, metrics, configuration in use, recent decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from kubewasp.framework.config.writing import as_document
from kubewasp.server.allowed_hosts import is_loopback
from kubewasp.server.health import ENDPOINTS, problem_of
from kubewasp.server.redaction import REDACTED, document_without_secrets
from kubewasp.server.response_turns import ResponseTurns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request

    from kubewasp.framework.config.model import Profile, SchedulerConfig
    from kubewasp.server.decisions import DecisionStore
    from kubewasp.server.health import Health

_NO_SNIFFING = {"X-Content-Type-Options": "nosniff"}
_MIN_GZIP_BYTES = 4096


class Exposed(Protocol):
    """Metrics of a process of any kind."""

    def exposed(self, accept: str = "") -> tuple[bytes, str]:
        """All metrics in a format of the `Accept` header, and its content type."""


def create_app(
    health: Health,
    metrics: Exposed,
    configuration: Callable[[], Mapping[str, Any]],
    decisions: DecisionStore | None = None,
    routes: Sequence[Route] = (),
) -> Starlette:
    """ASGI app of all endpoints. `configuration` is the content of `/configz`, see `shown_configuration`.

    `routes` are further endpoints, of this kind of process.
    """
    known = [_health_route(health, endpoint) for endpoint in ENDPOINTS]
    known += [_check_route(health, endpoint) for endpoint in ENDPOINTS]
    known += [_metrics_route(metrics), Route("/configz", lambda _: _json(configuration()))]
    if decisions is not None:
        known.append(_decisions_route(decisions))
    return Starlette(
        routes=[*known, *routes],
        middleware=[
            Middleware(ResponseTurns, exempt=ENDPOINTS),
            Middleware(GZipMiddleware, minimum_size=_MIN_GZIP_BYTES),
        ],
        exception_handlers={HTTPException: _problem},
    )


def shown_configuration(
    config: SchedulerConfig, profiles: Sequence[Profile], rollout: Mapping[str, Any] | None = None
) -> Mapping[str, Any]:
    """Content of `/configz` in the format of kube-scheduler, without credentials and without texts for guests.

    `rollout` is the state of reloads, under a name of its own.
    """
    document = document_without_secrets(as_document(config, profiles))
    for profile, shown in zip(profiles, document["profiles"], strict=True):
        for plugin in shown["pluginConfig"]:
            if plugin["name"] in profile.wasm:
                _hide_guest_texts(plugin["args"])
    shown = {"componentconfig": document}
    return shown if rollout is None else shown | {"rollout": document_without_secrets(dict(rollout))}


def _hide_guest_texts(args: dict[str, Any]) -> None:
    """A guest's configuration and arguments have any format: no pattern can find the secrets in them."""
    args["guestConfig"] = REDACTED if args["guestConfig"] else ""
    args["args"] = [REDACTED for _ in args["args"]]


def _health_route(health: Health, endpoint: str) -> Route:
    async def respond(request: Request) -> Response:
        report = health.report(endpoint, exclude=request.query_params.getlist("exclude"))
        if report.failed:  # verbose in any case
            return PlainTextResponse(report.text, status_code=500, headers=_NO_SNIFFING)
        text = report.text if "verbose" in request.query_params else "ok"
        return PlainTextResponse(text, headers=_NO_SNIFFING)

    return Route(f"/{endpoint}", respond)


def _check_route(health: Health, endpoint: str) -> Route:
    """Endpoint of a single check, such as `/readyz/ping`."""

    async def respond(request: Request) -> Response:
        check = health.check(endpoint, request.path_params["name"])
        if check is None:
            raise HTTPException(404)
        if problem_of(check):
            return PlainTextResponse("internal server error: reason withheld\n", status_code=500, headers=_NO_SNIFFING)
        return PlainTextResponse("ok", headers=_NO_SNIFFING)

    return Route(f"/{endpoint}/{{name}}", respond)


def _metrics_route(metrics: Exposed) -> Route:
    # A plain function runs on a thread: thousands of lines must not delay binds on the event loop.
    def respond(request: Request) -> Response:
        content, kind = metrics.exposed(request.headers.get("accept", ""))
        return Response(content, headers={"Content-Type": kind})

    return Route("/metrics", respond)


def _decisions_route(decisions: DecisionStore) -> Route:
    def respond(request: Request) -> Response:  # plain, as above
        # Loopback only: the port is open to probes and Prometheus, the names of all pods are not for them.
        if request.client is None or not is_loopback(request.client.host):
            text = "decisions are available on loopback only: use kubectl port-forward\n"
            return PlainTextResponse(text, status_code=403, headers=_NO_SNIFFING)
        pod = request.query_params.get("pod", "")
        if pod and "/" not in pod:
            return PlainTextResponse(f'pod: expected namespace/name, got "{pod}"\n', status_code=400)
        return Response(decisions.as_json(pod), media_type="application/json", headers=_NO_SNIFFING)

    return Route("/debug/decisions", respond)


def _json(document: Mapping[str, Any]) -> Response:
    return Response(orjson.dumps(document, default=str), media_type="application/json", headers=_NO_SNIFFING)


async def _problem(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    text = "404 page not found" if status == 404 else getattr(error, "detail", "internal server error")
    return PlainTextResponse(f"{text}\n", status_code=status, headers={**headers, **_NO_SNIFFING})
