"""Metrics registry of a process, with exposition to Prometheus."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Final, TypeVar

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from kubewasp import __version__
from kubewasp.server.instruments import Counter, Gauge, Histogram, ReadCounter
from kubewasp.server.metric_list import METRICS

if TYPE_CHECKING:
    from collections import defaultdict
    from collections.abc import Iterable

    from prometheus_client.core import Metric

    from kubewasp.server.instruments import Distribution, Labels, Read

_INFO: Final = {metric.name: metric for metric in METRICS}
_KINDS: Final = {"counter": Counter, "histogram": Histogram, "gauge": Gauge}
Instrument = TypeVar("Instrument", Counter, ReadCounter, Histogram, Gauge)


class Metrics(Collector):
    """Metrics by the names of `metric_list`. Each scheduler of a process has its own registry.

    `counter` and `histogram` return mutable values, for hot paths to hold without a look-up.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._registered: set[str] = set()
        build: dict[Labels, float] = {(__version__, platform.python_version(), version("wasmtime")): 1.0}
        self.gauge("kubewasp_build_info", lambda: build)
        ProcessCollector(registry=self.registry)
        self.registry.register(self)

    def counter(self, name: str) -> defaultdict[Labels, float]:
        return self._add(Counter(_INFO[name])).values

    def histogram(self, name: str) -> defaultdict[Labels, Distribution]:
        return self._add(Histogram(_INFO[name])).values

    def read_counter(self, name: str, read: Read) -> None:
        """A counter of another object, read at each scrape."""
        self._add(ReadCounter(_INFO[name], read))

    def gauge(self, name: str, read: Read) -> None:
        """A gauge, read at each scrape."""
        self._add(Gauge(_INFO[name], read))

    def exposed(self, accept: str = "") -> tuple[bytes, str]:
        """All metrics in a format of the `Accept` header, text or OpenMetrics, and its content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type

    def collect(self) -> Iterable[Metric]:
        """Metrics without a source in this kind of process: name and help only."""
        for name, info in _INFO.items():
            if name not in self._registered:
                yield from _KINDS[info.kind](info).collect()

    def _add(self, instrument: Instrument) -> Instrument:
        self._registered.add(instrument.info.name)
        self.registry.register(instrument)
        return instrument
