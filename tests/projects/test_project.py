"""Projects: language, name, and unchanged files after a failed build."""

from pathlib import Path

import pytest

from kubewasp.projects import project
from kubewasp.projects.toolchain import BuildError
from tests.guests.build import wat, wat_text
from tests.projects import toolchains
from tests.projects.toolchains import FakeToolchain


@pytest.fixture
def toolchain(monkeypatch: pytest.MonkeyPatch) -> FakeToolchain:
    return toolchains.installed(monkeypatch)


def refused(folder: Path) -> str:
    with pytest.raises(BuildError) as caught:
        project.find(folder)
    return str(caught.value)


# ---------------------------------------------------------------------- finding


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("module example.com/policies/pack-gpus\n\ngo 1.24\n", "pack-gpus"),
        ("// a comment\nmodule pack // another\n", "pack"),
        ('module "example.com/pack/v2"\n', "pack"),
    ],
)
def test_a_go_project_is_called_like_its_module(tmp_path: Path, module: str, name: str) -> None:
    (tmp_path / "go.mod").write_text(module)
    found = project.find(tmp_path)
    assert (found.name, found.language.name) == (name, "go")
    assert found.wasm == tmp_path / "build" / f"{name}.wasm"


def test_a_python_project_is_called_like_its_package_or_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "by-folder"
    folder.mkdir()
    (folder / "plugin.py").write_text("")
    assert (project.find(folder).name, project.find(folder).language.name) == ("by-folder", "python")
    (folder / "pyproject.toml").write_text("[tool.ruff]\n")
    assert project.find(folder).name == "by-folder"
    (folder / "pyproject.toml").write_text('[project]\nname = "by-package"\n')
    assert project.find(folder).name == "by-package"


def test_a_folder_that_is_no_project_is_told(tmp_path: Path) -> None:
    assert refused(tmp_path / "none") == f"no such folder: {tmp_path / 'none'}"
    assert refused(tmp_path) == (
        f"{tmp_path} is not a plugin project: it has neither go.mod (Go) nor plugin.py or pyproject.toml (Python) "
        "nor Cargo.toml (Rust) nor plugin.js or plugin.mjs (JavaScript) nor plugin.ts (TypeScript) nor main.c (C); "
        "`kubewasp plugin new NAME` creates one"
    )


def test_a_folder_with_two_projects_is_told(tmp_path: Path) -> None:
    for name in ("go.mod", "plugin.py"):
        (tmp_path / name).write_text("")
    told = f"{tmp_path} is ambiguous, Go and Python: it has go.mod, plugin.py; keep one plugin per folder"
    assert refused(tmp_path) == told


@pytest.mark.parametrize(
    ("file", "content", "error"),
    [
        ("go.mod", "go 1.24\n", "{file}: no line `module PATH`"),
        ("go.mod", "module ..\n", "{folder}: '..' is not a valid plugin name; use letters, digits, '-', '_' and '.'"),
        ("pyproject.toml", "project = 5\n", "{file}: 'int' object has no attribute 'get'"),
        (
            "pyproject.toml",
            "[project\n",
            "{file}: Expected ']' at the end of a table declaration (at line 1, column 9)",
        ),
    ],
)
def test_a_project_file_that_cannot_be_read_is_told(tmp_path: Path, file: str, content: str, error: str) -> None:
    (tmp_path / file).write_text(content)
    assert refused(tmp_path) == error.replace("{file}", str(tmp_path / file)).replace("{folder}", str(tmp_path))


# ---------------------------------------------------------------------- building


def test_a_build_is_loaded_and_told(tmp_path: Path, toolchain: FakeToolchain) -> None:
    built = project.build(toolchains.made(tmp_path / "p"))
    assert built.path == tmp_path / "p" / "build" / "policy.wasm"
    assert built.path.read_bytes() == toolchain.guest.read_bytes()
    assert (built.hooks, built.problem) == (("prefilter", "filter", "score"), "")
    assert sorted(path.name for path in built.path.parent.iterdir()) == [".policy.wasm.sources", "policy.wasm"]
    assert project.is_built(project.find(tmp_path / "p"))


def test_a_build_may_go_elsewhere(tmp_path: Path, toolchain: FakeToolchain) -> None:
    target = tmp_path / "out" / "of" / "here.wasm"
    assert project.build(toolchains.made(tmp_path / "p"), target).path == target
    assert list(target.parent.iterdir()) == [target]
    assert not (tmp_path / "p" / "build").exists()


@pytest.mark.parametrize("broken", ["main.go:5: syntax error", ""])
def test_a_build_that_fails_leaves_the_last_one(tmp_path: Path, toolchain: FakeToolchain, broken: str) -> None:
    found = toolchains.made(tmp_path / "p")
    project.build(found)
    before = found.wasm.read_bytes()
    toolchain.broken = broken
    toolchain.guest = wat("no_hook")
    told = broken or "policy.wasm was built but cannot be loaded: wasm: guest does not export any plugin functions"
    with pytest.raises(BuildError) as caught:
        project.build(found)
    assert str(caught.value) == told
    assert found.wasm.read_bytes() == before
    assert sorted(path.name for path in found.wasm.parent.iterdir()) == [".policy.wasm.sources", "policy.wasm"]


REFUSES = """(module
  (import "k8s.io/scheduler" "get_config" (func (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (func (export "_start") (call $proc_exit (i32.const CODE)))
  (func (export "filter") (result i32) (i32.const 0)))"""


@pytest.mark.parametrize(
    ("guest", "needs_config", "problem"),
    [
        (wat_text(REFUSES.replace("CODE", "1")), True, "wasm: _start error: guest exited with code 1"),
        (wat_text(REFUSES.replace("CODE", "2")), False, "wasm: _start error: guest exited with code 2"),
        (wat("start_trap"), False, "wasm: _start error: wasm trap"),
        (wat("start_exit1"), False, "wasm: _start error: bad config"),
    ],
)
def test_a_guest_that_does_not_start_is_built(
    tmp_path: Path, toolchain: FakeToolchain, guest: Path, needs_config: bool, problem: str
) -> None:
    toolchain.guest = guest
    built = project.build(toolchains.made(tmp_path / "p"))
    assert built.path.exists()
    assert (built.guest, built.needs_config) == (None, needs_config)
    assert built.problem.startswith(problem)


def test_a_guest_that_no_configuration_helps_is_an_error(tmp_path: Path, toolchain: FakeToolchain) -> None:
    toolchain.guest = wat("enqueue_trap")
    with pytest.raises(BuildError, match=r"^policy\.wasm was built but cannot be loaded: wasm: enqueue error"):
        project.build(toolchains.made(tmp_path / "p"))


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, toolchain: FakeToolchain) -> None:
    found = toolchains.made(tmp_path / "p")
    (found.folder / "build").write_text("a file")
    with pytest.raises(BuildError, match=r"policy\.wasm cannot be written: .*File exists"):
        project.build(found)
