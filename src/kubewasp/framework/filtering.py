"""Outcomes of PreFilter and Filter for one pod: feasible rows, and the objections to all others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kubewasp.framework.status import SUCCESS, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kubewasp.framework.plugin import Rows, VerdictNumbers, Verdicts
    from kubewasp.framework.status import Code
    from kubewasp.state.node_table import NodeTable


@dataclass(frozen=True, slots=True)
class PreFilterOutcome:
    """`nodes` is the intersection of the sets given by the plugins in `narrowed_by`; None means all."""

    status: Status
    nodes: frozenset[str] | None = None
    narrowed_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Objection:
    """The rows whose first rejection came from one plugin."""

    plugin: str
    rows: Rows
    numbers: VerdictNumbers
    verdicts: Verdicts

    def _different(self) -> list[int]:
        """The distinct numbers. The case of one row is fast: trials of preemption run it thousands of times per pod."""
        if len(self.numbers) == 1:
            return [self.numbers.item()]
        ordered = np.sort(self.numbers)  # np.unique takes four times as long
        return [ordered.item(0), *ordered[1:][ordered[1:] != ordered[:-1]].tolist()]

    def error(self) -> Status | None:
        """The first status that is a failure instead of a rejection."""
        for number in self._different():
            status: Status = self.verdicts.statuses[number]
            if not status.is_rejected:
                return status
        return None

    def groups(self) -> Iterator[tuple[Status, int]]:
        """Each status with its number of rows."""
        numbers, counts = np.unique(self.numbers, return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            yield self.verdicts.statuses[number], count

    def examples(self) -> Iterator[tuple[int, Status]]:
        """One row per status."""
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
    """The feasible rows, and the objections to the others."""

    rows: Rows
    objections: Sequence[Objection]
    error: Status = SUCCESS

    def statuses(self, table: NodeTable) -> RejectedNodes:
        """The status of every rejected node, by name."""
        return RejectedNodes(self.objections, table)


class RejectedNodes(Mapping[str, Status]):
    """Statuses of rejected nodes by name. Names are looked up on first use: most attempts need none of thousands."""

    def __init__(self, objections: Sequence[Objection], table: NodeTable) -> None:
        self._objections = objections
        self._table = table

    @cached_property
    def _by_name(self) -> dict[str, Status]:
        node = self._table.node
        return {node(row).name: status for objection in self._objections for row, status in objection.statuses()}

    def __getitem__(self, name: str) -> Status:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return sum(len(objection.rows) for objection in self._objections)

    def number(self, code: Code) -> int:
        """Number of nodes with a status code."""
        groups = (group for objection in self._objections for group in objection.groups())
        return sum(count for status, count in groups if status.code == code)
