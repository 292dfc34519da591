"""Colours of the command line: on terminals only, unless NO_COLOR or FORCE_COLOR say otherwise."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guests.build import ROOT, wat

COMMAND = Path(sys.executable).parent / "kubewasp"
SMALL = ROOT / "examples" / "clusters" / "small.yaml"
VARIABLES = ("NO_COLOR", "FORCE_COLOR", "TERM", "GITHUB_ACTIONS", "PY_COLORS", "CLICOLOR_FORCE", "TTY_COMPATIBLE")
ESCAPE = b"\x1b["
COMMANDS = [
    ["--help"],
    ["plugin"],
    ["simulate", "--help"],
    ["simulate", str(SMALL)],
    ["explain", "default/huge", str(SMALL)],
    ["explain", "default/huge", str(SMALL), "-o", "json"],
    ["explain", "default/huge", str(SMALL), "-o", "yaml"],
    ["plugin", "inspect", str(wat("filter"))],
    ["plugin", "inspect", "missing.wasm"],
    ["plugin", "bench", str(wat("filter")), "--nodes", "1", "--pods", "1"],
    ["nonsense"],
]


def environment(**given: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return kept | {"TERM": "xterm-256color", "COLUMNS": "80"} | given


def piped(*arguments: str, **given: str) -> bytes:
    """Everything that a command writes into pipes."""
    return subprocess.run(
        [COMMAND, *arguments], env=environment(**given), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ).stdout


def on_terminal(*arguments: str, **given: str) -> bytes:
    """Everything that a command writes to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [COMMAND, *arguments], env=environment(**given), stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        written = b""
        try:
            while chunk := os.read(ours, 65536):
                written += chunk
        except OSError:  # Linux: the other end is closed
            pass
        os.close(ours)
        process.wait()
    return written


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda words: " ".join(Path(word).name for word in words))
def test_nothing_but_text_goes_into_a_pipe(arguments: list[str]) -> None:
    written = piped(*arguments)
    assert written
    assert b"\x1b" not in written


@pytest.mark.parametrize("variable", ["GITHUB_ACTIONS", "PY_COLORS"])
def test_a_variable_of_ci_is_no_reason_for_colours(variable: str) -> None:
    assert b"\x1b" not in piped("simulate", "--help", **{variable: "1"})


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", str(SMALL)]], ids=" ".join)
def test_a_terminal_gets_bold_headings(arguments: list[str]) -> None:
    assert ESCAPE + b"1m" in on_terminal(*arguments)


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", str(SMALL)]], ids=" ".join)
@pytest.mark.parametrize("given", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}], ids=str)
def test_a_terminal_gets_plain_text_where_it_wants_it(arguments: list[str], given: dict[str, str]) -> None:
    written = on_terminal(*arguments, **given)
    assert written
    assert b"\x1b" not in written


def test_an_empty_variable_counts_as_none() -> None:
    assert ESCAPE in on_terminal("--help", NO_COLOR="")
    assert ESCAPE not in piped("--help", FORCE_COLOR="")


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", str(SMALL)]], ids=" ".join)
def test_colours_can_be_forced_into_a_pipe(arguments: list[str]) -> None:
    assert ESCAPE in piped(*arguments, FORCE_COLOR="1")


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_output_for_programs_never_has_colours(form: str) -> None:
    arguments = ["explain", "default/huge", str(SMALL), "-o", form]
    assert b"\x1b" not in piped(*arguments, FORCE_COLOR="1")
    assert b"\x1b" not in on_terminal(*arguments)


def test_progress_is_shown_on_a_terminal_only() -> None:
    guest = str(wat("filter"))
    arguments = ["plugin", "bench", guest, "--nodes", "10", "--pods", "3"]
    assert b"loading" not in piped(*arguments, FORCE_COLOR="1")
    assert b"\x1b[?25l" not in piped(*arguments, FORCE_COLOR="1")
    assert b"\x1b[?25l" in on_terminal(*arguments)
    assert b"\x1b" not in on_terminal(*arguments, TERM="dumb")
