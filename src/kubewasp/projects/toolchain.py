"""Toolchain interface of a plugin language, and the parts that all toolchains share.

`go`, `python`, `rust`, `javascript` and `c` implement it. The SDKs ship with kubewasp: a checkout has them in `sdk/`,
an installed package has those of other languages in `_sdk/`, and that of Python beside itself, as `kubewasp_sdk`.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from kubewasp.errors import KubewaspError

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping, Sequence

_PROBE_SECONDS: Final = 60
_LONGEST_REASON: Final = 2000


class BuildError(KubewaspError):
    """A failed build: a missing or outdated tool, an invalid project, or compiler errors."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """Result of one test. A test without `failure` and `skipped` has passed. `log` has lines for `--logs`."""

    __test__: ClassVar[bool] = False  # not a test class for pytest, despite its name

    name: str
    seconds: float = 0.0
    failure: str = ""
    skipped: str = ""
    log: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        return not self.failure and not self.skipped


class Toolchain(Protocol):
    """Build and test commands of a language."""

    def build(self, project: Path, target: Path) -> None:
        """Builds the plugin into the file `target`. Raises BuildError."""

    def test(self, project: Path) -> Sequence[TestResult]:
        """Runs the native tests. Raises BuildError if they cannot run."""

    def link(self, project: Path) -> None:
        """Makes the SDK known to editors and to test commands in the project, for this machine. Never fails."""


def sdk(part: str) -> Path:
    """Folder of an SDK: `go`, `rust`, `javascript`, `c`, `wit`, or for `python` the package itself."""
    package = Path(__file__).parents[1]
    checkout = package.parents[1] / "sdk"
    places = (
        (package.parent / "kubewasp_sdk", checkout / part / "kubewasp_sdk")
        if part == "python"
        else (package / "_sdk" / part, checkout / part)
    )
    for folder in places:
        if folder.is_dir():
            return folder
    raise BuildError(f"{part} SDK not found in the kubewasp installation; reinstall kubewasp")


def captured(
    command: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path,
    env: Mapping[str, str | None] | None = None,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Output and exit code of a tool. `env` changes the environment of this process; None removes a variable."""
    changed = os.environ | (env or {})
    return subprocess.run(
        command,
        cwd=cwd,
        env={name: value for name, value in changed.items() if value is not None},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=timeout,
    )


def run_tool(
    command: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path,
    env: Mapping[str, str | None] | None = None,
    failed: str,
    timeout: float | None = None,
) -> str:
    """Standard output of a tool. A failure is a BuildError: `failed`, then the tool's own output, or the time limit."""
    try:
        done = captured(command, cwd=cwd, env=env, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise BuildError(f"{failed}\nno result after {timeout:g} s") from None
    if done.returncode:
        output = (done.stderr.strip() + "\n" + done.stdout.strip()).strip() or f"exit code {done.returncode}"
        raise BuildError(f"{failed}\n{output}")
    return done.stdout


def probe(
    command: Sequence[str],
    answer: re.Pattern[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str | None] | None = None,
) -> re.Match[str] | str:
    """The answer in the output of a tool that is asked for its version, or the reason why there is none.

    Without `cwd`, settings in the user's folder have no effect.
    """
    try:
        done = captured(command, cwd=cwd or Path(tempfile.gettempdir()), env=env, timeout=_PROBE_SECONDS)
    except OSError as error:
        return f"cannot be run: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"cannot be run: no answer within {_PROBE_SECONDS} s"
    found = answer.search(done.stdout.strip())
    if done.returncode or found is None:
        return (done.stderr or done.stdout).strip()[:_LONGEST_REASON] or f"exit code {done.returncode}"
    return found
