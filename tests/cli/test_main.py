import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import kubewasp as package
from kubewasp.cli.main import main
from tests.cli.conftest import Kubewasp
from tests.guests import SINGLE_HOOKS
from tests.guests.build import wat, wat_text

COMMAND = Path(sys.executable).parent / "kubewasp"


def run(*arguments: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """The installed command in a separate process."""
    command = [COMMAND, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True)


# ---------------------------------------------------------------------- help


def test_version(kubewasp: Kubewasp) -> None:
    ended = kubewasp("--version")
    assert (ended.code, ended.out, ended.err) == (0, f"kubewasp {package.__version__}\n", "")


@pytest.mark.parametrize("command", [[], ["plugin"]])
def test_help_is_shown_where_a_command_is_missing(kubewasp: Kubewasp, command: list[str]) -> None:
    ended = kubewasp(*command)
    assert ended.code == 2
    assert "Usage: kubewasp" in ended.out + ended.err
    assert "Commands" in ended.out + ended.err


def test_help_says_what_to_try_first(kubewasp: Kubewasp) -> None:
    shown = " ".join(kubewasp("--help").out.split())
    assert "A Kubernetes scheduler whose policies are WebAssembly plugins." in shown
    assert "kubewasp plugin call GUEST filter score" in shown


def test_help_imports_nothing_that_is_slow() -> None:
    code = (
        "import sys\n"
        "from kubewasp.cli.main import main\n"
        "sys.argv = ['kubewasp', *sys.argv[1:]]\n"
        "try: main()\n"
        "except SystemExit: print(*sorted(sys.modules), file=sys.stderr)\n"
    )
    for arguments in (["--help"], ["plugin", "call", "--help"], ["--version"]):
        command = [sys.executable, "-c", code, *arguments]
        ended = subprocess.run(command, capture_output=True, text=True)
        loaded = set(ended.stderr.split())
        assert "kubewasp.cli.main" in loaded
        assert not loaded & {"numpy", "wasmtime", "google.protobuf", "orjson", "yaml"}


# ---------------------------------------------------------------------- completion


@pytest.mark.parametrize(
    ("begun", "offered"), [("", list(SINGLE_HOOKS)), ("pre", ["prefilter", "prescore", "prebind", "preenqueue"])]
)
def test_bash_completion_offers_hooks(begun: str, offered: list[str]) -> None:
    words = f"kubewasp plugin call guest.wasm {begun}"
    ended = run(_KUBEWASP_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD="4")
    assert ended.stdout.split() == offered


def test_zsh_completion_offers_hooks_after_hooks() -> None:
    words = "kubewasp plugin call guest.wasm prefilter sc"
    ended = run(_KUBEWASP_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=words)
    assert '"score"' in ended.stdout
    assert "prefilter" not in ended.stdout


# ---------------------------------------------------------------------- how the process ends


def test_exit_code_is_0_whatever_the_guest_answers() -> None:
    ended = run("plugin", "call", wat("misbehave"), "filter", "--global", "what=1", "-o", "json")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_exit_code_is_1_and_stderr_one_line_for_a_guest_that_is_not_there() -> None:
    ended = run("plugin", "inspect", "missing.wasm")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "error: wasm: cannot load missing.wasm: No such file or directory\n"


def test_exit_code_is_2_for_wrong_usage() -> None:
    ended = run("plugin", "call", wat("filter"), "flter")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["--help"], ["call"], ["call", "-o", "json"]], ids=" ".join)
def test_reader_that_goes_away_is_no_error(arguments: list[str], unbuffered: str) -> None:
    if arguments[0] == "call":  # often enough to fill any buffer
        arguments = ["plugin", "call", str(wat("filter")), *["filter"] * 100, *arguments[1:]]
    reading, writing = os.pipe()
    os.close(reading)
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    try:
        ended = subprocess.run([COMMAND, *arguments], stdout=writing, stderr=subprocess.PIPE, env=environment)
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [[], ["-o", "json"]])
def test_full_disk_is_one_line_on_stderr(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [COMMAND, "plugin", "call", wat("filter"), "filter", *arguments]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (1, "error: No space left on device\n")


def test_terminal_that_does_not_speak_utf8_is_no_error() -> None:
    ended = run("plugin", "call", wat("filter"), "filter", PYTHONIOENCODING="ascii")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "\\xb5s" in ended.stdout
    options = ["--config", "µ", "-o", "json"]
    command = [COMMAND, "plugin", "call", wat("start_initialize"), "filter", *options]
    binary = subprocess.run(command, capture_output=True, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert '"reason": "µ"'.encode() in binary.stdout


def test_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch, kubewasp: Kubewasp) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kubewasp.cli.plugin_inspect.run", interrupted)
    ended = kubewasp("plugin", "inspect", wat("filter"))
    assert (ended.code, ended.out, ended.err) == (130, "", "")


def test_mistake_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("kubewasp.cli.plugin_inspect.run", wrong)
    monkeypatch.setattr("sys.argv", ["kubewasp", "plugin", "inspect", "guest.wasm"])
    with pytest.raises(ZeroDivisionError):
        main()


def test_control_characters_in_an_error_do_not_reach_the_terminal(kubewasp: Kubewasp) -> None:
    guest = wat_text("""
        (module
          (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
          (memory (export "memory") 1)
          (data (i32.const 0) "\\10\\00\\00\\00\\08\\00\\00\\00")
          (data (i32.const 16) "\\1b[31mred")
          (func (export "_start")
            (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 64)))
            unreachable)
          (func (export "filter") (result i32) (i32.const 0)))
    """)
    ended = kubewasp("plugin", "call", guest, "filter")
    assert (ended.code, ended.out) == (1, "")
    assert "wasm: _start error: \\x1b[31mred" in ended.err
    assert "\x1b" not in ended.err
