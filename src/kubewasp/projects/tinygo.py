"""TinyGo: a second compiler of Go projects, for smaller guests. It has to be on the PATH; nothing is downloaded.

Go itself checks the project first: TinyGo needs it anyway, and its messages on hooks and types are those of other
builds. Native tests run with Go.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.projects import go, toolchain
from kubewasp.projects.go import link, test
from kubewasp.projects.toolchain import BuildError

if TYPE_CHECKING:
    from kubewasp.projects.project import Project

__all__ = ["TinyGo", "build", "find", "link", "test", "with_tinygo"]

OLDEST: Final = (0, 36)  # the first for Go 1.24, the version of the SDK
_VERSION: Final = re.compile(r"\btinygo version (\d+)\.(\d+)")
_ADVICE: Final = "install it from https://tinygo.org/getting-started/install, or build without --tinygo"
# A reactor without goroutines, as hooks run alone: a scheduler would wrap each call. Optimized for speed; names of
# functions are kept for stack traces, debug information is not.
_BUILD: Final = ("build", "-target=wasip1", "-buildmode=c-shared", "-scheduler=none", "-opt=2", "-no-debug")


@dataclass(frozen=True, slots=True)
class TinyGo:
    """A TinyGo command of a supported version."""

    command: str
    version: tuple[int, int]


def find() -> TinyGo:
    """The TinyGo command of the PATH."""
    command = shutil.which("tinygo")
    if command is None:
        raise BuildError(f"TinyGo is not on the PATH; {_ADVICE}")
    found = _probe(command)
    if isinstance(found, str):
        raise BuildError(f"{command}: {found}; {_ADVICE}")
    if found.version < OLDEST:
        raise BuildError(
            f"{command} is TinyGo {_shown(found.version)}, which lacks Go {'.'.join(map(str, go.OLDEST[:2]))}; "
            f"TinyGo {_shown(OLDEST)} or newer is required: {_ADVICE}"
        )
    return found


@functools.cache
def _probe(command: str) -> TinyGo | str:
    """A TinyGo command with its version, or the reason why it does not run."""
    found = toolchain.probe([command, "version"], _VERSION)
    return found if isinstance(found, str) else TinyGo(command, (int(found[1]), int(found[2])))


def build(project: Path, target: Path) -> None:
    """Compiles the project to a guest with TinyGo, after Go has checked it."""
    tinygo = find()
    with tempfile.TemporaryDirectory(prefix="kubewasp-go-") as scratch:
        go.build(project, Path(scratch) / "checked.wasm")
    with go.workspace(project) as (found, environment):
        # TinyGo runs the `go` of the PATH.
        path = os.pathsep.join([str(Path(found.command).parent), os.environ.get("PATH", "")])
        command = [tinygo.command, *_BUILD, "-o", str(target.resolve()), "."]
        toolchain.run_tool(
            command,
            cwd=project,
            env={**environment, "PATH": path},
            failed="TinyGo errors (Go itself compiles the project; build without --tinygo if TinyGo lacks a feature):",
        )


def with_tinygo(project: Project) -> Project:
    """The project, compiled by TinyGo."""
    if project.language.name != "go":
        raise BuildError(f"--tinygo is for Go projects; {project.folder} is a {project.language.label} project")
    find()
    return replace(project, language=replace(project.language, label="Go (TinyGo)", toolchain=_TOOLCHAIN))


class _TinyGoToolchain:
    """Implements `Toolchain`."""

    build = staticmethod(build)
    test = staticmethod(test)
    link = staticmethod(link)


_TOOLCHAIN: Final = _TinyGoToolchain()


def _shown(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
