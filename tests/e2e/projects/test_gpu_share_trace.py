"""The six policies of gpu-share on a generated trace in the openb format, by the tool that reproduces the paper."""

import csv
from pathlib import Path

import pytest

from kubewasp.lab.traces.trace_errors import RowError
from tests.guests.build import ROOT, project_guest, rust_target
from tests.tools.paper import openb
from tools.paper.__main__ import main
from tools.paper.experiments import END, FULL, POLICIES, RESOURCE, TraceFiles, run, settings

PLUGIN = ROOT / "examples" / "plugins" / "gpu-share"


@pytest.fixture(scope="module")
def guest() -> Path:
    rust_target()
    return project_guest(PLUGIN)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> TraceFiles:
    return TraceFiles.of(openb.write(tmp_path_factory.mktemp("openb"), nodes=8, pods=60))


@pytest.mark.parametrize("policy", [policy.name for policy in POLICIES])
def test_a_policy_fills_the_gpus_and_repeats_itself(policy: str, files: TraceFiles, guest: Path) -> None:
    first, second = (run(files, policy, 42, guest) for _ in range(2))
    assert (first.curve, first.placed) == (second.curve, second.placed)
    assert run(files, policy, 43, guest).curve != first.curve
    assert 0 < first.placed < first.pods
    assert list(first.curve) == sorted(first.curve)  # pods never end
    assert 60 <= first.full <= 100
    assert first.full <= first.end <= 100
    assert len(first.curve) == END + 1
    assert first.curve[FULL // 2] == pytest.approx(FULL // 2, abs=5)  # everything fits at first


def test_no_gpu_has_more_than_fits_on_it(files: TraceFiles, guest: Path) -> None:
    """The choice is the annotation of the binding: pods on a GPU take a thousand thousandths at most."""
    from kubewasp.lab.experiments import experiment
    from kubewasp.lab.experiments.experiment import Candidate, LabInput
    from kubewasp.lab.traces.trace_map import PRESETS
    from kubewasp.lab.traces.trace_simulation import TraceOptions
    from kubewasp.simulation.simulator import read_input

    options = TraceOptions(files.pods, PRESETS["openb"], files.nodes, stays=True, patience=0.0)
    given = LabInput(read_input([], start_time=0.0), options)
    for policy in POLICIES:
        report = experiment.run(given, Candidate(policy.name, settings(files, policy.name, guest)), 1).report
        used: dict[tuple[str, str], int] = {}
        for pod in report.placements():
            milli = pod.resources.requests.get(RESOURCE)
            if not milli:
                continue
            gpus = report.annotations_of(pod)["kubewasp.dev/gpus"].split(",")
            assert len(gpus) == max(1, milli // 1000)
            for gpu in gpus:
                used[pod.node, gpu] = used.get((pod.node, gpu), 0) + milli // len(gpus)
        assert used
        assert max(used.values()) <= 1000


def test_the_command_prints_a_line_for_each_policy(
    files: TraceFiles, guest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(files.pods.parent), "--seeds", "1", "--policies", "bestFit,fgd", "--processes", "2"]
    assert main([*arguments, "--guest", str(guest), "--results", str(tmp_path)]) in (0, 1)  # not the published trace
    shown = capsys.readouterr().out
    assert "2 experiments in 2 processes" in shown
    assert "BestFit" in shown
    assert "FGD" in shown
    assert main([*arguments, "--guest", str(guest), "--results", str(tmp_path)]) in (0, 1)
    assert "experiments in" not in capsys.readouterr().out


def test_a_bad_row_names_file_line_and_column(guest: Path, tmp_path: Path) -> None:
    files = TraceFiles.of(openb.write(tmp_path))
    rows = list(csv.reader(files.pods.read_text(encoding="utf-8").splitlines()))
    rows[5][openb.POD_COLUMNS.index("gpu_milli")] = "half"
    with files.pods.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    with pytest.raises(
        RowError, match=r'openb_pod_list_default\.csv:6: column gpu_milli: expected a number, got "half"'
    ):
        run(files, "bestFit", 42, guest)
