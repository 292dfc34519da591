"""`kubewasp bench counts`: what a cycle costs in counts, and whether that is more than it was."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from kubewasp.bench import counts, model
from kubewasp.bench.model import Measurement
from kubewasp.cli import bench_compare, output
from kubewasp.cli.bench_run import new_result, progress

if TYPE_CHECKING:
    from pathlib import Path

    from kubewasp.bench.compare import Change
    from kubewasp.bench.model import Result


def run(*, check: Path | None, out: Path | None, as_json: bool) -> bool:
    """False if something costs more than the baseline says."""
    baseline = model.read(check) if check is not None else None
    found = _counted()
    worse = [] if baseline is None else counts.regressions(baseline, found)
    if out is not None:
        out.write_text(found.as_json(), encoding="utf-8")
    if as_json:
        output.print_json(asdict(found) | {"worse": [change.as_dict() for change in worse]})
    elif baseline is None:
        _print(found)
    else:
        _print_check(baseline, found, worse)
    return not worse


def _counted() -> Result:
    found = new_result()
    with progress(counts.steps()) as step:
        for one in counts.measure(step):
            if isinstance(one, Measurement):
                found.measurements.append(one)
            else:
                found.skipped.append(one)
    return found


def _print(found: Result) -> None:
    metrics = list(dict.fromkeys(one.metric for one in found.measurements))
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for one in found.measurements:
        case = f"{one.case['policy']}, {one.case['form']}", str(one.case["cycle"])
        rows.setdefault(case, {})[one.metric] = f"{one.median:,.0f}"
    columns = ("POLICY AND FORM", "CYCLE", *(metric.upper().replace("_", " ") for metric in metrics))
    lines = [(*case, *(counted.get(metric, "") for metric in metrics)) for case, counted in rows.items()]
    output.print_table(columns, lines, right=columns[2:])
    output.write(f"for {counts.NODES:,} nodes\n")
    _print_skipped(found)


def _print_check(baseline: Result, found: Result, worse: list[Change]) -> None:
    _print_skipped(found)
    for reason in counts.not_comparable(baseline, found):
        output.warn(f"some counts are not compared: made with {reason}")
    if worse:
        bench_compare.print_changes("WORSE", worse)
        output.write("If it is meant: kubewasp bench counts --out BASELINE.json\n")
    output.write(f"{len(found.measurements)} counts, {len(worse)} worse than the baseline\n")


def _print_skipped(found: Result) -> None:
    for skipped in found.skipped:
        output.warn(f"not counted: {skipped.what}: {skipped.why}")
