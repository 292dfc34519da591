"""Exit codes of all commands: 0 success, 1 failure, 2 wrong usage, 130 interrupted."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.all_commands import KUBEWASP, Found, name
from tests.cli.conftest import Kubewasp
from tests.guests.build import ROOT, wat
from tests.permissions import file_permissions_obeyed

COMMAND = Path(sys.executable).parent / "kubewasp"
LEAVES = [found for found in KUBEWASP if not found.is_group or found.words == ("extender",)]
NO_FAILURE = {("version",), ("completion",), ("config", "default"), ("plugin", "ls")}
NOWHERE = "oci://127.0.0.1:1/policy:v1"
SMALL = ROOT / "examples" / "clusters" / "small.yaml"
PODS = ROOT / "examples" / "traces" / "pods.csv"
# Commands that read a file, with the place of the file.
READERS = {
    "simulate": ("simulate", "FILE"),
    "simulate --scenario": ("simulate", str(SMALL), "--scenario", "FILE"),
    "console": ("console", "FILE", "--html", "FILE-out"),
    "explain": ("explain", "default/web", "FILE"),
    "snapshot": ("snapshot", "FILE"),
    "snapshot --kubeconfig": ("snapshot", "--out", "FILE-out", "--kubeconfig", "FILE"),
    "explain --kubeconfig": ("explain", "default/web", "--kubeconfig", "FILE"),
    "trace run": ("trace", "run", "FILE", str(SMALL)),
    "trace run --nodes": ("trace", "run", str(PODS), "--nodes", "FILE"),
    "trace run --map": ("trace", "run", str(PODS), str(SMALL), "--map", "FILE"),
    "trace shapes": ("trace", "shapes", "FILE"),
    "what-if drain": ("what-if", "drain", "node-1", "-f", "FILE"),
    "what-if remove": ("what-if", "remove", "node-1", "-f", "FILE"),
    "what-if add": ("what-if", "add", "--like", "node-1", "-f", "FILE"),
    "what-if scale": ("what-if", "scale", "deploy/web=1", "-f", "FILE"),
    "what-if upgrade": ("what-if", "upgrade", "node-1", "-f", "FILE"),
    "what-if how-many": ("what-if", "how-many", "FILE", "-f", str(SMALL)),
    "what-if smallest": ("what-if", "smallest", "--from", "FILE", "-f", str(SMALL)),
    "compare": ("compare", "default", "same=default", "FILE"),
    "compare --prices": ("compare", "default", "same=default", str(SMALL), "--prices", "FILE"),
    "sweep": ("sweep", "FILE"),
    "tune": ("tune", "FILE"),
    "run": ("run", "--config", "FILE"),
    "config check": ("config", "check", "FILE"),
    "extender": ("extender", "--config", "FILE"),
    "extender config": ("extender", "config", "--config", "FILE"),
    "http serve": ("http", "serve", "--config", "FILE"),
    "http check": ("http", "check", "--config", "FILE"),
    "http routes": ("http", "routes", "--config", "FILE"),
    "plugin inspect": ("plugin", "inspect", "FILE"),
    "plugin call": ("plugin", "call", "FILE", "filter"),
    "plugin call --pod": ("plugin", "call", str(wat("filter")), "filter", "--pod", "FILE"),
    "plugin call --node": ("plugin", "call", str(wat("filter")), "filter", "--node", "FILE"),
    "plugin bench": ("plugin", "bench", "FILE"),
    "plugin profile": ("plugin", "profile", "FILE"),
    "plugin sign": ("plugin", "sign", str(wat("filter")), "--key", "FILE"),
    "plugin verify": ("plugin", "verify", str(wat("filter")), "--key", "FILE"),
    "wasi inspect": ("wasi", "inspect", "FILE"),
    "image build": ("image", "build", "FILE", "-t", "oci:FILE-image"),
    "image inspect oci-archive": ("image", "inspect", "oci-archive:FILE"),
    "image inspect docker-archive": ("image", "inspect", "docker-archive:FILE"),
    "plugin push": ("plugin", "push", "FILE", NOWHERE),
    "plugin load of an oci-archive": ("plugin", "load", "FILE"),
    "plugin info of an oci-archive": ("plugin", "info", "FILE"),
}
# Not read from a pipe: the places of files in an archive are searched.
ARCHIVES = {name for name in READERS if "-archive" in name}
# The interrupt is the event loop's.
IN_LOOP = {"explain --kubeconfig", "snapshot --kubeconfig"}
NONSENSE = {
    "binary": b"\x00\xff\xfe" * 100,
    "empty": b"",
    "bad yaml": b"a: [1\n",
    "deep json": b'{"a":' * 600 + b"1" + b"}" * 600,
    "deep yaml": b"a: " + b"[" * 600 + b"]" * 600,
    "large number": b"9" * 5000,
    "aliases": b"a0: &a0 [x, x]\n" + b"".join(b"a%d: &a%d [*a%d, *a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 60)),
}
OTHER_FAILURES = {
    "replay": ("replay", "NOWHERE"),
    "trace generate": ("trace", "generate", "--rate", "0"),
    **{
        f"rollout {action}": ("rollout", action, "--server", "http://127.0.0.1:1")
        for action in ("status", "promote", "abort", "reload")
    },
    "plugin pull": ("plugin", "pull", NOWHERE),
    "plugin tag": ("plugin", "tag", NOWHERE, "v2"),
    "plugin digest": ("plugin", "digest", NOWHERE),
    "plugin annotate": ("plugin", "annotate", NOWHERE, "--title", "x"),
    "plugin save": ("plugin", "save", NOWHERE, "/nowhere/saved.tar"),
    "plugin rm": ("plugin", "rm", NOWHERE),
    "plugin new": ("plugin", "new", "No Name", "--lang", "go"),
    "plugin build": ("plugin", "build", "FILE"),
    "plugin test": ("plugin", "test", "FILE"),
    "plugin keygen": ("plugin", "keygen", "FILE/team"),
}


def placed(words: tuple[str, ...], file: Path) -> tuple[str, ...]:
    """The words with the name of the file in its place."""
    return tuple(word.replace("FILE", str(file)) for word in words)


def error_line(kubewasp: Kubewasp, *arguments: object, code: int) -> str:
    """The only line on stderr of a command that fails."""
    ended = kubewasp(*arguments)
    assert (ended.code, ended.out) == (code, ""), ended.err
    found = re.fullmatch(r"error: (.+)\n", ended.err)
    assert found, ended.err
    return found[1]


@pytest.mark.parametrize("found", KUBEWASP, ids=name)
def test_wrong_options_are_wrong_usage(found: Found, kubewasp: Kubewasp) -> None:
    told = kubewasp(*found.words, "--no-such-option").usage_error
    assert told.startswith("no such option: --no-such-option")


@pytest.mark.parametrize("found", LEAVES, ids=name)
def test_too_many_arguments_are_wrong_usage(found: Found, kubewasp: Kubewasp) -> None:
    if any(param.nargs == -1 for param in found.command.params):
        return
    words = [value for param in found.command.params if param.required for value in given(param)]
    told = kubewasp(*found.words, *words, "superfluous", "superfluous").usage_error
    assert re.match(r"unexpected argument: |no such command ", told), told


def given(param: object) -> list[str]:
    """A value for a required parameter."""
    value = {"lang": "go", "shell": "bash"}.get(param.name, "x")  # type: ignore[attr-defined]
    return [param.opts[0], value] if param.param_type_name == "option" else [value]  # type: ignore[attr-defined]


@pytest.mark.parametrize("found", LEAVES, ids=name)
def test_missing_arguments_are_wrong_usage(found: Found, kubewasp: Kubewasp) -> None:
    required = [param for param in found.command.params if param.required]
    if required:
        assert re.match(r"missing (argument|option) [A-Z\[-]", kubewasp(*found.words).usage_error)


def test_every_command_that_can_fail_is_in_the_tables() -> None:
    tried = {words[: len(found.words)] for words in (READERS | OTHER_FAILURES).values() for found in LEAVES}
    assert {found.words for found in LEAVES} - tried == NO_FAILURE | {("wasi", "run")}


@pytest.mark.parametrize("words", (READERS | OTHER_FAILURES).values(), ids=list(READERS | OTHER_FAILURES))
def test_a_file_that_is_not_there_is_one_line_with_its_name(
    words: tuple[str, ...], kubewasp: Kubewasp, tmp_path: Path
) -> None:
    missing = tmp_path / "missing"
    told = error_line(kubewasp, *placed(words, missing), code=1)
    assert str(missing) in told or words == placed(words, missing)


@pytest.mark.parametrize(
    ("words", "content"),
    [
        pytest.param(words, content, id=f"{command}: {content}")
        for command, words in READERS.items()
        for content in ("folder", "binary", "empty", "bad yaml", "deep json", "deep yaml", "large number", "aliases")
        if (words[0], content) not in (("simulate", "empty"), ("console", "empty"))  # a cluster without objects
    ],
)
def test_a_file_that_makes_no_sense_is_one_line_with_its_name(
    words: tuple[str, ...], content: str, kubewasp: Kubewasp, tmp_path: Path
) -> None:
    file = tmp_path / "input"
    if content == "folder":
        file.mkdir()
    else:
        file.write_bytes(NONSENSE[content])
    told = error_line(kubewasp, *placed(words, file), code=1)
    assert "Traceback" not in told
    assert file.name in told


@pytest.mark.parametrize("words", READERS.values(), ids=list(READERS))
def test_a_file_without_permission_is_one_line_with_its_name(
    words: tuple[str, ...], kubewasp: Kubewasp, tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.touch(mode=0)
    with file_permissions_obeyed():
        told = error_line(kubewasp, *placed(words, file), code=1)
    assert str(file) in told
    assert "Permission denied" in told


def opened(pipe: Path, process: subprocess.Popen[bytes]) -> int:
    """The writing end of a pipe, once the process has opened the other end."""
    while process.poll() is None:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # no reader yet
            os.sched_yield()
    raise AssertionError(process.communicate())


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Background jobs of a shell ignore the signal, and so do their children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("command", sorted(READERS.keys() - IN_LOOP - ARCHIVES))
def test_an_interrupt_ends_with_130_and_no_text(command: str, tmp_path: Path) -> None:
    """The command waits for the content of a pipe."""
    words = READERS[command]
    pipe = tmp_path / "input"
    os.mkfifo(pipe)
    arguments = [str(pipe) if word == "FILE" else word for word in words]
    with subprocess.Popen([COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        writer = opened(pipe, process)
        process.send_signal(signal.SIGINT)
        os.close(writer)  # ends also a read that began in the instant before the signal
        code = process.wait()
        assert process.stdout is not None
        assert process.stderr is not None
        assert (code, process.stdout.read(), process.stderr.read()) == (130, b"", b"")


# Commands that print something and end; the others wait for requests, or build.
PRINTING = {
    "help": ("--help",),
    "version": ("version",),
    "simulate": ("simulate", str(SMALL)),
    "simulate -o json": ("simulate", str(SMALL), "-o", "json"),
    "config default": ("config", "default"),
    "plugin call": ("plugin", "call", str(wat("filter")), "filter"),
}


@pytest.mark.parametrize("words", PRINTING.values(), ids=list(PRINTING))
def test_a_reader_that_is_gone_ends_a_command_without_a_word(words: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run([COMMAND, *words], stdout=writer, stderr=subprocess.PIPE)
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.mark.parametrize("words", PRINTING.values(), ids=list(PRINTING))
def test_a_closed_standard_output_is_like_no_output(words: tuple[str, ...]) -> None:
    ended = subprocess.run(["/bin/sh", "-c", 'exec "$@" >&-', "sh", COMMAND, *words], stderr=subprocess.PIPE)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_an_error_without_any_standard_stream_is_an_exit_code() -> None:
    ended = subprocess.run(["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", COMMAND, "simulate", "missing.yaml"])
    assert ended.returncode == 1


def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([COMMAND, "config", "default"], stdout=full, stderr=subprocess.PIPE)
    assert (ended.returncode, ended.stderr) == (1, b"error: No space left on device\n")


def test_the_module_is_the_command() -> None:
    ended = subprocess.run([sys.executable, "-m", "kubewasp", "--version"], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("kubewasp ")


def test_an_interrupt_during_the_imports_has_no_traceback() -> None:
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from kubewasp.__main__ import main\n"
        "main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
