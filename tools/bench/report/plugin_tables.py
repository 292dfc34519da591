"""Tables of the plugin layer and of the counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.bench import labels
from tools.bench.labels import HEADLINE_NODES
from tools.bench.report.markdown import NOTHING, cell, table
from tools.bench.statistics import figure, time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.bench.model import Measurement, Result

_COUNTS = {
    "fuel": "fuel",
    "bytes_copied": "bytes copied",
    "calls": "calls across the boundary",
    "python_calls": "Python calls",
    "allocated": "peak bytes allocated",
}


def cycles(result: Result) -> Iterator[str]:
    """A table for each policy and kind of cycle: a row per form, a column per number of nodes."""
    for policy in _policies(result, *labels.CYCLES):
        yield f"### `{policy}`: {labels.POLICIES.get(policy, 'a policy')}\n"
        for metric, name in labels.CYCLES.items():
            found = _by_form(result, metric, policy)
            sizes = sorted({nodes for row in found.values() for nodes in row})
            if not found:
                continue
            rows = []
            for form, row in found.items():
                largest = max(row)
                each = f"{figure(row[largest].median / largest)} µs"
                rows.append([labels.form(form).name, *(cell(row.get(nodes)) for nodes in sizes), each])
            columns = [name, *(f"{nodes:,} nodes" for nodes in sizes), "per node at the largest size"]
            yield table(columns, rows)


def where(result: Result) -> Iterator[str]:
    rows = []
    for policy in _policies(result, "where_guest"):
        for cycle in ("unchanged", "first"):
            parts = {
                metric: {
                    str(one.case["form"]): one for one in result.select("plugin", metric, policy=policy, cycle=cycle)
                }
                for metric in labels.PARTS
            }
            for form in labels.in_order((form for found in parts.values() for form in found), labels.FORMS):
                named = [policy, labels.form(form).name, cycle]
                rows.append([*named, *(cell(parts[metric].get(form)) for metric in labels.PARTS)])
    if rows:
        yield table(["policy", "form", "cycle", *labels.PARTS.values()], rows, left=3)


def loading(result: Result) -> Iterator[str]:
    metrics = ("load_cold", "load_cached", "load")
    rows = []
    for policy in _policies(result, *metrics):
        found = {
            metric: {str(one.case["form"]): one for one in result.select("plugin", metric, policy=policy)}
            for metric in metrics
        }
        for form in labels.in_order((form for by_form in found.values() for form in by_form), labels.FORMS):
            cold = found["load_cold"].get(form) or found["load"].get(form)
            rows.append([policy, labels.form(form).name, cell(cold), cell(found["load_cached"].get(form))])
    if rows:
        yield table(["policy", "form", "cold", "cached"], rows, left=2)


def memory(result: Result) -> Iterator[str]:
    for metric, name in (("host_memory", "process growth"), ("guest_memory", "guest memory")):
        for policy in _policies(result, metric):
            found = _by_form(result, metric, policy)
            sizes = sorted({nodes for row in found.values() for nodes in row})
            rows = [[labels.form(form).name, *(cell(row.get(nodes)) for nodes in sizes)] for form, row in found.items()]
            yield table([f"{name}, `{policy}`", *(f"{nodes:,} nodes" for nodes in sizes)], rows)


def fuel(result: Result) -> Iterator[str]:
    """Fuel counts guest instructions and is the same on every machine; the times are of this one."""
    rows = []
    for one in result.select("plugin", "fuel"):
        spent = result.find("plugin", "unchanged_cycle", **one.case)
        nodes = int(one.case["nodes"])
        quick = f"{figure(one.median / spent.median)}" if spent and spent.median else NOTHING
        took = time(spent.median) if spent else NOTHING
        form = labels.form(str(one.case["form"])).name
        burnt = [f"{one.median:,.0f}", figure(one.median / nodes)]
        rows.append([str(one.case["policy"]), form, f"{nodes:,}", *burnt, took, quick])
    if rows:
        columns = ["policy", "form", "nodes", "fuel per cycle", "fuel per node", "time per cycle", "fuel per µs"]
        yield table(columns, rows, left=2)


def counts(result: Result) -> Iterator[str]:
    cases: dict[tuple[str, ...], dict[str, Measurement]] = {}
    for one in result.measurements:
        if one.layer == "counts":
            named = tuple(str(one.case.get(key, NOTHING)) for key in ("policy", "form", "nodes", "cycle"))
            cases.setdefault(named, {})[one.metric] = one
    if cases:
        metrics = labels.in_order((metric for found in cases.values() for metric in found), _COUNTS)
        rows = [
            [policy, labels.form(form).name, nodes, cycle]
            + [f"{found[metric].median:,.0f}" if metric in found else NOTHING for metric in metrics]
            for (policy, form, nodes, cycle), found in cases.items()
        ]
        names = [_COUNTS.get(metric, metric) for metric in metrics]
        yield table(["policy", "form", "nodes", "cycle", *names], rows, left=4)


def about_forms(result: Result) -> Iterator[str]:
    """Descriptions of the measured forms."""
    found = {str(one.case["form"]) for one in result.measurements if one.layer == "plugin" and "form" in one.case}
    if found:
        rows = [[labels.form(form).name, labels.form(form).about] for form in labels.in_order(found, labels.FORMS)]
        yield table(["form", "description"], rows, left=2)


def headline(result: Result, form: str, metric: str = "unchanged_cycle") -> Measurement | None:
    return result.find("plugin", metric, policy=labels.HEADLINE_POLICY, form=form, nodes=HEADLINE_NODES)


def _policies(result: Result, *metrics: str) -> list[str]:
    found = (str(one.case["policy"]) for metric in metrics for one in result.select("plugin", metric))
    return labels.in_order(found, labels.POLICIES)


def _by_form(result: Result, metric: str, policy: str) -> dict[str, dict[int, Measurement]]:
    found: dict[str, dict[int, Measurement]] = {}
    for one in result.select("plugin", metric, policy=policy):
        found.setdefault(str(one.case["form"]), {})[int(one.case["nodes"])] = one
    return {form: found[form] for form in labels.in_order(found, labels.FORMS)}
