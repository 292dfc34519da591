"""Nodes × plugins of one decision as arrays: statuses, reasons, scores. The same verdicts as `explain`, for many nodes.

Thousands of nodes are numbers here; texts are made for the nodes that are shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from kubewasp.explain.explanation import hints_of
from kubewasp.framework.status import Code, Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from kubewasp.framework.decision_record import DecisionRecord
    from kubewasp.framework.plugin import Scores, Verdicts
    from kubewasp.state.node_table import NodeTable

    Numbers = NDArray[np.int64]

FEASIBLE, REJECTED, SKIPPED = 0, 1, 2
_ON_NOMINATED: Final = Status(Code.UNSCHEDULABLE, "not evaluated: the pod fits on its nominated node")


@dataclass(frozen=True, slots=True)
class NodeScores:
    """Scores of one plugin on the scored nodes, by place of the node."""

    weight: int
    raw: Scores
    normalized: Scores


@dataclass(slots=True)
class DecisionGrid:
    """A decision on all nodes. Arrays are by place; `order` has the places, the winner first.

    Args:
        names: Names of the nodes.
        rows: Their rows in the table.
        objections: Numbers of statuses by plugin in its order; 0: the plugin does not object.
        statuses: Statuses by number; 0 is none.
        skipped: Places that were not evaluated.
        totals: Total scores, and `is_scored` where there is one.
        scores: Scores by plugin; 0 where a node is not scored.
        order: Places of all nodes: winner, others by total, then rejected ones by the number of objections.
    """

    names: Sequence[str]
    rows: Numbers
    objections: Mapping[str, NDArray[np.int32]]
    statuses: Sequence[Status]
    skipped: NDArray[np.bool_]
    totals: Scores
    is_scored: NDArray[np.bool_]
    scores: Mapping[str, NodeScores]
    order: Numbers
    hints: dict[int, list[str]] = field(default_factory=dict)  # by place

    @classmethod
    def of(cls, record: DecisionRecord, table: NodeTable, winner: str) -> DecisionGrid:
        rows = table.order().astype(np.int64)
        names = [table.node(row).name for row in rows.tolist()]
        place_of = np.full(table.capacity + 1, -1, np.int64)
        place_of[rows] = np.arange(len(rows))
        numbers = _Statuses()
        objections, skipped = _objections(record, names, place_of, numbers)
        totals, is_scored, scores = _scores(record, len(rows), place_of)
        count = np.zeros(len(rows), np.int64)
        for found in objections.values():
            count += found != 0
        count += skipped
        by_name = np.empty(len(rows), np.int64)
        by_name[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(rows))
        order = np.lexsort((by_name, -np.where(is_scored, totals, 0), count))
        if winner:
            first = np.flatnonzero(by_name[order] == by_name[names.index(winner)])
            order = np.concatenate((order[first], np.delete(order, first)))
        return cls(names, rows, objections, numbers.all, skipped, totals, is_scored, scores, order)

    @property
    def status(self) -> NDArray[np.int8]:
        """0: feasible, 1: rejected, 2: not evaluated; by place."""
        found = np.zeros(len(self.names), np.int8)
        for numbers in self.objections.values():
            found[numbers != 0] = REJECTED
        found[self.skipped] = SKIPPED
        return found

    @property
    def feasible(self) -> int:
        return int(np.count_nonzero(self.status == FEASIBLE))

    def objections_of(self, place: int) -> dict[str, Status]:
        """Statuses of one node by plugin, the deciding one first."""
        found = {plugin: int(numbers[place]) for plugin, numbers in self.objections.items()}
        return {plugin: self.statuses[number] for plugin, number in found.items() if number}

    def rejected_rows(self, most: int) -> list[int]:
        """Rows of the rejected nodes with the fewest objections."""
        places = self.order[self.status[self.order] == REJECTED][:most]
        found: list[int] = self.rows[places].tolist()
        return found

    def add_hints(self, record: DecisionRecord, rows: Sequence[int]) -> None:
        """Takes the hints of a record of the same decision."""
        place_of = {row: place for place, row in enumerate(self.rows.tolist())}
        for row in rows:
            place = place_of[row]
            self.hints[place] = hints_of(record, row, self.names[place], self.objections_of(place))


class _Statuses:
    """Numbers of statuses; equal ones have one number."""

    def __init__(self) -> None:
        self.all: list[Status] = [Status()]
        self._numbers: dict[Status, int] = {}

    def number(self, status: Status) -> int:
        found = self._numbers.get(status)
        if found is None:
            found = self._numbers[status] = len(self.all)
            self.all.append(status)
        return found


def _objections(
    record: DecisionRecord, names: Sequence[str], place_of: Numbers, numbers: _Statuses
) -> tuple[dict[str, NDArray[np.int32]], NDArray[np.bool_]]:
    """Numbers of statuses by plugin, and the places that were not evaluated; as `explain` has them."""
    count = len(names)
    found: dict[str, NDArray[np.int32]] = {}
    for plugin, status in record.pre_filter:
        if not status.is_success and status.code != Code.SKIP and plugin not in found:
            found[plugin] = np.full(count, numbers.number(status), np.int32)
    is_evaluated = np.zeros(count, np.bool_)
    for filtered in record.filters:
        places = place_of[filtered.rows]
        is_evaluated[places] = True
        if filtered.verdicts is not None:
            column = found.setdefault(filtered.plugin, np.zeros(count, np.int32))
            given = _numbered(filtered.verdicts, numbers)
            column[places] = np.where(column[places] == 0, given, column[places])
    skipped = np.zeros(count, np.bool_)
    if record.filters:
        reason = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(record.narrowed))}]"
        number = numbers.number(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reason)) if record.narrowed else 0
        for plugin, kept in record.narrowed.items():
            outside = ~is_evaluated & np.fromiter((name not in kept for name in names), np.bool_, count)
            if outside.any():
                column = found.setdefault(plugin, np.zeros(count, np.int32))
                column[outside] = number
        has_objection = np.zeros(count, np.bool_)
        for column in found.values():
            has_objection |= column != 0
        skipped = ~is_evaluated & ~has_objection
    return {plugin: column for plugin, column in found.items() if column.any()}, skipped


def _numbered(verdicts: Verdicts, numbers: _Statuses) -> NDArray[np.int32]:
    found, places = np.unique(np.asarray(verdicts.numbers).astype(np.int64), return_inverse=True)
    known = [0 if not number else numbers.number(verdicts.statuses[number]) for number in found.tolist()]
    return np.array(known, np.int32)[places]


def _scores(
    record: DecisionRecord, count: int, place_of: Numbers
) -> tuple[Scores, NDArray[np.bool_], dict[str, NodeScores]]:
    totals, is_scored = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    found: dict[str, NodeScores] = {}
    if record.scored_rows is None or record.totals is None:
        return totals, is_scored, found
    places = place_of[record.scored_rows]
    totals[places], is_scored[places] = record.totals, True
    for score in record.scores:
        raw, normalized = np.zeros(count, np.int64), np.zeros(count, np.int64)
        raw[places], normalized[places] = score.raw, score.normalized
        found[score.plugin] = NodeScores(score.weight, raw, normalized)
    return totals, is_scored, found
