"""TinyGo as a second compiler of Go projects: discovery, command line, errors. A fake stands for it."""

import json
import stat
from pathlib import Path

import pytest

from kubewasp.cli.main import main
from kubewasp.projects import go, project, tinygo
from kubewasp.projects.tinygo import with_tinygo
from kubewasp.projects.toolchain import BuildError
from tests.command_line import command
from tests.projects.toolchains import installed, made

VERSION = "tinygo version 0.39.0 linux/amd64 (using go version go1.24.1 and LLVM version 19.1.2)"
# Writes what it was called with, and a guest of a Go build as its result.
COMPILER = """#!{python}
import json, os, pathlib, shutil, subprocess, sys
if sys.argv[1:] == ["version"]:
    print({version!r})
    sys.exit({code})
call = {{"arguments": sys.argv[1:], "cwd": os.getcwd(), "work": pathlib.Path(os.environ["GOWORK"]).read_text(),
        "go": shutil.which("go"), "proxy": os.environ["GOPROXY"]}}
pathlib.Path({log!r}).write_text(json.dumps(call))
if {error!r}:
    sys.exit({error!r})
target = sys.argv[sys.argv.index("-o") + 1]
subprocess.run(["go", "build", "-buildmode=c-shared", "-ldflags=-w", "-o", target, "."], check=True,
               env=os.environ | {{"GOOS": "wasip1", "GOARCH": "wasm"}})
"""
MODULE = "module prefer\n\ngo 1.24\n\nrequire kubewasp.dev/sdk v0.0.0\n"
PLUGIN = """package main

import kubewasp "kubewasp.dev/sdk"

type plugin struct{}

func (plugin) Score(*kubewasp.CycleState, *kubewasp.Pod, *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	return 1, kubewasp.Success()
}

func New(*kubewasp.Handle) (plugin, error) { return plugin{}, nil }

func init() { kubewasp.Register(New) }

func main() {}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "prefer"
    found.mkdir()
    (found / "go.mod").write_text(MODULE)
    (found / "main.go").write_text(PLUGIN)
    return found


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Fake":
    return Fake(tmp_path / "bin", monkeypatch)


class Fake:
    """A `tinygo` in front of the PATH."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder.mkdir()
        self._path = folder / "tinygo"
        self._log = folder / "call.json"
        monkeypatch.setenv("PATH", f"{folder}:{Path(go.find().command).parent}:/usr/bin:/bin")
        monkeypatch.setattr(tinygo, "_probe", tinygo._probe.__wrapped__)
        self.install()

    def install(self, version: str = VERSION, code: int = 0, error: str = "") -> None:
        text = COMPILER.format(
            python="/usr/bin/env python3", version=version, code=code, log=str(self._log), error=error
        )
        self._path.write_text(text)
        self._path.chmod(self._path.stat().st_mode | stat.S_IXUSR)

    def remove(self) -> None:
        self._path.unlink()

    @property
    def call(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self._log.read_text())
        return found


def test_the_command_line_makes_a_reactor_without_a_scheduler(folder: Path, fake: Fake) -> None:
    built = project.build(with_tinygo(project.find(folder)))
    *options, _, target, source = fake.call["arguments"]
    assert options == ["build", "-target=wasip1", "-buildmode=c-shared", "-scheduler=none", "-opt=2", "-no-debug"]
    assert (Path(target).name, source, fake.call["cwd"]) == ("prefer.wasm", ".", str(folder.resolve()))
    assert fake.call["go"] == go.find().command
    assert fake.call["proxy"] == "off"
    assert "sdk/go" in fake.call["work"]
    assert built.hooks == ("score",)


def test_the_commands_have_the_option(
    folder: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kubewasp = command(main, "kubewasp", monkeypatch, capsys)
    assert "written in Go (TinyGo)" in kubewasp("plugin", "build", folder, "--tinygo").out
    assert fake.call
    (folder / "tests").mkdir()
    test = {"name": "one", "cluster": [{"name": "a"}], "pod": {"name": "web"}, "expect": {"node": "a"}}
    (folder / "tests" / "one.yaml").write_text(json.dumps(test))
    assert "2 passed" in kubewasp("plugin", "test", folder, "--tinygo").out


def test_a_missing_tinygo_has_advice(folder: Path, fake: Fake) -> None:
    fake.remove()
    with pytest.raises(BuildError, match=r"TinyGo is not on the PATH; install it from https://tinygo\.org"):
        with_tinygo(project.find(folder))


@pytest.mark.parametrize(
    ("version", "code", "text"),
    [
        (
            "tinygo version 0.35.0 linux/amd64",
            0,
            "is TinyGo 0.35, which lacks Go 1.24; TinyGo 0.36 or newer is required",
        ),
        ("something else", 0, "something else; install it"),
        ("error: could not find GOROOT", 1, "error: could not find GOROOT; install it"),
    ],
)
def test_a_tinygo_that_cannot_be_used_is_an_error(folder: Path, fake: Fake, version: str, code: int, text: str) -> None:
    fake.install(version, code)
    with pytest.raises(BuildError) as error:
        with_tinygo(project.find(folder))
    assert text in str(error.value)


def test_errors_of_tinygo_are_shown_and_the_last_build_stays(folder: Path, fake: Fake) -> None:
    (folder / "build").mkdir()
    (folder / "build" / "prefer.wasm").write_bytes(b"before")
    fake.install(error="main.go:3: no such package in TinyGo")
    with pytest.raises(BuildError) as error:
        project.build(with_tinygo(project.find(folder)))
    assert "Go itself compiles the project" in str(error.value)
    assert "main.go:3: no such package in TinyGo" in str(error.value)
    assert (folder / "build" / "prefer.wasm").read_bytes() == b"before"


def test_mistakes_in_hooks_have_the_errors_of_other_builds(folder: Path, fake: Fake) -> None:
    (folder / "main.go").write_text(PLUGIN.replace("Score(", "Scor("))
    with pytest.raises(BuildError, match="did you mean Score"):
        project.build(with_tinygo(project.find(folder)))


def test_other_languages_have_no_tinygo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)
    with pytest.raises(BuildError, match=r"--tinygo is for Go projects; .* is a Fake project"):
        with_tinygo(made(tmp_path / "other"))
