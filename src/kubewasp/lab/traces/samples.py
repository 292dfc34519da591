"""Samples of a run over time, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST: Final = 2000


@dataclass(frozen=True, slots=True)
class Sample:
    """The cluster at one time.

    Amounts are by resource: those that have arrived so far, and those requested on nodes now.
    """

    at: float
    arrived: int
    running: int
    pending: int
    arrived_amounts: Mapping[str, int]
    requested: Mapping[str, int]

    def as_dict(self) -> dict[str, object]:
        return {
            "at": self.at,
            "arrived": self.arrived,
            "running": self.running,
            "pending": self.pending,
            "arrivedAmounts": dict(self.arrived_amounts),
            "requested": dict(self.requested),
        }


@dataclass(slots=True)
class Samples:
    """At most some thousand samples: when there are more, every second one is dropped, and so are later ones."""

    kept: list[Sample] = field(default_factory=list)
    _every: int = 1
    _offered: int = 0

    def offered(self) -> bool:
        """Counts one more sample that could be taken; returns whether it is to be kept."""
        self._offered += 1
        return self._offered % self._every == 0

    def add(self, sample: Sample) -> None:
        self.kept.append(sample)
        if len(self.kept) >= MOST:
            self.kept = self.kept[1::2]
            self._every *= 2
