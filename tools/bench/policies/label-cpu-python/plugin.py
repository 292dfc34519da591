"""Reads a label and the requested CPU of every node."""

from kubewasp_sdk import CycleState, NodeInfo, Plugin, Pod


class LabelCpu(Plugin):
    """Half of the score is the zone, half is the CPU."""

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        score = node.requested["cpu"] % 49
        return score + 50 if node.labels.get("topology.kubernetes.io/zone") == "eu-west-1a" else score
