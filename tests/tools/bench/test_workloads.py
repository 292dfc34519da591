"""Workloads: their objects, and the check of the resulting cluster."""

import pytest

from tools.bench.workload_list import WORKLOADS, workload
from tools.bench.workloads import HOST, INITIAL, MEASURED, PART, WAITING, ZONE, Workload, problems
from tools.testbed.client import Object

Placements = dict[str, tuple[str, str]]
every_workload = pytest.mark.parametrize("name", WORKLOADS)


def parts(pods: list[Object]) -> list[str]:
    return [pod["metadata"]["labels"][PART] for pod in pods]


def placed(what: Workload) -> Placements:
    """Each measured pod on a node of its own, and the others as they are."""
    placements = {
        pod["metadata"]["name"]: (INITIAL, str(pod["spec"]["nodeName"]))
        for pod in what.initial_pods()
        if what.name != "preemption"  # they had to go
    }
    free = (f"node-{number}" for number in range(what.nodes, 0, -1))
    for pod in what.pending_pods():
        part = pod["metadata"]["labels"][PART]
        placements[pod["metadata"]["name"]] = part, next(free) if part == MEASURED else ""
    return placements


@every_workload
def test_a_workload_has_as_many_nodes_and_pods_as_it_says(name: str) -> None:
    what = workload(name, nodes=20, pods=12)
    assert [node["metadata"]["labels"][HOST] for node in what.node_manifests()] == [f"node-{n}" for n in range(1, 21)]
    assert len(what.initial_pods()) == what.initial.count
    assert parts(what.pending_pods()).count(MEASURED) == what.measured.count > 0
    assert parts(what.pending_pods()).count(WAITING) == what.waiting.count


@every_workload
def test_names_are_in_the_order_in_which_pods_are_tried(name: str) -> None:
    names = [pod["metadata"]["name"] for pod in workload(name, nodes=20, pods=30).pending_pods()]
    assert names == sorted(names)


def test_pods_that_fit_nowhere_come_between_the_others() -> None:
    found = parts(workload("unschedulable", nodes=20, pods=10).pending_pods())
    assert found == [*[MEASURED] * 5, WAITING] * 2


def test_nodes_are_in_zones_by_turns() -> None:
    zones = [node["metadata"]["labels"][ZONE] for node in workload("topology-spread", 6, 3).node_manifests()]
    assert sorted(zones) == ["moon-1", "moon-1", "moon-2", "moon-2", "moon-3", "moon-3"]


def test_pods_that_want_to_be_alone_have_just_enough_nodes() -> None:
    what = workload("pod-anti-affinity", nodes=20, pods=1000)
    assert what.initial.count + what.measured.count == 20


@every_workload
def test_a_cluster_that_came_out_right_has_no_problems(name: str) -> None:
    what = workload(name, nodes=30, pods=12)
    assert problems(what, placed(what)) == []


def test_a_measured_pod_without_a_node_is_a_problem() -> None:
    what = workload("basic", nodes=30, pods=12)
    assert problems(what, {**placed(what), "pod-00003": (MEASURED, "")}) == ["11 of 12 measured pods are bound"]


def test_a_gated_pod_with_a_node_is_a_problem() -> None:
    what = workload("gated", nodes=30, pods=12)
    gated = next(pod for pod in what.pending_pods() if pod["metadata"]["labels"][PART] == WAITING)["metadata"]["name"]
    found = problems(what, {**placed(what), gated: (WAITING, "node-1")})
    assert found == [f"pods that fit nowhere have nodes: {gated}"]


def test_an_over_committed_node_is_a_problem() -> None:
    what = workload("preemption", nodes=30, pods=12)
    crowded = placed(what) | {f"old-{number}": (INITIAL, "node-30") for number in range(4)}
    assert problems(what, crowded) == ["over-committed: node-30"]


def test_a_pod_on_a_node_that_never_was_is_a_problem() -> None:
    what = workload("basic", nodes=30, pods=12)
    (found,) = problems(what, {**placed(what), "pod-00003": (MEASURED, "node-31")})
    assert found == "there are pods on node-31, which the workload has not"


def test_pods_may_be_on_the_node_that_comes_and_goes() -> None:
    what = workload("mixed-churn", nodes=30, pods=12)
    assert problems(what, {**placed(what), "pod-00003": (MEASURED, "passing-node")}) == []


def test_two_pods_that_want_to_be_alone_on_one_node_are_a_problem() -> None:
    what = workload("pod-anti-affinity", nodes=30, pods=12)
    found = problems(what, {**placed(what), "pod-00003": (MEASURED, "node-30")})
    assert found == ["pods that want to be alone share node-30"]


def test_pods_that_are_spread_unevenly_are_a_problem() -> None:
    what = workload("topology-spread", nodes=30, pods=12)
    lopsided = {name: (part, "node-3" if part == MEASURED else node) for name, (part, node) in placed(what).items()}
    assert problems(what, lopsided) == ["spread unevenly: {'moon-1': 12, 'moon-2': 0, 'moon-3': 0}"]
