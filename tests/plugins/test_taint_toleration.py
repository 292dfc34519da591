"""TaintToleration: filtering and scoring by taints."""

from typing import Any

import pytest

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.plugins.taint_toleration import TaintToleration
from tests.plugins.building import FakeHandle, filtered, make_node, make_pod, make_table, scored, wakes

PLUGIN = TaintToleration({}, FakeHandle())
TAINTED = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) had untolerated taint(s)")


def exists(key: str, effect: str = "") -> dict[str, str]:
    return {"key": key, "operator": "Exists", "effect": effect}


@pytest.mark.parametrize(
    ("taints", "tolerations", "verdict"),
    [
        ([], [], SUCCESS),
        (["a=1:NoSchedule"], [], TAINTED),
        (["a=1:NoExecute"], [], TAINTED),
        (["a=1:PreferNoSchedule"], [], SUCCESS),
        (["a=1:NoSchedule"], [exists("a")], SUCCESS),
        (["a=1:NoSchedule"], [exists("a", "NoExecute")], TAINTED),
        (["a=1:NoSchedule", "b=:NoExecute"], [exists("a")], TAINTED),
        (["a=1:NoSchedule", "b=:NoExecute"], [exists("a"), exists("b")], SUCCESS),
    ],
)
def test_a_hard_taint_that_is_not_tolerated_keeps_a_pod_off(taints: Any, tolerations: Any, verdict: Status) -> None:
    table = make_table([make_node("plain"), make_node("n", taints=taints)])
    found = filtered(PLUGIN, CycleState(), make_pod(tolerations=tolerations), table)
    assert found == {"plain": SUCCESS, "n": verdict}


SOFT = [
    make_node("none"),
    make_node("one", taints=["a=:PreferNoSchedule"]),
    make_node("two", taints=["a=:PreferNoSchedule", "b=:PreferNoSchedule", "c=:NoSchedule"]),
]


@pytest.mark.parametrize(
    ("tolerations", "counts", "scores"),
    [
        ([], [0, 1, 2], [100, 50, 0]),
        ([exists("a")], [0, 0, 1], [100, 100, 0]),
        ([exists("a", "PreferNoSchedule")], [0, 0, 1], [100, 100, 0]),
        # Tolerations of other effects say nothing of soft taints.
        ([exists("a", "NoSchedule")], [0, 1, 2], [100, 50, 0]),
        ([exists("")], [0, 0, 0], [100, 100, 100]),
    ],
)
def test_soft_taints_count_against_a_node(tolerations: Any, counts: list[int], scores: list[int]) -> None:
    found = scored(PLUGIN, CycleState(), make_pod(tolerations=tolerations), make_table(SOFT))
    assert not isinstance(found, Status)
    assert (list(found[0].values()), list(found[1].values())) == (counts, scores)


def test_without_soft_taints_all_nodes_are_best() -> None:
    found = scored(PLUGIN, CycleState(), make_pod(), make_table([make_node("a"), make_node("b")]))
    assert found == ({"a": 0, "b": 0}, {"a": 100, "b": 100})


CLEAN, HARD = make_node("n"), make_node("n", taints=["a=:NoSchedule"])


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        (None, CLEAN, True),
        (None, HARD, False),
        (HARD, CLEAN, True),
        (CLEAN, HARD, False),
        (CLEAN, CLEAN, False),
        (HARD, make_node("n", taints=["b=:NoExecute"]), False),
        (HARD, make_node("n", taints=["b=:PreferNoSchedule"]), True),
    ],
)
def test_a_node_that_can_be_tolerated_now_helps(old: Any, new: Any, helps: bool) -> None:
    action = Action.ADD if old is None else Action.UPDATE_NODE_TAINT
    assert wakes(PLUGIN, "Node", action, make_pod(), old, new) is helps


def test_its_own_toleration_helps_a_pod() -> None:
    pod = make_pod("p")
    assert wakes(PLUGIN, "Pod", Action.UPDATE_POD_TOLERATION, pod, pod, pod)
    assert not wakes(PLUGIN, "Pod", Action.UPDATE_POD_TOLERATION, pod, pod, make_pod("other"))
