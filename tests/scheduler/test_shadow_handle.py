"""Handle of a shadow: reads go to the scheduler, effects nowhere."""

from typing import Any

from kubewasp.framework.cluster_events import ObjectReference, RecordedEvent
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.status import Code
from kubewasp.scheduler.shadow_handle import ShadowHandle
from tests.framework.fakes import WAIT, Scripted
from tests.plugins.building import make_pod
from tests.scheduler.building import cluster_of


def test_a_waiting_pod_can_be_seen_and_not_decided_on() -> None:
    recorded: list[Any] = []
    plugin = Scripted("A", permit=(WAIT, 60.0))
    cluster = cluster_of(plugin, nodes=["n1"], environment={"record_event": recorded.append})
    pod = make_pod("waiting")
    cluster.one_of(pod)
    handle = ShadowHandle(cluster.scheduler.handle)
    assert handle.get_waiting_pod(pod.uid) is not None
    assert len(handle.waiting_pods()) == 1
    assert not handle.allow_waiting_pod(pod.uid, "A")
    assert not handle.reject_waiting_pod(pod.uid, "A", "no")
    assert not handle.preempt_waiting_pod(pod.uid)
    assert pod.uid in cluster.scheduler.waiting
    reference = ObjectReference("Pod", "v1", "waiting", "default", "")
    handle.record_event(RecordedEvent(reference, ObjectReference(), "Normal", "Reason", "Action", "note"))
    assert recorded == []


def test_nothing_in_the_cluster_is_changed() -> None:
    cluster = cluster_of(Scripted("A"), nodes=["n1"])
    handle = ShadowHandle(cluster.scheduler.handle)
    pod, state = make_pod("pod"), CycleState()
    table = cluster.scheduler.table
    for status in (handle.put_on(state, pod, pod, 0), handle.take_off(state, pod, pod, 0), handle.check(state, pod, 0)):
        assert status.code == Code.ERROR
    assert handle.client.bind(pod, "n1").code == Code.ERROR
    handle.withdraw_nomination(pod)
    handle.activate(pod)
    assert table.pods_on[0] == {}
    assert handle.table is table
    assert not handle.judges_by_counts(state, pod)
    assert handle.upcoming_pods(3) == []
    assert not handle.is_evicted("x")
    assert not handle.is_preempting("x")
    assert handle.nominated_pods("n1") == []
    assert handle.new_random().random() == cluster.scheduler.handle.new_random().random()
