"""Order in which controllers remove pods."""

from dataclasses import replace
from typing import Any

import pytest

from kubewasp.k8s.pods import Pod, PodParser
from kubewasp.simulation.scale_down import deletion_cost, removed_last_first

PARSER = PodParser()


def pod(name: str, node: str = "", **changes: Any) -> Pod:
    return replace(PARSER.parse({"metadata": {"name": name}, "spec": {"nodeName": node}}), **changes)


def order(kind: str, *pods: Pod, **costs: int) -> list[str]:
    by_uid = {each.uid: costs[each.name] for each in pods if each.name in costs}
    return [each.name for each in reversed(removed_last_first(kind, pods, by_uid))]


def test_a_statefulset_removes_the_highest_ordinals() -> None:
    assert order("StatefulSet", pod("db-2", "n"), pod("db-10"), pod("db-9", "n")) == ["db-10", "db-9", "db-2"]


def test_each_rule_decides_where_those_before_it_do_not() -> None:
    pods = (
        pod("kept", "a", created=1),
        pod("newest", "b", created=9),
        pod("crowded", "c"),
        pod("together", "c"),
        pod("cheap", "d"),
        pod("unready", "e", is_unready=True),
        pod("pending"),
    )
    found = order("ReplicaSet", *pods, cheap=-3)
    assert found == ["pending", "unready", "cheap", "together", "crowded", "newest", "kept"]


@pytest.mark.parametrize(("written", "cost"), [("-5", -5), ("7", 7), ("x", 0), ("9" * 5000, 0), (None, 0)])
def test_deletion_costs_that_are_no_numbers_are_nothing(written: str | None, cost: int) -> None:
    annotations = {"controller.kubernetes.io/pod-deletion-cost": written} if written else {}
    assert deletion_cost({"metadata": {"annotations": annotations}}) == cost
