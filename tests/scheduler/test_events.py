"""Cluster events from two states of an object."""

from typing import Any

import pytest

from kubewasp.framework.cluster_events import Action
from kubewasp.k8s.nodes import Node, parse_node
from kubewasp.scheduler.events import node_actions, pod_actions
from tests.plugins.building import make_node, make_pod

NODE = make_node("n", {"a": "b"}, taints=["x=:NoSchedule"])


@pytest.mark.parametrize(
    ("changed", "actions"),
    [
        ({}, []),
        ({"taints": []}, [Action.UPDATE_NODE_TAINT]),
        ({"cpu": "5"}, [Action.UPDATE_NODE_ALLOCATABLE]),
        ({"pods": "5"}, [Action.UPDATE_NODE_ALLOCATABLE]),
        ({"allocatable": {"example.com/gpu": "1"}}, [Action.UPDATE_NODE_ALLOCATABLE]),
        ({"labels": {}}, [Action.UPDATE_NODE_LABEL]),
        ({"declaredFeatures": ["F"]}, [Action.UPDATE_NODE_DECLARED_FEATURE]),
        ({"images": {"i": 1}}, []),
        ({"unschedulable": True}, []),
        ({"labels": {}, "taints": []}, [Action.UPDATE_NODE_TAINT, Action.UPDATE_NODE_LABEL]),
    ],
)
def test_what_changed_of_a_node(changed: dict[str, Any], actions: list[Action]) -> None:
    after = make_node("n", **{"labels": {"a": "b"}, "taints": ["x=:NoSchedule"], **changed})
    assert node_actions(NODE, after) == actions


def test_a_node_that_is_uncordoned_counts_as_one_with_other_taints() -> None:
    cordoned = make_node("n", unschedulable=True)
    assert node_actions(cordoned, make_node("n")) == [Action.UPDATE_NODE_TAINT]
    assert node_actions(make_node("n"), cordoned) == []


def test_a_node_that_was_not_there_is_new() -> None:
    assert node_actions(None, NODE) == [Action.ADD]


@pytest.mark.parametrize(
    ("before", "after", "actions"),
    [
        ({}, {}, [Action.UPDATE_OTHER]),
        ({}, {"labels": {"a": "b"}}, [Action.UPDATE_POD_LABEL]),
        ({"requests": {"cpu": "2"}}, {"requests": {"cpu": "1"}}, [Action.UPDATE_POD_SCALE_DOWN]),
        ({"requests": {"cpu": "2"}}, {}, [Action.UPDATE_POD_SCALE_DOWN]),
        ({"requests": {"example.com/gpu": "2"}}, {}, [Action.UPDATE_POD_SCALE_DOWN]),
        ({"requests": {"cpu": "1"}}, {"requests": {"cpu": "2"}}, [Action.UPDATE_OTHER]),
        (
            {"requests": {"cpu": "2", "memory": "1"}},
            {"requests": {"cpu": "1", "memory": "2"}},
            [Action.UPDATE_POD_SCALE_DOWN],
        ),
        ({"schedulingGates": [{"name": "g"}]}, {}, [Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED]),
        (
            {"schedulingGates": [{"name": "g"}, {"name": "h"}]},
            {"schedulingGates": [{"name": "g"}]},
            [Action.UPDATE_OTHER],
        ),
        ({}, {"tolerations": [{"key": "x"}]}, [Action.UPDATE_POD_TOLERATION]),
        ({"tolerations": [{"key": "y"}]}, {"tolerations": [{"key": "x"}]}, [Action.UPDATE_OTHER]),
        (
            {},
            {"labels": {"a": "b"}, "tolerations": [{"key": "x"}]},
            [Action.UPDATE_POD_LABEL, Action.UPDATE_POD_TOLERATION],
        ),
    ],
)
def test_what_changed_of_a_pod(before: Any, after: Any, actions: list[Action]) -> None:
    assert pod_actions(make_pod("p", **before), make_pod("p", **after)) == actions


def test_conditions_and_annotations_of_a_node_are_changes() -> None:
    def made(condition: str, note: str) -> Node:
        metadata = {"name": "n", "annotations": {"note": note}}
        return parse_node({"metadata": metadata, "status": {"conditions": [{"type": "Ready", "status": condition}]}})

    before = made("True", "a")
    assert node_actions(before, made("True", "a")) == []
    assert node_actions(before, made("False", "a")) == [Action.UPDATE_NODE_CONDITION]
    assert node_actions(before, made("True", "b")) == [Action.UPDATE_NODE_ANNOTATION]
