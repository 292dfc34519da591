"""NodeName: pods with `spec.nodeName`."""

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.plugins.node_name import NodeName
from tests.plugins.building import FakeHandle, filtered, make_node, make_pod, make_table, wakes

PLUGIN = NodeName({}, FakeHandle())
OTHER = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match the requested node name")
TABLE = make_table([make_node("a"), make_node("b")])


def test_a_pod_without_a_node_may_go_anywhere() -> None:
    assert filtered(PLUGIN, CycleState(), make_pod(), TABLE) == {"a": SUCCESS, "b": SUCCESS}


def test_a_pod_with_a_node_goes_there_only() -> None:
    assert filtered(PLUGIN, CycleState(), make_pod(node="b"), TABLE) == {"a": OTHER, "b": SUCCESS}


def test_a_pod_whose_node_does_not_exist_goes_nowhere() -> None:
    assert filtered(PLUGIN, CycleState(), make_pod(node="c"), TABLE) == {"a": OTHER, "b": OTHER}


def test_a_new_node_helps() -> None:
    assert wakes(PLUGIN, "Node", Action.ADD, make_pod(node="c"), None, make_node("x"))
    assert not wakes(PLUGIN, "Node", Action.UPDATE_NODE_LABEL, make_pod(), make_node("x"), make_node("x"))
