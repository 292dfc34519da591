"""SchedulingGates: pods with gates, and the removal of the last gate."""

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.plugins.scheduling_gates import SchedulingGates
from tests.plugins.building import FakeHandle, make_pod, wakes

PLUGIN = SchedulingGates({}, FakeHandle())
GATED = make_pod("p", schedulingGates=[{"name": "b"}, {"name": "a"}])


def test_a_pod_with_gates_is_held_back_and_they_are_named_in_order() -> None:
    text = "waiting for scheduling gates: [b a]"
    assert PLUGIN.pre_enqueue(GATED) == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text)


def test_a_pod_without_gates_passes() -> None:
    assert PLUGIN.pre_enqueue(make_pod()) == SUCCESS


def test_only_the_end_of_its_own_gates_helps_a_pod() -> None:
    gone = Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    assert wakes(PLUGIN, "Pod", gone, GATED, GATED, make_pod("p"))
    assert not wakes(PLUGIN, "Pod", gone, GATED, GATED, make_pod("other"))
    assert not wakes(PLUGIN, "Pod", Action.UPDATE_POD_LABEL, GATED, GATED, make_pod("p"))
