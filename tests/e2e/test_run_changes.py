"""Changes that make pending pods schedulable: gates, taints, labels, room."""

import pytest

from tests.e2e.kubewasp import SOON, condition, events_of, ours, wait_node, wait_unschedulable
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import StartKubewasp
from tools.testbed.nodes import FakeNodes
from tools.testbed.waiting import wait_until

TAINT = [{"key": "maintenance", "effect": "NoSchedule"}]


def test_a_pod_is_tried_when_its_last_gate_is_removed(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    fake_nodes.create(1)
    start_kubewasp()
    cluster.create(ours("gated", schedulingGates=[{"name": "example.com/one"}, {"name": "example.com/two"}]))
    cluster.create(ours("free"))
    wait_node(cluster, "free")
    assert condition(cluster.get("Pod", "gated"))["reason"] == "SchedulingGated"
    cluster.patch("Pod", "gated", {"spec": {"schedulingGates": [{"name": "example.com/two"}]}})
    cluster.create(ours("free-too"))
    wait_node(cluster, "free-too")
    assert events_of(cluster, "gated") == []
    cluster.patch("Pod", "gated", {"spec": {"schedulingGates": []}})
    wait_node(cluster, "gated")


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("untolerated taint", {"spec": {"taints": []}}),
        ("unschedulable", {"spec": {"unschedulable": None}}),
        ("node affinity/selector", {"metadata": {"labels": {"disk": "ssd"}}}),
        ("Insufficient cpu", {"status": {"allocatable": {"cpu": "128"}, "capacity": {"cpu": "128"}}}),
    ],
    ids=["taint", "cordon", "label", "allocatable"],
)
def test_a_pod_is_bound_when_a_node_changes(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, text: str, change: Object
) -> None:
    (node,) = fake_nodes.create(1, taints=TAINT if "taint" in text else [], unschedulable=text == "unschedulable")
    start_kubewasp()
    selector = {"disk": "ssd"} if "selector" in text else {}
    cluster.create(ours("waiting", nodeSelector=selector, cpu="100" if "cpu" in text else "1"))
    wait_unschedulable(cluster, "waiting", text)
    cluster.client.patch("Node", node, change, sub="status" if "status" in change else "")
    assert wait_node(cluster, "waiting") == node


def test_a_pod_is_bound_when_it_tolerates_the_taint_after_all(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    (node,) = fake_nodes.create(1, taints=TAINT)
    start_kubewasp()
    cluster.create(ours("waiting"))
    wait_unschedulable(cluster, "waiting", "untolerated taint")
    tolerations = cluster.get("Pod", "waiting")["spec"].get("tolerations", [])
    cluster.patch(
        "Pod", "waiting", {"spec": {"tolerations": [*tolerations, {"key": "maintenance", "operator": "Exists"}]}}
    )
    assert wait_node(cluster, "waiting") == node


def test_a_pod_is_bound_when_another_one_makes_room(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    (node,) = fake_nodes.create(1, capacity={"cpu": "4"})
    start_kubewasp()
    cluster.create(ours("first", cpu="3"))
    wait_node(cluster, "first")
    cluster.create(ours("second", cpu="3"))
    wait_unschedulable(cluster, "second", "Insufficient cpu")
    cluster.delete("Pod", "first")
    assert wait_node(cluster, "second") == node


def test_pods_and_nodes_that_go_while_they_are_used_leave_nothing_behind(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    """Half of the pods and half of the nodes go while pods are bound; what is left is used to the full."""
    fake_nodes.create(20, capacity={"cpu": "4"})
    leaving = fake_nodes.names[::2]
    scheduler = start_kubewasp()
    names = [f"pod-{number}" for number in range(72)]
    for batch in (names[:36], names[36:]):
        cluster.create_all(ours(name, cpu="1") for name in batch)
        cluster.client.each(lambda name: cluster.delete("Pod", name, grace_seconds=0), batch[::2])
        cluster.client.each(fake_nodes.delete, leaving[:5])
        leaving = leaving[5:]
    # Nobody removes the pods of a node that is gone: they are there, bound, and count for nothing.
    lost = [name for name, node in cluster.wait_bound(SOON).items() if node not in fake_nodes.names]
    cluster.client.each(lambda name: cluster.delete("Pod", name, grace_seconds=0), lost)
    left = len(cluster.list_all("Pod"))
    cluster.create_all(ours(f"filler-{number}", cpu="1") for number in range(4 * len(fake_nodes.names) - left))
    placements = cluster.wait_bound(SOON)
    assert len(placements) == 4 * len(fake_nodes.names)
    assert set(placements.values()) == set(fake_nodes.names)
    cluster.create(ours("too-much", cpu="1"))
    wait_unschedulable(cluster, "too-much", "10 Insufficient cpu")
    assert scheduler.running, scheduler.log_tail()


def test_a_pod_that_is_made_anew_under_its_name_is_another_one(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    fake_nodes.create(2, capacity={"cpu": "4"})
    start_kubewasp()
    for _ in range(15):
        made = cluster.create(ours("again", cpu="3"))
        cluster.delete("Pod", "again", grace_seconds=0)
    made = cluster.create(ours("again", cpu="3"))
    wait_node(cluster, "again")
    assert cluster.get("Pod", "again")["metadata"]["uid"] == made["metadata"]["uid"]
    cluster.create(ours("other", cpu="3"))
    assert wait_until(lambda: len(set(cluster.placements().values())) == 2, SOON, "both nodes to be used")


def test_a_pod_with_a_finalizer_that_is_deleted_is_not_tried_again(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    (node,) = fake_nodes.create(1, taints=TAINT)
    start_kubewasp()
    manifest = ours("leaving")
    manifest["metadata"]["finalizers"] = ["example.com/slow"]
    cluster.create(manifest)
    wait_unschedulable(cluster, "leaving", "untolerated taint")
    cluster.delete("Pod", "leaving")
    cluster.client.patch("Node", node, {"spec": {"taints": []}})
    cluster.create(ours("staying"))
    wait_node(cluster, "staying")
    assert "nodeName" not in cluster.get("Pod", "leaving")["spec"]
    cluster.patch("Pod", "leaving", {"metadata": {"finalizers": []}})
