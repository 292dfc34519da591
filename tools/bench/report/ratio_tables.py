"""Tables of the ratios and their bars, and a summary in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tools.bench.ratios import OVERHEAD
from tools.bench.report.markdown import NOTHING, line, table
from tools.bench.statistics import amount, percent, times

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools.bench.model import Measurement
    from tools.bench.ratios import Ratio

_GROUPS: Final = {
    "peer": "plugin, vs the Go host of kube-scheduler-wasm-extension",
    "stand-in": "plugin, vs the stand-in: our own Go host on wazero, one guest call per node and hook",
    "way": "plugin, vs other forms of the same policy",
    "overhead": "overhead of wasm plugins in whole scheduling, workload `basic`",
    "peer scheduler": "kubewasp, vs kube-scheduler on one real API server",
}
# The subject from the table head, for a ratio outside of its table.
_SUBJECTS: Final = {"overhead": "overhead of ", "peer scheduler": "kubewasp with "}


def ratio_tables(found: Sequence[Ratio]) -> Iterator[str]:
    for group, heading in _GROUPS.items():
        rows = [_row(ratio) for ratio in found if ratio.group == group]
        if rows:
            yield table([heading, "measured", "range", "figures", "bar", ""], rows)


def shown(ratio: Ratio, value: float) -> str:
    return percent(value) if ratio.kind == OVERHEAD else times(value)


def summary(found: Sequence[Ratio]) -> list[str]:
    """The number of reached bars, the missed ones and the unmeasured ones."""
    bars = [ratio for ratio in found if ratio.bar is not None and ratio.binding]
    measured = [ratio for ratio in bars if ratio.reached is not None]
    lines = [f"{sum(bool(ratio.reached) for ratio in measured)} of {len(measured)} measured bars are reached."]
    lines += [
        f"Missed: {named(ratio)}: {shown(ratio, ratio.range.median)}, the bar is {bar(ratio)}."
        for ratio in measured
        if not ratio.reached and ratio.range is not None
    ]
    lines += [f"Not measured: {named(ratio)} ({line(ratio.missing)})." for ratio in bars if ratio.reached is None]
    return lines


def named(ratio: Ratio) -> str:
    """The name of a ratio outside of its table."""
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
    return f"{_each(ratio.ours)} vs {_each(ratio.theirs)}"


def _each(measured: Measurement | None) -> str:
    """Cycles per node, because sizes differ; other figures unchanged."""
    if measured is None:
        return NOTHING
    if measured.layer == "plugin":
        return f"{amount(measured.median / int(measured.case['nodes']), measured.unit)} per node"
    return amount(measured.median, measured.unit)


def _verdict(ratio: Ratio) -> str:
    if ratio.reached is None:
        return ""
    if not ratio.binding:
        return "above the line" if ratio.reached == (ratio.kind != OVERHEAD) else "below the line"
    return "reached" if ratio.reached else "**missed**"
