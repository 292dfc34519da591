"""Axes of a chart: scales, ticks, and distances between labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class LogAxis:
    """From `low` at the pixel `start` to `high` at `end`; both are greater than zero."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(
        cls, values: Iterable[float], start: float, end: float, *, from_decade: bool = True, to_decade: bool = True
    ) -> LogAxis:
        """An axis over all values, extended to whole decades where necessary."""
        found = list(values)
        low, high = min(found), max(found)
        if from_decade:
            low = 10.0 ** math.floor(math.log10(low))
        if to_decade:
            high = 10.0 ** math.ceil(math.log10(high))
        # Rounding may put a power of ten on the wrong side of the value; a single value has no extent.
        while low > min(found):
            low /= 10
        while high < max(found) or high <= low:
            high *= 10
        return cls(low, high, start, end)

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """The decades within."""
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        return [10.0**power for power in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class LinearAxis:
    """A linear axis that contains zero, with ticks at round steps."""

    low: float
    high: float
    step: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float) -> LinearAxis:
        found = [0.0, *values]
        low, high = min(found), max(found)
        step = _round_step((high - low) / 5 or 1.0)
        return cls(low, high if high > low else low + step, step, start, end)

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        first, last = math.ceil(self.low / self.step - 1e-9), math.floor(self.high / self.step + 1e-9)
        return [count * self.step for count in range(first, last + 1)]


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions close to the wanted ones, at least `gap` apart, between `low` and `high`.

    Neighbours that are too close move as one block, to the mean of where its members would be. There has to be room:
    (number - 1) * gap <= high - low.
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    blocks: list[tuple[float, int]] = []  # place of its first member without the gaps before it, and number of members
    for place, index in enumerate(order):
        middle, count = wanted[index] - place * gap, 1
        while blocks and blocks[-1][0] > middle:
            before, members = blocks.pop()
            middle, count = (before * members + middle * count) / (members + count), members + count
        blocks.append((middle, count))
    flat = [middle for middle, count in blocks for _ in range(count)]
    highest = max(high - (len(wanted) - 1) * gap, low)
    places = [0.0] * len(wanted)
    for place, index in enumerate(order):
        places[index] = min(max(flat[place], low), highest) + place * gap
    return places


def _round_step(least: float) -> float:
    """1, 2 or 5 times a power of ten, and not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10, 20) if factor * power >= least * (1 - 1e-9))
