"""Counts: the same in every run; growth beyond the baseline is a regression."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tools.bench import counts, meters, model, path_counts
from tools.bench.model import Measurement, Result
from tools.bench.policies.policy_list import POLICIES

ROOT = Path(__file__).parents[3]
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
    assert counts.not_comparable(before, after) == (
        [] if is_compared else [f"{tool} 99.9, in the baseline {VERSIONS[tool]}"]
    )


@pytest.mark.parametrize(("after", "is_worse"), [(1050, False), (1051, True)])
def test_no_two_builds_of_a_python_guest_burn_the_same(after: float, is_worse: bool) -> None:
    assert bool(counts.regressions(result("fuel", 1000, "python"), result("fuel", after, "python"))) == is_worse


def test_a_patch_of_python_changes_no_counts() -> None:
    before, after = result("python_calls", 100), result("python_calls", 900, python="3.11.99")
    assert counts.regressions(before, after)


def test_a_tool_that_is_gone_is_named() -> None:
    after = replace(result("fuel", 1000), versions={name: text for name, text in VERSIONS.items() if name != "go"})
    assert counts.not_comparable(result("fuel", 1000), after) == ["go absent, in the baseline 1.26.0"]


def test_the_baseline_has_every_policy_in_every_form_and_every_path() -> None:
    baseline = model.read(ROOT / "tools/bench/counts.json")
    assert baseline.skipped == []
    cases = {(one.case["policy"], one.case["form"]) for one in baseline.measurements}
    assert cases == {
        *((policy, form) for policy in POLICIES for form in counts.FORMS),
        *((path, path_counts.HOST) for path in path_counts.PATHS),
    }
    for form in ("wat", "go", "python"):
        for metric in ("fuel", "bytes_copied", "calls", "python_calls", "allocated"):
            assert len(list(baseline.select("counts", metric, form=form))) == 9
    for metric in ("python_calls", "allocated"):
        steps = {(one.case["policy"], one.case["cycle"]) for one in baseline.select("counts", metric, form="host")}
        assert ("default plugins", "inter-pod affinity") in steps
        assert len(steps) > 2 * len(path_counts.PATHS)


@pytest.mark.parametrize(
    ("metric", "before", "after", "is_worse"),
    [
        ("python_calls", 50, 54, False),
        ("python_calls", 50, 55, True),
        ("python_calls", 1000, 1020, False),
        ("python_calls", 1000, 1021, True),
        ("allocated", 1000, 3048, False),
        ("allocated", 1000, 3049, True),
    ],
)
def test_paths_without_guests_have_less_room_for_chance(
    metric: str, before: float, after: float, is_worse: bool
) -> None:
    found = counts.regressions(result(metric, before, "host"), result(metric, after, "host"))
    assert bool(found) == is_worse


def test_calls_of_functions_are_counted() -> None:
    def work() -> None:
        for _ in range(7):
            len(())

    assert meters.counted_calls(work) - meters.counted_calls(lambda: None) == 7
