"""Binds of the pods of all profiles, with the events and conditions of kube-scheduler."""

import socket

from tests.e2e.kubewasp import SOON, condition, events_of, ours, wait_events, wait_node, wait_unschedulable
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster, pod
from tools.testbed.kubewasp import StartKubewasp, profile
from tools.testbed.nodes import FakeNodes
from tools.testbed.servers import StartKubeScheduler
from tools.testbed.waiting import wait_until

TOO_BIG = (
    "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. no new claims to deallocate, "
    "preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, "
    "2 No preemption victims found for incoming pod."
)


def test_pods_are_bound_where_they_fit(cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp) -> None:
    fake_nodes.create(30, labels=lambda number: {"zone": f"zone-{number % 3}"})
    cluster.create_all(ours(f"before-{number}", nodeSelector={"zone": "zone-1"}) for number in range(50))
    start_kubewasp()
    cluster.create_all(ours(f"after-{number}", nodeSelector={"zone": "zone-1"}) for number in range(50))
    placements = cluster.wait_bound(SOON)
    assert len(placements) == 100
    assert set(placements.values()) <= {name for name in fake_nodes.names if int(name.rpartition("-")[2]) % 3 == 1}


def test_a_bound_pod_has_the_event_and_the_condition(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    (node,) = fake_nodes.create(1)
    start_kubewasp()
    made = cluster.create(ours("one"))
    assert wait_node(cluster, "one") == node
    (event,) = wait_events(cluster, "one", "Scheduled")
    told = {key: event[key] for key in ("type", "reason", "action", "note", "reportingController", "reportingInstance")}
    assert told == {
        "type": "Normal",
        "reason": "Scheduled",
        "action": "Binding",
        "note": f"Successfully assigned {cluster.namespace}/one to {node}",
        "reportingController": "kubewasp",
        "reportingInstance": f"kubewasp-{socket.gethostname()}",
    }
    assert event["regarding"]["uid"] == made["metadata"]["uid"]
    assert condition(cluster.get("Pod", "one"))["status"] == "True"


def test_an_unschedulable_pod_is_told_the_same_as_by_kube_scheduler(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, start_kube_scheduler: StartKubeScheduler
) -> None:
    for node in fake_nodes.create(2, capacity={"cpu": "2"}):
        cluster.create(pod(f"on-{node}", cpu="1", nodeName=node))
    fake_nodes.create(1, taints=[{"key": "gpu", "effect": "NoSchedule"}])
    cluster.create(pod("theirs", cpu="2"))
    cluster.create(ours("ours", cpu="2"))
    start_kubewasp()
    start_kube_scheduler()
    told = [_verdict(cluster, name) for name in ("ours", "theirs")]
    assert told[0] == told[1]
    assert told[0]["message"] == told[0]["note"] == TOO_BIG
    assert told[0]["reason"] == "Unschedulable"


def _verdict(cluster: Cluster, name: str) -> Object:
    """Condition and event of a pod, without names and times."""
    found = dict(wait_unschedulable(cluster, name))
    (event,) = wait_events(cluster, name, "FailedScheduling")
    assert found.pop("lastTransitionTime")
    found |= {"event": [event[key] for key in ("type", "reason", "action")], "note": event["note"]}
    return found | {"nominated": cluster.get("Pod", name)["status"].get("nominatedNodeName")}


def test_without_nodes_a_pod_waits_for_one(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    start_kubewasp()
    cluster.create(ours("early"))
    assert wait_unschedulable(cluster, "early")["message"] == "no nodes available to schedule pods"
    (node,) = fake_nodes.create(1)
    assert wait_node(cluster, "early") == node


def test_a_condition_is_written_when_it_changes(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    fake_nodes.create(1, capacity={"cpu": "1"})
    start_kubewasp()
    cluster.create(ours("too-big", cpu="2"))
    first = wait_unschedulable(cluster, "too-big", "1 Insufficient cpu")
    fake_nodes.create(1, taints=[{"key": "gpu", "effect": "NoSchedule"}])
    second = wait_unschedulable(cluster, "too-big", "1 Insufficient cpu, 1 node(s) had untolerated taint(s)")
    assert second["lastTransitionTime"] == first["lastTransitionTime"]
    version = cluster.get("Pod", "too-big")["metadata"]["resourceVersion"]
    cluster.client.patch("Node", fake_nodes.names[0], {"metadata": {"labels": {"any": "thing"}}})
    cluster.create(ours("small"))
    wait_node(cluster, "small")
    assert cluster.get("Pod", "too-big")["metadata"]["resourceVersion"] == version


def test_a_restarted_scheduler_does_not_write_what_a_pod_says_already(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    fake_nodes.create(1, capacity={"cpu": "1"})
    scheduler = start_kubewasp()
    cluster.create(ours("too-big", cpu="2"))
    wait_unschedulable(cluster, "too-big", "1 Insufficient cpu")
    version = cluster.get("Pod", "too-big")["metadata"]["resourceVersion"]
    scheduler.restart()
    wait_events(cluster, "too-big", "FailedScheduling", count=2)
    cluster.create(ours("small"))
    wait_node(cluster, "small")
    assert cluster.get("Pod", "too-big")["metadata"]["resourceVersion"] == version


def test_pods_of_other_schedulers_are_left_alone_but_take_up_room(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    full, free = fake_nodes.create(2, capacity={"cpu": "4"})
    cluster.create(pod("running", cpu="3", nodeName=full))
    cluster.create(pod("pending", cpu="1"))
    start_kubewasp()
    cluster.create(ours("ours", cpu="3"))
    assert wait_node(cluster, "ours") == free
    cluster.create(ours("too-big", cpu="2"))
    wait_unschedulable(cluster, "too-big", "2 Insufficient cpu")
    assert "nodeName" not in cluster.get("Pod", "pending")["spec"]
    assert events_of(cluster, "pending") == []
    assert condition(cluster.get("Pod", "pending")) == {}


def test_finished_pods_take_up_no_room(cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp) -> None:
    (node,) = fake_nodes.create(1, capacity={"cpu": "4"})
    cluster.create(pod("done", cpu="3", nodeName=node))
    start_kubewasp()
    cluster.create(ours("next", cpu="3"))
    wait_unschedulable(cluster, "next", "1 Insufficient cpu")
    cluster.patch("Pod", "done", {"status": {"phase": "Succeeded"}}, sub="status")
    assert wait_node(cluster, "next") == node


def test_two_profiles_decide_differently(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    empty, half = fake_nodes.create(2, capacity={"cpu": "8", "memory": "8Gi"})
    cluster.create(pod("running", cpu="3", memory="3Gi", nodeName=half))
    packing = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}
    fit = {"name": "NodeResourcesFit", "args": {"scoringStrategy": packing}}
    alone = {"multiPoint": {"enabled": [{"name": "NodeResourcesFit", "weight": 100}]}}
    start_kubewasp(profiles=[profile("spread"), profile("pack", plugins=alone, pluginConfig=[fit])])
    cluster.create(ours("spread", scheduler="spread", cpu="1", memory="1Gi"))
    cluster.create(ours("pack", scheduler="pack", cpu="1", memory="1Gi"))
    assert wait_node(cluster, "spread") == empty
    assert wait_node(cluster, "pack") == half
    for name in ("spread", "pack"):
        (event,) = wait_events(cluster, name, "Scheduled")
        assert event["reportingController"] == name


def test_it_ends_in_order_when_it_is_asked_to(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    fake_nodes.create(5)
    scheduler = start_kubewasp()
    cluster.create_all(ours(f"pod-{number}") for number in range(100))
    wait_until(lambda: len(cluster.placements()) >= 10, SOON, "some pods to be bound", cluster.describe)
    scheduler.signal(15)
    assert scheduler.wait_ended() == 0, scheduler.log_tail()
    bound = cluster.placements()
    scheduler.restart()
    assert cluster.wait_bound(SOON).items() >= bound.items()
