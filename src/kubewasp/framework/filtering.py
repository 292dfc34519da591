"""What came of PreFilter and Filter: which rows are left, and who objected to the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kubewasp.framework.status import SUCCESS, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kubewasp.framework.plugin import Rows, Verdicts
    from kubewasp.state.node_table import NodeTable


@dataclass(frozen=True, slots=True)
class PreFilterOutcome:
    """`nodes` are those that the plugins named in `narrowed_by` leave; None means all."""

    status: Status
    nodes: frozenset[str] | None = None
    narrowed_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Objection:
    """The rows that one plugin turned down first."""

    plugin: str
    rows: Rows
    numbers: Any
    verdicts: Verdicts

    def _different(self) -> list[int]:
        """The numbers, each once. Trials of preemption ask about one row at a time, thousands of times for a pod."""
        found: list[int] = [self.numbers.item()] if len(self.numbers) == 1 else np.unique(self.numbers).tolist()
        return found

    def error(self) -> Status | None:
        """A verdict that is no rejection, but something that went wrong."""
        for number in self._different():
            status: Status = self.verdicts.statuses[number]
            if not status.is_rejected:
                return status
        return None

    def groups(self) -> Iterator[tuple[Status, int]]:
        """Each status and how many rows have it."""
        numbers, counts = np.unique(self.numbers, return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            yield self.verdicts.statuses[number], count

    def examples(self) -> Iterator[tuple[int, Status]]:
        """A row for each status."""
        numbers, places = np.unique(self.numbers, return_index=True)
        for number, place in zip(numbers.tolist(), places.tolist(), strict=True):
            yield int(self.rows[place]), self.verdicts.statuses[number].of(self.plugin)

    def without(self, rows: Sequence[int]) -> Objection:
        others = np.isin(self.rows, rows, invert=True)
        return replace(self, rows=self.rows[others], numbers=self.numbers[others])

    def statuses(self) -> Iterator[tuple[int, Status]]:
        known = {number: self.verdicts.statuses[number].of(self.plugin) for number in self._different()}
        for row, number in zip(self.rows.tolist(), self.numbers.tolist(), strict=True):
            yield row, known[number]


@dataclass(frozen=True, slots=True)
class FilterOutcome:
    """The rows that passed, and who objected to the others."""

    rows: Rows
    objections: Sequence[Objection]
    error: Status = SUCCESS

    def statuses(self, table: NodeTable) -> dict[str, Status]:
        """The status of every node that was turned down."""
        return {table.node(row).name: status for objection in self.objections for row, status in objection.statuses()}
