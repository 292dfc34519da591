"""TaintToleration: filters by NoSchedule and NoExecute taints, scores by PreferNoSchedule taints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.normalization import normalized
from kubewasp.framework.plugin import (
    EnqueueExtensions,
    FilterPlugin,
    PreScorePlugin,
    Registration,
    RejectionHints,
    ScorePlugin,
    Verdicts,
    rejection,
)
from kubewasp.framework.status import SUCCESS, Status
from kubewasp.k8s.taints import HARD_EFFECTS, PREFER_NO_SCHEDULE, is_tolerated, untolerated
from kubewasp.plugins.scheduling_gates import is_same_pod

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.k8s.taints import Taint, Toleration
    from kubewasp.state.node_table import NodeTable

_STATUSES = (SUCCESS, rejection("node(s) had untolerated taint(s)", resolvable=False))


class TaintToleration(FilterPlugin, PreScorePlugin, ScorePlugin, EnqueueExtensions, RejectionHints):
    """Nodes have few distinct sets of taints: each set is evaluated once for all its rows."""

    name = "TaintToleration"
    counts_only = True

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        pass

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        tolerations = pod.spec.tolerations
        verdicts = [untolerated(taints, tolerations) is not None for taints in table.taint_sets]
        return Verdicts(np.array(verdicts)[table.taint_ids.take(rows)], _STATUSES) if any(verdicts) else None

    def pre_score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status:
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        tolerations = [item for item in pod.spec.tolerations if item.effect in ("", PREFER_NO_SCHEDULE)]
        counts = [_unwanted(taints, tolerations) for taints in table.taint_sets]
        return np.array(counts, np.int64)[table.taint_ids.take(rows)] if any(counts) else np.zeros(len(rows), np.int64)

    def normalize(self, state: CycleState, pod: Pod, scores: Scores) -> Scores | Status:
        return normalized(scores, reverse=True)

    def node_hints(self, state: CycleState, pod: Pod, table: NodeTable, row: int) -> Sequence[str]:
        taints = [taint for taint in table.node(row).taints if taint.effect in HARD_EFFECTS]
        return [f"toleration of {taint}" for taint in taints if not is_tolerated(taint, pod.spec.tolerations)]

    def events(self) -> Sequence[Registration]:
        return [
            Registration("Node", Action.ADD | Action.UPDATE_NODE_TAINT, _tolerated_now),
            Registration("Pod", Action.UPDATE_POD_TOLERATION, is_same_pod),
        ]


def _unwanted(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> int:
    return sum(taint.effect == PREFER_NO_SCHEDULE and not is_tolerated(taint, tolerations) for taint in taints)


def _tolerated_now(pod: Pod, old: Node | None, new: Node | None) -> bool:
    tolerations = pod.spec.tolerations
    if new is None or untolerated(new.taints, tolerations) is not None:
        return False
    return old is None or untolerated(old.taints, tolerations) is not None
