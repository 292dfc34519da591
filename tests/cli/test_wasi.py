"""`kubewasp wasi`, as a process: streams, signals, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.guests.build import example, go_command, go_guest, wat, wat_text
from tests.wasi.running import probe_file
from tests.wasi.test_component import command

if TYPE_CHECKING:
    from tests.cli.conftest import Kubewasp

KUBEWASP = str(Path(sys.executable).parent / "kubewasp")


def wasi(*arguments: str | Path, stdin: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [KUBEWASP, "wasi", *map(str, arguments)], input=stdin, capture_output=True, text=True, check=False, cwd=cwd
    )


def begin(*arguments: str | Path) -> subprocess.Popen[bytes]:
    """Standard input stays open, and nothing comes."""
    return subprocess.Popen(
        [KUBEWASP, "wasi", "run", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_program_runs_with_its_arguments_and_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    ran = wasi("run", "--env", "A=1", "--env", "B=x=y", probe_file(), "--", "env")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "A=1\nB=x=y\n", "")
    ran = wasi("run", probe_file(), "--", "args", "--dir", "-x")
    assert ran.stdout == "--dir\n-x\n"


def test_standard_input_is_empty_a_file_or_ours(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("from a file")
    assert wasi("run", probe_file(), "--", "stdin", stdin="ours").stdout == ""
    assert wasi("run", "--stdin", "-", probe_file(), "--", "stdin", stdin="ours").stdout == "ours"
    assert wasi("run", "--stdin", tmp_path / "input", probe_file(), "--", "stdin", stdin="ours").stdout == "from a file"
    missing = wasi("run", "--stdin", tmp_path / "none", probe_file())
    assert missing.returncode == 2
    assert "No such file or directory" in missing.stderr


def test_a_denied_file_is_told_with_its_grant_and_the_grant_helps(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("content")
    denied = wasi("run", go_command("gopher"), "--", "read", tmp_path / "file")
    assert denied.returncode == 1
    grant = f"{tmp_path}:ro"
    assert denied.stderr.endswith(
        f"note: denied read access to {tmp_path}/file: not in a granted directory; add --dir {grant}\n"
    )
    granted = wasi("run", "--dir", grant, go_command("gopher"), "--", "read", tmp_path / "file")
    assert (granted.returncode, granted.stdout, granted.stderr) == (0, "content", "")
    assert "note:" not in wasi("run", "-q", go_command("gopher"), "--", "read", tmp_path / "file").stderr


def test_a_relative_directory_is_meant_from_here(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").write_text("content")
    for grant in (".", "data:ro", "./data"):
        ran = wasi("run", "--dir", grant, probe_file(), "--", "read", "data/file", cwd=tmp_path)
        assert (ran.returncode, ran.stdout) == (0, "content"), ran.stderr


def test_a_name_in_a_note_cannot_play_tricks_on_the_terminal() -> None:
    ran = wasi("run", probe_file(), "--", "read", "/x\x1b[2Jy")
    assert "\x1b" not in ran.stderr
    assert r"/x\x1b[2Jy" in ran.stderr


@pytest.mark.parametrize("code", [0, 3, 126, 255])
def test_the_exit_code_is_the_programs(code: int) -> None:
    assert wasi("run", probe_file(), "--", "exit", str(code)).returncode == code


def test_a_crash_is_134_and_says_where() -> None:
    ran = wasi("run", probe_file(), "--", "abort")
    assert ran.returncode == 134
    assert "wasm trap: wasm `unreachable` instruction executed\nwasm stack trace:" in ran.stderr


@pytest.mark.parametrize("program", [("loop",), ("sleep", "3600000")])
def test_a_program_whose_time_is_over_is_124(program: tuple[str, ...]) -> None:
    ran = wasi("run", "--timeout", "50ms", probe_file(), "--", *program)
    assert ran.returncode == 124
    assert ran.stderr.endswith("time limit of 0.05 s exceeded; raise --timeout\n")


def test_the_time_ends_also_for_a_program_that_waits_for_input() -> None:
    process = begin("--timeout", "50ms", "--stdin", "-", probe_file(), "--", "stdin")
    assert process.wait(300) == 124
    process.communicate()


def test_a_program_without_fuel_is_124_and_used_fuel_is_shown() -> None:
    ran = wasi("run", "--fuel", "100k", probe_file(), "--", "loop")
    assert ran.returncode == 124
    assert "fuel limit of 100000 units exceeded; raise --fuel" in ran.stderr
    shown = wasi("run", "-v", "--fuel", "1G", probe_file())
    assert "units of fuel" in shown.stderr
    assert "exited with code 0 after" in shown.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("program", ["loop", "sleep", "stdin"])
def test_a_signal_ends_the_program(number: signal.Signals, code: int, program: str) -> None:
    """A program that computes, sleeps, or waits for input; its first traced call is the start."""
    with begin("--trace", "--stdin", "-", probe_file(), "--", program, "3600000") as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"trace: ")
        process.send_signal(number)
        assert process.wait(300) == code


def test_a_program_whose_reader_is_gone_ends() -> None:
    with begin(probe_file(), "--", "flood") as process:
        assert process.stdout is not None
        assert process.stdout.read(4) == b"yes\n"
        process.stdout.close()
        assert process.wait(300) == 141


def test_output_is_seen_while_the_program_runs() -> None:
    """The program waits for input until its output was seen."""
    with begin("--stdin", "-", probe_file(), "--", "stdin") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"ping")
        process.stdin.flush()
        assert os.read(process.stdout.fileno(), 100) == b"ping"
        process.stdin.close()
        assert process.wait(300) == 0


def test_a_component_runs_and_a_failure_tells_its_grants(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = wasi("run", "--dir", f"{tmp_path}:/in:ro", command())
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "/in r1 w0\n", "")
    ran = wasi("run", "--env", "A=1", command())
    assert ran.returncode == 1
    assert ran.stderr == "note: granted: --env A; denials of a component are not known\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dir", "none"], "none: No such file or directory"),
        (["--dir", "a:b:c"], "expected HOST[:GUEST][:ro]"),
        (["--dir", ".", "--dir", "/tmp:."], "rename one of them"),
        (["--env", "A"], "expected NAME=VALUE"),
        (["--memory", "lots"], "--memory"),
        (["--memory", "1"], "--memory: expected a size from 64Ki to 4Gi"),
        (["--timeout", "soon"], "--timeout: expected a duration"),
        (["--timeout", "-1s"], "--timeout: expected a duration from 1ms"),
        (["--fuel", "0"], "--fuel: expected a number"),
        (["--stack", "1Gi"], "--stack: expected a size from 64Ki to 4Mi"),
        (["--nonsense"], "no such option"),
    ],
)
def test_wrong_usage_is_2_and_names_the_problem(
    kubewasp: Kubewasp, arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in kubewasp("wasi", "run", *arguments, probe_file()).usage_error


def test_a_file_that_is_not_there_is_127_and_one_that_cannot_be_run_126(tmp_path: Path) -> None:
    ran = wasi("run", tmp_path / "none.wasm")
    assert (ran.returncode, ran.stderr) == (127, f"error: {tmp_path}/none.wasm: no such file\n")
    (tmp_path / "script").write_text("#!/bin/sh\n")
    for file, message in [
        (tmp_path / "script", "error: script: this is not WebAssembly"),
        (tmp_path, "Is a directory"),
        (go_guest("allhooks"), "a scheduler plugin, not a WASI command; use `kubewasp plugin call`"),
        (wat_text('(module (import "env" "f" (func)))', "wasi-odd"), "import env f is not WASI"),
    ]:
        ran = wasi("run", file)
        assert ran.returncode == 126
        assert message in ran.stderr
        assert "Traceback" not in ran.stderr


def test_inspect_prints_what_a_program_could_ask_for() -> None:
    shown = wasi("inspect", probe_file())
    assert shown.returncode == 0
    for words in ("core module, command", "preview 1", "files and directories: ", "network", "--dir HOST[:GUEST][:ro]"):
        assert words in shown.stdout
    found = json.loads(wasi("inspect", "-o", "json", probe_file()).stdout)
    assert found["runnable"] is True
    assert "path_open" in found["could_ask_for"]["files and directories"]


def test_inspect_says_why_a_module_cannot_be_run() -> None:
    found = json.loads(wasi("inspect", "-o", "json", go_guest("allhooks")).stdout)
    assert found["runnable"] is False
    assert any("a scheduler plugin" in problem for problem in found["problems"])


def test_inspect_of_no_file_is_an_error(tmp_path: Path) -> None:
    ran = wasi("inspect", tmp_path / "none.wasm")
    assert ran.returncode == 1
    assert ran.stderr.startswith("error: ")


def test_a_plugin_is_told_from_a_command(kubewasp: Kubewasp) -> None:
    plugin = "a scheduler plugin, not a WASI command; use `kubewasp plugin call`"
    for guest in (wat("filter"), example("nodenumber")):
        ran = wasi("run", guest)
        assert (ran.returncode, ran.stdout) == (126, "")
        assert plugin in ran.stderr
        assert plugin in kubewasp("wasi", "inspect", guest, "-o", "json").json["problems"][0]
    for words in (("call", probe_file(), "filter"), ("inspect", probe_file()), ("bench", probe_file())):
        ended = kubewasp("plugin", *words)
        assert ended.code == 1
        assert ended.err.endswith("any plugin functions; it is a WASI command: use `kubewasp wasi run`\n")
    ended = kubewasp("plugin", "inspect", command())
    assert ended.err.endswith("the component is a WASI command, not a plugin; use `kubewasp wasi run`\n")
