"""Dry run of one pod, without changes."""

from typing import Any

import pytest

from kubewasp.explain.dry_run import ExplainError, as_pending, dry_run
from kubewasp.explain.explanation import Explanation
from kubewasp.framework.handle import ReadOnlyClient
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from tests.simulation import simulating
from tests.simulation.simulating import Object, node, pod, priority_class


def filled(*objects: Object) -> EmbeddedCluster:
    return simulating.filled(*objects, client=ReadOnlyClient())


def looked_at(cluster: EmbeddedCluster, name: str) -> Explanation:
    return dry_run(cluster.scheduler, cluster.pods[f"default/{name}"])


# ---------------------------------------------------------------------- looking


def test_candidates_are_shown_and_nobody_is_evicted() -> None:
    cluster = filled(
        *(node(name, cpu="4") for name in ("a", "b", "c")),
        priority_class("low", 5),
        priority_class("high", 10),
        pod("one", on="a", cpu="3"),
        pod("other", on="b", cpu="3", priorityClassName="low"),
        pod("equal", on="c", cpu="3", priorityClassName="high"),
        pod("web", cpu="3", priorityClassName="high"),
    )
    found = looked_at(cluster, "web")
    assert (found.node, found.nominated_node, [victim.name for victim in found.victims]) == (None, "a", ["one"])
    shown = sorted(found.as_dict()["candidates"], key=lambda candidate: str(candidate["node"]))
    assert shown == [
        {"node": "a", "victims": ["default/one"], "budget_violations": 0},
        {"node": "b", "victims": ["default/other"], "budget_violations": 0},
    ]
    assert cluster.objects.preemptions == []
    assert cluster.pods["default/one"].node == "a"


def test_what_lacks_is_told_with_the_victims_still_there() -> None:
    high = pod("web", cpu="2", priorityClassName="high")
    cluster = filled(node("a"), priority_class("high", 10), pod("low", on="a", cpu="3"), high)
    (item,) = looked_at(cluster, "web").nodes
    assert item.hints == ["1 more cpu"]


def test_room_that_is_kept_for_a_nominated_pod_is_not_free() -> None:
    waiting = {**pod("first", cpu="3", priorityClassName="high"), "status": {"nominatedNodeName": "a"}}
    found = looked_at(filled(node("a"), priority_class("high", 10), waiting, pod("web", cpu="3")), "web")
    assert found.node is None
    (item,) = found.nodes
    assert (item.is_feasible, item.rejected_by, item.reasons) == (False, "NodeResourcesFit", ("Insufficient cpu",))


def test_a_gated_pod_is_not_looked_at() -> None:
    gated = pod("web", schedulingGates=[{"name": "budget"}])
    with pytest.raises(ExplainError) as raised:
        looked_at(filled(node("a"), gated), "web")
    held = "pod default/web is gated by SchedulingGates: waiting for scheduling gates: [budget]"
    assert str(raised.value) == held


# ---------------------------------------------------------------------- as if it were pending


def pending(manifest: Object, profile: str = "") -> tuple[dict[str, Any], list[str]]:
    return as_pending(manifest, profile, ["default-scheduler", "pack"])


def test_a_pending_pod_is_taken_as_it_is() -> None:
    assert pending(pod("web")) == (pod("web"), [])
    assert pending(pod("web", schedulerName="pack"), "pack") == (pod("web", schedulerName="pack"), [])


def test_a_bound_pod_is_as_if_it_were_not() -> None:
    found, notes = pending(pod("web", on="a"))
    assert found == pod("web")
    assert notes == ["bound to a: explained as pending, without its requests there"]


def test_a_pod_may_be_seen_as_one_of_another_profile() -> None:
    found, notes = pending(pod("web"), "pack")
    assert found == pod("web", schedulerName="pack")
    assert notes == ["schedulerName default-scheduler: explained with profile pack"]


def test_that_a_pod_is_being_deleted_is_noted() -> None:
    ending = pod("web")
    ending["metadata"]["deletionTimestamp"] = "2026-01-05T12:00:00Z"
    assert pending(ending) == (ending, ["being deleted: schedulers skip it"])


@pytest.mark.parametrize(
    ("manifest", "profile", "text"),
    [
        (
            {**pod("web"), "status": {"phase": "Succeeded"}},
            "",
            "pod default/web has finished (Succeeded) and is not scheduled again",
        ),
        (pod("web"), "spread", "there is no profile spread; there are: default-scheduler, pack"),
        (
            pod("web", schedulerName="other", namespace="shop"),
            "",
            "no profile has the schedulerName other of pod shop/web; there are: default-scheduler, pack. "
            "Choose one of them with --profile",
        ),
    ],
)
def test_what_cannot_be_explained_is_told(manifest: Object, profile: str, text: str) -> None:
    with pytest.raises(ExplainError) as raised:
        pending(manifest, profile)
    assert str(raised.value) == text
