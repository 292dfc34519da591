"""Results of `cargo test`, from its standard output: one line per test, then the output of failed tests."""

from __future__ import annotations

import re
from typing import Final

from kubewasp.projects.toolchain import TestResult

_LINE: Final = re.compile(r"^test (?P<name>.+?) \.\.\. (?P<rest>.*)$")
_OUTCOME: Final = re.compile(r"(?P<outcome>ok|FAILED|ignored)(?:, (?P<why>.*))?$")
_SECTION: Final = re.compile(r"^---- (?P<name>.+) stdout ----$")
# Lines after the output of failed tests: their names, and the summary.
_END: Final = re.compile(r"^(failures:|test result: .*)$")
_PANIC: Final = re.compile(r"^thread '[^']*'(?: \(\d+\))? panicked at (?P<place>.*):$")
_NOTE: Final = re.compile(r"^note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace$")
_SUMMARY: Final = re.compile(r"^test result: ")
_RUNNING: Final = re.compile(r"^running \d+ tests?$")


def results(output: str, errors: str) -> list[TestResult]:
    """Results in the order of their programs. `errors` are the words of Cargo if a test failed, else empty."""
    lines = output.splitlines()
    failures = _sections(lines)
    found = []
    for line in lines:
        match = _LINE.match(line)
        outcome = _OUTCOME.search(match["rest"]) if match else None
        if match is None or outcome is None:
            continue
        name = re.sub(r" - should panic$", "", match["name"])
        if outcome["outcome"] == "ok":
            found.append(TestResult(name))
        elif outcome["outcome"] == "ignored":
            found.append(TestResult(name, skipped=outcome["why"] or "ignored"))
        else:
            found.append(TestResult(name, failure=failures.get(name) or "the test failed"))
    if _ended_early(lines) or (errors and found and not any(result.failure for result in found)):
        found.append(TestResult("all tests", failure=f"the tests ended before their time:\n{errors}".strip()))
    return found


def _ended_early(lines: list[str]) -> bool:
    """Whether a test program began and has no result: it was killed, or has left."""
    return sum(bool(_RUNNING.match(line)) for line in lines) > sum(bool(_SUMMARY.match(line)) for line in lines)


def _sections(lines: list[str]) -> dict[str, str]:
    """Output of failed tests by name, without the framing lines of Rust."""
    found: dict[str, list[str]] = {}
    kept: list[str] | None = None
    for line in lines:
        begins = _SECTION.match(line)
        if begins:
            kept = found.setdefault(begins["name"], [])
        elif _END.match(line):
            kept = None
        elif kept is not None and not _NOTE.match(line):
            panic = _PANIC.match(line)
            kept.append(f"{panic['place']}:" if panic else line)
    return {name: "\n".join(text).strip() for name, text in found.items()}
