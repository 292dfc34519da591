"""Prometheus metrics of a web server; updated on the event loop only (see server/instruments.py)."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from kubewasp import __version__
from kubewasp.server.instruments import Counter, Histogram
from kubewasp.server.metric_list import MetricInfo, exponential

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from prometheus_client.core import Metric

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
BUILD: Final = MetricInfo(
    "kubewasp_build_info", "gauge", "Always 1; versions are in the labels.", ("version", "python", "wasmtime")
)
WEB_METRICS: Final = (REQUESTS, SECONDS, FAILURES, IN_FLIGHT, CREATED, IN_USE, RELOADS, BUILD)


class _Readings(Collector):
    """Gauges and counters that are read at scrape time."""

    def __init__(self, guests: Collection[Guest], in_flight: Callable[[], int]) -> None:
        self._guests = guests
        self._in_flight = in_flight
        self._versions = (__version__, platform.python_version(), version("wasmtime"))

    def collect(self) -> Iterable[Metric]:
        guests = self._guests
        reloads: dict[tuple[str, ...], float] = {
            (guest.name, result): count for guest in guests for result, count in guest.reloads.items()
        }
        yield _with_values(_gauge(IN_FLIGHT), {(): self._in_flight()})
        yield _with_values(_counter(CREATED), {(guest.name,): guest.stats.created for guest in guests})
        yield _with_values(_gauge(IN_USE), {(guest.name,): guest.stats.in_use for guest in guests})
        yield _with_values(_counter(RELOADS), reloads)
        yield _with_values(_gauge(BUILD), {self._versions: 1})


def _gauge(info: MetricInfo) -> GaugeMetricFamily:
    return GaugeMetricFamily(info.name, info.help, labels=info.labels)


def _counter(info: MetricInfo) -> CounterMetricFamily:
    return CounterMetricFamily(info.name, info.help, labels=info.labels)


def _with_values(
    family: GaugeMetricFamily | CounterMetricFamily, values: Mapping[tuple[str, ...], float]
) -> GaugeMetricFamily | CounterMetricFamily:
    for labels, value in values.items():
        family.add_metric(labels, float(value))
    return family


class WebMetrics:
    """Metrics of one application, in a registry of its own: two applications in a process do not mix."""

    def __init__(self, guests: Collection[Guest]) -> None:
        self.registry = CollectorRegistry()
        self.in_flight = 0
        self._requests = Counter(REQUESTS)
        self._seconds = Histogram(SECONDS)
        self._failures = Counter(FAILURES)
        readings = _Readings(guests, lambda: self.in_flight)
        for collector in (self._requests, self._seconds, self._failures, readings):
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
