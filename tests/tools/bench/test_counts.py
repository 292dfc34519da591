"""The guard: counts are the same twice, and what costs more than the baseline is told."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tools.bench import counts, model
from tools.bench.model import Measurement, Result

VERSIONS = {"go": "1.26.0", "python": "3.11.7", "numpy": "2.3.0", "wasmtime": "50.0.1", "componentize-py": "0.25.0"}


def result(metric: str, value: float, form: str = "go", **versions: str) -> Result:
    case = {"policy": "nodenumber", "form": form, "nodes": 1000, "cycle": "unchanged"}
    found = Measurement("counts", case, metric, "units", (value,), exact=True)
    return Result(versions=VERSIONS | versions, measurements=[found])


@pytest.mark.parametrize(
    ("metric", "before", "after", "is_worse"),
    [
        ("fuel", 1000, 1010, False),
        ("fuel", 1000, 1011, True),
        ("fuel", 1000, 500, False),
        ("calls", 4, 5, True),
        ("calls", 4, 4, False),
        ("bytes_copied", 1000, 1011, True),
        ("python_calls", 100, 120, False),
        ("python_calls", 100, 121, True),
        ("python_calls", 10_000, 10_201, True),
        ("allocated", 1000, 17_384, False),
        ("allocated", 1000, 17_385, True),
        ("allocated", 1_000_000, 1_150_001, True),
        ("calls", 0, 1, True),
    ],
)
def test_more_than_chance_is_a_regression(metric: str, before: float, after: float, is_worse: bool) -> None:
    found = counts.regressions(result(metric, before), result(metric, after))
    assert [change.after.median for change in found] == ([after] if is_worse else [])


@pytest.mark.parametrize(
    ("metric", "form", "tool", "is_compared"),
    [
        ("fuel", "go", "go", False),
        ("fuel", "go", "componentize-py", True),
        ("fuel", "python", "componentize-py", False),
        ("fuel", "wat", "wasmtime", False),
        ("calls", "wat", "wasmtime", True),
        ("python_calls", "wat", "numpy", False),
        ("fuel", "wat", "numpy", True),
    ],
)
def test_what_was_made_with_another_tool_is_not_compared(metric: str, form: str, tool: str, is_compared: bool) -> None:
    before, after = result(metric, 1000, form), result(metric, 9000, form, **{tool: "99.9"})
    assert bool(counts.regressions(before, after)) == is_compared
    assert counts.not_comparable(before, after) == ([] if is_compared else [f"{tool} 99.9, not {VERSIONS[tool]}"])


@pytest.mark.parametrize(("after", "is_worse"), [(1050, False), (1051, True)])
def test_no_two_builds_of_a_python_guest_burn_the_same(after: float, is_worse: bool) -> None:
    assert bool(counts.regressions(result("fuel", 1000, "python"), result("fuel", after, "python"))) == is_worse


def test_a_patch_of_python_changes_no_counts() -> None:
    before, after = result("python_calls", 100), result("python_calls", 900, python="3.11.99")
    assert counts.regressions(before, after)


def test_a_tool_that_is_gone_is_named() -> None:
    after = replace(result("fuel", 1000), versions={name: text for name, text in VERSIONS.items() if name != "go"})
    assert counts.not_comparable(result("fuel", 1000), after) == ["go not there, not 1.26.0"]


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Counted in a process of its own, as everybody does: what was counted before leaves traces in caches."""
    path = tmp_path_factory.mktemp("counts") / "baseline.json"
    done = kubewasp("bench", "counts", "--out", str(path))
    assert done.returncode == 0, done.stderr
    assert "FILTER-REASONS" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    return path


@pytest.fixture(scope="module")
def counted(baseline: Path) -> Result:
    return model.read(baseline)


def kubewasp(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).parent / "kubewasp"
    return subprocess.run([command, *arguments], capture_output=True, text=True, check=False)


def test_every_policy_is_counted_in_every_form(counted: Result) -> None:
    assert counted.skipped == []
    cases = {(one.case["policy"], one.case["form"]) for one in counted.measurements}
    assert len(cases) == 3 * 5 + 1
    for form in ("wat", "go", "python"):
        for metric in ("fuel", "bytes_copied", "calls", "python_calls", "allocated"):
            assert len(list(counted.select("counts", metric, form=form))) == 9


def test_counting_again_gives_the_same(baseline: Path) -> None:
    done = kubewasp("bench", "counts", "--check", str(baseline))
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 worse than the baseline" in done.stdout


def test_what_costs_more_ends_the_check_with_an_error(baseline: Path, counted: Result, tmp_path: Path) -> None:
    cheaper = tmp_path / "cheaper.json"
    one = next(counted.select("counts", "fuel", form="go", cycle="unchanged"))
    fewer = replace(one, values=(one.median * 0.9,))
    others = [other for other in counted.measurements if other is not one]
    cheaper.write_text(replace(counted, measurements=[*others, fewer]).as_json())
    done = kubewasp("bench", "counts", "--check", str(cheaper))
    assert done.returncode == 1
    assert ", 1 worse than the baseline" in done.stdout
    assert "fuel" in done.stdout


def test_a_baseline_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    done = kubewasp("bench", "counts", "--check", str(tmp_path / "none.json"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: {tmp_path / 'none.json'}: No such file or directory\n"


def test_an_unchanged_cycle_writes_the_pod_and_no_nodes(counted: Result) -> None:
    for form in ("wat", "go"):
        for one in counted.select("counts", "bytes_copied", form=form, cycle="unchanged"):
            assert one.median < 2000
        for one in counted.select("counts", "bytes_copied", form=form, cycle="first", policy="label-cpu"):
            assert one.median > 500 * counts.NODES


def test_a_changed_cycle_writes_only_what_changed(counted: Result) -> None:
    for form in ("wat", "go"):
        for one in counted.select("counts", "bytes_copied", form=form, cycle="changed"):
            first = counted.find("counts", "bytes_copied", **dict(one.case) | {"cycle": "first"})
            assert first is not None
            assert one.median < 0.1 * first.median


def test_calls_of_functions_are_counted() -> None:
    def work() -> None:
        for _ in range(7):
            len(())

    assert counts.counted_calls(work) - counts.counted_calls(lambda: None) == 7
