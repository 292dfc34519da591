"""A new Python project with the tools of its author: plain pytest, and a type checker, find the SDK."""

import subprocess
import sys
from pathlib import Path

import pytest

from kubewasp.projects import python, scaffold
from kubewasp.projects.toolchain import sdk

TYPED = """
def misuse(pod: Pod, node: NodeInfo) -> int:
    return node.labels.get("zone") + pod.no_such_attribute
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    scaffold.create(tmp_path / "mine", "mine", "python")
    python.link(tmp_path / "mine")
    return tmp_path / "mine"


def run_in(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True)


def test_plain_pytest_passes_with_the_sdk_of_the_link(project: Path) -> None:
    (project / "tests" / "test_place.py").write_text(
        "import kubewasp_sdk\n\ndef test_place():\n    assert '/.kubewasp/' in kubewasp_sdk.__file__\n"
    )
    done = run_in(project, "pytest", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout


def test_a_type_checker_sees_the_types_of_the_sdk(project: Path) -> None:
    (project / "plugin.py").write_text((project / "plugin.py").read_text() + TYPED)
    done = run_in(project, "mypy", "--strict", "--cache-dir", "mypy-cache", "plugin.py")
    line = (project / "plugin.py").read_text().count("\n")
    assert f'plugin.py:{line}: error: "Pod" has no attribute "no_such_attribute"' in done.stdout
    assert "Skipping analyzing" not in done.stdout
    assert {text.partition(":")[0] for text in done.stdout.splitlines() if ": error:" in text} == {"plugin.py"}


def test_the_link_follows_the_sdk(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = project / ".kubewasp" / "kubewasp_sdk"
    assert link.resolve() == sdk("python").resolve()
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    monkeypatch.setattr(python, "sdk", lambda _part: moved)
    python.link(project)
    assert link.resolve() == moved


def test_a_project_that_does_not_ask_for_a_link_gets_none(tmp_path: Path) -> None:
    (tmp_path / "plugin.py").write_text("")
    python.link(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'mine'\n")
    python.link(tmp_path)
    assert not (tmp_path / ".kubewasp").exists()
