"""Errors of traces: file, line and column of a bad value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kubewasp.errors import KubewaspError


class TraceError(KubewaspError):
    """A trace, or its map, that cannot be read."""


@dataclass(frozen=True, slots=True)
class Place:
    """A row of a file. The first line of a CSV file is its header; a Parquet file has rows from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


NO_PLACE: Final = Place("", 0)


class RowError(TraceError):
    """A bad row. It can be skipped: the rows after it are read as usual."""

    def __init__(self, place: Place, column: str, problem: str) -> None:
        where = f"{place}: column {column}" if column else str(place)
        super().__init__(f"{where}: {problem}")
        self.place = place
        self.column = column
        self.problem = problem
