"""Comparison of two results beyond noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tools.bench.statistics import Range, overlap

if TYPE_CHECKING:
    from tools.bench.model import Measurement, Result

# Two runs on one machine differ by this much, even if their own repetitions lie closer.
LEAST: Final = 0.05


@dataclass(frozen=True, slots=True)
class Change:
    """A changed measurement."""

    before: Measurement
    after: Measurement

    @property
    def share(self) -> float:
        """The relative change: 0.1 is 10 % more, good or bad."""
        before, after = self.before.median, self.after.median
        return (after - before) / abs(before) if before else math.copysign(math.inf, after)

    @property
    def worse(self) -> bool:
        return (self.after.median > self.before.median) == (self.after.better == "lower")

    def as_dict(self) -> dict[str, Any]:
        return _named(self.after) | {
            "unit": self.after.unit,
            "before": self.before.median,
            "after": self.after.median,
            "change": self.share if math.isfinite(self.share) else None,
            "exact": self.after.exact,
        }


@dataclass(slots=True)
class Comparison:
    """Two results side by side. `warnings` name differences of machine and versions."""

    warnings: list[str] = field(default_factory=list)
    worse: list[Change] = field(default_factory=list)
    better: list[Change] = field(default_factory=list)
    same: int = 0
    only_before: list[Measurement] = field(default_factory=list)
    only_after: list[Measurement] = field(default_factory=list)

    def failing(self, tolerance: float | Mapping[str, float] = 0.0) -> list[Change]:
        """Worse measurements, except counts within the tolerance: a share, or one for each metric."""

        def allowed(change: Change) -> float:
            return tolerance.get(change.after.metric, 0.0) if isinstance(tolerance, Mapping) else tolerance

        return [change for change in self.worse if not change.after.exact or abs(change.share) > allowed(change)]

    def as_dict(self) -> dict[str, Any]:
        return {
            "warnings": self.warnings,
            "worse": [change.as_dict() for change in self.worse],
            "better": [change.as_dict() for change in self.better],
            "same": self.same,
            "only_before": [_named(one) for one in self.only_before],
            "only_after": [_named(one) for one in self.only_after],
        }


def compare(before: Result, after: Result) -> Comparison:
    """Compares all measurements; the greatest change comes first."""
    found = Comparison(
        warnings=[
            *_differences("measured on another machine", before.machine, after.machine),
            *_differences("measured with other versions", before.versions, after.versions),
        ]
    )
    earlier = {_identity(one): one for one in before.measurements}
    later = {_identity(one): one for one in after.measurements}
    found.only_before = [one for identity, one in earlier.items() if identity not in later]
    found.only_after = [one for identity, one in later.items() if identity not in earlier]
    for identity, one in earlier.items():
        if (other := later.get(identity)) is None:
            continue
        if differ(one, other):
            change = Change(one, other)
            (found.worse if change.worse else found.better).append(change)
        else:
            found.same += 1
    for changes in (found.worse, found.better):
        changes.sort(key=lambda change: -_apart(change.before.median, change.after.median))
    return found


def differ(one: Measurement, other: Measurement) -> bool:
    """Counts differ if unequal; times if their repetitions lie further apart than they scatter."""
    if one.exact:
        return one.median != other.median
    ranges = Range.of(one.values), Range.of(other.values)
    if overlap(*ranges):
        return False
    return _apart(one.median, other.median) > max(LEAST, sum(found.spread for found in ranges))


def _apart(one: float, other: float) -> float:
    """The distance as a share of the smaller value: symmetric."""
    smaller = min(abs(one), abs(other))
    if one == other:
        return 0.0
    return abs(one - other) / smaller if smaller else math.inf


def _identity(one: Measurement) -> tuple[Any, ...]:
    """The identity of a measurement across results."""
    return *one.key, one.unit, one.better, one.exact


def _named(one: Measurement) -> dict[str, Any]:
    return {"layer": one.layer, "case": dict(one.case), "metric": one.metric}


def _differences(what: str, before: Mapping[str, str | int], after: Mapping[str, str | int]) -> list[str]:
    changed = [
        f"{name} {before.get(name, 'absent')} and then {after.get(name, 'absent')}"
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    ]
    return [f"{what}: {'; '.join(changed)}"] if changed else []
