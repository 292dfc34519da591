"""10 points for a node whose name ends in the same digit as the pod's name; no pods are signed."""

from kubewasp_sdk import CycleState, NodeInfo, Plugin, Pod


class NodeNumber(Plugin):
    """Compares the last digits of names."""

    def pre_score(self, state: CycleState, pod: Pod, nodes: object) -> None:
        state["digit"] = pod.name[-1] if "0" <= pod.name[-1] <= "9" else ""

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 10 if node.name[-1] == state["digit"] else 0
