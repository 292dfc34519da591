"""Scheduling cycle of one pod: PreFilter, Filter, (PostFilter,) PreScore, Score, selection.

HOT PATH (guard: make counts). Changes only the plugins' own state; the scheduler acts on the choice.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.decision_record import Sample
from kubewasp.framework.filtering import FilterOutcome, Objection
from kubewasp.framework.messages import NO_NODES, fit_error, histogram
from kubewasp.framework.plugin import rejection
from kubewasp.framework.status import SUCCESS, Status
from kubewasp.scheduler.sampling import MIN_NODES, adaptive_share, configured_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from kubewasp.framework.decision_record import DecisionRecord
    from kubewasp.framework.filtering import PreFilterOutcome
    from kubewasp.framework.plugin import Candidate, Rows, Scores
    from kubewasp.framework.runtime import Framework
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.preemption import Nominator
    from kubewasp.scheduler.sampling import Rotation
    from kubewasp.state.node_table import NodeTable


@dataclass(slots=True)
class Choice:
    """Result of a scheduling cycle: a node, or the message and the plugins that rejected the pod.

    `failed_by` is the plugin of an error.
    """

    state: CycleState
    node: str = ""
    message: str = ""
    is_error: bool = False
    failed_by: str = ""
    rejected_by: frozenset[str] = frozenset()
    nominated_node: str | None = None
    victims: Sequence[Pod] = ()
    candidates: Sequence[Candidate] = ()
    feasible: int = 0
    score: int | None = None
    statuses: Mapping[str, Status] = field(default_factory=dict)
    objections: Sequence[Objection] = ()


@dataclass(slots=True)
class CycleTrace:
    """Parts of a cycle, for a comparison with another version of one plugin; see shadow.py.

    `outcome` is None unless nodes were filtered as they are, without nominated pods; all of `rows`, or those up to the
    end of a sample. `scores` has the weighted scores of the plugins that are its keys, `start` the place in the order
    of nodes.
    """

    scores: dict[str, Scores]
    narrowed: PreFilterOutcome | None = None
    rows: Rows | None = None
    outcome: FilterOutcome | None = None
    feasible: Rows | None = None
    totals: Scores | None = None
    start: int = 0
    is_whole: bool = False


class SchedulingCycle:
    """Chooses nodes for pods of one profile."""

    def __init__(
        self,
        framework: Framework,
        table: NodeTable,
        nominator: Nominator,
        rotation: Rotation,
        *,
        percentage: int | None = None,
    ) -> None:
        self.framework = framework
        self._table = table
        self._nominator = nominator
        self._rotation = rotation
        self._percentage = percentage

    @property
    def percentage(self) -> int | None:
        return self._percentage

    def choose(self, pod: Pod, record: DecisionRecord | None = None, trace: CycleTrace | None = None) -> Choice:
        began = time.perf_counter()
        state = CycleState()
        try:
            choice = self._choose(state, pod, record, trace)
        except BaseException:
            state.close()  # guests in use go back to their pools
            raise
        self.framework.observer.algorithm(time.perf_counter() - began)
        return choice

    def _choose(self, state: CycleState, pod: Pod, record: DecisionRecord | None, trace: CycleTrace | None) -> Choice:
        table, framework = self._table, self.framework
        if trace is not None:
            trace.start, state.kept_scores = self._rotation.start, trace.scores
        state.is_sampled = framework.observer.samples()
        if not len(table):
            return Choice(state, message=NO_NODES, nominated_node="")
        narrowed = framework.run_pre_filter(state, pod, table, record)
        if not narrowed.status.is_success:
            return self._rejected_before_nodes(state, pod, narrowed)
        nominated = self._nominated_row(pod)
        if nominated is not None:
            outcome = self._filtered(state, pod, np.array([nominated], np.int64), record)
            if outcome.error.is_success and len(outcome.rows):
                return Choice(state, node=table.node(nominated).name, feasible=1)
        rows, absent = self._rows(narrowed.nodes)
        sample, filters_each = self._sample(state, len(rows), record)
        outcome = self._filtered(state, pod, rows, record, sample if filters_each else None)
        if not outcome.error.is_success:
            return Choice(state, message=outcome.error.reason, is_error=True, failed_by=outcome.error.plugin)
        feasible, examined = _cut(rows, outcome.rows, sample)
        if trace is not None and nominated is None and not len(self._nominator):
            trace.narrowed, trace.rows, trace.outcome, trace.feasible = narrowed, rows, outcome, feasible
            trace.is_whole = sample.is_whole
        self._rotation.start = (self._rotation.start + examined) % len(table)
        if not len(feasible):
            return self._nowhere(state, pod, outcome, absent, narrowed.narrowed_by)
        if len(feasible) == 1:
            if record is not None:
                framework.run_scores(state, pod, table, feasible, record)  # for the record only
            return Choice(state, node=table.node(int(feasible[0])).name, feasible=1)
        totals = framework.run_scores(state, pod, table, feasible, record)
        if isinstance(totals, Status):
            return Choice(state, message=totals.reason, is_error=True, feasible=len(feasible), failed_by=totals.plugin)
        if trace is not None:
            trace.totals = totals
        place = select(totals)
        best = table.node(int(feasible[place])).name
        return Choice(state, node=best, feasible=len(feasible), score=int(totals[place]))

    # ------------------------------------------------------------------ filtering

    def _filtered(
        self, state: CycleState, pod: Pod, rows: Rows, record: DecisionRecord | None, sample: Sample | None = None
    ) -> FilterOutcome:
        """Filters for the pod itself, without preemption trials: `Filter` in the metrics.

        With a sample, only until it is found; a record has the verdicts on all nodes.
        """
        began = time.perf_counter()
        if sample is None or record is not None:
            outcome = self.filter_rows(state, pod, rows, record)
        else:
            outcome = self._filtered_in_pieces(state, pod, rows, sample.wanted)
        seconds = time.perf_counter() - began
        self.framework.observer.extension_point("Filter", self.framework.name, outcome.error.label, seconds)
        return outcome

    def _filtered_in_pieces(self, state: CycleState, pod: Pod, rows: Rows, wanted: int) -> FilterOutcome:
        """Filters in the order of visits, until one node more than wanted is feasible, as kube-scheduler does.

        The next piece is as large as the share of feasible nodes so far suggests.
        """
        found, objections = [rows[:0]], list[Objection]()
        feasible, end, size = 0, 0, wanted + 1
        while feasible <= wanted and end < len(rows):
            start, end = end, min(end + max(size, MIN_NODES), len(rows))
            outcome = self.filter_rows(state, pod, rows[start:end])
            if not outcome.error.is_success:
                return outcome
            found.append(outcome.rows)
            objections += outcome.objections
            feasible += len(outcome.rows)
            size = (wanted + 1 - feasible) * end // feasible if feasible else end
        return FilterOutcome(np.concatenate(found), objections)

    def filter_rows(
        self, state: CycleState, pod: Pod, rows: Rows, record: DecisionRecord | None = None
    ) -> FilterOutcome:
        """All filters; on nodes with nominated pods of at least the same priority, once more with those pods added.

        A node must pass both times. A failure with the nominated pods is the reported one.
        """
        outcome = self.framework.run_filters(state, pod, self._table, rows, record)
        if not len(self._nominator) or not outcome.error.is_success:
            return outcome
        failed: list[int] = []
        late: list[Objection] = []
        contested = self._contested(pod, rows)
        # Without influence between nodes, all are tried together.
        at_once = len(contested) > 1 and record is None and self.framework.judges_by_counts(state)
        for some in [contested] if at_once else [[one] for one in contested]:
            trial = self._with_nominated(state, pod, some, record)
            if not trial.error.is_success:
                return trial
            passed = set(trial.rows.tolist())
            failed += [row for row, _ in some if row not in passed]
            late += trial.objections
        if not failed:
            return outcome
        kept = [objection.without(failed) for objection in outcome.objections]
        left = outcome.rows[np.isin(outcome.rows, failed, invert=True)]
        return FilterOutcome(left, [*(objection for objection in kept if len(objection.rows)), *late])

    def _contested(self, pod: Pod, rows: Rows) -> list[tuple[int, list[Pod]]]:
        """The rows with nominated pods that count against this one, and those pods."""
        table = self._table
        if len(rows) < len(self._nominator):  # a trial of preemption examines one row
            found = self._nominator.nodes_above(pod, [table.node(row).name for row in rows.tolist()])
        else:
            found = self._nominator.nodes_above(pod)
        if not found:
            return []
        asked = set(rows.tolist())
        placed = ((table.row(node), others) for node, others in found.items())
        return [(row, others) for row, others in placed if row is not None and row in asked]

    def _with_nominated(
        self, state: CycleState, pod: Pod, contested: Sequence[tuple[int, list[Pod]]], record: DecisionRecord | None
    ) -> FilterOutcome:
        """The filters on the rows with their nominated pods added."""
        table, trial = self._table, state.clone()
        added: list[Pod] = []
        try:
            for row, others in contested:
                for other in map(self._nominator.placed, others):
                    added.append(other)
                    table.add_pod(other)
                    status = self.framework.run_add_pod(trial, pod, other, row, table)
                    if not status.is_success:
                        return FilterOutcome(np.zeros(0, np.int64), (), status)
            rows = np.array([row for row, _ in contested], np.int64)
            return self.framework.run_filters(trial, pod, table, rows, record)
        finally:
            for other in added:
                table.remove_pod(other)

    def _nominated_row(self, pod: Pod) -> int | None:
        node = self._nominator.node_of(pod.uid)
        return self._table.row(node) if node else None

    def _rows(self, nodes: frozenset[str] | None) -> tuple[Rows, int]:
        """The rows to examine, in the order of visits, and the number of rows left out."""
        order = self._table.order()
        if nodes is not None:
            named = {row for row in map(self._table.row, nodes) if row is not None}
            return np.array([row for row in order.tolist() if row in named], np.int64), len(order) - len(named)
        return (np.roll(order, -self._rotation.start) if self._rotation.start else order), 0

    def _sample(self, state: CycleState, nodes: int, record: DecisionRecord | None) -> tuple[Sample, bool]:
        """The wanted number of feasible nodes, and whether a Filter plugin is called per node.

        One without score plugins; the configured share; otherwise all, or an adaptive sample where plugins are called
        per node.
        """
        filtering, scoring = self.framework.asking_each_node(state) if self.framework.may_ask_each_node else ((), ())
        if not self.framework.score:
            sample = Sample(nodes, 1)
        elif self._percentage:
            sample = Sample(nodes, configured_share(nodes, self._percentage))
        elif filtering or scoring:
            sample = Sample(nodes, adaptive_share(nodes), tuple(dict.fromkeys((*filtering, *scoring))))
        else:
            sample = Sample(nodes, nodes)
        if record is not None:
            record.sample = sample
        return sample, bool(filtering) and not sample.is_whole

    # ------------------------------------------------------------------ no node

    def _rejected_before_nodes(self, state: CycleState, pod: Pod, narrowed: PreFilterOutcome) -> Choice:
        status = narrowed.status
        if not status.is_rejected:
            return Choice(state, message=status.reason, is_error=True, failed_by=status.plugin)
        names = [node.name for node in self._table.nodes if node is not None]
        statuses = dict.fromkeys(names, status)
        helped = self.framework.run_post_filter(state, pod, self._table, statuses)
        message = fit_error(len(names), {}, pre_filter=status.reason, post_filter=helped.status.reason)
        return Choice(
            state,
            message=message,
            rejected_by=frozenset((status.plugin, *narrowed.narrowed_by)) - {""},
            nominated_node=helped.nominated_node,
            victims=helped.victims,
            candidates=helped.candidates,
            statuses=statuses,
        )

    def _nowhere(
        self, state: CycleState, pod: Pod, outcome: FilterOutcome, absent: int, narrowed_by: Sequence[str]
    ) -> Choice:
        statuses = outcome.statuses(self._table)
        helped = self.framework.run_post_filter(state, pod, self._table, statuses)
        counts = [group for objection in outcome.objections for group in objection.groups()]
        if absent:
            counts.append((_absent(narrowed_by), absent))
        reasons = histogram(counts)
        message = fit_error(len(self._table), reasons, post_filter=helped.status.reason)
        return Choice(
            state,
            message=message,
            rejected_by=frozenset(objection.plugin for objection in outcome.objections) | frozenset(narrowed_by),
            nominated_node=helped.nominated_node,
            victims=helped.victims,
            candidates=helped.candidates,
            statuses=statuses,
            objections=outcome.objections,
        )


def _cut(rows: Rows, feasible: Rows, sample: Sample) -> tuple[Rows, int]:
    """The feasible rows up to the wanted number, and the number of rows examined up to the first surplus one."""
    if len(feasible) <= sample.wanted:
        return feasible, len(rows)
    return feasible[: sample.wanted], int(np.flatnonzero(rows == feasible[sample.wanted])[0])


def _absent(plugins: Sequence[str]) -> Status:
    return rejection(f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}]", resolvable=False)


def verdict_on_one(outcome: FilterOutcome) -> Status:
    """The filters' status of the only row of an outcome."""
    if not outcome.error.is_success:
        return outcome.error
    if len(outcome.rows):
        return SUCCESS
    last: Objection = outcome.objections[-1]
    return next(status for _, status in last.statuses())


def select(totals: Scores) -> int:
    """Index of the winner: kube-scheduler's, ties included.

    kube-scheduler builds a max-heap and takes the root. An element that no element below it beats stays on top, and of
    two children the left one rises unless the right one is better: among the best, the winner is the first in a
    preorder walk of the heap.
    """
    best = np.flatnonzero(totals == totals.max())
    if len(best) == 1 or best[0] == 0:
        return int(best[0])
    return int(best[_walk_order(len(totals))[best].argmin()])


@lru_cache(maxsize=64)
def _walk_order(count: int) -> NDArray[np.int64]:
    """Preorder rank of each position of a binary heap."""
    places = np.arange(1, count + 1, dtype=np.int64)
    depths = np.floor(np.log2(places)).astype(np.int64)
    deepest = int(depths[-1])
    return (places << (deepest - depths)) * (deepest + 2) + depths
