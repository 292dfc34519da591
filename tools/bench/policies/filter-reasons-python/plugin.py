"""Rejects closed nodes and nodes with little free CPU, with a reason for each."""

from kubewasp_sdk import CycleState, NodeInfo, Plugin, Pod, Status, Verdict

CLOSED = Status.unresolvable("node is closed to new pods")
FULL = Status.unschedulable("node has less than 20 % of its CPU left")


class FilterReasons(Plugin):
    """Looks at a label, and at the requested CPU."""

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        if node.labels.get("kubewasp.dev/closed") == "true":
            return CLOSED
        return FULL if 5 * node.requested["cpu"] > 4 * node.allocatable["cpu"] else None
