"""Output of `kubewasp sweep`: means over seeds, failures, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kubewasp.cli import output
from kubewasp.cli.folding import counted, in_short
from kubewasp.lab.experiments.measures import describe
from kubewasp.lab.studies import sweep_table
from kubewasp.lab.studies.sweep_table import SweepTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from kubewasp.lab.studies.sweeping import SweepPlan, SweepResults

_MOST_FAILURES: Final = 20
_SHOWN_MEASURES: Final = ("pods.placed", "pods.pending", "wait.mean", "nodes.used")
_GAP: Final = 2


def show(plan: SweepPlan, results: SweepResults, path: Path, form: str) -> None:
    table = SweepTable.of(plan, results)
    if form == "table":
        _print(plan, results, table, path)
        return
    document = {
        "runs": len(plan.sweep.runs),
        "done": len(results.records),
        "doneBefore": results.known,
        "means": [
            {
                "input": given,
                "configuration": configuration,
                "runs": len(rows),
                "measures": _means(rows, table.measures),
            }
            for (given, configuration), rows in _groups(table).items()
        ],
        "failures": [
            {
                "input": failure.run.given,
                "configuration": failure.run.configuration,
                "seed": failure.run.seed,
                "error": failure.error,
            }
            for failure in results.failures
        ],
        "results": str(path),
    }
    output.print_document(document, form)


def _print(plan: SweepPlan, results: SweepResults, table: SweepTable, path: Path) -> None:
    if table.rows:
        _print_means(table, table.measures if plan.sweep.measures else _SHOWN_MEASURES)
        output.write("\n")
    if results.failures:
        failures = sorted(results.failures, key=lambda failure: failure.run)
        rows_of_failures = [
            (failure.run.given, failure.run.configuration, str(failure.run.seed), in_short(failure.error))
            for failure in failures[:_MOST_FAILURES]
        ]
        output.print_table(("INPUT", "CONFIGURATION", "SEED", "FAILED"), rows_of_failures, right=("SEED",))
        output.write("\n")
    output.print_facts(_facts(plan, results, path))


def _print_means(table: SweepTable, shown: Sequence[str]) -> None:
    """A column per measure, or a line per measure if the columns are too wide."""
    groups = _groups(table)
    columns = ["INPUT", "CONFIGURATION", "RUNS", *(name.upper() for name in shown)]
    rows = [
        [given, configuration, str(len(rows)), *(figure(name, mean) for name, mean in _means(rows, shown).items())]
        for (given, configuration), rows in groups.items()
    ]
    width = sum(max(map(len, column)) for column in zip(columns, *rows, strict=True)) + _GAP * (len(columns) - 1)
    if width <= output.console().width:
        output.print_table(columns, rows, right=columns[2:])
        return
    lines = [
        (*(row[:3] if not place else ("", "", "")), name, row[3 + place])
        for row in rows
        for place, name in enumerate(shown)
    ]
    output.print_table(("INPUT", "CONFIGURATION", "RUNS", "MEASURE", "MEAN"), lines, right=("RUNS", "MEAN"))


def _facts(plan: SweepPlan, results: SweepResults, path: Path) -> Iterator[tuple[str, str]]:
    count, done = len(plan.sweep.runs), len(results.records)
    before = f", {results.known:,} of them before" if results.known else ""
    yield "runs", f"{done:,} of {count:,} done{before}"
    if results.failures:
        yield "failed", counted(len(results.failures), "run")
    missing = count - done - len(results.failures)
    if missing:
        yield "missing", counted(missing, "run")
    yield "results", str(path)


def _groups(table: SweepTable) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    """Rows by input and configuration."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in table.rows:
        found.setdefault((row["input"], row["configuration"]), []).append(row)
    return found


def _means(rows: Sequence[Mapping[str, Any]], measures: Sequence[str]) -> dict[str, float | None]:
    return {name: sweep_table.means(rows, name) for name in measures}


def figure(name: str, value: float | None) -> str:
    """A mean with its unit."""
    if value is None:
        return "-"
    unit = describe(name).unit
    if unit == "share":
        return f"{100 * value:.2f}%"
    return f"{value:,.1f}" + ("s" if unit == "seconds" else "")
