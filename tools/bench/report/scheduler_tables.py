"""Tables of the scheduler layer, one for each place and workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tools.bench import labels
from tools.bench.report.markdown import cell, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.bench.model import Measurement, Result

_METRICS: Final = {
    "rate": "rate",
    "attempt_p50": "attempt p50",
    "attempt_p90": "p90",
    "attempt_p99": "p99",
    "cpu": "CPU per pod",
    "memory": "memory",
}


def workloads(result: Result, place: str) -> Iterator[str]:
    """A table per workload: a row for each scheduler, plugins and number of nodes."""
    cases: dict[str, dict[tuple[int, str, str], dict[str, Measurement]]] = {}
    for one in result.measurements:
        if one.layer == "scheduler" and one.case.get("where") == place:
            row = int(one.case["nodes"]), str(one.case["scheduler"]), str(one.case["plugins"])
            cases.setdefault(str(one.case["workload"]), {}).setdefault(row, {})[one.metric] = one
    for workload in labels.in_order(cases, labels.WORKLOADS):
        rows = [
            [f"{nodes:,}", f"{scheduler}, {labels.PLUGINS.get(plugins, plugins)}"]
            + [cell(found.get(metric)) for metric in _METRICS]
            for (nodes, scheduler, plugins), found in sorted(
                cases[workload].items(), key=lambda item: (item[0][0], item[0][1], _place(item[0][2]))
            )
        ]
        yield f"**{workload}**\n"
        yield table(["nodes", "scheduler", *_METRICS.values()], rows, left=2)


def _place(plugins: str) -> int:
    known = list(labels.PLUGINS)
    return known.index(plugins) if plugins in known else len(known)
