"""Generated traces: random arrivals, durations and sizes, the same for the same seed."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final, Literal

from kubewasp.lab.traces.trace_errors import TraceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Arrivals = Literal["poisson", "diurnal", "bursts"]
Durations = Literal["exponential", "heavy", "constant"]

DAY: Final = 24 * 3600.0
COLUMNS: Final = ("name", "namespace", "app", "arrival", "duration", "cpu", "memory", "gpu", "priority")
# Shares of the swing around the mean rate of a day, of pods per burst, and the tail of long durations.
_SWING: Final = 0.8
_BURST: Final = 50
_TAIL: Final = 1.5
_LONGEST: Final = 365 * DAY


@dataclass(frozen=True, slots=True)
class Size:
    """Requests of a kind of pods, and how often it comes."""

    cpu: str
    memory: str
    share: float
    gpu: int = 0


SIZES: Final = (
    Size("100m", "256Mi", 30),
    Size("500m", "1Gi", 30),
    Size("1", "4Gi", 20),
    Size("4", "8Gi", 12),
    Size("8", "32Gi", 6),
    Size("16", "64Gi", 2),
)
GPU_SIZES: Final = (Size("4", "16Gi", 8, 1), Size("16", "64Gi", 3, 2), Size("64", "256Gi", 1, 8))


@dataclass(frozen=True, slots=True)
class GeneratedTrace:
    """A workload to generate.

    Args:
        pods: Number of pods.
        rate: Mean number of pods per second.
        arrivals: `poisson` (independent), `diurnal` (more by day than by night), `bursts` (many at once).
        durations: `exponential`, `heavy` (few very long ones), `constant`.
        mean_duration: Mean in seconds.
        namespaces: Number of namespaces; the first ones have more pods.
        sizes: Kinds of pods.
        seed: Seed of all random choices.
    """

    pods: int
    rate: float = 1.0
    arrivals: Arrivals = "poisson"
    durations: Durations = "exponential"
    mean_duration: float = 3600.0
    namespaces: int = 1
    sizes: Sequence[Size] = SIZES
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in (("rate", self.rate), ("mean duration", self.mean_duration)):
            if not math.isfinite(value) or value <= 0:
                raise TraceError(f"expected a {name} above 0, got {value}")
        if self.pods < 0 or self.namespaces < 1 or not self.sizes:
            raise TraceError("a generated trace needs a number of pods, a namespace and a size")

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Rows with `COLUMNS`, in order of arrival; times in seconds."""
        chance = random.Random(self.seed)  # noqa: S311 - no secret
        arrivals = _ARRIVALS[self.arrivals](self.rate, chance)
        duration = _DURATIONS[self.durations]
        sizes, shares = list(self.sizes), [size.share for size in self.sizes]
        names = [f"team-{number}" for number in range(self.namespaces)]
        weights = [1 / number for number in range(1, self.namespaces + 1)]
        for number, at in zip(range(self.pods), arrivals, strict=False):
            size = chance.choices(sizes, shares)[0]
            namespace = chance.choices(names, weights)[0]
            seconds = min(duration(self.mean_duration, chance), _LONGEST)
            app = f"app-{sizes.index(size)}"
            gpu = str(size.gpu) if size.gpu else ""
            yield f"pod-{number}", namespace, app, f"{at:.3f}", f"{seconds:.3f}", size.cpu, size.memory, gpu, ""


def _poisson(rate: float, chance: random.Random) -> Iterator[float]:
    at = 0.0
    for _ in count():
        at += chance.expovariate(rate)
        yield at


def _diurnal(rate: float, chance: random.Random) -> Iterator[float]:
    """Arrivals at the highest rate of the day, of which those above the rate of the hour are left out."""
    for at in _poisson(rate * (1 + _SWING), chance):
        share = (1 - _SWING * math.cos(2 * math.pi * at / DAY)) / (1 + _SWING)
        if chance.random() < share:
            yield at


def _bursts(rate: float, chance: random.Random) -> Iterator[float]:
    for at in _poisson(rate / _BURST, chance):
        # Geometric: most bursts are small, some are many times the mean.
        size = 1 + int(math.log(1 - chance.random()) / math.log(1 - 1 / _BURST))
        for _ in range(size):
            yield at


_ARRIVALS: Final[dict[Arrivals, Callable[[float, random.Random], Iterator[float]]]] = {
    "poisson": _poisson,
    "diurnal": _diurnal,
    "bursts": _bursts,
}


def _heavy(mean: float, chance: random.Random) -> float:
    """Pareto with this mean."""
    return mean * (_TAIL - 1) / _TAIL * chance.paretovariate(_TAIL)


_DURATIONS: Final[dict[Durations, Callable[[float, random.Random], float]]] = {
    "exponential": lambda mean, chance: chance.expovariate(1 / mean),
    "heavy": _heavy,
    "constant": lambda mean, _: mean,
}
