"""The figures of languages and collectors as Markdown tables, printed or written into a page between its marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from kubewasp.k8s.quantity import format_size
from tools.bench.languages.example_guests import EXAMPLES
from tools.bench.report.markdown import table
from tools.bench.statistics import figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tools.bench.languages import collectors, side_by_side

LANGUAGES, COLLECTORS = "languages", "collectors"
_COLUMNS: Final = (
    "language",
    "toolchain",
    "size",
    "load, cold",
    "load, cached",
    "first cycle",
    "filter",
    "score",
    "memory",
)
_COLLECTOR_COLUMNS: Final = ("guest", "pod, median", "pod, mean", "pod, p99", "memory, peak", "instances started")


def of_languages(found: Sequence[side_by_side.Figures]) -> str:
    rows = [
        [
            EXAMPLES[one.language].name,
            EXAMPLES[one.language].toolchain,
            format_size(one.size),
            _milliseconds(one.load_cold),
            _milliseconds(one.load_cached),
            f"{figure(one.first_cycle)} µs",
            f"{figure(one.filter)} µs",
            f"{figure(one.score)} µs",
            format_size(one.memory),
        ]
        for one in found
    ]
    return table(list(_COLUMNS), rows, left=2)


def of_collectors(found: Sequence[collectors.Figures]) -> str:
    rows = [
        [
            one.name,
            *(f"{figure(value / 1e3)} ms" for value in (one.median, one.mean, one.p99)),
            format_size(one.memory_peak),
            f"{one.instances:,}",
        ]
        for one in found
    ]
    return table(list(_COLLECTOR_COLUMNS), rows)


def write(path: Path, tables: Mapping[str, str]) -> None:
    """Replaces the text between the marks of each table in the page."""
    try:
        text = path.read_text(encoding="utf-8")
        for name, content in tables.items():
            begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
            before, first, rest = text.partition(begin)
            _, last, after = rest.partition(end)
            if not first or not last:
                raise KubewaspError(f"{path}: no lines {begin.strip()!r} and {end!r} around the table")
            text = f"{before}{begin}\n{content}\n{end}{after}"
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise KubewaspError(f"{path}: {error.strerror}") from None


def _milliseconds(value: float) -> str:
    return f"{figure(value / 1e3)} s" if value >= 1e3 else f"{figure(value)} ms"
