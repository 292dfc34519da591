"""Shadow of a plugin: the exchanged choice is that of a whole cycle, and nothing is influenced."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.framework.plugin import PreFilterResult
from kubewasp.scheduler.cycle import SchedulingCycle
from kubewasp.scheduler.sampling import Rotation
from kubewasp.scheduler.shadow import SHADOW_POINTS, Comparison, ShadowCycle
from tests.framework.fakes import SKIP, Scripted, error, make_framework, unschedulable
from tests.plugins.building import make_pod
from tests.scheduler.building import Cluster, cluster_of

NODES = ("n1", "n2", "n3")


def shadow_of(cluster: Cluster, candidate: Scripted, *others: Scripted, weight: int = 1) -> ShadowCycle:
    scheduler = cluster.scheduler
    plugins = [(candidate, weight), *((other, 1) for other in others)]
    points = {point: make_framework(*plugins).points[point] for point in SHADOW_POINTS}
    cycle = scheduler.profiles.cycles["default-scheduler"]
    return ShadowCycle(candidate.name, points, cycle, scheduler.table, scheduler.nominator)


def compared(cluster: Cluster, shadow: ShadowCycle, name: str = "pod") -> Comparison:
    cycle = cluster.scheduler.profiles.cycles["default-scheduler"]
    pod, trace = make_pod(name), shadow.trace()
    choice = cycle.choose(pod, trace=trace)
    found = shadow.compare(pod, choice, trace)
    choice.state.close()
    return found


def test_equal_versions_choose_the_same_node() -> None:
    answers = {"score": {"n2": 10}}
    cluster = cluster_of(Scripted("P", **answers), nodes=NODES)
    found = compared(cluster, shadow_of(cluster, Scripted("P", **answers)))
    assert (found.node, found.other, found.is_other_node) == ("n2", "n2", False)
    assert (found.nodes, found.verdicts, found.distance) == (3, 0, 0.0)
    assert not found.is_whole_cycle


def test_other_scores_are_exchanged_with_their_weight() -> None:
    rest = Scripted("Rest", score={"n1": 40})
    cluster = cluster_of((Scripted("P", score={"n2": 30}), 2), rest, nodes=NODES)
    found = compared(cluster, shadow_of(cluster, Scripted("P", score={"n2": 10}), rest, weight=2))
    assert (found.node, found.other) == ("n2", "n1")  # 60 against 40, then 20 against 40
    assert found.distance == pytest.approx(20 / 3)
    assert not found.is_whole_cycle


@pytest.mark.parametrize("rejected", [["n2"], ["n1", "n2"]])
def test_other_verdicts_take_a_whole_cycle_that_knows_the_choice(rejected: list[str]) -> None:
    rest = Scripted("Rest", score={"n2": 5, "n1": 3})
    cluster = cluster_of(Scripted("P"), rest, nodes=NODES)
    verdicts = dict.fromkeys(rejected, unschedulable())
    found = compared(cluster, shadow_of(cluster, Scripted("P", filter=verdicts), rest))
    assert found.is_whole_cycle
    assert (found.node, found.other) == ("n2", "n1" if rejected == ["n2"] else "n3")
    assert (found.nodes, found.verdicts) == (3, len(rejected))


def test_a_node_that_only_the_new_version_admits_is_judged_by_the_others() -> None:
    rest = Scripted("Rest", filter={"n2": unschedulable()})
    old = {"n1": unschedulable(), "n2": unschedulable()}
    cluster = cluster_of(Scripted("P", filter=old), rest, nodes=NODES)
    found = compared(cluster, shadow_of(cluster, Scripted("P", score={"n1": 9}), rest))
    assert (found.node, found.other, found.is_whole_cycle) == ("n3", "n1", True)


def test_a_version_that_rejects_all_nodes_leaves_no_choice() -> None:
    cluster = cluster_of(Scripted("P"), nodes=NODES)
    found = compared(cluster, shadow_of(cluster, Scripted("P", filter=dict.fromkeys(NODES, unschedulable()))))
    assert (found.other, found.verdicts, found.is_whole_cycle, found.is_other_node) == ("", 3, False, True)


def test_a_version_that_rejects_the_pod_leaves_no_choice() -> None:
    cluster = cluster_of(Scripted("P"), nodes=NODES)
    found = compared(cluster, shadow_of(cluster, Scripted("P", pre_filter=unschedulable())))
    assert (found.other, found.verdicts) == ("", 3)


def test_nodes_named_by_prefilter_take_a_whole_cycle() -> None:
    cluster = cluster_of(Scripted("P"), nodes=NODES)
    narrowing = Scripted("P", pre_filter=PreFilterResult(nodes=frozenset({"n3"})))
    found = compared(cluster, shadow_of(cluster, narrowing))
    assert (found.other, found.is_whole_cycle) == ("n3", True)


@pytest.mark.parametrize(
    "answers",
    [
        {"pre_filter": error("broken")},
        {"filter": {"n1": error("broken")}},
        {"pre_score": error("broken")},
        {"score": error("broken")},
        {"normalize": error("broken")},
    ],
)
def test_a_failure_of_the_new_version_is_told_and_has_no_effect(answers: dict[str, Any]) -> None:
    cluster = cluster_of(Scripted("P", score={"n2": 1}), nodes=NODES)
    found = compared(cluster, shadow_of(cluster, Scripted("P", **answers)))
    assert found.error == "broken"
    assert (found.node, found.is_other_node) == ("n2", False)


def test_a_score_out_of_range_is_a_failure() -> None:
    cluster = cluster_of(Scripted("P", score={"n2": 1}), nodes=NODES)
    found = compared(cluster, shadow_of(cluster, Scripted("P", score={"n1": 101})))
    assert "101" in found.error


def test_only_judging_hooks_run() -> None:
    log: list[Any] = []
    cluster = cluster_of(Scripted("P"), nodes=NODES)
    compared(cluster, shadow_of(cluster, Scripted("P", log)))
    assert [hook for _, hook in log] == ["pre_filter", "filter", "pre_score", "score"]


def sampled(candidate: Scripted) -> tuple[Cluster, ShadowCycle]:
    names = [f"n{number:03}" for number in range(200)]
    cluster = cluster_of(Scripted("P"), nodes=names, percentages={"default-scheduler": 50})
    return cluster, shadow_of(cluster, candidate)


def test_the_choice_in_a_sample_is_exchanged_where_the_verdicts_are_the_same() -> None:
    cluster, shadow = sampled(Scripted("P", score={"n150": 9}))
    first, second = (compared(cluster, shadow, name) for name in ("one", "two"))
    assert (first.other, second.other) == ("n000", "n150")  # the second sample begins at n100
    assert not first.is_whole_cycle
    assert not second.is_whole_cycle


def test_other_verdicts_in_a_sample_take_a_whole_cycle_from_the_same_place() -> None:
    cluster, shadow = sampled(Scripted("P", filter={"n000": unschedulable(), "n100": unschedulable()}))
    first, second = (compared(cluster, shadow, name) for name in ("one", "two"))
    assert first.is_whole_cycle
    assert (first.node, first.other) == ("n000", "n001")
    assert (second.node, second.other) == ("n100", "n101")
    start = cluster.scheduler.profiles.cycles["default-scheduler"]._rotation.start
    assert start == 0  # two samples of 100, and none of the comparison


def test_a_sample_without_a_feasible_node_goes_on_to_others() -> None:
    rejected = {f"n{number:03}": unschedulable() for number in range(150)}
    cluster, shadow = sampled(Scripted("P", filter=rejected))
    found = compared(cluster, shadow)
    assert (found.node, found.other, found.is_whole_cycle) == ("n000", "n150", True)


statuses = st.dictionaries(st.sampled_from(NODES), st.sampled_from([unschedulable("a"), unschedulable("b")]))
scores = st.dictionaries(st.sampled_from(NODES), st.integers(0, 100))
versions = st.fixed_dictionaries(
    {"filter": statuses, "score": scores},
    optional={"pre_filter": st.sampled_from([SKIP, unschedulable("pod")]), "pre_score": st.just(SKIP)},
)


@settings(max_examples=200, deadline=None)
@given(stable=versions, candidate=versions, other=versions, weight=st.integers(1, 3))
def test_the_exchanged_choice_is_that_of_a_cycle_with_the_new_version(
    stable: dict[str, Any], candidate: dict[str, Any], other: dict[str, Any], weight: int
) -> None:
    rest = Scripted("Rest", **other)
    cluster = cluster_of((Scripted("P", **stable), weight), rest, nodes=NODES)
    scheduler = cluster.scheduler
    found = compared(cluster, shadow_of(cluster, Scripted("P", **candidate), rest, weight=weight))
    framework = make_framework((Scripted("P", **candidate), weight), (rest, 1))
    cycle = SchedulingCycle(framework, scheduler.table, scheduler.nominator, Rotation())
    assert found.other == cycle.choose(make_pod("pod")).node
    assert not found.error


def test_the_trace_keeps_no_scores_of_others() -> None:
    cluster = cluster_of(Scripted("P", score={"n1": 7}), Scripted("Rest"), nodes=NODES)
    shadow = shadow_of(cluster, Scripted("P"))
    trace = shadow.trace()
    cycle = cluster.scheduler.profiles.cycles["default-scheduler"]
    cycle.choose(make_pod("pod"), trace=trace)
    assert list(trace.scores) == ["P"]
    assert np.array_equal(trace.scores["P"], [7, 0, 0])


def test_a_plugin_that_is_new_is_compared_with_nothing() -> None:
    rest = Scripted("Rest", score={"n1": 1})
    cluster = cluster_of(rest, nodes=NODES)
    found = compared(cluster, shadow_of(cluster, Scripted("P", score={"n3": 9}), rest))
    assert (found.node, found.other, found.distance) == ("n1", "n3", 3.0)
