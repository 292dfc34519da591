"""NodeName: `spec.nodeName` restricts the pod to one node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.plugin import EnqueueExtensions, FilterPlugin, Registration, RejectionHints, Verdicts, rejection
from kubewasp.framework.status import SUCCESS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable

_STATUSES = (SUCCESS, rejection("node(s) didn't match the requested node name", resolvable=False))


class NodeName(FilterPlugin, EnqueueExtensions, RejectionHints):
    """Compares names."""

    name = "NodeName"
    counts_only = True

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        pass

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        if not pod.node:
            return None
        return Verdicts(rows != (-1 if (row := table.row(pod.node)) is None else row), _STATUSES)

    def node_hints(self, state: CycleState, pod: Pod, table: NodeTable, row: int) -> Sequence[str]:
        return [f"to be {pod.node}, the nodeName of the pod"]

    def events(self) -> Sequence[Registration]:
        return [Registration("Node", Action.ADD)]
