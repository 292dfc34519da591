"""NodePorts: host port conflicts."""

from typing import Any

import pytest

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.plugin import PreFilterResult
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.plugins.node_ports import NodePorts
from tests.plugins.building import FakeHandle, filtered, make_node, make_pod, make_table, wakes

PLUGIN = NodePorts({}, FakeHandle())
TAKEN = Status(Code.UNSCHEDULABLE, "node(s) didn't have free ports for the requested pod ports")


def listening(*ports: dict[str, Any] | int, **more: Any) -> Any:
    items = [{"hostPort": port} if isinstance(port, int) else port for port in ports]
    return make_pod(containers=[{"name": "main", "ports": items}], **more)


def test_a_pod_without_host_ports_skips() -> None:
    table = make_table([make_node("n")])
    assert PLUGIN.pre_filter(CycleState(), make_pod(), table) == PreFilterResult(Status(Code.SKIP))
    assert PLUGIN.pre_filter(CycleState(), listening({"containerPort": 80}), table) == PreFilterResult(
        Status(Code.SKIP)
    )
    assert PLUGIN.pre_filter(CycleState(), listening(80), table) == PreFilterResult()


@pytest.mark.parametrize(
    ("wanted", "verdict"),
    [
        ([80], TAKEN),
        ([81], SUCCESS),
        ([81, 80], TAKEN),
        ([{"hostPort": 80, "protocol": "UDP"}], SUCCESS),
        ([{"hostPort": 80, "hostIP": "10.0.0.9"}], TAKEN),
        ([{"hostPort": 443}], TAKEN),
        ([{"hostPort": 443, "hostIP": "10.0.0.1"}], TAKEN),
        ([{"hostPort": 443, "hostIP": "10.0.0.2"}], SUCCESS),
    ],
)
def test_a_port_that_is_taken_keeps_a_pod_off(wanted: Any, verdict: Status) -> None:
    used = [listening(80, node="n"), listening({"hostPort": 443, "hostIP": "10.0.0.1"}, node="n")]
    table = make_table([make_node("free"), make_node("n")], used)
    assert filtered(PLUGIN, CycleState(), listening(*wanted), table) == {"free": SUCCESS, "n": verdict}


def test_a_port_is_free_when_its_pod_has_gone() -> None:
    used = listening(80, node="n")
    table = make_table([make_node("n")], [used])
    assert filtered(PLUGIN, CycleState(), listening(80), table) == {"n": TAKEN}
    table.remove_pod(used)
    assert filtered(PLUGIN, CycleState(), listening(80), table) == {"n": SUCCESS}


@pytest.mark.parametrize(
    ("deleted", "helps"),
    [
        (listening(80, node="n"), True),
        (listening(80, status={"nominatedNodeName": "n"}), True),
        (listening(80), False),
        (listening(81, node="n"), False),
        (make_pod(node="n"), False),
    ],
)
def test_the_end_of_a_pod_on_a_node_that_had_the_port_helps(deleted: Any, helps: bool) -> None:
    assert wakes(PLUGIN, "Pod", Action.DELETE, listening(80), deleted) is helps


def test_a_new_node_helps() -> None:
    assert wakes(PLUGIN, "Node", Action.ADD, listening(80), None, make_node("n"))
