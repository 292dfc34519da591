"""Decisions of an extender: filters, scores and victims for one pod.  HOT PATH (guard: make counts).

For the owner thread of the node table.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kubewasp.extender.protocol import MAX_PRIORITY
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.plugin import MAX_SCORE
from kubewasp.framework.status import Code, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kubewasp.framework.filtering import FilterOutcome, PreFilterOutcome
    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.framework.runtime import Framework
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable

UNKNOWN_NODE = "node(s) not known to the kubewasp extender: is its kubeconfig that of this cluster?"


class PluginFailure(Exception):  # noqa: N818 - the plugin's, not ours
    """Failure of a plugin; the text has its name and the cause."""


@dataclass(slots=True)
class Rejections:
    """Rejected nodes with the reasons. Preemption may help on `failed` nodes, never on `unresolvable` ones."""

    failed: dict[str, str] = field(default_factory=dict)
    unresolvable: dict[str, str] = field(default_factory=dict)

    def add(self, node: str, status: Status) -> None:
        held = self.unresolvable if status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE else self.failed
        held[node] = status.reason or f"rejected by {status.plugin}"


class Decider:
    """Decisions by the plugins of one profile on one node table."""

    def __init__(self, framework: Framework, table: NodeTable) -> None:
        self._framework = framework
        self._table = table
        self._filters = bool(framework.pre_filter or framework.filter)
        self._max_total = MAX_SCORE * sum(weight for _, weight in framework.score)

    def filter(self, pod: Pod, names: Sequence[str]) -> Rejections:
        """Rejections by PreFilter and Filter. Nodes outside the table are rejected."""
        found = Rejections()
        if not self._filters:
            return found
        rows = self._known_rows(names, found)
        state = self._new_state()
        try:
            narrowed = self._pre_filtered(state, pod)
            if not narrowed.status.is_success:
                for name in names:
                    found.add(name, narrowed.status)
                return found
            rows = self._narrowed(rows, narrowed, found)
            for row, status in _objections(self._filtered(state, pod, rows)):
                found.add(self._table.node(row).name, status)
        finally:
            state.close()
        return found

    def prioritize(self, pod: Pod, names: Sequence[str]) -> list[int]:
        """Priorities from 0 to 10 per node: a tenth of the weighted mean of all scores, rounded half up."""
        scores = np.zeros(len(names), np.int64)
        if not self._max_total:
            return scores.tolist()
        places, rows = self._places(names)
        if not len(rows):
            return scores.tolist()
        state = self._new_state()
        try:
            # Scores may need state from PreFilter.
            if self._pre_filtered(state, pod).status.is_success:
                totals = self._framework.run_scores(state, pod, self._table, rows)
                if isinstance(totals, Status):
                    raise PluginFailure(totals.reason)
                scores[places] = self._scaled(totals)
        finally:
            state.close()
        return scores.tolist()

    def preempt(self, pod: Pod, victims: Mapping[str, Sequence[Pod]]) -> list[str]:
        """The nodes that pass the filters without their victims. All must be in the table."""
        if not self._filters:
            return list(victims)
        state = self._new_state()
        try:
            narrowed = self._pre_filtered(state, pod)
            if narrowed.status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return []
            return [
                name
                for name, gone in victims.items()
                if (narrowed.nodes is None or name in narrowed.nodes) and self._passes_without(state, pod, name, gone)
            ]
        finally:
            state.close()

    # ------------------------------------------------------------------ inside

    def _new_state(self) -> CycleState:
        state = CycleState()
        state.is_sampled = self._framework.observer.samples()
        return state

    def _pre_filtered(self, state: CycleState, pod: Pod) -> PreFilterOutcome:
        """Outcome of PreFilter: success or a rejection."""
        outcome = self._framework.run_pre_filter(state, pod, self._table)
        if not outcome.status.is_success and not outcome.status.is_rejected:
            raise PluginFailure(outcome.status.reason)
        return outcome

    def _filtered(self, state: CycleState, pod: Pod, rows: Rows) -> FilterOutcome:
        began = time.perf_counter()
        outcome = self._framework.run_filters(state, pod, self._table, rows)
        seconds = time.perf_counter() - began
        self._framework.observer.extension_point("Filter", self._framework.name, outcome.error.label, seconds)
        if not outcome.error.is_success:
            raise PluginFailure(outcome.error.reason)
        return outcome

    def _places(self, names: Sequence[str]) -> tuple[list[int], Rows]:
        """Indexes of the names with a row, and these rows."""
        rows = list(map(self._table.objects.row, names))
        if None not in rows:
            return list(range(len(names))), np.array(rows, np.int64)
        places = [place for place, row in enumerate(rows) if row is not None]
        return places, np.array([rows[place] for place in places], np.int64)

    def _known_rows(self, names: Sequence[str], found: Rejections) -> Rows:
        places, rows = self._places(names)
        if len(places) < len(names):
            unknown = set(names).difference(names[place] for place in places)
            found.unresolvable.update(dict.fromkeys(unknown, UNKNOWN_NODE))
        return rows

    def _narrowed(self, rows: Rows, narrowed: PreFilterOutcome, found: Rejections) -> Rows:
        if narrowed.nodes is None:
            return rows
        reason = f"node(s) didn't satisfy plugin(s) [{' '.join(narrowed.narrowed_by)}]"
        left = []
        for row in rows.tolist():
            name = self._table.node(row).name
            if name in narrowed.nodes:
                left.append(row)
            else:
                found.unresolvable[name] = reason
        return np.array(left, np.int64)

    def _passes_without(self, state: CycleState, pod: Pod, node: str, victims: Sequence[Pod]) -> bool:
        table, trial = self._table, state.clone()
        row = table.row(node)
        if row is None:
            return False
        gone: list[Pod] = []
        try:
            for victim in victims:
                table.remove_pod(victim)
                gone.append(victim)
                status = self._framework.run_remove_pod(trial, pod, victim, row, table)
                if not status.is_success:
                    raise PluginFailure(status.reason)
            return len(self._filtered(trial, pod, np.array([row], np.int64)).rows) > 0
        finally:
            for victim in gone:
                table.add_pod(victim)

    def _scaled(self, totals: Scores) -> Scores:
        return (2 * MAX_PRIORITY * totals + self._max_total) // (2 * self._max_total)


def _objections(outcome: FilterOutcome) -> Iterator[tuple[int, Status]]:
    for objection in outcome.objections:
        yield from objection.statuses()
