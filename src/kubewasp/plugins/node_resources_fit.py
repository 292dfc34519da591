"""NodeResourcesFit: filters and scores by requested and allocatable resources.  HOT PATH (guard: make counts)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.plugin import (
    MAX_SCORE,
    EnqueueExtensions,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Registration,
    RejectionHints,
    ScorePlugin,
    Verdicts,
)
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.resources import CPU, EPHEMERAL, MEMORY, amount_text, is_extended

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod, PodSpec
    from kubewasp.k8s.resources import Resources
    from kubewasp.state.node_table import NodeTable

_MAX_EXTENDER_SCORE = 10
# Bits of a verdict: 0 for pods, one per requested resource (the last is shared by all others), and this one.
_LAST_BIT = 60
_NEVER = 1 << 61


class NodeResourcesFit(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, EnqueueExtensions, RejectionHints):
    """A verdict is a bit set of the insufficient resources, plus one bit: insufficient on an empty node too."""

    name = "NodeResourcesFit"
    counts_only = True

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        self._handle = handle
        strategy = args.get("scoringStrategy") or {}
        resources = strategy.get("resources") or [{"name": CPU, "weight": 1}, {"name": MEMORY, "weight": 1}]
        self._weights = [(item["name"], item.get("weight") or 1) for item in resources]
        self._ignored = frozenset(args.get("ignoredResources") or ())
        self._ignored_groups = frozenset(args.get("ignoredResourceGroups") or ())
        kind = strategy.get("type") or "LeastAllocated"
        self._shape = [
            (point["utilization"], point["score"] * (MAX_SCORE // _MAX_EXTENDER_SCORE))
            for point in (strategy.get("requestedToCapacityRatio") or {}).get("shape") or ()
        ]
        self._strategy = {
            "LeastAllocated": _least_allocated,
            "MostAllocated": _most_allocated,
            "RequestedToCapacityRatio": self._by_shape,
        }[kind]
        self._strategy_on = {"LeastAllocated": _least_allocated_on, "MostAllocated": _most_allocated_on}.get(kind)
        self._drops_zeros = kind == "RequestedToCapacityRatio"

    # ------------------------------------------------------------------ filter

    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult:
        return PreFilterResult()

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        spec = pod.spec
        if len(rows) == 1:  # trials of preemption: faster than the cache, because the row has just changed
            bits = self._short_on(spec, table, rows.item())
            return Verdicts(np.array([bits]), _Shortages(self._requests_of(spec.resources.requests))) if bits else None
        verdicts = table.cache.get(
            (self, "fit", spec),
            lambda some: self._short(spec, table, some),
            one=lambda row: self._short_on(spec, table, row),
        ).take(rows)
        if not np.count_nonzero(verdicts):
            return None
        return Verdicts(verdicts, _Shortages(self._requests_of(spec.resources.requests)))

    def _short(self, spec: PodSpec, table: NodeTable, rows: Rows) -> NDArray[np.int64]:
        short = (table.pod_count[rows] + 1 > table.max_pods[rows]).astype(np.int64)
        for place, (name, amount) in enumerate(self._requests_of(spec.resources.requests), start=1):
            allocatable = table.allocatable_of(name)[rows]
            short[amount > allocatable - table.requested_of(name)[rows]] |= 1 << min(place, _LAST_BIT)
            short[amount > allocatable] |= _NEVER
        return short

    def _short_on(self, spec: PodSpec, table: NodeTable, row: int) -> int:
        """`_short` for one row."""
        short = int(table.pod_count.item(row) + 1 > table.max_pods.item(row))
        for place, (name, amount) in enumerate(self._requests_of(spec.resources.requests), start=1):
            allocatable = table.allocatable_of(name).item(row)
            if amount > allocatable - table.requested_of(name).item(row):
                short |= 1 << min(place, _LAST_BIT)
            if amount > allocatable:
                short |= _NEVER
        return short

    def _requests_of(self, requests: Resources) -> list[tuple[str, int]]:
        named = [(CPU, requests.cpu), (MEMORY, requests.memory), (EPHEMERAL, requests.ephemeral)]
        return [(name, amount) for name, amount in named if amount > 0] + [
            (name, amount) for name, amount in requests.scalars.items() if amount and not self._is_ignored(name)
        ]

    def _is_ignored(self, name: str) -> bool:
        if not is_extended(name):
            return False
        return name in self._ignored or name.partition("/")[0] in self._ignored_groups

    # ------------------------------------------------------------------ score

    def pre_score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status:
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        spec, strategy = pod.spec, self._strategy_on
        return table.cache.get(
            (self, "score", spec),
            lambda some: self._scores(spec, table, some),
            one=None if strategy is None else lambda row: self._score_on(spec, table, row, strategy),
        ).take(rows)

    def _scores(self, spec: PodSpec, table: NodeTable, rows: Rows) -> Scores:
        total = np.zeros(len(rows), np.int64)
        weights = np.zeros(len(rows), np.int64)
        for name, weight in self._weights:
            requests = spec.resources.scoring.get(name)
            if not requests and name not in (CPU, MEMORY, EPHEMERAL):
                continue
            capacity = table.allocatable_of(name)[rows]
            used = (table.non_zero[name] if name in table.non_zero else table.requested_of(name))[rows] + requests
            there = capacity != 0
            score = self._strategy(used, np.where(there, capacity, 1))
            counted = there & (score > 0) if self._drops_zeros else there
            total += np.where(counted, score * weight, 0)
            weights += np.where(counted, weight, 0)
        divisor = np.maximum(weights, 1)
        if self._drops_zeros:
            return np.floor(total / divisor + 0.5).astype(np.int64)
        return total // divisor

    def _score_on(self, spec: PodSpec, table: NodeTable, row: int, strategy: Callable[[int, int], int]) -> int:
        """`_scores` for one row."""
        total = weights = 0
        for name, weight in self._weights:
            requests = spec.resources.scoring.get(name)
            if not requests and name not in (CPU, MEMORY, EPHEMERAL):
                continue
            capacity = table.allocatable_of(name).item(row)
            if capacity:
                column = table.non_zero[name] if name in table.non_zero else table.requested_of(name)
                total += weight * strategy(column.item(row) + requests, capacity)
                weights += weight
        return total // max(weights, 1)

    def _by_shape(self, used: NDArray[np.int64], capacity: NDArray[np.int64]) -> NDArray[np.int64]:
        """Piecewise linear in the utilization; integer division truncates toward zero, on falling slopes too."""
        utilization = np.where(used > capacity, MAX_SCORE, used * MAX_SCORE // capacity)
        scores = np.full(len(used), self._shape[-1][1], np.int64)
        for place in range(len(self._shape) - 1, 0, -1):
            (low, start), (high, end) = self._shape[place - 1], self._shape[place]
            rise = (end - start) * (utilization - low)
            steps = np.sign(rise) * (np.abs(rise) // (high - low))
            scores = np.where(utilization <= high, start + steps, scores)
        return np.where(utilization <= self._shape[0][0], self._shape[0][1], scores)

    def node_hints(self, state: CycleState, pod: Pod, table: NodeTable, row: int) -> Sequence[str]:
        found = []
        if table.pod_count.item(row) + 1 > table.max_pods.item(row):
            found.append(f"room for a pod ({table.pod_count.item(row)} of {table.max_pods.item(row)})")
        for name, amount in self._requests_of(pod.spec.resources.requests):
            allocatable = table.allocatable_of(name).item(row)
            short = amount - (allocatable - table.requested_of(name).item(row))
            if short > 0:
                beyond = f" (allocatable {amount_text(name, allocatable)})" if amount > allocatable else ""
                found.append(f"{amount_text(name, short)} more {name}{beyond}")
        return found

    # ------------------------------------------------------------------ events

    def events(self) -> Sequence[Registration]:
        return [
            Registration("Pod", Action.DELETE, self._made_room, by_spec=True),
            Registration("Pod", Action.UPDATE_POD_SCALE_DOWN, _gave_back),
            Registration("Node", Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, self._has_more),
        ]

    def _made_room(self, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
        """Whether the pod fits on the node of a deleted one now, or may preempt others there.

        kube-scheduler tries all pods again; the tries that this leaves out fail.
        """
        table = self._handle.table
        row = None if old is None or not old.node else table.row(old.node)
        if row is None:
            return _gave_back(pod, old, new)
        priority = pod.priority
        return not self._short_on(pod.spec, table, row) or any(
            other.priority < priority for other in table.pods_on[row].values()
        )

    def _has_more(self, pod: Pod, old: Node | None, new: Node | None) -> bool:
        if new is None:
            return False
        requests = self._requests_of(pod.spec.resources.requests)
        if new.max_pods < 1 or any(amount > new.allocatable.get(name) for name, amount in requests):
            return False
        return old is None or new.max_pods > old.max_pods or _grew(requests, old, new)


class _Shortages(Sequence[Status]):
    """The statuses by bit set, created on demand: there are too many for a table."""

    def __init__(self, requests: Sequence[tuple[str, int]]) -> None:
        self._texts = ("Too many pods", *(f"Insufficient {name}" for name, _ in requests))

    def __len__(self) -> int:
        return 2 * _NEVER

    def __getitem__(self, bits: Any) -> Any:
        return _shortage(bits, self._texts) if bits else SUCCESS


@lru_cache(maxsize=1000)
def _shortage(bits: int, texts: tuple[str, ...]) -> Status:
    code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if bits & _NEVER else Code.UNSCHEDULABLE
    return Status(code, tuple(text for place, text in enumerate(texts[: _LAST_BIT + 1]) if bits >> place & 1))


def _grew(requests: Sequence[tuple[str, int]], old: Node, new: Node) -> bool:
    return any(new.allocatable.get(name) > old.allocatable.get(name) for name, _ in requests)


def _gave_back(pod: Pod, old: Pod | None, new: Pod | None) -> bool:
    if old is None:
        return False
    if new is None:
        return bool(old.node or old.nominated_node)
    if new.uid == pod.uid:
        return True
    if not old.node:
        return False
    requests, before, after = pod.spec.resources.requests, old.resources.requests, new.resources.requests
    names = [CPU, MEMORY, EPHEMERAL, *requests.scalars]
    return any(requests.get(name) and after.get(name) < before.get(name) for name in names)


def _least_allocated(used: NDArray[np.int64], capacity: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(used > capacity, 0, (capacity - used) * MAX_SCORE // capacity)


def _most_allocated(used: NDArray[np.int64], capacity: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.minimum(used, capacity) * MAX_SCORE // capacity


def _least_allocated_on(used: int, capacity: int) -> int:
    return 0 if used > capacity else (capacity - used) * MAX_SCORE // capacity


def _most_allocated_on(used: int, capacity: int) -> int:
    return min(used, capacity) * MAX_SCORE // capacity
