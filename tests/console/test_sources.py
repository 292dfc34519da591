"""Sources of traces, snapshots, recordings and comparisons."""

from pathlib import Path

import pytest

from kubewasp.cli.replay import run as replay
from kubewasp.console.compared_source import compared_source
from kubewasp.console.console_source import Mode, NotThereError
from kubewasp.console.played_run import play
from kubewasp.console.recorded_source import RecordedRun
from kubewasp.console.simulated_source import SimulatedSource
from kubewasp.console.snapshot_source import SnapshotSource
from kubewasp.framework.handle import ReadOnlyClient
from kubewasp.lab.comparisons.candidate_comparison import compare
from kubewasp.lab.comparisons.experiment_runner import LocalRunner
from kubewasp.lab.experiments.experiment import LabInput
from kubewasp.lab.traces.trace_map import PRESETS
from kubewasp.lab.traces.trace_simulation import TraceOptions
from kubewasp.live.recording.segments import RecordingError
from kubewasp.scheduler.configuration import AddedPlugin
from kubewasp.simulation.simulator import read_input
from tests.console.sources import get, problem
from tests.framework.configs import read
from tests.guests.build import ROOT
from tests.lab.comparisons.comparing import candidate, static
from tests.simulation.simulating import filled, node, pod

CHURN = ROOT / "examples" / "recordings" / "churn"


def test_a_trace_has_pods_that_come_and_go() -> None:
    traces = ROOT / "examples" / "traces"
    trace = TraceOptions(traces / "pods.csv", PRESETS["generic"], traces / "nodes.csv")
    run = play(LabInput(read_input((), start_time=0.0), trace), candidate("trace"))
    found = SimulatedSource("trace", [run])
    kinds = {change.kind for change in run.history.changes(0, 1000)}
    assert {"created", "scheduled", "deleted"} <= kinds
    assert get(found, "/overview")["attempts"]["scheduled"] == 120
    assert len(get(found, "/overview", "at=30")["recent"]) == 100
    (gone, *_) = [change for change in run.history.changes(0, 1000) if change.kind == "deleted"]
    code, text = problem(found, f"/pods/{gone.pod}")
    assert code == 404
    assert get(found, f"/pods/{gone.pod}/decision", f"at={text.rpartition(' ')[2]}")["node"] == gone.node


def test_a_snapshot_is_as_it_was_taken_with_the_reasons_of_pending_pods() -> None:
    cluster = filled(node("a"), pod("big", cpu="8"), pod("web"), pod("there", on="a"), client=ReadOnlyClient())
    found = SnapshotSource("snapshot", cluster, read(), ())
    assert found.session.mode is Mode.SNAPSHOT
    groups = {group["reason"]: group for group in get(found, "/pending")["groups"]}
    assert groups.keys() == {"Insufficient cpu", "it fits now, and has not been tried"}
    assert (
        groups["Insufficient cpu"]["help"] == ["4 more cpu (allocatable 4) on a"] or groups["Insufficient cpu"]["help"]
    )
    assert get(found, "/pods/default/there")["node"] == "a"
    assert get(found, "/overview")["attempts"] == {"scheduled": None, "unschedulable": None, "error": None}
    with pytest.raises(NotThereError):
        found.picture("", 3)


def test_a_recording_is_looked_at_as_it_was_and_decides_again_alike() -> None:
    recorded = RecordedRun()
    report, _ = replay(CHURN, config=None, plugins=(), plugin_configs={}, logs=False, observer=recorded)
    found = recorded.source("churn")
    history = found.timeline("")
    assert (len(report.differences), history.differences) == (0, 0)
    scheduled = [change for change in history.changes(0, 1000) if change.kind == "scheduled"]
    assert len(scheduled) > 50
    for change in scheduled:
        assert change.position is not None
        decision = found.study("").decide(found.picture("", change.position - 1), change.pod)
        assert (change.pod, decision.node) == (change.pod, change.node)
    assert get(found, "/overview")["pods"]["total"] > 40


def test_differences_of_a_replay_are_on_the_timeline() -> None:
    recorded = RecordedRun()
    plugins = [AddedPlugin("nodenumber", str(ROOT / "examples" / "guests" / "nodenumber.wat"))]
    report, _ = replay(CHURN, config=None, plugins=plugins, plugin_configs={}, logs=False, observer=recorded)
    found = recorded.source("churn")
    timeline = get(found, "/timeline")
    assert timeline["differences"] == len(report.differences) > 5
    assert timeline["marks"][0]["text"].startswith("default/p1: then n0")
    assert get(found, "/timeline/next", "kind=difference") == {"position": timeline["marks"][0]["position"]}
    assert found.session.mode is Mode.RECORDING


def test_nothing_recorded_is_said() -> None:
    with pytest.raises(RecordingError, match="nothing to look at"):
        RecordedRun().source("folder")


def test_a_comparison_has_the_numbers_of_the_command() -> None:
    nodes = [node("a", cpu="4"), node("b", cpu="4", memory="64Gi")]
    given = static(*nodes, *(pod(f"p{number}", cpu="500m") for number in range(6)))
    candidates = [candidate("one"), candidate("other", {"NodeResourcesFit": 0, "NodeResourcesBalancedAllocation": 9})]
    compared = compare(given, candidates, (0,), LocalRunner())
    found = compared_source("input", compared, given, candidates)
    document = get(found, "/compare")
    assert [run["name"] for run in document["runs"]] == ["one", "other"]
    for measure in document["measures"]:
        means = [standing.measures.get(measure["name"]) for standing in compared.ran]
        assert measure["values"] == [None if found is None else found.mean for found in means]
    pods = get(found, "/compare/pods")
    assert pods["total"] == len(compared.standings[1].differences) == document["moved"]["total"] > 0
    for item in pods["pods"]:
        for run, place in enumerate(item["places"]):
            assert found.picture(str(run), None).pods[item["key"]].node == (place or "")
    assert get(found, "/timeline", "run=1")["differences"] >= pods["total"]


def test_missing_folders_are_not_recordings(tmp_path: Path) -> None:
    from kubewasp.cli.console import is_recording

    assert not is_recording(tmp_path)
    assert not is_recording(tmp_path / "nothing")
    assert is_recording(CHURN)
