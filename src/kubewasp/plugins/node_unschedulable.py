"""NodeUnschedulable: excludes cordoned nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.plugin import EnqueueExtensions, FilterPlugin, Registration, RejectionHints, Verdicts, rejection
from kubewasp.framework.status import SUCCESS
from kubewasp.k8s.taints import UNSCHEDULABLE, is_tolerated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable

_STATUSES = (SUCCESS, rejection("node(s) were unschedulable", resolvable=False))


class NodeUnschedulable(FilterPlugin, EnqueueExtensions, RejectionHints):
    """`spec.unschedulable` counts as the taint `node.kubernetes.io/unschedulable`."""

    name = "NodeUnschedulable"
    counts_only = True

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        pass

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        if not np.count_nonzero(table.is_unschedulable) or is_tolerated(UNSCHEDULABLE, pod.spec.tolerations):
            return None
        cordoned = table.is_unschedulable.take(rows)
        return Verdicts(cordoned, _STATUSES) if np.count_nonzero(cordoned) else None

    def node_hints(self, state: CycleState, pod: Pod, table: NodeTable, row: int) -> Sequence[str]:
        return ["to be uncordoned"]

    def events(self) -> Sequence[Registration]:
        return [
            Registration("Node", Action.ADD | Action.UPDATE_NODE_TAINT, _uncordoned),
            Registration("Pod", Action.UPDATE_POD_TOLERATION, _tolerates),
        ]


def _uncordoned(_pod: Pod, old: Node | None, new: Node | None) -> bool:
    return new is not None and not new.is_unschedulable and (old is None or old.is_unschedulable)


def _tolerates(pod: Pod, _old: Pod | None, new: Pod | None) -> bool:
    return new is not None and new.uid == pod.uid and is_tolerated(UNSCHEDULABLE, new.spec.tolerations)
