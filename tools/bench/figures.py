"""Figures of one scheduler run: rate, attempt times, CPU, memory."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from kubewasp.errors import KubewaspError
from tools.bench.model import Measurement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LAYER: Final = "scheduler"
ATTEMPTS: Final = "scheduler_scheduling_attempt_duration_seconds"
_ALGORITHM: Final = "scheduler_scheduling_algorithm_duration_seconds"
_BUCKET: Final = re.compile(rf'^{ATTEMPTS}_bucket{{[^}}]*\ble="([^"]+)"[^}}]*}} (\S+)$', re.MULTILINE)


class RunError(KubewaspError):
    """A run with a wrong outcome; it has no figures."""


class TooSlowError(Exception):
    """A run beyond its time limit."""


@dataclass(frozen=True, slots=True)
class Figures:
    """One repetition: pods a second, seconds of an attempt by share, seconds of CPU a pod, bytes at the peak.

    An attempt ends when the pod is bound: on a busy API server most of this time is waiting. `algorithm` is the mean
    time to choose a node, in seconds.
    """

    SHARES: ClassVar = (0.5, 0.9, 0.99)

    rate: float
    attempts: Mapping[float, float]
    algorithm: float
    cpu: float
    memory: int


def measurements(case: Mapping[str, str | int], runs: Sequence[Figures]) -> list[Measurement]:
    """All metrics of a case, with one value per repetition."""

    def one(metric: str, unit: str, values: list[float], better: str = "lower") -> Measurement:
        return Measurement(LAYER, case, metric, unit, tuple(values), better)

    return [
        one("rate", "pods/s", [run.rate for run in runs], "higher"),
        *(
            one(f"attempt_p{round(100 * share)}", "ms", [1e3 * run.attempts[share] for run in runs])
            for share in Figures.SHARES
        ),
        one("algorithm", "ms", [1e3 * run.algorithm for run in runs]),
        one("cpu", "ms a pod", [1e3 * run.cpu for run in runs]),
        one("memory", "bytes", [float(run.memory) for run in runs]),
    ]


def quantile(share: float, values: Sequence[float]) -> float:
    """The quantile of a list of values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def histogram(metrics: str) -> dict[float, float]:
    """Cumulative attempt buckets of all results and profiles, from /metrics."""
    found: defaultdict[float, float] = defaultdict(float)
    for bound, count in _BUCKET.findall(metrics):
        found[float(bound)] += float(count)
    return dict(sorted(found.items()))


def algorithm_mean(metrics: str) -> float:
    """Mean time of the scheduling algorithm, from /metrics."""
    samples = dict(line.rsplit(" ", 1) for line in metrics.splitlines() if line.startswith(_ALGORITHM))
    if not float(samples.get(f"{_ALGORITHM}_count", 0)):
        raise RunError(f"{_ALGORITHM} has no samples")
    return float(samples[f"{_ALGORITHM}_sum"]) / float(samples[f"{_ALGORITHM}_count"])


def histogram_quantile(share: float, buckets: Mapping[float, float]) -> float:
    """Quantile as in Prometheus: linear within a bucket; above the last bound, that bound."""
    if math.inf not in buckets or not buckets[math.inf]:
        raise RunError(f"{ATTEMPTS} has no samples")
    wanted = share * buckets[math.inf]
    below, lower = 0.0, 0.0
    for bound, count in sorted(buckets.items()):
        if count >= wanted:
            return lower if math.isinf(bound) else lower + (bound - lower) * (wanted - below) / (count - below)
        below, lower = count, bound
    raise AssertionError("the last bound is infinite")
