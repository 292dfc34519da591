"""NodeDeclaredFeatures: nodes must declare the kubelet features that the pod needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.plugin import (
    EnqueueExtensions,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    Registration,
    RejectionHints,
    Verdicts,
    rejection,
)
from kubewasp.framework.status import SUCCESS, Code, Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable

_STATUSES = (SUCCESS, rejection("node(s) didn't match Pod's required features", resolvable=False))


class NodeDeclaredFeatures(PreFilterPlugin, FilterPlugin, EnqueueExtensions, RejectionHints):
    """Pods without required features skip it."""

    name = "NodeDeclaredFeatures"

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        pass

    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult:
        return PreFilterResult() if pod.spec.needed_features else PreFilterResult(Status(Code.SKIP))

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        needed = pod.spec.needed_features
        lacking = (not needed <= table.node(row).declared_features for row in rows.tolist())
        return Verdicts(np.fromiter(lacking, np.bool_, len(rows)), _STATUSES)

    def node_hints(self, state: CycleState, pod: Pod, table: NodeTable, row: int) -> Sequence[str]:
        lacking = pod.spec.needed_features - table.node(row).declared_features
        return [f"feature {name} of the kubelet" for name in sorted(lacking)]

    def events(self) -> Sequence[Registration]:
        return [Registration("Node", Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE, _declares_now)]


def _declares_now(pod: Pod, _old: Node | None, new: Node | None) -> bool:
    return new is not None and pod.spec.needed_features <= new.declared_features
