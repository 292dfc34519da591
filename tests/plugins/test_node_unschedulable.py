"""NodeUnschedulable: cordoned nodes and tolerations."""

from typing import Any

import pytest

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.plugins.node_unschedulable import NodeUnschedulable
from tests.plugins.building import FakeHandle, filtered, make_node, make_pod, make_table, wakes

PLUGIN = NodeUnschedulable({}, FakeHandle())
CORDONED = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) were unschedulable")
KEY = "node.kubernetes.io/unschedulable"
OPEN, CLOSED = make_node("n"), make_node("n", unschedulable=True)


@pytest.mark.parametrize(
    ("tolerations", "verdict"),
    [
        ([], CORDONED),
        ([{"key": KEY, "operator": "Exists"}], SUCCESS),
        ([{"key": KEY, "effect": "NoSchedule"}], SUCCESS),
        ([{"operator": "Exists"}], SUCCESS),
        ([{"key": KEY, "operator": "Exists", "effect": "NoExecute"}], CORDONED),
        ([{"key": "other", "operator": "Exists"}], CORDONED),
    ],
)
def test_a_cordon_is_a_taint(tolerations: list[dict[str, Any]], verdict: Status) -> None:
    table = make_table([make_node("open"), make_node("cordoned", unschedulable=True)])
    found = filtered(PLUGIN, CycleState(), make_pod(tolerations=tolerations), table)
    assert found == {"open": SUCCESS, "cordoned": verdict}


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [(None, OPEN, True), (None, CLOSED, False), (CLOSED, OPEN, True), (OPEN, OPEN, False), (OPEN, CLOSED, False)],
)
def test_a_node_that_comes_open_or_opens_helps(old: Any, new: Any, helps: bool) -> None:
    action = Action.ADD if old is None else Action.UPDATE_NODE_TAINT
    assert wakes(PLUGIN, "Node", action, make_pod(), old, new) is helps


def test_its_own_toleration_helps_a_pod() -> None:
    pod, tolerant = make_pod("p"), make_pod("p", tolerations=[{"operator": "Exists"}])
    assert wakes(PLUGIN, "Pod", Action.UPDATE_POD_TOLERATION, pod, pod, tolerant)
    assert not wakes(PLUGIN, "Pod", Action.UPDATE_POD_TOLERATION, pod, pod, make_pod("p", tolerations=[{"key": "x"}]))
    other = make_pod("other", tolerations=[{"operator": "Exists"}])
    assert not wakes(PLUGIN, "Pod", Action.UPDATE_POD_TOLERATION, pod, other, other)
