"""Judgement of recorded soaks: flat and growing curves, and states that must hold."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.tools.soak.example import GOOD, recording
from tools.soak.judgement import CURVES, MOST_POINTS, Check, Trend, judge, thinned
from tools.soak.samples import Outcome, Recording


def failed(found: Recording) -> dict[str, str]:
    """Text of each failed check, by name."""
    return {check.name: check.text for check in judge(found) if check.is_passed is False}


def test_a_flat_soak_passes_every_check() -> None:
    checks = judge(recording())
    assert [check for check in checks if check.is_passed is not True] == []
    assert {curve.name for curve in CURVES} < {check.name for check in checks}


GROWING: dict[str, dict[str, Callable[[float], float]]] = {
    "memory": {"memory": lambda at: 230 + at / 60},  # 1 MiB a minute
    "threads": {"threads": lambda at: 10 + at // 300},
    "descriptors": {"descriptors": lambda at: 400 + at / 10},
    "pods/s": {"rate": lambda at: 18 - at / 400},
    "CPU": {"cpu": lambda at: 0.3 + at / 6000},
}


@pytest.mark.parametrize("name", GROWING)
def test_a_curve_that_gets_worse_fails_alone(name: str) -> None:
    assert list(failed(recording(**GROWING[name]))) == [name]


@pytest.mark.parametrize("name", GROWING)
def test_a_curve_that_gets_better_passes(name: str) -> None:
    ((argument, curve),) = GROWING[name].items()
    assert failed(recording(**{argument: lambda at: 2 * curve(900) - curve(at)})) == {}


def test_growth_that_ends_in_the_first_third_is_a_warm_up() -> None:
    assert failed(recording(memory=lambda at: 100 + min(at, 600) / 2)) == {}


def test_single_peaks_do_not_count() -> None:
    assert failed(recording(memory=lambda at: 900 if at % 100 == 0 else 230)) == {}


def test_a_step_between_the_thirds_fails() -> None:
    text = failed(recording(memory=lambda at: 230 if at < 1200 else 280))["memory"]
    assert text.startswith("280 MiB, in the middle third 230 MiB")
    assert text.endswith("allowed 5 % or 16 MiB")


def test_growth_within_the_last_third_fails_by_its_slope() -> None:
    found = recording(memory=lambda at: 230 + max(0, at - 600) ** 2 / 30_000)
    trend = Trend.of(CURVES[0].points(found.samples))
    assert trend.drift > CURVES[0].tolerance(trend.middle)
    assert "memory" in failed(found)


def test_a_short_soak_is_not_judged_by_its_curves() -> None:
    checks = judge(recording(minutes=9, **GROWING["memory"]))
    assert {check.name for check in checks if check.is_passed is None} == {curve.name for curve in CURVES}
    assert [check for check in checks if check.is_passed is False] == []


BAD: dict[str, tuple[str, Outcome]] = {
    "ended early": ("process", replace(GOOD, ended_early=-9, exit_code=-9)),
    "restarted": ("process", replace(GOOD, starts=2)),
    "killed at the end": ("process", replace(GOOD, exit_code=None)),
    "exit code": ("process", replace(GOOD, exit_code=1)),
    "unbound": ("pods", replace(GOOD, unbound=("a", "b", "c", "d"))),
    "wrongly bound": ("pods", replace(GOOD, wrongly_bound=("unschedulable-5",))),
    "no pods": ("pods", replace(GOOD, bound=0)),
    "tracebacks": ("log", replace(GOOD, tracebacks=3)),
    "no attack of a kind": ("clients", replace(GOOD, attacks={**GOOD.attacks, "slow_body": 0})),
    "no leak": ("guests", replace(GOOD, recycled=0)),
    "no failure of a kind": ("guests", replace(GOOD, guest_failures={"trap": 7})),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_end_fails_in_one_line(what: str) -> None:
    name, outcome = BAD[what]
    assert list(failed(recording(outcome))) == [name]


def test_the_line_of_unbound_pods_names_some_of_them() -> None:
    text = failed(recording(BAD["unbound"][1]))["pods"]
    assert text == "4 schedulable pods not bound: a, b, c, …"


def test_one_probe_without_an_answer_fails() -> None:
    assert "1 of 1,800 probes without an answer in 15 s" in failed(recording(failed_probes=1))["/livez"]


def test_another_process_of_the_same_number_is_a_restart() -> None:
    found = recording()
    last = replace(found.samples[-1], process=replace(found.samples[-1].process, started=4712))
    assert "process" in failed(replace(found, samples=(*found.samples[:-1], last)))


@pytest.mark.parametrize("found", [recording(None), replace(recording(), samples=())])
def test_a_recording_without_an_end_or_samples_fails(found: Recording) -> None:
    assert list(failed(found)) == ["recording"]


def test_a_line_has_verdict_name_and_text() -> None:
    assert str(Check("memory", False, "much")) == "FAIL memory       much"
    assert str(Check("descriptors", True, "few")) == "ok   descriptors  few"


def test_neighbours_become_one_point() -> None:
    assert thinned([]) == []
    assert thinned([(1.0, 2.0)]) == [(1.0, 2.0)]
    many = [(float(at), float(at % 2)) for at in range(2 * MOST_POINTS)]
    assert len(thinned(many)) == MOST_POINTS
    assert {value for _, value in thinned(many, max)} == {1.0}
