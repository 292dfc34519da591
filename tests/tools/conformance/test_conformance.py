"""The conformance command, with guests of our own in place of a checkout."""

from dataclasses import replace
from pathlib import Path

import pytest

from kubewasp.cli.main import run_app
from tests import command_line
from tests.command_line import Command
from tests.guests.build import example, wat_text
from tools.conformance import __main__ as command
from tools.conformance import report
from tools.conformance.cases import NODE, Case, pod
from tools.conformance.expectations import CASES, COMMIT
from tools.conformance.guest_runs import Answer, run, uncovered

WAITING = """(module
  (import "k8s.io/scheduler" "handle.reject_waiting_pod" (func $reject (param i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (func (export "filter") (result i32)
    (call $reject (i32.const 0) (i32.const 1) (i32.const 8) (i32.const 8))
    (i32.mul (i32.const 5) (i32.load (i32.const 8)))))"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, source in (("number", example("nodenumber")), ("waiting", wat_text(WAITING))):
        (tmp_path / f"{name}.wasm").write_bytes(source.read_bytes())
    return tmp_path


def answers(case: Case, checkout: Path) -> list[tuple[str, str]]:
    return [(answer.call, answer.given) for answer in run(case, checkout)]


def test_each_call_has_its_answer(checkout: Path) -> None:
    calls = {"prefilter": "Success", "filter node-1": "", "score node-1": "", "score node-2": ""}
    case = Case("number", "t", calls, pod=pod("web-2"), nodes=("node-1", "node-2"), config="1")
    found = answers(case, checkout)
    assert found[0] == ("prefilter", "Success")
    assert found[1][1].startswith("Unschedulable: ")
    assert found[2:] == [("score node-1", "Success; score 0"), ("score node-2", "Success; score 10")]


def test_a_guest_that_does_not_load_answers_with_its_error(checkout: Path) -> None:
    missing = Case("missing", "t", {"filter a": "Success"})
    [answer] = run(missing, checkout)
    assert (answer.call, answer.is_expected) == ("load", False)
    assert answer.given.endswith("No such file or directory")
    [loaded] = run(Case("number", "t", load_error="wasm: no"), checkout)
    assert (loaded.given, loaded.is_expected) == ("no error", False)


@pytest.mark.parametrize(("waits", "given"), [(True, "Skip"), (False, "Success")])
def test_a_pod_may_wait(checkout: Path, given: str, *, waits: bool) -> None:
    case = Case("waiting", "t", {f"filter {NODE}": given}, waits=waits)
    assert answers(case, checkout) == [(f"filter {NODE}", given)]


@pytest.mark.parametrize(
    ("expected", "given", "is_expected"),
    [("Success", "Success", True), ("Error: a…", "Error: abc", True), ("Error: a…", "Error: b", False)],
)
def test_an_answer_is_compared_up_to_dots(expected: str, given: str, *, is_expected: bool) -> None:
    assert Answer(CASES[0], "filter a", expected, given).is_expected is is_expected


def test_a_guest_without_a_case_is_found(checkout: Path) -> None:
    assert uncovered(checkout, [Case("number", "t")]) == ["waiting.wasm"]


def test_the_report_shows_the_expected_answer_beside_another_one() -> None:
    case = Case("guests/a", "a case", known={"bind x": "Skip"}, note="a note")
    found = [
        Answer(case, "filter x", "Success", "Success"),
        Answer(case, "score x", "score 1", "score 2"),
        Answer(case, "bind x", "Success", "Skip"),
    ]
    assert list(report.lines(found)) == [
        "guests/a.wasm",
        "  a case",
        "    ✓ filter x: Success",
        "    ✗ score x: score 2",
        "        expected: score 1",
        "    ~ bind x: Skip",
        "        expected: Success",
        "        known difference: a note",
    ]
    assert report.summary(found) == "1 guest, 3 answers: 1 as expected, 1 known difference, 1 unexpected"
    assert list(report.markdown(found))[4:] == [
        "| `guests/a` | filter, score, bind | 3 | 1 |",
        "",
        "| guest, call | expected | answer | cause |",
        "| --- | --- | --- | --- |",
        "| `guests/a`, a case, score x | score 1 | score 2 | unknown |",
        "| `guests/a`, a case, bind x | Success | Skip | a note |",
    ]


# ---------------------------------------------------------------------- command


@pytest.fixture
def conformance(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return command_line.command(lambda: run_app(command.app, "conformance"), "conformance", monkeypatch, capsys)


def test_without_a_checkout_the_command_says_where_to_get_it(conformance: Command, tmp_path: Path) -> None:
    for arguments in ((), (tmp_path,)):
        ended = conformance(*arguments)
        assert (ended.code, ended.out) == (2, "")
        assert "git clone https://github.com/kubernetes-sigs/kube-scheduler-wasm-extension" in ended.err
        assert COMMIT in ended.err


def test_the_exit_code_is_that_of_the_comparison(
    conformance: Command, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = (Case("number", "t", {"prefilter": "Success"}), Case("waiting", "t", {f"filter {NODE}": "Success"}))
    monkeypatch.setattr(command, "CASES", cases)
    passed = conformance(checkout)
    assert passed.code == 0
    assert passed.out.endswith("\n2 guests, 2 answers: 2 as expected, 0 known differences, 0 unexpected\n")
    assert passed.err.startswith(f"warning: the expectations are those of commit {COMMIT[:7]}")
    different = replace(cases[1], calls={f"filter {NODE}": "Skip"})
    monkeypatch.setattr(command, "CASES", (cases[0], different))
    assert conformance(checkout, "--markdown").code == 1
    monkeypatch.setattr(command, "CASES", (cases[0], replace(different, known={f"filter {NODE}": "Success"})))
    assert conformance(checkout).code == 0
    monkeypatch.setattr(command, "CASES", cases[:1])
    uncovered_one = conformance(checkout)
    assert (uncovered_one.code, "waiting.wasm has no expectations" in uncovered_one.err) == (1, True)
