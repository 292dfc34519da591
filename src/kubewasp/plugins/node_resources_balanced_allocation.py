"""NodeResourcesBalancedAllocation: prefers evenly used resources.  HOT PATH (guard: make counts)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kubewasp.framework.plugin import PreScorePlugin, ScorePlugin
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.resources import CPU, EPHEMERAL, MEMORY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.k8s.pods import Pod, PodSpec
    from kubewasp.state.node_table import NodeTable


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin):
    """Compares the spread of the used shares of resources with and without the pod."""

    name = "NodeResourcesBalancedAllocation"

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        resources = args.get("resources") or [{"name": CPU}, {"name": MEMORY}]
        self._resources = [item["name"] for item in resources]

    def pre_score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status:
        requests = pod.spec.resources.requests
        return SUCCESS if any(requests.get(name) for name in self._resources) else Status(Code.SKIP)

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        spec = pod.spec
        names = [n for n in self._resources if n in (CPU, MEMORY, EPHEMERAL) or spec.resources.requests.get(n)]
        return table.cache.get(
            (self, spec),
            lambda some: _scores(spec, table, names, some),
            one=(lambda row: _score_on(spec, table, names, row)) if len(names) == 2 else None,
        ).take(rows)


def _scores(spec: PodSpec, table: NodeTable, names: Sequence[str], rows: Rows) -> Scores:
    requests = spec.resources.requests
    capacities = [table.allocatable_of(name)[rows] for name in names]
    used = [table.requested_of(name)[rows] for name in names]
    before = _balance(used, capacities)
    asked = zip(used, names, strict=True)
    after = _balance([amount + requests.get(name) for amount, name in asked], capacities)
    return 50 + (50 + after - before) // 2


def _score_on(spec: PodSpec, table: NodeTable, names: Sequence[str], row: int) -> int:
    """`_scores` for one row and two resources."""
    first, second = names
    first_capacity, second_capacity = table.allocatable_of(first).item(row), table.allocatable_of(second).item(row)
    if not first_capacity or not second_capacity:
        return 75  # nothing to balance
    used, requests = table.requested_of, spec.resources.requests

    def balance(some: int, other: int) -> int:
        shares = min(1.0, some / first_capacity), min(1.0, other / second_capacity)
        return int((1 - abs(shares[0] - shares[1]) / 2) * 100.0)

    some, other = used(first).item(row), used(second).item(row)
    before, after = balance(some, other), balance(some + requests.get(first), other + requests.get(second))
    return 50 + (50 + after - before) // 2


def _balance(used: list[NDArray[np.int64]], capacities: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """100 for equal shares, less with the distance between the shares."""
    there = [capacity != 0 for capacity in capacities]
    shares = [
        np.where(has, np.minimum(1.0, amount / np.where(has, capacity, 1)), 0.0)
        for amount, capacity, has in zip(used, capacities, there, strict=True)
    ]
    count = np.sum(there, axis=0)
    if len(shares) == 2:
        deviation = np.where(count == 2, np.abs(shares[0] - shares[1]) / 2, 0.0)
    else:
        divisor = np.maximum(count, 1)
        mean = np.sum(shares, axis=0) / divisor
        squares = np.sum([np.where(has, (s - mean) ** 2, 0.0) for s, has in zip(shares, there, strict=True)], axis=0)
        spread = np.sqrt(squares / divisor)
        if len(shares) > 2:
            highest = np.max(np.where(there, shares, 0.0), axis=0)
            lowest = np.min(np.where(there, shares, 1.0), axis=0)
            spread = np.where(count == 2, (highest - lowest) / 2, spread)
        deviation = np.where(count >= 2, spread, 0.0)
    return ((1 - deviation) * 100.0).astype(np.int64)
