"""Promises of SECURITY.md: each one has tests, and the tests exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def promises() -> list[tuple[str, str]]:
    """Rows of all tables with the head `promise | test`."""
    tables = re.findall(r"^\| promise \| test \|\n\|[-| ]+\|\n((?:\|.*\n?)+)", TEXT, re.MULTILINE)
    rows = [line.strip().strip("|").split("|") for table in tables for line in table.splitlines()]
    return [(promise.strip(), tests.strip()) for promise, tests in rows]


def named(tests: str) -> list[tuple[Path, str]]:
    """Files and functions in a cell. A name without a folder is in that of the test before it."""
    found: list[tuple[Path, str]] = []
    for item in re.findall(r"`([^`]+)`", tests):
        file, _, function = item.partition("::")
        folder = found[-1][0].parent if "/" not in file else ROOT
        found.append((folder / file, function))
    return found


def functions(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_there_are_promises() -> None:
    assert len(promises()) >= 20


@pytest.mark.parametrize(("promise", "tests"), promises(), ids=[promise for promise, _ in promises()])
def test_a_promise_has_tests_that_exist(promise: str, tests: str) -> None:
    assert promise
    assert named(tests)
    for path, function in named(tests):
        assert path.name.startswith("test_")
        assert path.is_file()
        assert function.startswith("test_") or not function
        assert function in functions(path) or not function, f"{path.relative_to(ROOT)} has no {function}"
