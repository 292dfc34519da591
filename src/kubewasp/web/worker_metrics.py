"""Metrics of a web server with several workers: those of all of them, added up.

Counters of a worker that has ended stay in the sum, as last reported: a sum that falls would look like a restart of the
whole server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from kubewasp.server.metric_list import MetricInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from prometheus_client.samples import Sample

WORKERS: Final = MetricInfo("kubewasp_http_workers", "gauge", "Worker processes that serve requests.")
RESTARTS: Final = MetricInfo("kubewasp_http_worker_restarts_total", "counter", "Workers replaced after their end.")
# One family: name, type, help, samples; a sample: name, labels, value. As sent by a worker.
Families = list[list[Any]]
_LASTING: Final = ("counter", "histogram")
# Values that are not added up.
_CHOSEN: Final[Mapping[str, Callable[[float, float], float]]] = {
    "kubewasp_build_info": max,
    "process_max_fds": max,
    "process_start_time_seconds": min,
}


def families_of(registry: CollectorRegistry) -> Families:
    """All metrics of a registry, as data."""
    return [
        [family.name, family.type, family.documentation, list(map(_plain, family.samples))]
        for family in registry.collect()
    ]


def _plain(sample: Sample) -> list[Any]:
    return [sample.name, sample.labels, sample.value]


def lasting(families: Families) -> Families:
    """The metrics that stay in the sum after the end of their worker."""
    return [family for family in families if family[1] in _LASTING]


def added_up(reports: Iterable[Families]) -> Families:
    """One value for each name and set of labels."""
    found: dict[str, list[Any]] = {}
    for families in reports:
        for name, kind, text, samples in families:
            values = found.setdefault(name, [name, kind, text, {}])[3]
            combine = _CHOSEN.get(name)
            for sample, labels, value in samples:
                key = sample, tuple(sorted(labels.items()))
                if combine is None:
                    values[key] = values.get(key, 0.0) + value
                else:
                    values[key] = combine(values.get(key, value), value)
    return [
        [name, kind, text, [[sample, dict(labels), value] for (sample, labels), value in values.items()]]
        for name, kind, text, values in found.values()
    ]


def of_group(ready: int, restarts: int) -> Families:
    """The supervisor's own metrics."""
    return [
        [WORKERS.name, WORKERS.kind, WORKERS.help, [[WORKERS.name, {}, float(ready)]]],
        [RESTARTS.name.removesuffix("_total"), RESTARTS.kind, RESTARTS.help, [[RESTARTS.name, {}, float(restarts)]]],
    ]


def exposition(families: Families, accept: str) -> tuple[bytes, str]:
    """In the format of the Accept header, and its content type."""
    registry = CollectorRegistry()
    registry.register(_Fixed(families))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class _Fixed(Collector):
    def __init__(self, families: Families) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        for name, kind, text, samples in self._families:
            family = Metric(name, text, kind)
            for sample, labels, value in samples:
                family.add_sample(sample, labels, value)
            yield family
