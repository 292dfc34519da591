"""Leader election: one of two schedulers binds, the other takes over, and a deposed one stops at once."""

import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.kubewasp import SOON, ours, wait_node
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import Kubewasp, StartKubewasp
from tools.testbed.nodes import LEASES, FakeNodes
from tools.testbed.waiting import wait_until

LEASE = "kubewasp"


@pytest.fixture
def lease_of(cluster: Cluster) -> Iterator[Any]:
    """The configuration of an election on a lease in the test's namespace."""

    def config(duration: str, deadline: str, period: str, **more: Any) -> Object:
        times = {"leaseDuration": duration, "renewDeadline": deadline, "retryPeriod": period}
        where = {"resourceName": LEASE, "resourceNamespace": cluster.namespace}
        return {"leaderElection": {"leaderElect": True, **times, **where}, **more}

    yield config
    cluster.client.delete_all("Lease", version=LEASES, namespace=cluster.namespace)


def _lease(cluster: Cluster) -> Object:
    return dict(cluster.get("Lease", LEASE, version=LEASES)["spec"])


def _pair(start: StartKubewasp, config: Object) -> tuple[Kubewasp, Kubewasp]:
    """The leader, and one that stands by."""
    leader = start(config=config)
    wait_until(lambda: leader.leads, SOON, "the first one to lead", leader.log_tail)
    return leader, start(config=config)


def test_one_of_two_schedules_and_the_other_takes_over_when_it_is_killed(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, lease_of: Any
) -> None:
    fake_nodes.create(5)
    leader, standby = _pair(start_kubewasp, lease_of("3s", "2s", "500ms"))
    cluster.create_all(ours(f"before-{number}") for number in range(50))
    cluster.wait_bound(SOON)
    assert not standby.leads
    first = _lease(cluster)
    cluster.create_all(ours(f"during-{number}") for number in range(100))
    leader.kill()
    killed = time.monotonic()
    cluster.create(ours("after"))
    wait_until(lambda: standby.leads, SOON, "the other one to lead", standby.log_tail)
    # The lease time, and one look at the lease (at most 2.2 periods apart); the rest is for a busy machine.
    assert time.monotonic() - killed < 3 + 1.1 + 6
    cluster.wait_bound(SOON)
    second = _lease(cluster)
    assert first["holderIdentity"] != second["holderIdentity"]
    assert second["leaseTransitions"] == first.get("leaseTransitions", 0) + 1


def test_who_is_asked_to_end_gives_the_lease_back_at_once(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, lease_of: Any
) -> None:
    fake_nodes.create(5)
    leader, standby = _pair(start_kubewasp, lease_of("600s", "500s", "200ms"))
    leader.signal(signal.SIGTERM)
    assert leader.wait_ended() == 0, leader.log_tail()
    wait_until(lambda: standby.leads, SOON, "the other one to lead", standby.log_tail)  # long before 600 s are over
    cluster.create(ours("after"))
    wait_node(cluster, "after")


def test_a_standby_ends_when_it_is_asked_to_and_the_leader_goes_on(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, lease_of: Any
) -> None:
    fake_nodes.create(5)
    _, standby = _pair(start_kubewasp, lease_of("600s", "500s", "200ms"))
    holder = _lease(cluster)["holderIdentity"]
    standby.signal(signal.SIGTERM)
    assert standby.wait_ended() == 0, standby.log_tail()
    cluster.create(ours("after"))
    wait_node(cluster, "after")
    assert _lease(cluster)["holderIdentity"] == holder


def test_a_deposed_leader_stops_binding_although_requests_wait_for_the_rate_limit(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, lease_of: Any
) -> None:
    fake_nodes.create(5)
    slow = {"clientConnection": {"qps": 20, "burst": 30}}
    leader = start_kubewasp(config=lease_of("60s", "50s", "200ms", **slow))
    cluster.create_all(ours(f"pod-{number}") for number in range(400))
    wait_until(lambda: len(cluster.placements()) >= 5, SOON, "some pods to be bound", cluster.describe)
    taken = {"spec": {"holderIdentity": "another", "leaseDurationSeconds": 600}}
    cluster.patch("Lease", LEASE, taken, version=LEASES)
    deposed = time.monotonic()
    assert leader.wait_ended(15) != 0
    seconds = time.monotonic() - deposed
    assert "no longer the leader" in leader.log_text
    # Every pod takes a bind and an event: 400 of them take 40 s. It had `seconds` and what came before.
    assert len(cluster.unbound()) > 100, (seconds, cluster.describe())
    assert _lease(cluster)["holderIdentity"] == "another"


def test_a_lease_that_is_deleted_is_made_anew(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, lease_of: Any
) -> None:
    fake_nodes.create(1)
    leader = start_kubewasp(config=lease_of("20s", "15s", "200ms"))
    wait_until(lambda: leader.leads, SOON, "it to lead", leader.log_tail)
    cluster.delete("Lease", LEASE, version=LEASES)
    wait_until(lambda: _lease(cluster)["holderIdentity"], SOON, "a new lease", leader.log_tail)
    cluster.create(ours("after"))
    wait_node(cluster, "after")
    assert leader.running
