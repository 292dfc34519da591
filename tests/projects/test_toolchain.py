"""Calls of tools: environment, answers, and the reasons why a tool cannot be used."""

import re
from pathlib import Path

import pytest

from kubewasp.projects import toolchain
from tests.projects.toolchains import fake_tool

VERSION = re.compile(r"\bv(\d+)")


def asked(tmp_path: Path, script: str) -> re.Match[str] | str:
    fake_tool(tmp_path, "tool", script)
    return toolchain.probe([str(tmp_path / "tool")], VERSION)


def test_the_answer_is_found_in_the_output(tmp_path: Path) -> None:
    found = asked(tmp_path, "echo tool v12 of today")
    assert isinstance(found, re.Match)
    assert (found[1], found.string) == ("12", "tool v12 of today")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo something else", "something else"),
        ("echo v12; echo broken >&2; exit 1", "broken"),
        ("exit 3", "exit code 3"),
        ("head -c 9999 /dev/zero | tr '\\0' x", "x" * 2000),
    ],
)
def test_a_tool_without_an_answer_has_a_reason(tmp_path: Path, script: str, reason: str) -> None:
    assert asked(tmp_path, script) == reason


def test_a_tool_that_cannot_be_run_has_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert toolchain.probe([str(tmp_path / "none")], VERSION) == "cannot be run: No such file or directory"
    monkeypatch.setattr(toolchain, "_PROBE_SECONDS", 0.01)
    assert asked(tmp_path, "exec sleep 60") == "cannot be run: no answer within 0.01 s"


def test_variables_are_added_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "1")
    monkeypatch.setenv("REMOVED", "2")
    fake_tool(tmp_path, "tool", "echo $KEPT-$REMOVED-$ADDED; pwd")
    found = toolchain.captured([tmp_path / "tool"], cwd=tmp_path, env={"REMOVED": None, "ADDED": "3"})
    assert found.stdout == f"1--3\n{tmp_path}\n"
