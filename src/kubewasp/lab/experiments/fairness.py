"""Fairness between namespaces: what each asked for, what it got, how long it waited, and Jain's index of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_DIGITS: Final = 12  # equal values in another order have the same index


@dataclass(slots=True)
class NamespaceTotals:
    """Pods of a namespace that arrived and were placed.

    `asked` and `got` are sums of their dominant shares: of a pod, the largest share of the cluster's capacity that it
    requests of a resource. `wait` is in seconds, of pods without a node until they leave or the run ends.
    """

    arrived: int = 0
    placed: int = 0
    asked: float = 0.0
    got: float = 0.0
    wait: float = 0.0

    @property
    def mean_wait(self) -> float:
        return self.wait / self.arrived if self.arrived else 0.0

    @property
    def part(self) -> float:
        """The part of what was asked for that was placed."""
        return self.got / self.asked if self.asked else self.placed / self.arrived if self.arrived else 1.0

    def as_dict(self) -> dict[str, Any]:
        return {
            "arrived": self.arrived,
            "placed": self.placed,
            "placedPart": self.part,
            "meanWaitSeconds": self.mean_wait,
        }


def jain(values: Iterable[float]) -> float:
    """Jain's fairness index: 1 if all values are equal, 1/n if one of n has everything.

    >>> jain([1.0, 1.0]), jain([1.0, 0.0])
    (1.0, 0.5)
    """
    found = list(values)
    squares = sum(value * value for value in found)
    return round(sum(found) ** 2 / (len(found) * squares), _DIGITS) if squares else 1.0


def fairness_placed(namespaces: Collection[NamespaceTotals]) -> float:
    """Index of the parts that namespaces got of what they asked for."""
    return jain(totals.part for totals in namespaces if totals.arrived)


def fairness_wait(namespaces: Collection[NamespaceTotals]) -> float:
    """Index of mean waits plus one second, so that differences far below a second do not count."""
    return jain(1.0 + totals.mean_wait for totals in namespaces if totals.arrived)
