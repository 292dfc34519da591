"""`kubewasp plugin new`, `build` and `test`: output and exit codes."""

import io
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from kubewasp.cli import plugin_project as command
from kubewasp.projects.toolchain import TestResult
from tests.cli.conftest import Ended, Kubewasp
from tests.guests.build import wat
from tests.projects import toolchains
from tests.projects.toolchains import FakeToolchain
from tests.projects.writing import case, written


@pytest.fixture
def toolchain(monkeypatch: pytest.MonkeyPatch) -> FakeToolchain:
    return toolchains.installed(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path, toolchain: FakeToolchain) -> Path:
    """A project with one scenario test that passes."""
    toolchains.made(tmp_path / "p")
    written(tmp_path / "p", case(name="pods like their number"))
    return tmp_path / "p"


def without_times(ended: Ended) -> list[str]:
    """The lines of stdout, each up to its time."""
    return [line.rpartition("  ")[0] if line.endswith((" ms", " s")) else line for line in ended.out.splitlines()]


def steps(ended: Ended) -> list[str]:
    """The lines of stderr, each up to its time."""
    return [line.partition(" … ")[0] for line in ended.err.splitlines()]


# ---------------------------------------------------------------------- new


@pytest.mark.parametrize("language", ["go", "python", "c"])
def test_a_new_project_says_what_to_do_next(
    kubewasp: Kubewasp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kubewasp("plugin", "new", "pack-gpus", "--lang", language)
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == "pack-gpus/"
    assert "  tests/scenarios.yaml" in lines
    assert lines[lines.index("Next steps:") + 1 :] == [
        "  cd pack-gpus",
        "  kubewasp plugin test     # unit tests, build, scenarios in tests/",
        "  kubewasp plugin build    # build/pack-gpus.wasm",
        "  kubewasp simulate cluster.yaml pods.yaml --plugin build/pack-gpus.wasm",
    ]
    again = kubewasp("plugin", "new", "pack-gpus", "--lang", language)
    assert (again.code, again.out) == (1, "")
    assert again.err == "error: pack-gpus already exists and is not an empty folder; nothing was changed\n"


def test_the_language_must_be_told(kubewasp: Kubewasp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    languages = "go, python, rust, javascript, typescript or c"
    assert f"missing option --lang: choose {languages}" in kubewasp("plugin", "new", "x").usage_error
    assert f"expected {languages}, got 'cobol'" in kubewasp("plugin", "new", "x", "--lang", "cobol").usage_error
    assert kubewasp("plugin", "new", "X", "--lang", "go").err.startswith("error: 'X' is not a valid plugin name: ")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------- build


def test_a_build_prints_what_was_made(kubewasp: Kubewasp, folder: Path, toolchain: FakeToolchain) -> None:
    ended = kubewasp("plugin", "build", folder)
    assert (ended.code, steps(ended)) == (0, ["building policy (Fake)"])
    facts = dict(line.split(maxsplit=1) for line in ended.out.splitlines() if not line.startswith(" "))
    assert facts["kind"] == "core module, classic ABI, written in Fake"
    assert facts["hooks"] == "prefilter, filter, score"
    assert facts["size"] == "1.3Ki"
    assert list(facts) == ["built", "kind", "size", "hooks", "duration"]


def test_a_build_for_machines(kubewasp: Kubewasp, folder: Path, toolchain: FakeToolchain) -> None:
    target = folder / "elsewhere.wasm"
    found = kubewasp("plugin", "build", folder, "-o", "json", "--out", target).json
    assert found["file"] == str(target)
    assert target.exists()
    assert found["hooks"] == ["prefilter", "filter", "score"]
    assert (found["name"], found["language"], found["warning"]) == ("policy", "fake", None)
    assert found["size_bytes"] == target.stat().st_size


def test_a_compiler_is_quoted(kubewasp: Kubewasp, folder: Path, toolchain: FakeToolchain) -> None:
    toolchain.broken = "the Go compiler says:\n./main.go:5:2: undefined: x"
    ended = kubewasp("plugin", "build", folder)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.endswith("error: the Go compiler says:\n./main.go:5:2: undefined: x\n")


def test_a_guest_that_does_not_start_is_a_warning(kubewasp: Kubewasp, folder: Path, toolchain: FakeToolchain) -> None:
    toolchain.guest = wat("start_trap")
    ended = kubewasp("plugin", "build", folder)
    assert ended.code == 0
    assert "warning   no start: wasm: _start error" in ended.out


def test_the_folder_at_hand_is_built(
    kubewasp: Kubewasp, folder: Path, toolchain: FakeToolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert kubewasp("plugin", "build").code == 0
    assert (folder / "build" / "policy.wasm").exists()


def test_a_folder_that_is_no_project_is_told(kubewasp: Kubewasp, tmp_path: Path) -> None:
    for words in (("build",), ("test",)):
        ended = kubewasp("plugin", *words, tmp_path)
        assert (ended.code, ended.out) == (1, "")
        assert ended.err.startswith(f"error: {tmp_path} is not a plugin project: ")


# ---------------------------------------------------------------------- test


def test_everything_passes(kubewasp: Kubewasp, folder: Path) -> None:
    ended = kubewasp("plugin", "test", folder)
    assert ended.code == 0
    assert without_times(ended)[:-1] == [
        "Fake tests",
        "  ✓ test_it",
        "",
        "build",
        "  ✓ policy.wasm",
        "",
        "tests/cases.yaml",
        "  ✓ pods like their number",
        "",
    ]
    assert ended.out.splitlines()[-1].startswith("3 passed in ")
    assert steps(ended) == ["running the Fake tests of policy", "building policy (Fake)", "running tests/cases.yaml"]


def test_what_failed_is_told(kubewasp: Kubewasp, folder: Path, toolchain: FakeToolchain) -> None:
    toolchain.results = (
        TestResult("test_a", 0.5, failure="assert 1 == 2\n\x1b[31mred"),
        TestResult("test_b", skipped="why"),
    )
    written(folder, case(name="wrong", expect={"node": "node-3"}), case(name="right"))
    ended = kubewasp("plugin", "test", folder)
    assert ended.code == 1
    lines = without_times(ended)
    assert lines[1:6] == ["  ✗ test_a", "      assert 1 == 2", "      \\x1b[31mred", "  - test_b", "      why"]
    assert lines[lines.index("  ✗ wrong") + 1 :][:3] == [
        "      pod default/web-2",
        "        node  expected  node-3",
        "              got       node-2",
    ]
    assert ended.out.splitlines()[-1].startswith("2 passed, 2 failed, 1 skipped in ")


def test_without_a_build_scenarios_are_skipped(kubewasp: Kubewasp, folder: Path, toolchain: FakeToolchain) -> None:
    toolchain.broken = "main.go:1: no"
    ended = kubewasp("plugin", "test", folder, "-o", "json")
    assert ended.code == 1
    found = ended.json
    assert (found["passed"], found["failed"], found["skipped"]) == (0, 2, 1)
    assert [[test["outcome"] for test in suite["tests"]] for suite in found["suites"]] == [
        ["failed"],
        ["failed"],
        ["skipped"],
    ]
    assert found["suites"][1]["tests"][0]["message"] == "main.go:1: no"
    assert found["suites"][2]["tests"][0]["message"] == "the plugin was not built"


def test_results_for_machines(kubewasp: Kubewasp, folder: Path) -> None:
    found = kubewasp("plugin", "test", folder, "-o", "json").json
    assert (found["name"], found["language"], found["passed"]) == ("policy", "fake", 3)
    assert [suite["name"] for suite in found["suites"]] == ["Fake tests", "build", "tests/cases.yaml"]
    assert set(found["suites"][2]["tests"][0]) == {"name", "outcome", "seconds", "message", "log"}


@pytest.mark.parametrize(("expected", "code"), [("node-2", 0), ("node-3", 1)])
def test_junit_is_written_whether_tests_fail_or_not(
    kubewasp: Kubewasp, folder: Path, tmp_path: Path, expected: str, code: int
) -> None:
    written(folder, case(expect={"node": expected}))
    report = tmp_path / "results.xml"
    assert kubewasp("plugin", "test", folder, "--junit", report).code == code
    root = ET.parse(report).getroot()
    assert (root.attrib["name"], root.attrib["tests"], root.attrib["failures"]) == ("policy", "3", str(code))


def test_a_report_that_cannot_be_written_is_told(kubewasp: Kubewasp, folder: Path, tmp_path: Path) -> None:
    ended = kubewasp("plugin", "test", folder, "--junit", tmp_path)
    assert ended.code == 1
    assert ended.err.endswith(f"error: {tmp_path} cannot be written: Is a directory\n")


def test_native_tests_can_be_left_out(kubewasp: Kubewasp, folder: Path) -> None:
    found = kubewasp("plugin", "test", folder, "--no-native", "-o", "json").json
    assert [suite["name"] for suite in found["suites"]] == ["build", "tests/cases.yaml"]


def test_scenarios_can_be_chosen_by_name(kubewasp: Kubewasp, folder: Path) -> None:
    written(folder, case(name="by day"), case(name="at night"))
    found = kubewasp("plugin", "test", folder, "--filter", "night", "-o", "json").json
    assert [[test["name"] for test in suite["tests"]] for suite in found["suites"]] == [["policy.wasm"], ["at night"]]
    ended = kubewasp("plugin", "test", folder, "--filter", "noon")
    assert (ended.code, ended.out, ended.err) == (1, "", "error: no scenario test with 'noon' in its name\n")


def test_a_broken_scenario_file_is_told_before_anything_is_run(
    kubewasp: Kubewasp, folder: Path, toolchain: FakeToolchain
) -> None:
    path = written(folder, case(), case(nam="x"))
    ended = kubewasp("plugin", "test", folder)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == f'error: {path}: document 2: nam: unknown field; did you mean "name"?\n'
    assert not (folder / "build").exists()


def test_a_project_without_native_tests_says_so(kubewasp: Kubewasp, folder: Path, toolchain: FakeToolchain) -> None:
    toolchain.results = ()
    assert without_times(kubewasp("plugin", "test", folder))[:2] == ["Fake tests", "  no tests"]


def test_a_terminal_that_speaks_ascii_is_spared(
    folder: Path, toolchain: FakeToolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    command.run_tests(folder, native=False, wanted="", report=None, logs=False, strict=False, form="table")
    stream.flush()
    assert b"\\u2713 policy.wasm" in stream.buffer.getvalue()  # type: ignore[attr-defined]


def test_an_unknown_field_of_a_scenario_is_a_warning_and_with_strict_an_error(kubewasp: Kubewasp, folder: Path) -> None:
    path = written(folder, case(pod={"name": "web-2", "spec": {"toleration": []}}))
    text = f"{path}: document 1: pod: Pod default/web-2: spec.toleration: unknown field"
    ended = kubewasp("plugin", "test", folder, "--no-native", "-o", "json")
    assert (ended.code, ended.err.splitlines()[0]) == (0, f'warning: {text}; did you mean "tolerations"?')
    assert ended.json["warnings"] == [f'{text}; did you mean "tolerations"?']
    strict = kubewasp("plugin", "test", folder, "--strict")
    assert (strict.code, strict.out, strict.err) == (1, "", f'error: {text}; did you mean "tolerations"?\n')
