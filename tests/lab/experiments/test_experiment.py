"""Experiments: the same arguments give the same outcome; measures and fates of pods."""

from pathlib import Path

import pytest

from kubewasp.lab.experiments import experiment
from kubewasp.lab.experiments.experiment import Candidate, LabInput
from kubewasp.lab.experiments.measures import MEASURES, describe
from kubewasp.lab.traces.trace_map import PRESETS
from kubewasp.lab.traces.trace_simulation import TraceOptions
from kubewasp.scheduler.configuration import configure
from kubewasp.simulation.simulator import read_input

EXAMPLES = Path(__file__).parents[3] / "examples"


def candidate() -> Candidate:
    settings, added = configure(None)
    return Candidate("default", settings, added)


def manifests() -> LabInput:
    return LabInput(read_input([EXAMPLES / "clusters/small.yaml"], start_time=0.0))


def trace(**options: object) -> LabInput:
    traces = EXAMPLES / "traces"
    return LabInput(
        read_input([], start_time=0.0),
        TraceOptions(traces / "pods.csv", PRESETS["generic"], traces / "nodes.csv", **options),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("given", [manifests(), trace(), trace(shuffle=True)])
def test_the_same_arguments_give_the_same_outcome(given: LabInput) -> None:
    first, second = (experiment.run(given, candidate(), 7, keeps_fates=True) for _ in range(2))
    assert first.measures == second.measures
    assert first.fates == second.fates


def test_another_seed_shuffles_a_trace_in_another_way() -> None:
    first, second = (experiment.run(trace(shuffle=True), candidate(), seed, keeps_fates=True) for seed in (1, 2))
    assert first.fates != second.fates


def test_measures_of_manifests() -> None:
    found = experiment.run(manifests(), candidate())
    assert found.measures["pods.placed"] == len(found.report.result.placements) > 0
    assert found.measures["pods.pending"] == len(found.report.result.pending)
    assert found.measures["pods.arrived"] == found.measures["pods.placed"] + found.measures["pods.pending"]
    assert 0 < found.measures["requested.end.cpu"] <= found.measures["requested.busiest.cpu"] <= 1
    assert found.fates == {}


def test_measures_of_a_trace_agree_with_its_report() -> None:
    found = experiment.run(trace(), candidate(), keeps_fates=True)
    assert found.trace is not None
    counts = found.trace.counts
    assert found.measures["pods.arrived"] == counts.arrived == len(found.fates)
    assert found.measures["pods.placed"] == counts.placed
    assert found.measures["wait.mean"] == pytest.approx(counts.mean_wait)
    assert found.measures["wait.max"] == counts.longest_wait
    assert found.measures["requested.mean.cpu"] == found.trace.mean_share("cpu")


def test_fates_have_the_nodes_of_pods_that_ended() -> None:
    found = experiment.run(trace(), candidate(), keeps_fates=True)
    assert all(fate.node for fate in found.fates.values())
    assert max(fate.wait or 0 for fate in found.fates.values()) == found.measures["wait.max"]


def test_every_figure_is_described() -> None:
    for given in (manifests(), trace()):
        for name in experiment.run(given, candidate()).measures:
            assert describe(name).title


def test_names_of_measures_are_unique() -> None:
    assert len({measure.name for measure in MEASURES}) == len(MEASURES)


def test_the_page_lists_every_measure() -> None:
    page = (EXAMPLES.parent / "docs" / "compare.md").read_text(encoding="utf-8")
    names = [f"{measure.name}RESOURCE" if measure.name.endswith(".") else measure.name for measure in MEASURES]
    assert [name for name in names if f"`{name}`" not in page] == []
