"""Counters, histograms and gauges without locks: one dictionary look-up per observation.

The classes of prometheus-client take a lock and most of a microsecond per observation, several times per pod. Here each
set of labels is updated by one thread only, so plain numbers suffice. A scrape may be one observation behind.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.core import Metric

    from kubewasp.server.metric_list import MetricInfo

Labels = tuple[str, ...]
Read = Callable[[], Mapping[Labels, float]]


class Distribution:
    """Observations of one set of labels: counts by bucket, and their sum."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def buckets(self) -> list[tuple[str, float]]:
        """Upper bounds with cumulative counts."""
        names = [*map(floatToGoString, self._bounds), "+Inf"]
        return list(zip(names, accumulate(self._counts), strict=True))

    @property
    def sum(self) -> float:
        return self._sum

    @property
    def count(self) -> int:
        return sum(self._counts)

    def quantile(self, share: float) -> float | None:
        """An estimate, linear within a bucket; None without observations."""
        counts = self._counts.copy()
        wanted, below = share * sum(counts), 0
        if not wanted:
            return None
        for at, count in enumerate(counts):
            if count and below + count >= wanted:
                low = self._bounds[at - 1] if at else 0.0
                high = self._bounds[at] if at < len(self._bounds) else low
                return low + (high - low) * (wanted - below) / count
            below += count
        return None


class Histogram(Collector):
    """Histogram, updated by `histogram.values[labels].add(value)`; labels are created on first use."""

    def __init__(self, info: MetricInfo) -> None:
        self.info = info
        self.values: defaultdict[Labels, Distribution] = defaultdict(lambda: Distribution(info.buckets))
        if not info.labels:
            self.values[()] = Distribution(info.buckets)

    def collect(self) -> Iterable[Metric]:
        family = HistogramMetricFamily(self.info.name, self.info.help, labels=self.info.labels)
        for labels, found in list(self.values.items()):
            family.add_metric(labels, found.buckets(), found.sum)
        yield family


class Counter(Collector):
    """Counter, updated by `counter.values[labels] += 1`."""

    def __init__(self, info: MetricInfo) -> None:
        self.info = info
        self.values: defaultdict[Labels, float] = defaultdict(float)
        if not info.labels:
            self.values[()] = 0.0

    def collect(self) -> Iterable[Metric]:
        yield _counters(self.info, dict(self.values))


class ReadCounter(Collector):
    """Counter of another object, read at each scrape."""

    def __init__(self, info: MetricInfo, read: Read) -> None:
        self.info = info
        self._read = read

    def collect(self) -> Iterable[Metric]:
        yield _counters(self.info, self._read())


class Gauge(Collector):
    """Gauge, read at each scrape; no samples by default."""

    def __init__(self, info: MetricInfo, read: Read = dict) -> None:
        self.info = info
        self._read = read

    def collect(self) -> Iterable[Metric]:
        family = GaugeMetricFamily(self.info.name, self.info.help, labels=self.info.labels)
        for labels, value in self._read().items():
            family.add_metric(labels, value)
        yield family


def _counters(info: MetricInfo, values: Mapping[Labels, float]) -> CounterMetricFamily:
    family = CounterMetricFamily(info.name, info.help, labels=info.labels)
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family
