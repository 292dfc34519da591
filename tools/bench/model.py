"""Benchmark result: measurements of one machine as a JSON file, one line per measurement.

A measurement is one metric of one case, with the value of every repetition. Medians, spreads and ratios are computed,
never stored; a report follows from the file alone.
"""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kubewasp.errors import KubewaspError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FORMAT: Final = 1
LAYERS: Final = ("plugin", "scheduler", "counts")


class ResultError(KubewaspError):
    """A file that is not a benchmark result, with the place and the cause."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One metric of one case. `exact` values are counts: they do not differ between runs of the same program."""

    layer: str
    case: Mapping[str, str | int]
    metric: str
    unit: str
    values: tuple[float, ...]
    better: str = "lower"
    exact: bool = False

    @property
    def key(self) -> tuple[str, tuple[tuple[str, str | int], ...], str]:
        return self.layer, tuple(sorted(self.case.items())), self.metric

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def spread(self) -> float:
        """Half of the range of the repetitions, as a share of their median."""
        return (max(self.values) - min(self.values)) / 2 / self.median if self.median else 0.0


@dataclass(frozen=True, slots=True)
class Skipped:
    """A case that was not measured, with the reason."""

    layer: str
    what: str
    why: str


@dataclass(slots=True)
class Result:
    machine: dict[str, str | int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    measured_on: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    measurements: list[Measurement] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def find(self, layer: str, metric: str, **case: str | int) -> Measurement | None:
        """The measurement with exactly this case."""
        return next((found for found in self.select(layer, metric, **case) if len(found.case) == len(case)), None)

    def select(self, layer: str, metric: str, **case: str | int) -> Iterator[Measurement]:
        """The measurements whose case has at least these entries, in the order they were made."""
        for found in self.measurements:
            if found.layer == layer and found.metric == metric and case.items() <= dict(found.case).items():
                yield found

    def put(self, layer: str, fresh: Result, *, is_whole: bool = True) -> None:
        """Replaces a layer by that of another result, or only what is measured there; keeps the other layers."""
        self.machine, self.versions, self.measured_on = fresh.machine, fresh.versions, fresh.measured_on
        if is_whole or layer not in self.seconds:  # a part takes less time than the layer
            self.seconds = self.seconds | fresh.seconds
        measured, skipped = {one.key for one in fresh.measurements}, {one.what for one in fresh.skipped}
        self.measurements = [
            one for one in self.measurements if one.layer != layer or (not is_whole and one.key not in measured)
        ] + fresh.measurements
        self.skipped = [
            one for one in self.skipped if one.layer != layer or (not is_whole and one.what not in skipped)
        ] + fresh.skipped

    def as_json(self) -> str:
        """A JSON document with a line for each field, and for each measurement and skipped case."""
        document: dict[str, Any] = {"format": FORMAT} | asdict(self)
        fields = ",\n".join(f"{_line(name)}: {_value(value)}" for name, value in document.items())
        return f"{{\n{fields}\n}}\n"


def _value(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(map(_line, value)) + "\n]"
    return _line(value)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def read(path: Path) -> Result:
    """A result from its file; ResultError says what is wrong with it."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise ResultError(f"{path}: not JSON: {error}") from None
    try:
        return _result(document)
    except ResultError as error:
        raise ResultError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ResultError(f"{path}: not a benchmark result: {error!r}") from None


def _result(document: Any) -> Result:
    if not isinstance(document, dict) or "format" not in document:
        raise ResultError("not a benchmark result: it has no `format`")
    if document["format"] != FORMAT:
        raise ResultError(f"format {document['format']} is not known here, only {FORMAT}; measure again")
    measurements = [_measurement(item) for item in document["measurements"]]
    return Result(
        machine=dict(document["machine"]),
        versions=dict(document["versions"]),
        measured_on=str(document["measured_on"]),
        seconds={str(layer): float(spent) for layer, spent in document["seconds"].items()},
        measurements=measurements,
        skipped=[Skipped(**item) for item in document["skipped"]],
    )


def _measurement(item: dict[str, Any]) -> Measurement:
    found = Measurement(**item | {"values": tuple(float(value) for value in item["values"])})
    if not found.values:
        raise ResultError(f"{found.metric} of {dict(found.case)} has no values")
    if found.layer not in LAYERS:
        raise ResultError(f"the layer {found.layer!r} is none of {', '.join(LAYERS)}")
    if found.better not in ("lower", "higher"):
        raise ResultError(f"{found.metric}: better is {found.better!r}, not lower or higher")
    return found
