import copy
import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.bench import example
from tools.bench import compare_command
from tools.bench.compare import compare
from tools.bench.model import Measurement, Result

values = st.lists(st.floats(0, 1e6), min_size=1, max_size=5).map(tuple)
names = st.sampled_from(["a", "b", "c", "d"])


@st.composite
def results(draw: st.DrawFn) -> Result:
    cases = draw(st.dictionaries(names, values, max_size=4))
    return Result(
        measurements=[
            Measurement(
                "plugin",
                {"form": name},
                "cycle",
                "µs",
                found,
                better="higher" if name == "b" else "lower",
                exact=name == "c",
            )
            for name, found in cases.items()
        ]
    )


def one(*found: float, better: str = "lower", exact: bool = False) -> Result:
    return Result(measurements=[Measurement("plugin", {"form": "go"}, "m", "µs", found, better, exact)])


@given(results(), results())
def test_what_is_worse_one_way_is_better_the_other_way(before: Result, after: Result) -> None:
    there, back = compare(before, after), compare(after, before)
    assert {change.after.key for change in there.worse} == {change.after.key for change in back.better}
    assert {change.after.key for change in there.better} == {change.after.key for change in back.worse}
    assert there.same == back.same
    assert there.only_before == back.only_after
    assert there.only_after == back.only_before


@given(results(), results())
def test_every_measurement_is_told_once(before: Result, after: Result) -> None:
    found = compare(before, after)
    both = len(found.worse) + len(found.better) + found.same
    assert both + len(found.only_before) == len(before.measurements)
    assert both + len(found.only_after) == len(after.measurements)


@given(results())
def test_a_result_is_as_it_is(result: Result) -> None:
    found = compare(result, copy.deepcopy(result))
    assert (found.worse, found.better, found.same) == ([], [], len(result.measurements))


def test_repetitions_that_overlap_are_noise() -> None:
    assert compare(one(10, 11, 20), one(12, 19, 21)).same == 1


def test_a_difference_below_five_percent_is_noise_however_steady_it_is() -> None:
    assert compare(one(100, 100.1), one(104, 104.1)).same == 1
    assert len(compare(one(100, 100.1), one(106, 106.1)).worse) == 1


def test_a_difference_within_the_scatter_of_both_is_noise() -> None:
    assert compare(one(70, 100, 101), one(102, 110, 150)).same == 1


def test_a_rate_that_falls_is_worse() -> None:
    found = compare(one(100, better="higher"), one(50, better="higher"))
    assert [change.share for change in found.worse] == [-0.5]


def test_a_count_may_not_grow_by_one() -> None:
    found = compare(one(1_000_000, exact=True), one(1_000_001, exact=True))
    assert len(found.worse) == len(found.failing()) == 1
    assert found.failing(tolerance=0.01) == []
    assert found.failing({"m": 0.01, "other": 0.0}) == []
    assert len(found.failing({"other": 0.01})) == 1
    assert compare(one(0, exact=True), one(3, exact=True)).failing(tolerance=0.5)


def test_the_tolerance_is_for_counts_alone() -> None:
    assert compare(one(100), one(120)).failing(tolerance=0.5)


def test_figures_in_another_unit_are_not_compared() -> None:
    before, after = one(1), one(1)
    after.measurements = [dataclasses.replace(after.measurements[0], unit="ms")]
    found = compare(before, after)
    assert (found.same, len(found.only_before), len(found.only_after)) == (0, 1, 1)


def test_the_greatest_change_comes_first() -> None:
    before, after = example.result(), example.result()
    for place, factor in ((3, 2.0), (40, 5.0), (9, 3.0)):
        slow = after.measurements[place]
        after.measurements[place] = dataclasses.replace(slow, values=tuple(value * factor for value in slow.values))
    assert [round(change.share + 1) for change in compare(before, after).worse] == [5, 3, 2]


def written(folder: Path, name: str, result: Result) -> Path:
    path = folder / name
    path.write_text(result.as_json(), encoding="utf-8")
    return path


def test_the_command_warns_of_another_machine_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = example.result(scheduler=False)
    other.machine = other.machine | {"cores": 64}
    other.versions = other.versions | {"python": "3.13.1"}
    paths = written(tmp_path, "a.json", example.result()), written(tmp_path, "b.json", other)
    assert compare_command.run(*paths, check=True, form="table")
    said = capsys.readouterr()
    assert "another machine: cores 2 and then 64" in said.err
    assert "other versions: python 3.11.7 and then 3.13.1" in said.err
    assert "ONLY BEFORE" in said.out
    assert "0 worse, 0 better" in said.out


def test_the_command_fails_a_check_when_something_is_worse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = written(tmp_path, "a.json", one(100, 101)), written(tmp_path, "b.json", one(150, 151))
    assert compare_command.run(*paths, check=False, form="table")
    assert "+50 %" in capsys.readouterr().out
    assert not compare_command.run(*paths, check=True, form="table")
    assert "1 worse, 0 better, 0 the same" in capsys.readouterr().out
    assert compare_command.run(*reversed(paths), check=True, form="table")


def test_the_command_prints_json(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    import json

    paths = written(tmp_path, "a.json", one(0, exact=True)), written(tmp_path, "b.json", one(3, exact=True))
    assert compare_command.run(*paths, check=False, form="json")
    found = json.loads(capsysbinary.readouterr().out)
    assert found["worse"] == [
        {
            "layer": "plugin",
            "case": {"form": "go"},
            "metric": "m",
            "unit": "µs",
            "before": 0,
            "after": 3,
            "change": None,
            "exact": True,
        }
    ]
