"""Namespaces, owners, budgets and priority classes."""

from typing import Any

import pytest

from kubewasp.k8s.objects import parse_budget, parse_namespace, parse_owner, parse_priority_class
from kubewasp.k8s.selectors import EVERYTHING, map_selector

BROKEN = {"matchExpressions": [{"key": "a", "operator": "Nonsense"}]}


def test_a_namespace_has_its_name_as_a_label() -> None:
    found = parse_namespace({"metadata": {"name": "ns", "labels": {"team": "a"}}})
    assert (found.name, found.labels) == ("ns", {"team": "a", "kubernetes.io/metadata.name": "ns"})


@pytest.mark.parametrize("kind", ["Service", "ReplicationController"])
def test_services_and_replication_controllers_select_by_a_map(kind: str) -> None:
    found = parse_owner({"kind": kind, "metadata": {"name": "a", "namespace": "ns"}, "spec": {"selector": {"x": "y"}}})
    assert (found.kind, found.namespace, found.name, found.selector) == (kind, "ns", "a", map_selector({"x": "y"}))
    assert parse_owner({"kind": kind, "metadata": {"name": "a"}}).selector is None
    assert parse_owner({"kind": kind, "spec": {"selector": {}}}).selector == EVERYTHING


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
def test_the_newer_kinds_select_by_a_selector(kind: str) -> None:
    def selector(value: Any) -> Any:
        return parse_owner({"kind": kind, "metadata": {"name": "a"}, "spec": {"selector": value}}).selector

    assert selector({"matchLabels": {"x": "y"}}) == map_selector({"x": "y"})
    assert selector(None) is None
    assert selector(BROKEN) is None


def test_a_budget_is_read() -> None:
    found = parse_budget(
        {
            "metadata": {"name": "b", "namespace": "ns"},
            "spec": {"selector": {"matchLabels": {"x": "y"}}},
            "status": {"disruptionsAllowed": 2, "disruptedPods": {"p": "2026-01-01T00:00:00Z"}},
        }
    )
    assert (found.namespace, found.name, found.selector) == ("ns", "b", map_selector({"x": "y"}))
    assert (found.disruptions_allowed, found.disrupted_pods) == (2, {"p"})


def test_a_budget_whose_selector_cannot_be_parsed_covers_nothing() -> None:
    found = parse_budget({"metadata": {"name": "b"}, "spec": {"selector": BROKEN}})
    assert (found.selector, found.disruptions_allowed) == (None, 0)


def test_a_priority_class_is_read() -> None:
    found = parse_priority_class({"metadata": {"name": "high"}, "value": 7, "globalDefault": True})
    assert (found.name, found.value, found.is_default, found.preemption_policy) == (
        "high",
        7,
        True,
        "PreemptLowerPriority",
    )
    assert parse_priority_class({"metadata": {"name": "x"}, "preemptionPolicy": "Never"}).preemption_policy == "Never"
