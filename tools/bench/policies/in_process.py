"""The policies as in-process Python plugins: one node at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.framework.cycle_state import StateKey
from kubewasp.framework.plugin import NodeByNode, PreScorePlugin
from kubewasp.framework.status import SUCCESS, Status
from tools.bench.policies.constants import CLOSED, CLOSED_LABEL, FAVOURED_ZONE, FULL, ZONE, last_digit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.plugin import Rows
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable

_DIGIT = StateKey[int]("nodenumber")


class NodeNumber(PreScorePlugin, NodeByNode):
    """Compares the last digits of names."""

    name = "nodenumber"

    def pre_score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status:
        state[_DIGIT] = last_digit(pod.name)
        return SUCCESS

    def score_node(self, state: CycleState, pod: Pod, node: Node, pods: Sequence[Pod]) -> int:
        digit = last_digit(node.name)
        return 10 if digit >= 0 and digit == state[_DIGIT] else 0


class LabelCpu(NodeByNode):
    """Half of the score is the zone, half is the CPU."""

    name = "label-cpu"

    def score_node(self, state: CycleState, pod: Pod, node: Node, pods: Sequence[Pod]) -> int:
        score = _requested(pods) % 49
        return score + 50 if node.labels.get(ZONE) == FAVOURED_ZONE else score


class FilterReasons(NodeByNode):
    """Looks at a label, and at the requested CPU."""

    name = "filter-reasons"

    def filter_node(self, state: CycleState, pod: Pod, node: Node, pods: Sequence[Pod]) -> Status:
        if node.labels.get(CLOSED_LABEL) == "true":
            return CLOSED
        return FULL if 5 * _requested(pods) > 4 * node.allocatable.cpu else SUCCESS


def _requested(pods: Sequence[Pod]) -> int:
    return sum(pod.resources.requests.cpu for pod in pods)
