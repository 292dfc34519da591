"""Gangs: pods that wait for each other at Permit, held by the gang plugin of the examples."""

from pathlib import Path

import pytest

from tests.e2e.kubewasp import SOON, is_gone, ours, wait_node, wait_unschedulable
from tests.guests.build import ROOT, project_guest
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import StartKubewasp, profile
from tools.testbed.nodes import FakeNodes
from tools.testbed.waiting import wait_until


@pytest.fixture(scope="module")
def gang() -> Path:
    return project_guest(ROOT / "examples" / "plugins" / "gang")


def member(name: str, size: int, *, timeout: str = "5m") -> Object:
    """One pod of the gang `g`; a node of 4 CPUs has room for one."""
    made = ours(name, cpu="3", labels={"kubewasp.dev/gang": "g", "kubewasp.dev/gang-size": str(size)})
    made["metadata"]["annotations"] = {"kubewasp.dev/gang-timeout": timeout}
    return made


def wait_expected(cluster: Cluster, *names: str) -> None:
    """Until these pods have a node and wait for the permission to go there."""
    wait_until(
        lambda: all(cluster.get("Pod", name)["status"].get("nominatedNodeName") for name in names),
        SOON,
        f"{names} to wait",
        cluster.describe,
    )


def test_a_gang_is_bound_when_it_is_complete(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, gang: Path
) -> None:
    fake_nodes.create(4, capacity={"cpu": "4"})
    start_kubewasp(profiles=[profile(guests={"gang": gang})])
    cluster.create_all(member(f"g-{number}", 4) for number in range(3))
    wait_expected(cluster, "g-0", "g-1", "g-2")
    cluster.create(ours("alone", cpu="1"))
    wait_node(cluster, "alone")
    assert set(cluster.placements()) == {"alone"}
    cluster.create(member("g-3", 4))
    placements = cluster.wait_bound(SOON)
    assert len({placements[f"g-{number}"] for number in range(4)}) == 4
    assert not any("nominatedNodeName" in found["status"] for found in cluster.list_all("Pod"))


def test_a_gang_that_is_not_complete_in_time_makes_room(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, gang: Path
) -> None:
    (node,) = fake_nodes.create(1, capacity={"cpu": "4"})
    start_kubewasp(profiles=[profile(guests={"gang": gang})])
    cluster.create(member("g-0", 2, timeout="1s"))
    message = "0/1 nodes are available: 1 rejected due to timeout after waiting 1s at plugin gang."
    assert wait_unschedulable(cluster, "g-0", "rejected")["message"] == message
    assert "nominatedNodeName" not in cluster.get("Pod", "g-0")["status"]
    cluster.create(ours("alone", cpu="3"))
    assert wait_node(cluster, "alone") == node


def test_a_gang_waits_on_when_one_of_it_is_deleted_and_comes_back(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, gang: Path
) -> None:
    fake_nodes.create(3, capacity={"cpu": "4"})
    start_kubewasp(profiles=[profile(guests={"gang": gang})])
    cluster.create_all(member(f"g-{number}", 3) for number in range(2))
    wait_expected(cluster, "g-0", "g-1")
    cluster.delete("Pod", "g-0")
    wait_until(lambda: is_gone(cluster, "g-0"), SOON, "the pod to be gone")
    cluster.create_all(member(f"g-{number}", 3) for number in (0, 2))
    assert len(cluster.wait_bound(SOON)) == 3


def test_a_gang_that_waited_when_the_scheduler_was_killed_is_bound_by_the_next_one(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, gang: Path
) -> None:
    fake_nodes.create(3, capacity={"cpu": "4"})
    scheduler = start_kubewasp(profiles=[profile(guests={"gang": gang})])
    cluster.create_all(member(f"g-{number}", 3) for number in range(2))
    wait_expected(cluster, "g-0", "g-1")
    scheduler.restart(crash=True)
    cluster.create(member("g-2", 3))
    assert len(set(cluster.wait_bound(SOON).values())) == 3
