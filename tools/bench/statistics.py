"""Statistics of repetitions and formatting of figures."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_TIMES = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"))
_MICROSECONDS = {"µs": 1.0, "ms": 1e3, "s": 1e6}


@dataclass(frozen=True, slots=True)
class Range:
    """Median, least and greatest of some values."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Range:
        return cls(statistics.median(values), min(values), max(values))

    @property
    def spread(self) -> float:
        """Half of the range, as a share of the median."""
        return (self.high - self.low) / 2 / abs(self.median) if self.median else 0.0


def overlap(one: Range, other: Range) -> bool:
    return one.low <= other.high and other.low <= one.high


def paired(above: Sequence[float], below: Sequence[float]) -> tuple[float, ...]:
    """Ratios of repetitions with the same number, which were measured side by side."""
    return tuple(one / other for one, other in zip(above, below, strict=False) if other)


def figure(value: float) -> str:
    """Three significant digits, or all integer digits; two for small figures."""
    size = abs(value)
    if size == 0 or math.isinf(size):
        return "0" if size == 0 else "∞"
    if size >= 99.95:
        return f"{value:,.0f}"
    if size >= 9.995:
        return f"{value:.1f}"
    if size >= 0.995:
        return f"{value:.2f}"
    return f"{value:.{1 - math.floor(math.log10(size))}f}"


def times(ratio: float) -> str:
    """One digit more below 1 than a figure has: 0.996× must not read as 1.00×."""
    return (f"{ratio:.3f}" if 0.1 <= ratio < 1 else figure(ratio)) + "×"


def percent(share: float) -> str:
    """A share in percent; never -0."""
    rounded = round(share * 100, 0 if abs(share) >= 0.1 else 1) + 0.0
    return f"{rounded:.0f} %" if rounded == int(rounded) else f"{rounded:.1f} %"


def time(value: float, unit: str = "µs") -> str:
    """Microseconds in a suitable unit: 0.21 µs, 263 µs, 1.05 ms, 2.10 s."""
    microseconds = value * _MICROSECONDS[unit]
    scale, name = next(((scale, name) for scale, name in _TIMES if abs(microseconds) >= scale), _TIMES[-1])
    return f"{figure(microseconds / scale)} {name}"


def size(count: float) -> str:
    """Bytes in a suitable unit."""
    for scale, name in ((1024.0**3, "GiB"), (1024.0**2, "MiB"), (1024.0, "KiB")):
        if abs(count) >= scale:
            return f"{figure(count / scale)} {name}"
    return f"{count:,.0f} B"


def amount(value: float, unit: str) -> str:
    """A figure of any unit, with that unit."""
    if unit == "bytes":
        return size(value)
    if unit in _MICROSECONDS:
        return time(value, unit)
    return f"{figure(value)} {unit}".rstrip()


def duration(seconds: float) -> str:
    """Seconds in words: 45 s, 12 min, 1 h 40 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
