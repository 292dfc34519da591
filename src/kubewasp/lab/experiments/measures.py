"""Measures of an experiment: figures by name, with title, unit and the better direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kubewasp.k8s.resources import CPU, MEMORY
from kubewasp.lab.experiments.fairness import fairness_placed, fairness_wait
from kubewasp.lab.experiments.fragmentation import Fragmentation, idle_capacity, spread

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kubewasp.lab.experiments.occupancy import Occupancy
    from kubewasp.lab.experiments.pod_history import PodHistory
    from kubewasp.lab.traces.trace_simulation import TraceReport
    from kubewasp.simulation.simulator import SimulationReport


@dataclass(frozen=True, slots=True)
class Measure:
    """Description of a figure.

    `unit` is `pods`, `nodes`, `seconds`, `share` (0 to 1), `cost` or empty; `better` is `lower`, `higher`, or empty
    where neither is. A name that ends with a dot begins the names of several, one for each resource.
    """

    name: str
    title: str
    unit: str
    better: str = ""


MOVED: Final = "pods.moved"
MEASURES: Final = (
    Measure("pods.arrived", "pods arrived", "pods"),
    Measure("pods.placed", "pods placed", "pods", "higher"),
    Measure("pods.pending", "pods pending at the end", "pods", "lower"),
    Measure("pods.givenUp", "pods given up", "pods", "lower"),
    Measure("pods.preempted", "pods preempted", "pods", "lower"),
    Measure("pods.failed", "pods with plugin errors", "pods", "lower"),
    Measure(MOVED, "pods moved", "pods"),
    Measure("attempts", "scheduling attempts", "", "lower"),
    Measure("wait.mean", "time to bind, mean", "seconds", "lower"),
    Measure("wait.p50", "time to bind, median", "seconds", "lower"),
    Measure("wait.p99", "time to bind, 99th percentile", "seconds", "lower"),
    Measure("wait.max", "time to bind, longest", "seconds", "lower"),
    Measure("nodes.used", "nodes in use at the end", "nodes", "lower"),
    Measure("nodes.mean", "nodes in use, mean", "nodes", "lower"),
    Measure("requested.end.", "requested at the end", "share", "higher"),
    Measure("requested.mean.", "requested, mean", "share", "higher"),
    Measure("requested.busiest.", "requested, busiest node", "share"),
    Measure("requested.deviation.", "spread over nodes at the end", "share", "lower"),
    Measure("requested.spread.", "spread over nodes, mean", "share", "lower"),
    Measure("fragmentation.end.", "fragmentation at the end", "share", "lower"),
    Measure("fragmentation.mean.", "fragmentation, mean", "share", "lower"),
    Measure("cost.hour", "cost per hour at the end", "cost", "lower"),
    Measure("cost.total", "cost of the run", "cost", "lower"),
    Measure("fairness.placed", "fairness of placement", "share", "higher"),
    Measure("fairness.wait", "fairness of waits", "share", "higher"),
)


def describe(name: str) -> Measure:
    """Description of a figure by its whole name."""
    for measure in MEASURES:
        if measure.name == name:
            return measure
        if measure.name.endswith(".") and name.startswith(measure.name):
            resource = name.removeprefix(measure.name)
            return Measure(name, f"{resource} {measure.title}", measure.unit, measure.better)
    raise KeyError(name)


def measured(
    report: SimulationReport, history: PodHistory, occupancy: Occupancy, trace: TraceReport | None = None
) -> Mapping[str, float]:
    """All figures of a run by name."""
    result = report.result
    found: dict[str, float] = {
        "pods.arrived": history.arrived,
        "pods.placed": len(history.waits),
        "pods.pending": len(result.pending),
        "pods.givenUp": trace.counts.given_up if trace is not None else 0,
        "pods.preempted": len(result.preempted),
        "pods.failed": len({pod for cause in result.errors for pod in cause.pods}),
        "attempts": report.attempts,
        **_waits(history),
        "nodes.used": occupancy.nodes_used,
        **_present("nodes.mean", occupancy.mean_nodes()),
    }
    for resource in dict.fromkeys(name for node in result.nodes for name in node.allocatable if name != "pods"):
        use = result.utilization(resource)
        found[f"requested.end.{resource}"] = use.total
        found |= _present(f"requested.mean.{resource}", trace.mean_share(resource) if trace is not None else None)
        found[f"requested.busiest.{resource}"] = use.busiest
        found[f"requested.deviation.{resource}"] = use.deviation
    found |= _idle(report, history, occupancy)
    if occupancy.priced is not None:
        found["cost.hour"] = occupancy.cost_per_hour
        found |= _present("cost.total", occupancy.cost())
    namespaces = history.namespaces().values()
    found["fairness.placed"] = fairness_placed(namespaces)
    found["fairness.wait"] = fairness_wait(namespaces)
    return found


def _present(name: str, value: float | None) -> dict[str, float]:
    return {} if value is None else {name: value}


def _waits(history: PodHistory) -> dict[str, float]:
    waits = np.frombuffer(history.waits, dtype=np.float64)
    if not len(waits):
        return {f"wait.{name}": 0.0 for name in ("mean", "p50", "p99", "max")}
    median, high = np.quantile(waits, (0.5, 0.99))
    return {
        "wait.mean": float(waits.mean()),
        "wait.p50": float(median),
        "wait.p99": float(high),
        "wait.max": float(waits.max()),
    }


def _idle(report: SimulationReport, history: PodHistory, occupancy: Occupancy) -> dict[str, float]:
    cluster = report.cluster
    now = cluster.clock.now()
    fragmentation = Fragmentation(history.shapes.typical())
    at_end = fragmentation.of(idle_capacity(cluster.scheduler.table, now))
    found = {
        "fragmentation.end.": at_end,
        "fragmentation.mean.": occupancy.idle.mean(fragmentation.of, now),
        "requested.spread.": occupancy.idle.mean(spread, now),
    }
    return {f"{kind}{name}": share for kind, shares in found.items() for name, share in shares.items()}


def in_order(names: Collection[str]) -> list[str]:
    """Names of figures in the order of `MEASURES`; those of resources by resource, CPU and memory first."""
    return sorted(names, key=_rank)


def _rank(name: str) -> tuple[int, int, str]:
    kinds = [measure.name for measure in MEASURES]
    if name in kinds:
        return kinds.index(name), 0, ""
    kind = next((kind for kind in kinds if kind.endswith(".") and name.startswith(kind)), "")
    resource = name.removeprefix(kind)
    first = (CPU, MEMORY)
    return kinds.index(kind), first.index(resource) if resource in first else len(first), resource
