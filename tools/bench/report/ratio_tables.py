"""The ratios with their bars as tables, and what can be said of them in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tools.bench.ratios import OVERHEAD
from tools.bench.report.tables import NOTHING, line, table
from tools.bench.statistics import amount, percent, times

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools.bench.model import Measurement
    from tools.bench.ratios import Ratio

_GROUPS: Final = {
    "peer": "A plugin, against the Go host of kube-scheduler-wasm-extension",
    "stand-in": "Against a stand-in: a Go host of our own on wazero that answers call by call, as that one does",
    "way": "A plugin, against other ways to run the same policy",
    "overhead": "What wasm plugins add to whole scheduling, workload `basic`",
    "peer scheduler": "kubewasp, against kube-scheduler on one real API server",
}
# What the heading of the table says, for where a ratio stands alone.
_SUBJECTS: Final = {"overhead": "what is added by ", "peer scheduler": "kubewasp with "}


def ratio_tables(found: Sequence[Ratio]) -> Iterator[str]:
    for group, heading in _GROUPS.items():
        rows = [_row(ratio) for ratio in found if ratio.group == group]
        if rows:
            yield table([heading, "measured", "of the repetitions", "figures", "bar", ""], rows)


def shown(ratio: Ratio, value: float) -> str:
    return percent(value) if ratio.kind == OVERHEAD else times(value)


def summary(found: Sequence[Ratio]) -> list[str]:
    """How many bars were reached, which were not, and which could not be tried."""
    bars = [ratio for ratio in found if ratio.bar is not None and ratio.binding]
    measured = [ratio for ratio in bars if ratio.reached is not None]
    lines = [
        f"{sum(bool(ratio.reached) for ratio in measured)} of {len(measured)} bars that were measured are reached."
    ]
    lines += [
        f"Missed: {named(ratio)}: {shown(ratio, ratio.range.median)}, the bar is {bar(ratio)}."
        for ratio in measured
        if not ratio.reached and ratio.range is not None
    ]
    lines += [f"Not measured: {named(ratio)} ({line(ratio.missing)})." for ratio in bars if ratio.reached is None]
    return lines


def named(ratio: Ratio) -> str:
    """Its name where it stands alone."""
    return _SUBJECTS.get(ratio.group, "") + ratio.name


def bar(ratio: Ratio) -> str:
    if ratio.bar is None:
        return NOTHING
    sign = "≤" if ratio.kind == OVERHEAD else "≥"
    aim = "" if ratio.aim is None else f" (aim {_round(ratio, ratio.aim)})"
    return f"{sign} {_round(ratio, ratio.bar)}{aim}"


def _round(ratio: Ratio, value: float) -> str:
    return percent(value) if ratio.kind == OVERHEAD else f"{value:g}×"


def _row(ratio: Ratio) -> list[str]:
    if ratio.range is None:
        return [ratio.name, "not measured", NOTHING, line(ratio.missing), bar(ratio), ""]
    ends = f"{shown(ratio, ratio.range.low)} to {shown(ratio, ratio.range.high)}"
    return [ratio.name, f"**{shown(ratio, ratio.range.median)}**", ends, _figures(ratio), bar(ratio), _verdict(ratio)]


def _figures(ratio: Ratio) -> str:
    return f"{_each(ratio.ours)} against {_each(ratio.theirs)}"


def _each(measured: Measurement | None) -> str:
    """Cycles are told a node, because sizes differ; the rest as it is."""
    if measured is None:
        return NOTHING
    if measured.layer == "plugin":
        return f"{amount(measured.median / int(measured.case['nodes']), measured.unit)} a node"
    return amount(measured.median, measured.unit)


def _verdict(ratio: Ratio) -> str:
    if ratio.reached is None:
        return ""
    if not ratio.binding:
        return "above the line" if ratio.reached == (ratio.kind != OVERHEAD) else "below the line"
    return "reached" if ratio.reached else "**missed**"
