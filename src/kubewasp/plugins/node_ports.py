"""NodePorts: free host ports."""

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
from kubewasp.k8s.pods import ANY_ADDRESS
from kubewasp.plugins.hint_texts import few

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows
    from kubewasp.k8s.pods import HostPort, Pod
    from kubewasp.state.node_table import NodeTable

_STATUSES = (SUCCESS, rejection("node(s) didn't have free ports for the requested pod ports", resolvable=True))


class NodePorts(PreFilterPlugin, FilterPlugin, EnqueueExtensions, RejectionHints):
    """Pods without host ports skip it."""

    name = "NodePorts"

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        pass

    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult:
        return PreFilterResult() if pod.spec.host_ports else PreFilterResult(Status(Code.SKIP))

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        wanted = pod.spec.host_ports

        def compute(some: Rows) -> NDArray[np.bool_]:
            return np.fromiter((_conflict(wanted, table.ports[row]) for row in some.tolist()), np.bool_, len(some))

        return Verdicts(table.cache.get((self, wanted), compute)[rows], _STATUSES)

    def node_hints(self, state: CycleState, pod: Pod, table: NodeTable, row: int) -> Sequence[str]:
        found = []
        for port in pod.spec.host_ports:
            others = [other.key for other in table.pods_on[row].values() if _conflict([port], other.spec.host_ports)]
            if others:
                found.append(f"host port {_text(port)}, held by {few(others)}")
        return found

    def events(self) -> Sequence[Registration]:
        return [Registration("Pod", Action.DELETE, _freed), Registration("Node", Action.ADD)]


def _conflict(wanted: Iterable[HostPort], used: Iterable[HostPort]) -> bool:
    return any(port.conflicts_with(other) for other in used for port in wanted)


def _text(port: HostPort) -> str:
    return f"{port.port}/{port.protocol}" + (f" on {port.ip}" if port.ip != ANY_ADDRESS else "")


def _freed(pod: Pod, old: Pod | None, _new: Pod | None) -> bool:
    if old is None or not (old.node or old.nominated_node):
        return False
    return _conflict(pod.spec.host_ports, old.spec.host_ports)
