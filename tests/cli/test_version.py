import json
import platform
import threading
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

import kubewasp as package
from kubewasp.cli import version as version_command
from kubewasp.cli.version import engine_version
from kubewasp.projects import build_cache, c, node
from tests.cli.conftest import Kubewasp

ZIG = c.find().version


def test_versions_of_everything_that_matters(kubewasp: Kubewasp) -> None:
    found = kubewasp("version", "-o", "json").json
    assert found["kubewasp"] == package.__version__
    assert found["python"] == platform.python_version()
    assert found["wasmtime"] == version("wasmtime")
    assert found["componentize_py"]["version"] == version("componentize-py")
    assert found["zig"]["version"] == ZIG
    assert [Path(found[name]["path"]).name for name in ("go", "node")] == ["go", "node"]
    assert all(found[name]["version"] for name in ("go", "node"))
    rust = found["rust"]
    assert rust["version"] or "lacks the target wasm32-wasip1" in rust["problem"]  # a new machine lacks it
    assert yaml.safe_load(kubewasp("version", "-o", "yaml").out) == found


def test_the_engine_has_a_version_of_its_own() -> None:
    """Read from compiled code; the package of the same release line may have another patch number."""
    found = engine_version()
    assert found is not None
    assert found.split(".")[:2] == version("wasmtime").split(".")[:2]
    assert all(part.isdecimal() for part in found.split("."))


def test_table_has_one_line_for_each(kubewasp: Kubewasp) -> None:
    shown = kubewasp("version").out
    assert shown.startswith(f"kubewasp         {package.__version__}\n")
    assert f"\nwasm engine      {engine_version()}\n" in shown


def test_compilers_that_are_not_there_are_not_found(
    kubewasp: Kubewasp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setattr(build_cache, "folder", lambda part: tmp_path / part)
    ended = kubewasp("version", "-o", "json")
    assert ended.code == 0
    found = json.loads(ended.out)
    for name in ("go", "tinygo", "rust", "zig", "componentize_py", "node", "componentize_js"):
        assert (found[name]["version"], found[name]["path"]) == (None, None), name
    assert "Go 1.24 or newer" in found["go"]["problem"]
    assert "Rust 1.85 or newer" in found["rust"]["problem"]
    assert "Node.js 20 or newer" in found["node"]["problem"]
    assert "TinyGo is not on the PATH" in found["tinygo"]["problem"]
    assert "the first build of a JavaScript or TypeScript plugin installs it" in found["componentize_js"]["problem"]
    assert "not found: componentize-py not found" in " ".join(kubewasp("version").out.split())


def test_componentize_js_is_found_where_a_build_has_installed_it(
    kubewasp: Kubewasp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(build_cache, "folder", lambda part: tmp_path / part)
    package = tmp_path / "node-tools" / node.lock_digest() / "node_modules" / node.COMPONENTIZE
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "0.23.0"}')
    found = kubewasp("version", "-o", "json").json["componentize_js"]
    assert found == {"version": "0.23.0", "path": str(package), "problem": None}


def test_compilers_are_asked_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(len(version_command._TOOLS), timeout=60)

    def find() -> tuple[str, str]:
        together.wait()
        return "1.0", "/bin/tool"

    monkeypatch.setattr(version_command, "_TOOLS", {name: (name, find) for name in version_command._TOOLS})
    assert {version_command.versions()[name]["version"] for name in version_command._TOOLS} == {"1.0"}
