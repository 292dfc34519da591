"""Comparison of runs in the form of the console: measures, pods that differ, distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class ComparedMeasure:
    """A figure of all runs. `best` are places of runs; `is_significant` is None without intervals."""

    name: str
    text: str
    unit: str
    values: tuple[float | None, ...]
    best: tuple[int, ...] = ()
    is_significant: bool | None = None


@dataclass(frozen=True, slots=True)
class ComparedPod:
    """A pod that differs, with its node by run; the cause is empty if it was not looked for."""

    key: str
    places: tuple[str | None, ...]
    plugin: str = ""
    cause: str = ""
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Distribution:
    """Histograms of all runs over the same edges."""

    name: str
    unit: str
    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class RunComparison:
    """The runs of a source side by side, in the order of its session."""

    measures: Sequence[ComparedMeasure] = ()
    pods: Sequence[ComparedPod] = ()
    distributions: Sequence[Distribution] = ()
