import json
import platform
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

import kubewasp as package
from kubewasp.cli.version import engine_version
from tests.cli.conftest import Kubewasp


def test_versions_of_everything_that_matters(kubewasp: Kubewasp) -> None:
    found = kubewasp("version", "-o", "json").json
    assert found["kubewasp"] == package.__version__
    assert found["python"] == platform.python_version()
    assert found["wasmtime"] == version("wasmtime")
    assert found["componentize_py"]["version"] == version("componentize-py")
    assert Path(found["go"]["path"]).name == "go"
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
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    ended = kubewasp("version", "-o", "json")
    assert ended.code == 0
    found = json.loads(ended.out)
    assert (found["go"]["version"], found["componentize_py"]["version"]) == (None, None)
    assert "Go 1.24 or newer" in found["go"]["problem"]
    assert "not found: componentize-py not found" in " ".join(kubewasp("version").out.split())
