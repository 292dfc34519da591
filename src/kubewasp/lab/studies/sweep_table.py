"""Table of a sweep: a row per run, as JSON lines or Parquet, with a manifest.

Both depend on the content of the sweep only: not on the machine, the engine or the order in which runs ended.
"""

from __future__ import annotations

import hashlib
import importlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp import __version__
from kubewasp.errors import KubewaspError
from kubewasp.lab.experiments.measures import MEASURES
from kubewasp.lab.studies.run_store import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from kubewasp.lab.studies.sweeping import SweepPlan, SweepResults

JSON_LINES: Final = "jsonl"
PARQUET: Final = "parquet"
MANIFEST: Final = "manifest.json"
FAILURES: Final = "failures.jsonl"
_NAMES: Final = ("input", "configuration", "seed", "key")


class TableError(KubewaspError):
    """A table that cannot be written."""


@dataclass(frozen=True, slots=True)
class SweepTable:
    """Columns and rows, in the order of the sweep."""

    measures: Sequence[str]
    rows: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, plan: SweepPlan, results: SweepResults) -> SweepTable:
        found = results.in_order(plan.sweep.runs)
        names = dict.fromkeys(name for _, record in found for name in record.measures)
        measures = [name for name in sorted(names, key=_place) if is_chosen(name, plan.sweep.measures)]
        rows = [
            {
                "input": run.given,
                "configuration": run.configuration,
                "seed": run.seed,
                "key": record.identity.key,
                **{name: record.measures.get(name) for name in measures},
            }
            for run, record in found
        ]
        return cls(measures, rows)

    def content(self, form: str) -> bytes:
        if form == JSON_LINES:
            return b"".join(orjson.dumps(row) + b"\n" for row in self.rows)
        arrow, parquet = _module("pyarrow"), _module("pyarrow.parquet")
        types = [("input", arrow.string()), ("configuration", arrow.string())]
        types += [("seed", arrow.int64()), ("key", arrow.string())]
        types += [(name, arrow.float64()) for name in self.measures]
        table = arrow.Table.from_pylist([dict(row) for row in self.rows], schema=arrow.schema(types))
        file = io.BytesIO()
        parquet.write_table(table, file, compression="zstd")
        return file.getvalue()


def check_format(form: str) -> None:
    """TableError if a library is missing, before there are hours of work."""
    if form == PARQUET:
        _module("pyarrow.parquet")


def is_chosen(name: str, chosen: Sequence[str]) -> bool:
    """Whether a measure is wanted: all without a choice, else those named or with a named beginning."""
    return not chosen or any(
        name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern for pattern in chosen
    )


def write(folder: Path, plan: SweepPlan, results: SweepResults, form: str) -> Path:
    """Writes table, manifest and, if there are any, failures; returns the path of the table."""
    table = SweepTable.of(plan, results)
    content = table.content(form)
    path = folder / f"results.{form}"
    write_file(path, content)
    _write_failures(folder / FAILURES, plan, results)
    missing = [run for run in plan.sweep.runs if run not in results.records]
    manifest = {
        "kind": "SweepResults",
        "kubewasp": __version__,
        "table": {
            "file": path.name,
            "sha256": hashlib.sha256(content).hexdigest(),
            "rows": len(table.rows),
            "columns": [*_NAMES, *table.measures],
        },
        "inputs": {name: given.digest for name, given in plan.inputs.items()},
        "configurations": {name: fixed.digest for name, fixed in plan.configurations.items()},
        "runs": len(plan.sweep.runs),
        "missing": [{"input": run.given, "configuration": run.configuration, "seed": run.seed} for run in missing],
    }
    write_file(folder / MANIFEST, orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
    return path


def _write_failures(path: Path, plan: SweepPlan, results: SweepResults) -> None:
    if not results.failures:
        path.unlink(missing_ok=True)
        return
    places = {run: index for index, run in enumerate(plan.sweep.runs)}
    lines = [
        orjson.dumps(
            {
                "input": failure.run.given,
                "configuration": failure.run.configuration,
                "seed": failure.run.seed,
                "error": failure.error,
            }
        )
        for failure in sorted(results.failures, key=lambda failure: places[failure.run])
    ]
    write_file(path, b"\n".join(lines) + b"\n")


def _place(name: str) -> tuple[int, str]:
    """Order of columns: that of the list of measures."""
    for index, measure in enumerate(MEASURES):
        if name == measure.name or (measure.name.endswith(".") and name.startswith(measure.name)):
            return index, name
    return len(MEASURES), name


def means(rows: Iterable[Mapping[str, Any]], measure: str) -> float | None:
    """Mean of a measure over the rows that have it."""
    values = [row[measure] for row in rows if row.get(measure) is not None]
    return sum(values) / len(values) if values else None


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise TableError("Parquet requires pyarrow; run `pip install 'kubewasp[parquet]'`") from None
