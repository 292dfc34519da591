"""Rolling upgrades: order, moves, blocked nodes, surge and disruptions."""

import pytest

from kubewasp.lab.what_if.upgrade import Upgrade, UpgradePlan, upgrade
from kubewasp.lab.what_if.what_if_errors import WhatIfError
from tests.lab.what_if.asking import asking, budget, workload
from tests.simulation.simulating import Object, node

NODES = (node("a"), node("b"), node("c"))


def upgraded(*objects: Object, surge: int = 0, max_unavailable: int = 1) -> Upgrade:
    names = tuple(each["metadata"]["name"] for each in objects if each["kind"] == "Node")
    return upgrade(asking(*objects), UpgradePlan(names, surge, max_unavailable))


def test_nodes_are_drained_one_after_the_other_and_come_back() -> None:
    found = upgraded(*NODES, workload("Deployment", "web", 6))
    assert [step.nodes for step in found.steps] == [("a",), ("b",), ("c",)]
    assert found.upgraded == ("a", "b", "c")
    assert found.left == ()
    assert found.steps[0].moves[0].node == "a"
    cluster = found.answer.report.cluster
    assert not any(manifest["spec"]["unschedulable"] for manifest in cluster.objects.node_manifests.values())
    assert all(each.node for each in cluster.pods.values())
    (web,) = found.disruptions
    assert (web.workload, web.evictions) == ("default/web", sum(len(step.moves) for step in found.steps))
    assert web.most_often >= 2  # on `a`, then `b`


def test_a_blocked_node_is_left_as_it_was_and_tried_again_at_the_end() -> None:
    found = upgraded(*NODES, workload("Deployment", "web", 3), budget("web", minAvailable=3))
    assert found.left == ("a", "b", "c")
    assert found.evictions == 0
    assert [step.is_retry for step in found.steps] == [False] * 3
    assert {pod.reason for pod in found.answer.blocked} == {"PodDisruptionBudget web: 3 of 3 pods healthy, 3 must be"}
    assert len(found.answer.blocked) == 3
    assert not found.answer.changes


def test_a_node_that_was_blocked_is_upgraded_later_if_others_made_room() -> None:
    tight = (node("a", cpu="2"), node("b", cpu="1"), node("c", cpu="1"))
    objects = (workload("Deployment", "web", 3), budget("web", minAvailable=3))
    found = upgraded(*tight, *objects)
    assert found.evictions == 0  # no room for one more pod: each eviction would go below the budget
    roomy = (node("a", cpu="1"), node("b", cpu="3"))
    found = upgraded(*roomy, workload("Deployment", "web", 3), budget("web", minAvailable=2))
    assert found.upgraded == ("a",)
    assert found.left == ("b",)
    assert [step.is_retry for step in found.steps] == [False, False, True]


def test_with_a_surge_fresh_copies_take_the_place_of_nodes() -> None:
    full = (node("a", cpu="2"), node("b", cpu="2"))
    web = (workload("Deployment", "web", 4), budget("web", maxUnavailable=1), workload("DaemonSet", "agent", cpu="0"))
    assert upgraded(*full, *web).answer.blocked
    found = upgraded(*full, *web, surge=1, max_unavailable=0)
    assert found.upgraded == ("a", "b")
    assert [step.copies for step in found.steps] == [("a-copy-1",), ("b-copy-1",)]
    assert list(found.answer.report.cluster.objects.node_manifests) == ["a-copy-1", "b-copy-1"]
    assert found.evictions == 4
    assert not found.answer.report.result.pending


def test_several_nodes_at_a_time_and_the_pods_without_a_node_meanwhile() -> None:
    found = upgraded(*NODES, workload("Deployment", "web", 6), max_unavailable=2)
    assert [step.nodes for step in found.steps] == [("a", "b"), ("c",)]
    tight = upgraded(node("a", cpu="2"), node("b", cpu="2"), workload("Deployment", "web", 4))
    assert [sum(step.pending.values()) for step in tight.steps] == [2, 2]
    assert tight.disruptions[0].most_pending == 2
    assert not tight.answer.report.result.pending  # they went to the fresh node


def test_no_node_at_a_time_is_no_plan() -> None:
    with pytest.raises(WhatIfError, match="at least one node at a time"):
        UpgradePlan(("a",), 0, 0)
