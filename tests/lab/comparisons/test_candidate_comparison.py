"""Comparisons of candidates: nothing differs from itself; what differs, why, and how sure that is."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.lab.comparisons.candidate_comparison import CandidateComparison, CompareError, compare
from kubewasp.lab.comparisons.difference_causes import CauseKind
from kubewasp.lab.comparisons.experiment_runner import LocalRunner
from kubewasp.lab.comparisons.pod_differences import DifferenceKind
from kubewasp.lab.comparisons.report_page import page
from kubewasp.lab.experiments.experiment import Candidate, LabInput
from kubewasp.lab.experiments.measures import MOVED, describe
from tests.lab.comparisons.comparing import candidate, static, trace
from tests.simulation.simulating import Object, config, node, pod, priority_class, profile, steered, wasm

UNFIT = {"NodeResourcesFit": 0, "NodeResourcesBalancedAllocation": 0}


def compared(
    given: LabInput, *candidates: Candidate, seeds: Sequence[int] = (0,), explained: int = 20
) -> CandidateComparison:
    return compare(given, candidates, seeds, LocalRunner(), explained=explained)


def assert_nothing_differs(found: CandidateComparison) -> None:
    assert found.baseline.measures
    for other in found.standings[1:]:
        assert (other.error, other.first, other.differences) == ("", None, ())
        assert other.measures[MOVED].mean == 0
        assert {name for name, change in other.changes.items() if change.mean or change.margin} == set()
        assert not any(change.is_significant for change in other.changes.values())
        assert all(found.baseline.runs[0].measures[name] == each for name, each in other.runs[0].measures.items())


# ---------------------------------------------------------------------- compare(A, A) is empty


@st.composite
def clusters(draw: st.DrawFn) -> list[Object]:
    nodes = [
        node(f"node-{number}", cpu=str(draw(st.integers(1, 8))), zone=draw(st.sampled_from("ab")))
        for number in range(draw(st.integers(1, 4)))
    ]
    pods = [
        pod(
            f"pod-{number}",
            namespace=draw(st.sampled_from(["default", "team"])),
            cpu=f"{draw(st.integers(1, 5000))}m",
            memory=f"{draw(st.integers(1, 20))}Gi",
            priorityClassName=draw(st.sampled_from(["low", "high"])),
        )
        for number in range(draw(st.integers(0, 8)))
    ]
    return [priority_class("low", 1), priority_class("high", 1000), *nodes, *pods]


@settings(max_examples=15)
@given(clusters(), st.integers(1, 3))
def test_a_candidate_does_not_differ_from_itself_on_any_cluster(objects: list[Object], seeds: int) -> None:
    found = compared(static(*objects), candidate("a"), candidate("b"), candidate("c"), seeds=range(seeds))
    assert_nothing_differs(found)


@st.composite
def traces(draw: st.DrawFn) -> str:
    lines = ["name,namespace,arrival,duration,cpu,memory,priority"]
    at = 0.0
    for number in range(draw(st.integers(1, 12))):
        at += draw(st.sampled_from([0.0, 1.0, 30.0]))
        duration = draw(st.sampled_from(["", "5", "100"]))
        cpu, priority = draw(st.integers(100, 4000)), draw(st.sampled_from(["", "10"]))
        lines.append(f"pod-{number},team-{number % 2},{at},{duration},{cpu}m,1Gi,{priority}")
    return "\n".join(lines) + "\n"


@settings(max_examples=15)
@given(traces(), st.booleans(), st.sampled_from([0.0, 50.0, float("inf")]))
def test_a_candidate_does_not_differ_from_itself_on_any_trace(text: str, shuffle: bool, patience: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pods, nodes = Path(folder) / "pods.csv", Path(folder) / "nodes.csv"
        pods.write_text(text)
        nodes.write_text("name,cpu,memory\na,4,8Gi\nb,2,8Gi\n")
        input_ = trace(pods, nodes, shuffle=shuffle, patience=patience)
        found = compared(input_, candidate("a"), candidate("b"), seeds=(3, 4))
    assert_nothing_differs(found)
    assert "not significant" not in page(found, "a trace")


# ---------------------------------------------------------------------- differences


def test_a_moved_pod_has_the_plugin_whose_score_moved_it() -> None:
    # Without scores for resources, the first node is as good as any.
    objects = [node("a"), node("b"), pod("x", cpu="2", on="a"), pod("y", cpu="1")]
    found = compared(static(*objects), candidate(), candidate("unfit", UNFIT))
    (moved,) = found.standings[1].differences
    assert (moved.pod, moved.kind, moved.baseline, moved.node) == ("default/y", DifferenceKind.MOVED, "b", "a")
    assert moved.is_first
    assert moved.cause is not None
    assert (moved.cause.kind, moved.cause.plugin) == (CauseKind.SCORE, "NodeResourcesFit")
    before, after = moved.cause.leads["NodeResourcesFit"]
    assert before < after == 0
    assert found.standings[1].measures[MOVED].mean == 1
    assert found.standings[1].first is not None
    assert found.standings[1].first.decision == 1


def test_a_newly_pending_pod_has_the_filter_that_rejects_its_node() -> None:
    rejecting = Candidate("none", config(profile(wasm("none", steered("filter", status_code=2)))))
    found = compared(static(node("a"), pod("x")), candidate(), rejecting)
    (difference,) = found.standings[1].differences
    assert difference.kind is DifferenceKind.PENDING
    assert difference.cause is not None
    assert (difference.cause.kind, difference.cause.plugin) == (CauseKind.FILTER, "none")
    assert "rejects a" in difference.cause.text
    back = compared(static(node("a"), pod("x")), rejecting, candidate())
    (difference,) = back.standings[1].differences
    assert difference.kind is DifferenceKind.PLACED
    assert difference.cause is not None
    assert difference.cause.text.startswith("none no longer rejects a")


def test_a_difference_that_follows_from_the_first_one_is_not_marked() -> None:
    objects = [node("a"), node("b"), pod("filler", cpu="1", on="a"), pod("small", cpu="2"), pod("large", cpu="3")]
    found = compared(static(*objects), candidate(), candidate("unfit", UNFIT))
    first, second = found.standings[1].differences
    assert [(each.pod, each.baseline, each.node, each.is_first) for each in (first, second)] == [
        ("default/small", "b", "a", True),
        ("default/large", "a", "b", False),
    ]
    assert second.cause is not None
    assert second.cause.text == "NodeResourcesFit rejects a: Insufficient cpu"


def test_a_pod_that_is_preempted_in_the_baseline_only_is_shown_with_its_preemptor() -> None:
    gentle = Candidate("gentle", config(profile(postFilter={"disabled": [{"name": "DefaultPreemption"}]})))
    urgent = pod("urgent", cpu="4", priorityClassName="high")
    objects = [priority_class("high", 1000), node("a", cpu="4"), pod("low", cpu="4", on="a"), urgent]
    found = compared(static(*objects), candidate(), gentle)
    kinds = {each.pod: (each.kind, each.cause.text if each.cause else "") for each in found.standings[1].differences}
    assert kinds["default/low"] == (DifferenceKind.SPARED, "was preempted by default/urgent")
    assert kinds["default/urgent"][0] is DifferenceKind.PENDING
    assert kinds["default/urgent"][1].startswith("NodeResourcesFit rejects a")
    assert found.standings[1].changes["pods.preempted"].mean == -1


def test_only_some_causes_are_looked_for_of_each_namespace_or_workload() -> None:
    found = compared(trace(), candidate(), candidate("unfit", UNFIT), explained=3).standings[1].differences
    with_cause = [each.pod for each in found if each.cause is not None]
    assert len(found) > len(with_cause) == 3
    assert {pod.partition("/")[0] for pod in with_cause} == {"team-0", "team-1", "team-2"}
    assert found[0].is_first
    assert found[0].cause is not None
    none = compared(trace(), candidate(), candidate("unfit", UNFIT), explained=0)
    assert {each.cause for each in none.standings[1].differences} == {None}


def test_without_an_effect_of_the_seed_figures_are_exact() -> None:
    found = compared(trace(), candidate(), candidate("unfit", UNFIT), seeds=range(3))
    assert not found.is_random
    assert found.as_dict()["seedsMatter"] is False


def test_runs_are_paired_by_their_seeds() -> None:
    found = compared(trace(shuffle=True), candidate(), candidate("unfit", UNFIT), seeds=range(3))
    assert found.is_random
    other = found.standings[1]
    wanted = [
        new.measures["wait.mean"] - old.measures["wait.mean"]
        for new, old in zip(other.runs, found.baseline.runs, strict=True)
    ]
    assert other.changes["wait.mean"].mean == pytest.approx(sum(wanted) / 3)
    assert [run.seed for run in other.runs] == [0, 1, 2]


def test_pods_without_a_node_are_counted_by_reason_also_those_that_left() -> None:
    found = compared(trace(patience=0.0, stays=True), candidate(), candidate("unfit", UNFIT))
    for standing in found.standings:
        assert sum(standing.runs[0].reasons.values()) == standing.measures["pods.givenUp"].mean > 0
        assert set(standing.runs[0].reasons) <= {
            "Insufficient cpu",
            "Insufficient memory",
            "Insufficient cpu, Insufficient memory",
        }


def test_a_candidate_that_fails_is_left_out_and_others_are_kept() -> None:
    broken = Candidate("broken", config(profile(wasm("none", Path("/nowhere.wasm")))))
    found = compared(static(node("a"), pod("x")), candidate(), broken, candidate("same"))
    assert [bool(standing.error) for standing in found.standings] == [False, True, False]
    assert "nowhere.wasm" in found.standings[1].error
    assert [standing.letter for standing in found.ran] == ["A", "C"]
    with pytest.raises(CompareError, match="baseline broken"):
        compared(static(node("a"), pod("x")), broken, candidate())
    with pytest.raises(CompareError, match="broken: "):
        compared(static(node("a"), pod("x")), candidate(), broken)


def test_processes_give_the_figures_of_one() -> None:
    given_, candidates = trace(shuffle=True), (candidate(), candidate("unfit", UNFIT))
    one, several = (compare(given_, candidates, (0,), LocalRunner(number), explained=0) for number in (1, 2))
    assert several.as_dict() == one.as_dict()


def test_names_of_measures_in_json_are_described() -> None:
    found = compared(trace(), candidate(), candidate("unfit", UNFIT))
    document = found.as_dict()
    for each in document["candidates"]:
        for name in [*each["measures"], *each["changes"]]:
            assert describe(name).title
    assert document["candidates"][0]["changes"] == {}
    assert document["candidates"][1]["firstDifference"]["decision"] >= 1
