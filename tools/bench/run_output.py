"""What a layer's run says on the terminal: the ratios first, then what could not be measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.cli import output
from tools.bench.ratios import TIMES, ratios

if TYPE_CHECKING:
    from tools.bench.model import Result
    from tools.bench.ratios import Ratio


def print_ratios(result: Result) -> None:
    """Those that this result has figures for."""
    found = [ratio for ratio in ratios(result) if ratio.range is not None]
    if found:
        rows = [(ratio.name, _value(ratio), _bar(ratio), _verdict(ratio)) for ratio in found]
        output.print_table(("WHAT", "MEASURED", "BAR", ""), rows, right=("MEASURED", "BAR"))


def print_skipped(result: Result) -> None:
    for skipped in result.skipped:
        output.warn(f"not measured: {skipped.what}: {skipped.why}")


def _value(ratio: Ratio) -> str:
    found = ratio.range
    if found is None:
        return "-"
    return f"{found.median:,.3g}x" if ratio.kind == TIMES else f"{found.median * 100:+.1f} %"


def _bar(ratio: Ratio) -> str:
    if ratio.bar is None:
        return ""
    return f">= {ratio.bar:g}x" if ratio.kind == TIMES else f"<= {ratio.bar * 100:g} %"


def _verdict(ratio: Ratio) -> str:
    if ratio.reached is None:
        return ""
    return "ok" if ratio.reached else "MISSED" if ratio.binding else "below"
