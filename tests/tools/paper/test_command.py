"""`python -m tools.paper`: plan, results kept, errors. Guests are in tests/e2e/projects/test_gpu_share_trace.py."""

from pathlib import Path

import pytest

from tests.tools.paper import openb
from tests.tools.paper.test_report import runs
from tools.paper.__main__ import Results, main
from tools.paper.experiments import POLICIES, TraceFiles, typical


def test_a_folder_without_the_trace_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(
        f"error: {tmp_path / 'openb_pod_list_default.csv'}: no such file; docs/reproduce-the-paper.md"
    )


@pytest.mark.parametrize("wrong", [["--seeds", "0"], ["--processes", "0"], ["--policies", "fgd,best"]])
def test_bad_options_are_refused(wrong: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path), *wrong])
    assert ended.value.code == 2
    assert "error: " in capsys.readouterr().err


def test_finished_experiments_are_not_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, guest = openb.write(tmp_path), tmp_path / "guest.wasm"
    guest.write_bytes(b"no guest is needed")
    results = Results(tmp_path / "results", TraceFiles.of(trace), guest)
    for run in runs():
        results.add(run)
    given = [str(trace), "--seeds", "2", "--guest", str(guest), "--results", str(tmp_path / "results")]
    assert main(given) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown[1:7]] == [policy.title for policy in POLICIES]
    guest.write_bytes(b"another guest")
    assert Results(tmp_path / "results", TraceFiles.of(trace), guest).runs == {}


def test_typical_pods_are_the_most_frequent_shapes(tmp_path: Path) -> None:
    found = typical(TraceFiles.of(openb.write(tmp_path, pods=200)))
    numbers = [shape.pods for shape in found]
    assert numbers == sorted(numbers, reverse=True)
    assert 190 <= sum(numbers) <= 200
    assert {frozenset(shape.requests) for shape in found} <= {
        frozenset(("cpu", "kubewasp.dev/gpu-milli")),
        frozenset(("cpu",)),
    }
