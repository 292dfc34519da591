"""Counts of some policies and paths: the same in every run."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tools.bench import counts, model, path_counts

if TYPE_CHECKING:
    from tools.bench.model import Result

ROOT = Path(__file__).parents[3]
# Enough to see that counts repeat. CI counts everything (`make counts`).
FORMS = ("builtin", "wat", "go")
PATHS = ("default plugins", "updates", "wire codec", "requests", "web handlers")


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Some policies and paths, counted in a separate process: earlier counts warm caches."""
    path = tmp_path_factory.mktemp("counts") / "baseline.json"
    done = counts_command("--out", str(path))
    assert done.returncode == 0, done.stderr
    assert "LABEL-CPU" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    return model.read(path)


@pytest.fixture(scope="module")
def checked(counted: Result, tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """A check against the same counts but one, which was lower."""
    one = next(counted.select("counts", "fuel", form="go", cycle="unchanged"))
    fewer = replace(one, values=(one.median * 0.9,))
    others = [other for other in counted.measurements if other is not one]
    cheaper = tmp_path_factory.mktemp("counts") / "cheaper.json"
    cheaper.write_text(replace(counted, measurements=[*others, fewer]).as_json())
    return counts_command("--check", str(cheaper))


def counts_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    chosen = [word for name in ("label-cpu", *FORMS, *PATHS) for word in ("--only", name)]
    command = [sys.executable, "-m", "tools.bench", "counts", *chosen, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_chosen_policies_and_paths_are_counted(counted: Result) -> None:
    assert counted.skipped == []
    assert {one.case["policy"] for one in counted.measurements} == {"label-cpu", *PATHS}
    assert {one.case["form"] for one in counted.measurements} == {*FORMS, path_counts.HOST}


def test_counting_again_gives_the_same(checked: subprocess.CompletedProcess[str]) -> None:
    assert ", 1 worse than the baseline" in checked.stdout, checked.stdout + checked.stderr  # the one that was lowered
    assert "not compared" not in checked.stderr


def test_what_costs_more_ends_the_check_with_an_error(checked: subprocess.CompletedProcess[str]) -> None:
    assert checked.returncode == 1
    assert "fuel" in checked.stdout


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
