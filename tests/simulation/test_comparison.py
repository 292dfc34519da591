"""Comparison of two simulations of one input."""

import pytest

from kubewasp.simulation import MovedPod, compare, simulate
from tests.guests.build import EXAMPLES
from tests.simulation.simulating import Object, node, pod, workload

NUMBERED = {"nodenumber": str(EXAMPLES / "nodenumber.wat")}


def test_moved_pods_have_both_nodes_and_their_workload() -> None:
    objects: list[Object] = [*(node(f"node-{number}") for number in (1, 2)), workload("StatefulSet", "web", 3)]
    found = compare(simulate(objects), simulate(objects, plugins=NUMBERED))
    assert found.moved == (MovedPod("default/web-2", "node-1", "node-2", "default/web"),)
    assert (found.newly_pending, found.newly_placed) == ((), ())


def test_pods_that_one_side_places_are_newly_placed_or_newly_pending() -> None:
    small, large = simulate([node("a"), pod("web", cpu="8")]), simulate([node("a", cpu="16"), pod("web", cpu="8")])
    assert [item.pod for item in compare(small, large).newly_placed] == ["default/web"]
    assert [item.pod for item in compare(large, small).newly_pending] == ["default/web"]
    assert compare(small, large).moved == ()


def test_the_same_simulation_differs_in_nothing() -> None:
    objects = [node("a"), node("b"), workload("Deployment", "web", 5)]
    found = compare(simulate(objects, seed=3), simulate(objects, seed=3))
    assert (found.moved, found.newly_pending, found.newly_placed) == ((), (), ())
    figures = found.as_dict()["totals"]
    assert isinstance(figures, dict)
    assert figures["baseline"] == figures["result"]


def test_utilization_is_that_of_the_cluster_the_busiest_node_and_their_deviation() -> None:
    result = simulate([node("a", cpu="4"), node("b", cpu="4"), pod("web", cpu="2"), pod("old", on="a", cpu="1")])
    assert [(usage.name, usage.share("cpu")) for usage in result.nodes] == [("a", 0.25), ("b", 0.5)]
    found = result.utilization("cpu")
    assert (found.total, found.busiest, found.deviation) == (0.375, 0.5, 0.125)
    assert result.utilization("nvidia.com/gpu").total == 0
    assert result.nodes[0].share("nvidia.com/gpu") is None


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Job", "ReplicaSet", "DaemonSet"])
def test_a_pod_has_the_workload_that_a_user_has_written(kind: str) -> None:
    result = simulate([node("a"), workload(kind, "web", 1)])
    assert [item.workload for item in result.placements] == ["default/web"]


def test_a_pod_of_a_dump_has_the_deployment_of_its_template() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d9c", "uid": "1", "controller": True}
    dumped = pod("web-5d9c-x7k2p", labels={"pod-template-hash": "5d9c"})
    dumped["metadata"]["ownerReferences"] = [owner]
    result = simulate([dumped, pod("alone")])
    assert [item.workload for item in result.pending] == ["default/web", ""]
