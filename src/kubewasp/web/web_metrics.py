"""Prometheus metrics of a web server; updated on the event loop only (see server/instruments.py)."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder

from kubewasp import __version__
from kubewasp.server.instruments import Counter, Gauge, Histogram, ReadCounter
from kubewasp.server.metric_list import MetricInfo, exponential
from kubewasp.web.worker_metrics import RESTARTS, WORKERS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from kubewasp.web.guests import Guest

_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
REQUESTS: Final = MetricInfo(
    "kubewasp_http_requests_total", "counter", "Completed requests.", ("route", "method", "code")
)
SECONDS: Final = MetricInfo(
    "kubewasp_http_request_duration_seconds",
    "histogram",
    "Time from the request head to the end of the response.",
    ("route",),
    exponential(0.0005, 2, 16),
)
FAILURES: Final = MetricInfo(
    "kubewasp_http_guest_failures_total",
    "counter",
    "Requests failed by a guest: timeout, trap, memory, exit, start, abi, answer, too-large, host.",
    ("guest", "kind"),
)
IN_FLIGHT: Final = MetricInfo("kubewasp_http_requests_in_flight", "gauge", "Requests in progress.")
CREATED: Final = MetricInfo(
    "kubewasp_http_instances_created_total", "counter", "Instances created of a guest.", ("guest",)
)
IN_USE: Final = MetricInfo("kubewasp_http_instances_in_use", "gauge", "Instances in use.", ("guest",))
RELOADS: Final = MetricInfo(
    "kubewasp_http_reloads_total", "counter", "Reloads of a changed guest: success or failure.", ("guest", "result")
)
CONFIG_RELOADS: Final = MetricInfo(
    "kubewasp_http_config_reloads_total", "counter", "Reloads of the configuration: success or failure.", ("result",)
)
BUILD: Final = MetricInfo(
    "kubewasp_build_info", "gauge", "Always 1; versions are in the labels.", ("version", "python", "wasmtime")
)
WEB_METRICS: Final = (
    REQUESTS,
    SECONDS,
    FAILURES,
    IN_FLIGHT,
    CREATED,
    IN_USE,
    RELOADS,
    CONFIG_RELOADS,
    WORKERS,
    RESTARTS,
    BUILD,
)


class WebMetrics:
    """Metrics of one application, in its own registry: two applications in a process do not mix."""

    def __init__(self, guests: Callable[[], Collection[Guest]], file_reloads: Mapping[str, int]) -> None:
        """Both are read at each scrape: guests come and go with the configuration."""
        self.registry = CollectorRegistry()
        self.in_flight = 0
        self._requests = Counter(REQUESTS)
        self._seconds = Histogram(SECONDS)
        self._failures = Counter(FAILURES)
        versions = (__version__, platform.python_version(), version("wasmtime"))
        build = Gauge(BUILD, lambda: {versions: 1.0})
        in_flight = Gauge(IN_FLIGHT, lambda: {(): float(self.in_flight)})
        in_use = Gauge(IN_USE, lambda: {(guest.name,): float(guest.stats.in_use) for guest in guests()})
        created = ReadCounter(CREATED, lambda: {(guest.name,): float(guest.stats.created) for guest in guests()})
        reloads = ReadCounter(
            RELOADS,
            lambda: {(guest.name, result): float(n) for guest in guests() for result, n in guest.reloads.items()},
        )
        config = ReadCounter(CONFIG_RELOADS, lambda: {(result,): float(n) for result, n in file_reloads.items()})
        own = (self._requests, self._seconds, self._failures)
        for collector in (*own, in_flight, created, in_use, reloads, config, build):
            self.registry.register(collector)
        ProcessCollector(registry=self.registry)

    def completed(self, route: str, method: str, status: int, seconds: float) -> None:
        shown = method if method in _METHODS else "other"
        self._requests.values[route, shown, str(status)] += 1
        self._seconds.values[route,].add(seconds)

    def failed(self, guest: str, kind: str) -> None:
        self._failures.values[guest, kind] += 1

    def exposed(self, accept: str = "") -> tuple[bytes, str]:
        """Exposition in the format of the Accept header, and its content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type
