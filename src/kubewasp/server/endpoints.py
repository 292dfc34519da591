"""What the process answers over HTTP: health, metrics, the configuration in use, and decisions."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any, Protocol

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from kubewasp.framework.config.writing import as_document
from kubewasp.server.health import ENDPOINTS, problem_of
from kubewasp.server.redaction import document_without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request

    from kubewasp.framework.config.model import Profile, SchedulerConfig
    from kubewasp.server.decisions import DecisionStore
    from kubewasp.server.health import Health

_NO_SNIFFING = {"X-Content-Type-Options": "nosniff"}
_COMPRESSED_FROM = 4096


class Exposed(Protocol):
    """Metrics of whatever kind of process."""

    def exposed(self, accept: str = "") -> tuple[bytes, str]:
        """All of them in the format that the reader asks for, and the name of that format."""


def create_app(
    health: Health,
    metrics: Exposed,
    configuration: Callable[[], Mapping[str, Any]],
    decisions: DecisionStore | None = None,
) -> Starlette:
    """`configuration` gives what `/configz` tells, see `shown_configuration`; decisions are shown if they are kept."""
    routes = [_health_route(health, endpoint) for endpoint in ENDPOINTS]
    routes += [_check_route(health, endpoint) for endpoint in ENDPOINTS]
    routes += [_metrics_route(metrics), Route("/configz", lambda _: _json(configuration()))]
    if decisions is not None:
        routes.append(_decisions_route(decisions))
    return Starlette(
        routes=routes,
        middleware=[Middleware(GZipMiddleware, minimum_size=_COMPRESSED_FROM)],
        exception_handlers={HTTPException: _problem},
    )


def shown_configuration(config: SchedulerConfig, profiles: Sequence[Profile]) -> Mapping[str, Any]:
    """The configuration as kube-scheduler shows its own, without credentials."""
    return {"componentconfig": document_without_secrets(as_document(config, profiles))}


def _health_route(health: Health, endpoint: str) -> Route:
    async def respond(request: Request) -> Response:
        report = health.report(endpoint, exclude=request.query_params.getlist("exclude"))
        if report.failed:  # told at length, whether asked for or not
            return PlainTextResponse(report.text, status_code=500, headers=_NO_SNIFFING)
        text = report.text if "verbose" in request.query_params else "ok"
        return PlainTextResponse(text, headers=_NO_SNIFFING)

    return Route(f"/{endpoint}", respond)


def _check_route(health: Health, endpoint: str) -> Route:
    """One check alone, as `/readyz/ping`."""

    async def respond(request: Request) -> Response:
        check = health.check(endpoint, request.path_params["name"])
        if check is None:
            raise HTTPException(404)
        if problem_of(check):
            return PlainTextResponse("internal server error: reason withheld\n", status_code=500, headers=_NO_SNIFFING)
        return PlainTextResponse("ok", headers=_NO_SNIFFING)

    return Route(f"/{endpoint}/{{name}}", respond)


def _metrics_route(metrics: Exposed) -> Route:
    # No coroutine, so it runs on a thread: a large scheduler has thousands of lines, and the loop has binds to send.
    def respond(request: Request) -> Response:
        content, kind = metrics.exposed(request.headers.get("accept", ""))
        return Response(content, headers={"Content-Type": kind})

    return Route("/metrics", respond)


def _decisions_route(decisions: DecisionStore) -> Route:
    def respond(request: Request) -> Response:  # no coroutine, as above
        # The names of all pods are not for everybody who can reach this port, as probes and Prometheus must.
        if request.client is None or not _is_loopback(request.client.host):
            text = "decisions are shown to this machine only: use kubectl port-forward\n"
            return PlainTextResponse(text, status_code=403, headers=_NO_SNIFFING)
        pod = request.query_params.get("pod", "")
        if pod and "/" not in pod:
            return PlainTextResponse(f'pod: expected namespace/name, got "{pod}"\n', status_code=400)
        return Response(decisions.as_json(pod), media_type="application/json", headers=_NO_SNIFFING)

    return Route("/debug/decisions", respond)


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _json(document: Mapping[str, Any]) -> Response:
    return Response(orjson.dumps(document, default=str), media_type="application/json", headers=_NO_SNIFFING)


async def _problem(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    text = "404 page not found" if status == 404 else getattr(error, "detail", "internal server error")
    return PlainTextResponse(f"{text}\n", status_code=status, headers={**headers, **_NO_SNIFFING})
