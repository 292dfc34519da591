"""NodeDeclaredFeatures: required kubelet features."""

from typing import Any

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.plugin import PreFilterResult
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.plugins.node_declared_features import NodeDeclaredFeatures
from tests.plugins.building import FakeHandle, filtered, make_node, make_pod, make_table, wakes

PLUGIN = NodeDeclaredFeatures({}, FakeHandle())
LACKING = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match Pod's required features")
HOST, RESTART = "UserNamespacesHostNetworkSupport", "RestartAllContainersOnContainerExits"
ON_HOST: dict[str, Any] = {"hostNetwork": True, "hostUsers": False}
BOTH = make_pod(containers=[{"name": "a", "restartPolicyRules": [{"action": "RestartAllContainers"}]}], **ON_HOST)


def test_most_pods_need_none_and_skip() -> None:
    assert PLUGIN.pre_filter(CycleState(), make_pod(), make_table()) == PreFilterResult(Status(Code.SKIP))
    assert PLUGIN.pre_filter(CycleState(), BOTH, make_table()) == PreFilterResult()


def test_all_that_is_needed_must_be_declared() -> None:
    features = {"none": [], "host": [HOST], "both": [HOST, RESTART, "More"]}
    table = make_table(make_node(name, declaredFeatures=declared) for name, declared in features.items())
    assert filtered(PLUGIN, CycleState(), BOTH, table) == {"none": LACKING, "host": LACKING, "both": SUCCESS}
    found = filtered(PLUGIN, CycleState(), make_pod(**ON_HOST), table)
    assert found == {"none": LACKING, "host": SUCCESS, "both": SUCCESS}


def test_a_node_that_declares_what_is_needed_helps() -> None:
    plain, able = make_node("n"), make_node("n", declaredFeatures=[HOST, RESTART])
    assert wakes(PLUGIN, "Node", Action.ADD, BOTH, None, able)
    assert wakes(PLUGIN, "Node", Action.UPDATE_NODE_DECLARED_FEATURE, BOTH, plain, able)
    assert not wakes(PLUGIN, "Node", Action.ADD, BOTH, None, plain)
