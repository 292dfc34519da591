"""The command `compare`: changes between two results."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kubewasp.cli import output
from tools.bench import model
from tools.bench.compare import compare
from tools.bench.statistics import amount, percent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tools.bench.compare import Change, Comparison
    from tools.bench.model import Measurement


def run(before: Path, after: Path, *, check: bool, form: str, tolerance: float = 0.0) -> bool:
    """False if `check` is set and something became worse; counts may grow by `tolerance`, a share."""
    found = compare(model.read(before), model.read(after))
    if form != "table":
        output.print_document(found.as_dict(), form)
    else:
        print_comparison(found)
    return not (check and found.failing(tolerance))


def print_comparison(found: Comparison) -> None:
    for warning in found.warnings:
        output.warn(warning)
    for heading, changes in (("WORSE", found.worse), ("BETTER", found.better)):
        if changes:
            print_changes(heading, changes)
    for heading, only in (("ONLY BEFORE", found.only_before), ("ONLY AFTER", found.only_after)):
        if only:
            output.print_table((heading, "METRICS"), _grouped(only))
            output.write("\n")
    output.write(f"{len(found.worse)} worse, {len(found.better)} better, {found.same} the same\n")


def print_changes(heading: str, changes: Sequence[Change]) -> None:
    columns = (heading, "METRIC", "BEFORE", "AFTER", "CHANGE")
    output.print_table(columns, [_row(change) for change in changes], right=("BEFORE", "AFTER", "CHANGE"))
    output.write("\n")


def _row(change: Change) -> tuple[str, ...]:
    share = f"{'+' if change.share > 0 else ''}{percent(change.share)}" if math.isfinite(change.share) else "from 0"
    figures = (_figure(one) for one in (change.before, change.after))
    return (_case(change.after), change.after.metric, *figures, share)


def _figure(one: Measurement) -> str:
    """Counts in full: differences may be in the last digit."""
    return f"{one.median:,.10g} {one.unit}".strip() if one.exact else amount(one.median, one.unit)


def _case(one: Measurement) -> str:
    return " ".join((one.layer, *(f"{value:,}" if isinstance(value, int) else value for value in one.case.values())))


def _grouped(only: Sequence[Measurement]) -> list[tuple[str, str]]:
    """One line per case, with all of its metrics."""
    cases: dict[str, list[str]] = {}
    for one in only:
        cases.setdefault(_case(one), []).append(one.metric)
    return [(case, ", ".join(metrics)) for case, metrics in cases.items()]
