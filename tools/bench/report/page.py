"""The page of a result: sections one after the other. What was not measured has none, and is listed at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tools.bench import labels
from tools.bench.labels import HEADLINE_NODES
from tools.bench.ratios import ratios
from tools.bench.report import plugin_tables, scheduler_tables
from tools.bench.report.loss_tables import loss_tables
from tools.bench.report.losses import losses
from tools.bench.report.ratio_tables import named, ratio_tables, shown, summary
from tools.bench.report.tables import line, table
from tools.bench.statistics import duration, figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tools.bench.model import Result
    from tools.bench.plots.pictures import Picture
    from tools.bench.ratios import Ratio

FIGURES: Final = "benchmarks.json"
NOTES: Final = "benchmarks-notes.md"
_COMMANDS: Final = (
    ("plugin", "make bench", "plugins in every form"),
    ("scheduler", "make bench-cluster", "whole scheduling, embedded and on a real API server"),
    ("counts", "kubewasp bench counts", "what does not depend on the machine"),
)


def page(result: Result, pictures: Sequence[Picture], images: str = "images") -> str:
    """All of benchmarks.md; `images` is where its pictures lie, seen from it."""
    found = ratios(result)
    parts = [
        "<!-- Made by `kubewasp bench report`: do not edit. -->\n",
        "# Benchmarks\n",
        *_introduction(result, found),
        *_repeat(result),
        *_section("## Machine and versions", [_machine(result)]),
        *_section("## Ratios", [_RATIOS, *ratio_tables(found)]),
        *_section("## Pictures", (f"![{one.caption}]({images}/{one.name})\n" for one in pictures)),
        *_plugin(result),
        *_scheduler(result),
        *_section("## Where kubewasp loses, and why", [_LOSSES, *loss_tables(losses(result))]),
        *_section("## What was not measured", _skipped(result)),
        _COMPARING,
    ]
    return "\n".join(parts)


_RATIOS: Final = (
    "The first repetition of one side against the first of the other, and so on: the median of these, the least and "
    f"the greatest. A plugin is measured with the policy `{labels.HEADLINE_POLICY}` over {HEADLINE_NODES:,} nodes of "
    "which none changed. For whole scheduling, a plugin may say that all pods are alike, and is asked about a node "
    "again only when that changes; or sign each pod, some of them with one call before it is their turn; or do "
    "neither, and is asked about every node for every pod. The bar of what a plugin adds is set for the first, and on "
    "a real API server for the second; the bar against kube-scheduler is set for all three, with `basic`. Elsewhere it "
    "is a line to compare with.\n"
)
_LOSSES: Final = (
    "Every case in which something else was faster or smaller, and the repetitions of both lie apart by more than they "
    "scatter.\n"
)
_COMPARING: Final = f"""## Comparing two results

```text
$ kubewasp bench compare before.json after.json           # what changed beyond noise
$ kubewasp bench compare before.json after.json --check   # and exit with 1 if something became worse
```

A time has changed when the repetitions of both results do not overlap and the medians differ by more than 5 % and by
more than the repetitions scatter. Counts do not scatter: every difference is a change. Other machines and versions are
named first.

[Notes](benchmarks-notes.md) say how cost grows and what the older bars are; the figures of this page are in
[{FIGURES}]({FIGURES}).
"""


def machine_line(result: Result) -> str:
    """For example: Example CPU, 2 cores, 16 GiB, Linux x86_64."""
    known = result.machine
    parts = [
        line(str(known.get("cpu", ""))),
        f"{known['cores']} cores" if "cores" in known else "",
        f"{known['memory_gib']} GiB" if "memory_gib" in known else "",
        line(str(known.get("system", ""))),
    ]
    return ", ".join(part for part in parts if part) or "an unknown machine"


def _introduction(result: Result, found: Sequence[Ratio]) -> Iterator[str]:
    when = f" on {result.measured_on}" if result.measured_on else ""
    yield f"Measured{when} on {machine_line(result)}. Times are medians of repetitions, ± half of their range.\n"
    lines = [*_in_short(result, found), *summary(found)]
    yield "\n".join(f"- {line}" for line in lines) + "\n"


def _in_short(result: Result, found: Sequence[Ratio]) -> Iterator[str]:
    usual, first = (plugin_tables.headline(result, "go", metric) for metric in ("unchanged_cycle", "first_cycle"))
    if usual is not None:
        text = f"A Go guest takes {figure(usual.median / HEADLINE_NODES)} µs a node over {HEADLINE_NODES:,} nodes"
        text += "" if first is None else f", {figure(first.median / HEADLINE_NODES)} µs the first time"
        yield text + "."
    for ratio in found:
        if ratio.range is not None and ratio.name == "in the sandbox against Python callbacks":
            faster = shown(ratio, ratio.range.median)
            yield f"A guest that is answered in the sandbox, against one answered by Python: {faster}."
    best = [ratio for ratio in found if ratio.group == "peer scheduler" and ratio.binding and ratio.bar is not None]
    for ratio in best:
        if ratio.range is not None:
            yield f"On a real API server, {named(ratio)}: {shown(ratio, ratio.range.median)}."


def _repeat(result: Result) -> Iterator[str]:
    commands = [(command, what, result.seconds.get(layer)) for layer, command, what in _COMMANDS]
    width = max(len(command) for command, _, _ in commands)
    lines = [
        f"$ {command:{width}}  # {what}" + ("" if spent is None else f": {duration(spent)}")
        for command, what, spent in commands
        if command.startswith("make") or spent is not None
    ]
    shell = "\n".join(lines)
    total = f" Here that took {duration(sum(result.seconds.values()))} in all." if result.seconds else ""
    yield f"## Repeat it\n\n```text\n{shell}\n```\n"
    yield (
        f"Guests and servers are built first, once.{total} `kubewasp bench plugin --quick` and `kubewasp bench "
        "scheduler --quick` give coarse figures in minutes; `kubewasp bench report FILE` makes this page and its "
        "pictures of what they wrote.\n"
    )


def _machine(result: Result) -> str:
    rows = [["machine", machine_line(result)], *([name, line(text)] for name, text in result.versions.items())]
    return table(["", ""], rows, left=2)


def _plugin(result: Result) -> Iterator[str]:
    yield from _section("## Plugins in every form", [_WHOLE_CYCLE], plugin_tables.about_forms(result))
    yield from plugin_tables.cycles(result)
    yield from _section("### Loading", plugin_tables.loading(result))
    yield from _section("### Where the time goes", plugin_tables.where(result))
    yield from _section("### Memory", plugin_tables.memory(result))
    yield from _section("### Fuel beside time", plugin_tables.fuel(result))
    yield from _section("## Counts", plugin_tables.counts(result))


_WHOLE_CYCLE: Final = (
    "A cycle is what a scheduler asks a plugin for one pod over all nodes: all hooks of the policy, with the answers "
    "in hand.\n"
)


def _scheduler(result: Result) -> Iterator[str]:
    for place, heading in (("real", "## On a real API server"), ("embedded", "## Embedded, without an API server")):
        yield from _section(heading, scheduler_tables.workloads(result, place))


def _skipped(result: Result) -> Iterator[str]:
    measured = {one.layer for one in result.measurements}
    rows = [
        [layer, what, f"this result was made without it: `{command}`"]
        for layer, command, what in _COMMANDS
        if layer not in measured
    ]
    rows += [[one.layer, line(one.what), line(one.why)] for one in result.skipped]
    if rows:
        yield table(["layer", "what", "why"], rows, left=3)


def _section(heading: str, *parts: Iterable[str]) -> Iterator[str]:
    """The heading and what is below it; the last part decides whether there is anything to say."""
    *before, last = parts
    body = list(last)
    if body:
        yield heading + "\n"
        for part in before:
            yield from part
        yield from body
