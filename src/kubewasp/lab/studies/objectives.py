"""Objectives and constraints of a tuning, over the measures of its runs."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Measures = Mapping[str, float]

_COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_CONSTRAINT: Final = re.compile(r"\s*(\S+?)\s*(<=|>=|<|>)\s*(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?)\s*")


@dataclass(frozen=True, slots=True)
class Objective:
    """A measure or a weighted sum of measures, to make small or large."""

    name: str
    terms: Mapping[str, float]
    is_maximized: bool = False

    def value(self, runs: Sequence[Measures]) -> float | None:
        """The mean over runs; None if a run does not have a measure."""
        sums = []
        for run in runs:
            if any(measure not in run for measure in self.terms):
                return None
            sums.append(sum(run[measure] * factor for measure, factor in self.terms.items()))
        return sum(sums) / len(sums) if sums else None

    def loss(self, value: float) -> float:
        """The value as something to make small."""
        return -value if self.is_maximized else value


@dataclass(frozen=True, slots=True)
class Constraint:
    """A bound of a measure, which must hold in every run."""

    measure: str
    comparison: str
    bound: float

    def __str__(self) -> str:
        return f"{self.measure} {self.comparison} {self.bound:g}"

    @classmethod
    def parse(cls, text: str) -> Constraint | None:
        """`pods.pending <= 0`; None if it has another form."""
        found = _CONSTRAINT.fullmatch(text)
        return cls(found[1], found[2], float(found[3])) if found is not None else None

    def holds(self, run: Measures) -> bool:
        """A measure that a run does not have fulfils nothing."""
        value = run.get(self.measure)
        return value is not None and _COMPARISONS[self.comparison](value, self.bound)

    def violation(self, runs: Sequence[Measures]) -> float:
        """How far runs are off on average, as a guide for a search; 0 if all hold."""
        off = [0.0 if self.holds(run) else 1e-9 + abs(run.get(self.measure, 1e9) - self.bound) for run in runs]
        return sum(off) / len(off) if off else 0.0


def dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether losses are nowhere worse than others, and somewhere better."""
    return all(a <= b for a, b in zip(one, other, strict=True)) and tuple(one) != tuple(other)
