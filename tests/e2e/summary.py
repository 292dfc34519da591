"""Sections at the end of the output: counts and tables, also of tests in worker processes of pytest-xdist."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

COUNTS = pytest.StashKey[dict[str, Counter[str]]]()
TABLES = pytest.StashKey[dict[str, list[list[str]]]]()  # the first row is the head
_KEY = "summary"


def send(config: pytest.Config) -> None:
    """Adds the sections of a worker to what it sends at its end; does nothing elsewhere."""
    output = getattr(config, "workeroutput", None)
    if output is not None:
        counts = {title: dict(found) for title, found in config.stash.get(COUNTS, {}).items()}
        output[_KEY] = {"counts": counts, "tables": config.stash.get(TABLES, {})}


def receive(config: pytest.Config, output: dict[str, Any]) -> None:
    """Adds the sections of a worker to those of this process."""
    found = output.get(_KEY, {"counts": {}, "tables": {}})
    for title, counts in found["counts"].items():
        config.stash.setdefault(COUNTS, {}).setdefault(title, Counter()).update(counts)
    for title, rows in found["tables"].items():
        known = config.stash.setdefault(TABLES, {}).setdefault(title, rows[:1])
        known += rows[1:]


def show(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for title, counts in config.stash.get(COUNTS, {}).items():
        reporter.section(title)
        for what, count in sorted(counts.items()):
            reporter.write_line(f"{count:>9,} {what}")
    for title, rows in config.stash.get(TABLES, {}).items():
        reporter.section(title)
        for line in _aligned(rows):
            reporter.write_line(line)


def _aligned(rows: list[list[str]]) -> Iterator[str]:
    """First and last columns to the left, the numbers between them to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *numbers, last in rows:
        middle = [f"{cell:>{width}}" for cell, width in zip(numbers, widths[1:-1], strict=True)]
        yield "  ".join([f"{first:{widths[0]}}", *middle, last])
