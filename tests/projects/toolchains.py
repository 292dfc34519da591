"""Fake toolchain with scripted output."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from kubewasp.projects import project
from kubewasp.projects.project import Language, Project
from kubewasp.projects.toolchain import BuildError, TestResult
from tests.guests.build import example


def fake_tool(folder: Path, name: str, script: str, shell: str = "/bin/sh") -> Path:
    """A command with that shell script, in a folder for the PATH."""
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / name
    path.write_text(f"#!{shell}\n{script}\n")
    path.chmod(0o755)
    return path


class FakeToolchain:
    """Builds a guest that is there already; or says `broken`."""

    def __init__(self) -> None:
        self.guest = example("nodenumber")
        self.broken = ""
        self.results: Sequence[TestResult] = (TestResult("test_it", 0.5),)

    def build(self, project: Path, target: Path) -> None:
        if self.broken:
            raise BuildError(self.broken)
        target.write_bytes(self.guest.read_bytes())

    def test(self, project: Path) -> Sequence[TestResult]:
        if self.broken:
            raise BuildError(self.broken)
        return self.results

    def link(self, project: Path) -> None:
        """Nothing: the fake has no SDK."""


def installed(monkeypatch: pytest.MonkeyPatch) -> FakeToolchain:
    """A toolchain for projects that have a file `fake`; there are no others then."""
    toolchain = FakeToolchain()
    language = Language("fake", "Fake", ("fake",), toolchain, lambda _folder: "policy")
    monkeypatch.setattr(project, "LANGUAGES", (language,))
    return toolchain


def made(folder: Path) -> Project:
    folder.mkdir(exist_ok=True)
    (folder / "fake").write_text("")
    return project.find(folder)
