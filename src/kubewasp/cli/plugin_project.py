"""`kubewasp plugin new`, `build` and `test`: the commands of a plugin project."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kubewasp.cli import output
from kubewasp.cli.plugin_inspect import kind_of
from kubewasp.cli.progress import working
from kubewasp.errors import KubewaspError
from kubewasp.k8s.quantity import format_size
from kubewasp.projects import junit, project, scaffold, scenario_tests, suites
from kubewasp.projects.tinygo import with_tinygo
from kubewasp.projects.toolchain import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kubewasp.projects.project import Built, Project
    from kubewasp.projects.suites import Suite
    from kubewasp.projects.toolchain import TestResult


def new(name: str, *, language: str) -> None:
    folder = Path(name)
    made = scaffold.create(folder, name, language)
    project.find(folder).language.toolchain.link(folder)
    lines = [f"{folder}/"]
    lines += [f"  {path}" for path in made]
    lines += [
        "",
        "Next steps:",
        f"  cd {name}",
        "  kubewasp plugin test     # unit tests, build, scenarios in tests/",
        f"  kubewasp plugin build    # build/{name}.wasm",
        f"  kubewasp simulate cluster.yaml pods.yaml --plugin build/{name}.wasm",
    ]
    output.write("\n".join(lines) + "\n")


# ---------------------------------------------------------------------- build


def build(folder: Path, *, target: Path | None, tinygo: bool = False, form: str) -> None:
    found = _found(folder, tinygo=tinygo)
    with working(f"building {found.name} ({found.language.label})"):
        built = project.build(found, target)
    if form != "table":
        output.print_document(_built(found, built), form)
    else:
        output.print_facts(_facts(found, built))


def _found(folder: Path, *, tinygo: bool) -> Project:
    found = project.find(folder)
    return with_tinygo(found) if tinygo else found


def current(folder: Path) -> Project:
    """The project in a folder, with its wasm built from the current sources."""
    found = project.find(folder)
    if not project.is_built(found):
        with working(f"building {found.name} ({found.language.label})"):
            project.build(found)
    return found


def _built(found: Project, built: Built) -> dict[str, Any]:
    return {
        "name": found.name,
        "language": found.language.name,
        "file": str(built.path),
        "kind": kind_of(built.program),
        "size_bytes": built.program.size,
        "sha256": built.program.digest,
        "hooks": list(built.hooks),
        "seconds": round(built.seconds, 3),
        "warning": _warning(built) or None,
    }


def _facts(found: Project, built: Built) -> Iterator[tuple[str, str]]:
    yield "built", str(built.path)
    yield "kind", f"{kind_of(built.program)}, written in {found.language.label}"
    yield "size", format_size(built.program.size)
    yield "hooks", ", ".join(built.hooks) or "unknown"
    yield "duration", f"{built.seconds:.1f} s"
    if built.problem:
        yield "warning", _warning(built)


def _warning(built: Built) -> str:
    if not built.problem:
        return ""
    return f"no start{' without a configuration' if built.needs_config else ''}: {built.problem}"


# ---------------------------------------------------------------------- test


def run_tests(
    folder: Path,
    *,
    native: bool,
    wanted: str,
    report: Path | None,
    tinygo: bool = False,
    logs: bool,
    strict: bool,
    form: str,
) -> None:
    """Runs the suites; exit code 1 if a test failed."""
    began = time.perf_counter()
    found = _found(folder, tinygo=tinygo)
    tests = _wanted(scenario_tests.read(folder), wanted)
    mistakes = scenario_tests.mistakes(tests)
    if strict:
        mistakes.raise_if_any()
    for warning in mistakes.texts():
        output.warn(warning)
    done: list[Suite] = []
    for suite in _suites(found, tests, native=native and not wanted, logs=logs):
        done.append(suite)
        if form == "table":
            _print_suite(suite)
    results = [result for suite in done for result in suite.results]
    if form == "table":
        output.write(f"{_summary(results)} in {time.perf_counter() - began:.1f} s\n")
    else:
        report_ = _report(found, done, time.perf_counter() - began) | {"warnings": mistakes.texts()}
        output.print_document(report_, form)
    if report is not None:
        _write(report, junit.document(done, name=found.name))
    if any(result.failure for result in results):
        raise typer.Exit(1)


def _wanted(
    tests: dict[str, list[scenario_tests.ScenarioTest]], text: str
) -> dict[str, list[scenario_tests.ScenarioTest]]:
    if not text:
        return tests
    found = {file: [test for test in given if text in test.name] for file, given in tests.items()}
    if not any(found.values()):
        raise BuildError(f"no scenario test with {text!r} in its name")
    return {file: given for file, given in found.items() if given}


def _suites(
    found: Project, tests: dict[str, list[scenario_tests.ScenarioTest]], *, native: bool, logs: bool
) -> Iterator[Suite]:
    label = found.language.label
    if native:
        with working(f"running the {label} tests of {found.name}"):
            suite = suites.native_suite(found)
        yield suite
    with working(f"building {found.name} ({label})"):
        built = suites.build_suite(found)
    yield built
    for file, given in tests.items():
        with working(f"running {file}"):
            suite = suites.scenario_suite(found, file, given, is_built=not built.failed, logs=logs)
        yield suite


def _report(found: Project, done: Sequence[Suite], seconds: float) -> dict[str, Any]:
    results = [result for suite in done for result in suite.results]
    return {
        "name": found.name,
        "language": found.language.name,
        **_counts(results),
        "seconds": round(seconds, 3),
        "suites": [
            {
                "name": suite.name,
                "seconds": round(suite.seconds, 3),
                "tests": [
                    {
                        "name": result.name,
                        "outcome": _outcome(result),
                        "seconds": round(result.seconds, 3),
                        "message": result.failure or result.skipped,
                        "log": list(result.log),
                    }
                    for result in suite.results
                ],
            }
            for suite in done
        ],
    }


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise KubewaspError(f"{path} cannot be written: {error.strerror}") from None


def _counts(results: Sequence[TestResult]) -> dict[str, int]:
    outcomes = [_outcome(result) for result in results]
    return {outcome: outcomes.count(outcome) for outcome in ("passed", "failed", "skipped")}


def _outcome(result: TestResult) -> str:
    return "failed" if result.failure else "skipped" if result.skipped else "passed"


_MARKS = {"passed": ("✓", "green"), "failed": ("✗", "bold red"), "skipped": ("-", "yellow")}


def _print_suite(suite: Suite) -> None:
    from rich.text import Text

    lines = [Text(output.printable(suite.name), style="bold")]
    for result in suite.results:
        mark, style = _MARKS[_outcome(result)]
        name = output.printable(result.name.replace("\n", " "))
        lines.append(Text.assemble("  ", (mark, style), f" {name}  ", (_duration(result.seconds), "dim")))
        details = output.printable(result.failure or result.skipped or "\n".join(result.log))
        lines += [Text(f"      {line}".rstrip()) for line in details.splitlines()]
    if not suite.results:
        lines.append(Text("  no tests"))
    output.print_lines([*lines, Text()])


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1e3:.0f} ms"


def _summary(results: Sequence[TestResult]) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in _counts(results).items() if count) or "no tests"
