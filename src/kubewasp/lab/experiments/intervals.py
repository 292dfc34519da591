"""Means of paired runs with 95 % confidence intervals, by Student's t distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

# Quantiles 0.975 of the t distribution by degrees of freedom; between them by the reciprocal of these.
_T: Final = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_T_OF_MANY: Final = ((30, 2.042), (40, 2.021), (60, 2.000), (120, 1.980), (math.inf, 1.960))
# Differences below this share of the values are rounding of floating-point sums.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Estimate:
    """Mean of some runs. `margin` is half the width of its interval, None for a single run."""

    mean: float
    margin: float | None = None

    @property
    def low(self) -> float | None:
        return None if self.margin is None else self.mean - self.margin

    @property
    def high(self) -> float | None:
        return None if self.margin is None else self.mean + self.margin

    @property
    def is_significant(self) -> bool:
        """Whether the interval excludes zero. A single run decides nothing."""
        return self.margin is not None and abs(self.mean) > self.margin

    def as_dict(self) -> dict[str, Any]:
        return {"mean": self.mean, "low": self.low, "high": self.high}


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of values, one of each run."""
    number = len(values)
    mean = math.fsum(values) / number
    if number < 2:
        return Estimate(mean)
    if min(values) == max(values):
        return Estimate(values[0], 0.0)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (number - 1))
    return Estimate(mean, t_quantile(number - 1) * deviation / math.sqrt(number))


def paired(values: Sequence[float], baseline: Sequence[float]) -> Estimate:
    """The mean difference of runs with the same seeds."""
    return estimate([_difference(value, other) for value, other in zip(values, baseline, strict=True)])


def t_quantile(freedom: int) -> float:
    """Quantile 0.975 of the t distribution."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    for (few, above), (many, below) in pairwise(_T_OF_MANY):
        if freedom <= many:
            part = (1 / few - 1 / freedom) / (1 / few - 1 / many)
            return above + part * (below - above)
    return _T_OF_MANY[-1][1]


def _difference(value: float, other: float) -> float:
    found = value - other
    return 0.0 if abs(found) <= _ROUNDING * max(abs(value), abs(other)) else found
