"""The charts of a result: selection of the figures for each chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tools.bench import labels
from tools.bench.labels import HEADLINE_NODES, HEADLINE_POLICY
from tools.bench.plots.bar_charts import Bar, GroupedBar, grouped, logarithmic
from tools.bench.plots.curves import Series, growth
from tools.bench.plots.stacked_bars import Stack, shares
from tools.bench.statistics import Range, figure, paired, percent, time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.bench.model import Measurement, Result

COLOURS: Final = {"sandbox": "blue", "python": "green", "http": "orange", "peer": "purple", "other": "grey"}
_DASHES: Final = ("", "7 4", "2 3", "10 3 2 3", "14 4")
_PART_COLOURS: Final = ("orange", "purple", "green", "blue", "grey")


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart file with its caption."""

    name: str
    caption: str
    svg: str


def pictures(result: Result) -> list[Picture]:
    """The charts with figures, in the order of the page."""
    return [*_headline(result), *_growth(result), *_where(result), *_scheduling(result), *_overhead(result)]


def _headline(result: Result) -> Iterator[Picture]:
    found = {
        str(one.case["form"]): one.median / HEADLINE_NODES
        for one in result.select("plugin", "unchanged_cycle", policy=HEADLINE_POLICY, nodes=HEADLINE_NODES)
        if one.median > 0
    }
    if not found:
        return
    bars = [
        Bar(labels.form(form).name, spent, _colour(form), f"{figure(spent)} µs", bold=form == "go")
        for form, spent in sorted(found.items(), key=lambda item: (item[1], item[0]))
    ]
    families = {labels.form(form).family for form in found}
    caption = f"Time per node for one pod over {HEADLINE_NODES:,} nodes, by form of the policy NodeNumber"
    svg = logarithmic(
        bars,
        title=caption,
        description="; ".join(f"{bar.name}: {bar.text}" for bar in bars),
        axis="µs per node (logarithmic)",
        tick=_plain,
        legend={labels.FAMILIES[family]: COLOURS[family] for family in labels.FAMILIES if family in families},
    )
    yield Picture("bench-headline.svg", caption, svg)


def _growth(result: Result) -> Iterator[Picture]:
    for policy in _found(result, "unchanged_cycle", "policy", labels.POLICIES):
        by_form: dict[str, list[tuple[int, float]]] = {}
        for one in result.select("plugin", "unchanged_cycle", policy=policy):
            if one.median > 0:
                by_form.setdefault(str(one.case["form"]), []).append((int(one.case["nodes"]), one.median))
        if not by_form:
            continue
        drawn: dict[str, int] = {}
        series = []
        for form in labels.in_order(by_form, labels.FORMS):
            colour = _colour(form)
            dashes = _DASHES[drawn.get(colour, 0) % len(_DASHES)]
            drawn[colour] = drawn.get(colour, 0) + 1
            series.append(Series(labels.form(form).name, colour, sorted(by_form[form]), dashes))
        caption = f"Time of a cycle by number of nodes, policy {policy}, no node changed"
        described = "; ".join(
            f"{one.name}: " + ", ".join(f"{nodes:,} nodes {time(spent)}" for nodes, spent in one.points)
            for one in series
        )
        yield Picture(f"bench-growth-{policy}.svg", caption, growth(series, title=caption, description=described))


def _where(result: Result) -> Iterator[Picture]:
    legend = dict(zip(labels.PARTS.values(), _PART_COLOURS, strict=True))
    for policy in _found(result, "where_guest", "policy", labels.POLICIES):
        groups: dict[str, list[Stack]] = {}
        for cycle, heading in (("unchanged", "no node changed"), ("first", "first cycle with a new cluster")):
            parts: dict[str, dict[str, float]] = {}
            for metric, name in labels.PARTS.items():
                for one in result.select("plugin", metric, policy=policy, cycle=cycle):
                    # Parts are differences of measured times: noise may make one negative.
                    parts.setdefault(str(one.case["form"]), {})[name] = max(one.median, 0.0)
            stacks = [
                Stack(labels.form(form).name, parts[form], time(sum(parts[form].values())))
                for form in labels.in_order(parts, labels.FORMS)
            ]
            if stacks:
                groups[heading] = stacks
        if groups:
            caption = f"Time breakdown of a cycle, policy {policy}, {HEADLINE_NODES:,} nodes"
            described = "; ".join(
                f"{heading}, {stack.name}: " + ", ".join(f"{part} {time(spent)}" for part, spent in stack.parts.items())
                for heading, stacks in groups.items()
                for stack in stacks
            )
            svg = shares(groups, title=caption, description=described, legend=legend)
            yield Picture(f"bench-where-{policy}.svg", caption, svg)


def _scheduling(result: Result) -> Iterator[Picture]:
    sides = (
        ("kube-scheduler", "none", "kube-scheduler without a plugin", "orange"),
        ("kubewasp", "wasm-1", f"kubewasp, {labels.PLUGINS['wasm-1']}", "blue"),
        ("kubewasp", "wasm-1-signed", f"kubewasp, {labels.PLUGINS['wasm-1-signed']}", "purple"),
        ("kubewasp", "wasm-1-unsigned", f"kubewasp, {labels.PLUGINS['wasm-1-unsigned']}", "green"),
    )
    rates = list(result.select("scheduler", "rate", where="real"))
    for nodes in sorted({int(one.case["nodes"]) for one in rates}):
        groups: dict[str, list[GroupedBar]] = {}
        for workload in labels.in_order((str(one.case["workload"]) for one in rates), labels.WORKLOADS):
            for scheduler, plugins, _, colour in sides:
                case: dict[str, str | int] = {"scheduler": scheduler, "plugins": plugins, "nodes": nodes}
                for one in result.select("scheduler", "rate", where="real", workload=workload, **case):
                    found = Range.of(one.values)
                    groups.setdefault(workload, []).append(GroupedBar(colour, found, figure(found.median)))
        if groups:
            caption = f"Pods bound per second on a real API server, {nodes:,} nodes, by workload"
            svg = grouped(
                groups,
                title=caption,
                description=_described(groups, {colour: name for _, _, name, colour in sides}),
                axis="pods per second (more is better; whiskers: all repetitions)",
                tick=_plain,
                legend={name: colour for _, _, name, colour in sides if colour in _used(groups)},
            )
            yield Picture(f"bench-scheduling-{nodes}.svg", caption, svg)


def _overhead(result: Result) -> Iterator[Picture]:
    places = [("real", "blue"), ("embedded", "green")]
    for nodes in sorted({int(one.case["nodes"]) for one in result.select("scheduler", "cpu", workload="basic")}):
        groups: dict[str, list[GroupedBar]] = {}
        for plugins in labels.WASM_PLUGINS:
            for place, colour in places:
                ours, plain = (
                    result.find(
                        "scheduler",
                        "cpu",
                        where=place,
                        workload="basic",
                        scheduler="kubewasp",
                        plugins=with_these,
                        nodes=nodes,
                    )
                    for with_these in (plugins, "none")
                )
                values = _overheads(ours, plain)
                if values:
                    found = Range.of(values)
                    groups.setdefault(labels.PLUGINS[plugins], []).append(
                        GroupedBar(colour, found, percent(found.median))
                    )
        if groups:
            legend = {labels.PLACES[place]: colour for place, colour in places if colour in _used(groups)}
            caption = f"Additional CPU time per pod with wasm plugins, {nodes:,} nodes"
            svg = grouped(
                groups,
                title=caption,
                description=_described(groups, {colour: name for name, colour in legend.items()}),
                axis="additional CPU time per pod (dashed: the bar for 1 plugin)",
                tick=percent,
                legend=legend,
                mark=0.10,
            )
            yield Picture(f"bench-overhead-{nodes}.svg", caption, svg)


def _overheads(ours: Measurement | None, plain: Measurement | None) -> list[float]:
    if ours is None or plain is None:
        return []
    return [value - 1 for value in paired(ours.values, plain.values)]


def _used(groups: dict[str, list[GroupedBar]]) -> set[str]:
    return {bar.colour for bars in groups.values() for bar in bars}


def _described(groups: dict[str, list[GroupedBar]], names: dict[str, str]) -> str:
    return "; ".join(f"{group}, {names[bar.colour]}: {bar.text}" for group, bars in groups.items() for bar in bars)


def _found(result: Result, metric: str, key: str, known: dict[str, str]) -> list[str]:
    return labels.in_order((str(one.case[key]) for one in result.select("plugin", metric)), known)


def _colour(form: str) -> str:
    return COLOURS[labels.form(form).family]


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 or value == 0 else f"{value:.9f}".rstrip("0")
