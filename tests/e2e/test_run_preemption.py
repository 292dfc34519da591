"""Preemption: events of the victims, and placement of the preemptor."""

from collections.abc import Callable

import pytest

from tests.e2e.kubewasp import SOON, condition, is_gone, ours, wait_events, wait_node, wait_unschedulable
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import StartKubewasp
from tools.testbed.nodes import FakeNodes
from tools.testbed.waiting import wait_until

POLICY = "policy/v1"
MakePod = Callable[..., Object]


@pytest.fixture
def important(cluster: Cluster) -> MakePod:
    """Factory of manifests for pods that may preempt others."""
    name = f"{cluster.namespace}-important"
    cluster.create(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 1000}
    )
    return lambda pod_name, **fields: ours(pod_name, priorityClassName=name, **fields)


def test_a_victim_is_told_why_and_the_preemptor_waits_until_it_is_gone(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, important: MakePod
) -> None:
    (node,) = fake_nodes.create(1, capacity={"cpu": "4"})
    start_kubewasp()
    cluster.create(ours("victim", cpu="3", terminationGracePeriodSeconds=300))
    wait_node(cluster, "victim")
    preemptor = cluster.create(important("preemptor", cpu="3"))

    assert wait_unschedulable(cluster, "preemptor")["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert cluster.get("Pod", "preemptor")["status"]["nominatedNodeName"] == node
    victim = wait_until(lambda: _terminating(cluster, "victim"), SOON, "the victim to be deleted", cluster.describe)
    target = condition(victim, "DisruptionTarget")
    assert (target["status"], target["reason"]) == ("True", "PreemptionByScheduler")
    assert target["message"] == "kubewasp: preempting to accommodate a higher priority pod"
    (event,) = wait_events(cluster, "victim", "Preempted")
    assert (event["type"], event["action"]) == ("Normal", "Preempting")
    assert event["note"] == f"Preempted by pod {preemptor['metadata']['uid']} on node {node}"

    cluster.create(ours("thief", cpu="1"))
    wait_unschedulable(cluster, "thief", "Insufficient cpu")  # there is room, but it is the preemptor's
    assert "nodeName" not in cluster.get("Pod", "preemptor")["spec"]
    assert cluster.finish_deletions() == 1
    assert wait_node(cluster, "preemptor") == node
    assert "nominatedNodeName" not in cluster.get("Pod", "preemptor")["status"]


def _terminating(cluster: Cluster, name: str) -> Object:
    found = cluster.get("Pod", name)
    return found if "deletionTimestamp" in found["metadata"] else {}


def test_pods_that_a_budget_protects_are_spared(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, important: MakePod
) -> None:
    protected, free = fake_nodes.create(2, capacity={"cpu": "4"})
    cluster.create(ours("protected", cpu="3", labels={"app": "database"}, nodeName=protected))
    cluster.create(ours("free", cpu="3", labels={"app": "batch"}, nodeName=free))
    _budget(cluster, {"app": "database"}, allowed=0)
    start_kubewasp()
    cluster.create(important("preemptor", cpu="3"))
    assert wait_node(cluster, "preemptor") == free
    assert is_gone(cluster, "free")
    assert not is_gone(cluster, "protected")


def _budget(cluster: Cluster, labels: dict[str, str], *, allowed: int) -> None:
    """With the status that a controller would give it."""
    selector = {"matchLabels": labels}
    cluster.create(
        {
            "apiVersion": POLICY,
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "budget"},
            "spec": {"minAvailable": 1, "selector": selector},
        }
    )
    status = {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    cluster.patch("PodDisruptionBudget", "budget", {"status": status}, version=POLICY, sub="status")


def test_a_nomination_is_withdrawn_when_the_pod_no_longer_needs_it(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, important: MakePod
) -> None:
    fake_nodes.create(1, capacity={"cpu": "4"})
    start_kubewasp()
    cluster.create(ours("victim", cpu="3", terminationGracePeriodSeconds=300))
    wait_node(cluster, "victim")
    cluster.create(important("preemptor", cpu="3"))
    wait_until(lambda: _terminating(cluster, "victim"), SOON, "the victim to be deleted", cluster.describe)
    (other,) = fake_nodes.create(1, capacity={"cpu": "4"})
    assert wait_node(cluster, "preemptor") == other
    assert "nominatedNodeName" not in cluster.get("Pod", "preemptor")["status"]


def test_a_restarted_scheduler_keeps_to_the_nomination(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, important: MakePod
) -> None:
    (node,) = fake_nodes.create(1, capacity={"cpu": "4"})
    scheduler = start_kubewasp()
    cluster.create(ours("victim", cpu="3", terminationGracePeriodSeconds=300))
    wait_node(cluster, "victim")
    cluster.create(important("preemptor", cpu="3"))
    wait_until(lambda: _terminating(cluster, "victim"), SOON, "the victim to be deleted", cluster.describe)

    def nominated() -> str:
        return str(cluster.get("Pod", "preemptor")["status"].get("nominatedNodeName", ""))

    assert wait_until(nominated, SOON, "the preemptor to be nominated", cluster.describe) == node
    scheduler.restart(crash=True)
    wait_unschedulable(cluster, "preemptor", "not eligible due to a terminating pod on the nominated node")
    assert nominated() == node
    cluster.create(ours("thief", cpu="3"))
    wait_unschedulable(cluster, "thief", "Insufficient cpu")
    cluster.finish_deletions()
    assert wait_node(cluster, "preemptor") == node
