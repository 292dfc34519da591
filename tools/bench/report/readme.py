"""The block of a README: the headline figures between two marks, and nothing else of that page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tools.bench import labels
from tools.bench.labels import HEADLINE_NODES
from tools.bench.model import ResultError
from tools.bench.report.page import machine_line
from tools.bench.report.plugin_tables import headline
from tools.bench.report.tables import NOTHING, table
from tools.bench.statistics import Range, figure, paired, times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.bench.model import Result
    from tools.bench.plots.pictures import Picture

BEGIN: Final = "<!-- benchmarks: made by kubewasp bench report -->"
END: Final = "<!-- end of benchmarks -->"
_FORMS: Final = (
    "wat",
    "go",
    "python",
    "builtin",
    "in-process",
    "callbacks",
    "extender-names",
    "go-extension",
    "wazero",
)


def with_block(text: str, block: str) -> str:
    """The page with a new block; ResultError if it has no place for one."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ResultError(f"the page has no block for benchmarks: put `{BEGIN}` and `{END}` on lines of their own")
    return f"{before}{BEGIN}\n{block}{END}{after}"


def block(result: Result, pictures: list[Picture], docs: str) -> str:
    """`docs` is the folder of the documentation, seen from the page."""
    shown = [f"![{one.caption}]({docs}/images/{one.name})\n" for one in pictures if one.name == "bench-headline.svg"]
    when = f" on {result.measured_on}" if result.measured_on else ""
    closing = (
        f"Measured{when} on {machine_line(result)}. [Benchmarks]({docs}/benchmarks.md) has all figures, where kubewasp "
        "loses and why, and how to repeat it.\n"
    )
    return "\n".join([*shown, *_plugins(result), *_schedulers(result), closing])


def _plugins(result: Result) -> Iterator[str]:
    go = headline(result, "go")
    rows = []
    for form in _FORMS:
        usual, first = headline(result, form), headline(result, form, "first_cycle")
        if usual is None:
            continue
        against = paired(usual.values, go.values) if go is not None and form != "go" else ()
        name = labels.form(form).name
        each = f"{figure(usual.median / HEADLINE_NODES)} µs"
        rows.append(
            [
                f"**{name}**" if form == "go" else name,
                f"**{each}**" if form == "go" else each,
                NOTHING if first is None else f"{figure(first.median / HEADLINE_NODES)} µs",
                times(Range.of(against).median) if against else NOTHING,
            ]
        )
    if rows:
        columns = [f"one pod over {HEADLINE_NODES:,} nodes", "a node", "the first time", "times a Go guest's"]
        yield table(columns, rows)


def _schedulers(result: Result) -> Iterator[str]:
    rows = []
    for ours in result.select("scheduler", "rate", where="real", workload="basic", scheduler="kubewasp"):
        case = dict(ours.case) | {"scheduler": "kube-scheduler", "plugins": "none"}
        theirs = result.find("scheduler", "rate", **case)
        if ours.case["plugins"] not in labels.ONE_WASM_PLUGIN or theirs is None:
            continue
        ratio = paired(ours.values, theirs.values)
        rates = [f"{figure(one.median)} pods/s" for one in (theirs, ours)]
        named = f"{ours.case['nodes']:,} nodes, {labels.PLUGINS[str(ours.case['plugins'])]}"
        rows.append([named, *rates, times(Range.of(ratio).median) if ratio else NOTHING])
    if rows:
        yield table(["on a real API server", "kube-scheduler, no plugin", "kubewasp", ""], rows)
