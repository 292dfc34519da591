"""The command `counts`: prints or writes the counts, or checks them against a baseline."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from kubewasp.cli import output
from tools.bench import compare_command, counts, model, path_counts
from tools.bench.labels import PROG
from tools.bench.model import Measurement
from tools.bench.run_command import kept_in, new_result, progress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tools.bench.compare import Change
    from tools.bench.model import Result


_COLUMNS = {
    "fuel": "FUEL",
    "bytes_copied": "COPIED",
    "calls": "CALLS",
    "python_calls": "PYTHON",
    "allocated": "ALLOCATED",
}


def run(*, only: Sequence[str], check: Path | None, out: Path | None, form: str) -> bool:
    """False if a count is above the baseline."""
    plan = counts.Plan.of(only)
    baseline = model.read(check) if check is not None else None
    found = new_result()
    kept = None if out is None else kept_in(out, found)
    _count(found, plan)
    worse = [] if baseline is None else counts.regressions(baseline, found)
    if out is not None and kept is not None:
        kept.put(counts.LAYER, found, is_whole=not only)
        out.write_text(kept.as_json(), encoding="utf-8")
    if form != "table":
        regressions = {"worse": [change.as_dict() for change in worse]}
        output.print_document({"format": model.FORMAT} | asdict(found) | regressions, form)
    elif baseline is None:
        _print(found)
    else:
        _print_check(baseline, found, worse)
    return not worse


def _count(found: Result, plan: counts.Plan) -> None:
    began = time.monotonic()
    with progress(counts.steps(plan)) as step:
        for one in counts.measure(step, plan):
            if isinstance(one, Measurement):
                found.measurements.append(one)
            else:
                found.skipped.append(one)
    found.seconds[counts.LAYER] = round(time.monotonic() - began, 1)


def _print(found: Result) -> None:
    """One table per policy or path: a single one would be too wide for most terminals."""
    for policy in dict.fromkeys(str(one.case["policy"]) for one in found.measurements):
        rows: dict[str, dict[str, str]] = {}
        for one in found.measurements:
            if one.case["policy"] == policy:
                what = _row_name(one)
                rows.setdefault(what, {})[one.metric] = f"{one.median:,.0f}"
        columns = [column for column in _COLUMNS if any(column in counted for counted in rows.values())]
        lines = [(what, *(counted.get(column, "") for column in columns)) for what, counted in rows.items()]
        headings = [_COLUMNS[column] for column in columns]
        output.print_table((policy.upper(), *headings), lines, right=headings)
        output.write("\n")
    output.write(f"for {counts.NODES:,} nodes\n")
    _print_skipped(found)


def _row_name(one: Measurement) -> str:
    form, cycle = str(one.case["form"]), str(one.case["cycle"])
    return cycle if form == path_counts.HOST else f"{form}, {cycle}"


def _print_check(baseline: Result, found: Result, worse: list[Change]) -> None:
    _print_skipped(found)
    for reason in counts.not_comparable(baseline, found):
        output.warn(f"some counts are not compared: {reason}")
    if worse:
        compare_command.print_changes("WORSE", worse)
        output.write(f"If intended: {PROG} counts --out BASELINE.json\n")
    output.write(f"{len(found.measurements)} counts, {len(worse)} worse than the baseline\n")


def _print_skipped(found: Result) -> None:
    for skipped in found.skipped:
        output.warn(f"not counted: {skipped.what}: {skipped.why}")
