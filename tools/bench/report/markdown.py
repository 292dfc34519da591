"""Markdown tables and cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.bench.statistics import amount, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tools.bench.model import Measurement

NOTHING = "–"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """The first `left` columns are text, the others figures. Cell text is escaped."""
    rules = ["---" if place < left else "---:" for place in range(len(columns))]
    lines = [columns, rules, *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines) + "\n"


def cell(measured: Measurement | None, *, each: float = 1.0) -> str:
    """Median and spread; `each` divides, for figures per node."""
    if measured is None:
        return NOTHING
    middle = amount(measured.median / each, measured.unit)
    return middle if measured.exact or len(measured.values) == 1 else f"{middle} ± {percent(measured.spread)}"


def line(text: str) -> str:
    """Foreign text as one line without markup."""
    return " ".join(text.split()).replace("<", "&lt;").replace("`", "'")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
