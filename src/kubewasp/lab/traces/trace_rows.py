"""Rows of a trace file: CSV, plain or gzip, or Parquet; one at a time, in constant memory."""

from __future__ import annotations

import csv
import gzip
import importlib
import io
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final, cast

from kubewasp.lab.traces.trace_errors import Place, TraceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kubewasp.input_file import InputFile

_MAX_FIELD: Final = 2**20
_MAX_COLUMNS: Final = 1000
_BATCH: Final = 10_000


@dataclass(frozen=True, slots=True)
class Row:
    """Values of a row by column, as text; an empty cell is an empty text. `problem` is set for a row without values."""

    place: Place
    values: Mapping[str, str]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Rows:
    """Columns of an open file, and its rows."""

    columns: Sequence[str]
    rows: Iterator[Row]


@contextmanager
def opened(path: InputFile) -> Iterator[Rows]:
    """The rows of a file, which is open meanwhile. All errors of reading are TraceErrors."""
    try:
        if str(path).endswith(".parquet"):
            with path.open("rb") as raw, _parquet_module(path).ParquetFile(raw) as table:
                yield Rows(table.schema_arrow.names, _parquet_rows(table, path))
        else:
            with _text(path) as file:
                yield _csv(file, path)
    except (OSError, EOFError) as error:
        raise TraceError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    except UnicodeDecodeError:
        raise TraceError(f"{path}: not UTF-8 text; a trace is CSV or Parquet") from None


# ---------------------------------------------------------------------- CSV


@contextmanager
def _text(path: InputFile) -> Iterator[IO[str]]:
    with path.open("rb") as raw:
        content = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if str(path).endswith(".gz") else raw
        with io.TextIOWrapper(content, encoding="utf-8-sig", newline="") as text:
            yield text


def _csv(file: IO[str], path: InputFile) -> Rows:
    csv.field_size_limit(_MAX_FIELD)
    reader = csv.reader(file, strict=True)
    try:
        columns = _header(next(reader, None), path)
    except csv.Error as error:
        raise TraceError(f"{path}:1: {error}") from None
    return Rows(columns, _csv_rows(reader, columns, path))


def _csv_rows(reader: Any, columns: Sequence[str], path: InputFile) -> Iterator[Row]:
    """Rows by the names of the header. A quoted value may have several lines: the line is that of the row's end."""
    while True:
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise TraceError(f"{path}:{reader.line_num}: {error}") from None
        if not values:
            continue
        place = Place(str(path), reader.line_num)
        if len(values) == len(columns):
            yield Row(place, dict(zip(columns, values, strict=True)))
        else:
            yield Row(place, {}, f"{len(values)} values, but the header has {len(columns)} columns")


def _header(names: list[str] | None, path: InputFile) -> list[str]:
    if not names or not any(names):
        raise TraceError(f"{path}: empty; the first line of a trace names its columns")
    if len(names) > _MAX_COLUMNS:
        raise TraceError(f"{path}: {len(names)} columns; at most {_MAX_COLUMNS} are read")
    found = [name.strip() for name in names]
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise TraceError(f'{path}: the header names column "{twice}" twice')
    return found


# ---------------------------------------------------------------------- Parquet


def _parquet_module(path: InputFile) -> Any:
    try:
        return importlib.import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        raise TraceError(f"{path}: Parquet traces require pyarrow; run `pip install 'kubewasp[parquet]'`") from None


def _parquet_rows(table: Any, path: InputFile) -> Iterator[Row]:
    number = 0
    try:
        for batch in table.iter_batches(batch_size=_BATCH):
            names = batch.schema.names
            for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                cells = {name: _cell(value) for name, value in zip(names, values, strict=True)}
                yield Row(Place(str(path), number), cells)
    except ValueError as error:  # pyarrow's errors of data
        raise TraceError(f"{path}: {error}") from None


def _cell(value: Any) -> str:
    """A cell in the notation of CSV: times in RFC 3339, durations in seconds, nothing as an empty text."""
    if value is None:
        return ""
    if hasattr(value, "total_seconds"):
        return repr(float(value.total_seconds()))
    if hasattr(value, "isoformat"):
        text = str(value.isoformat())
        return text if "+" in text or text.endswith("Z") else f"{text}Z"
    return str(value)
