"""Comparison of two simulations of one input: pods moved, pods pending in one of them, utilization."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s.resources import CPU, MEMORY

if TYPE_CHECKING:
    from kubewasp.simulation.result import PendingPod, Placement, SimulationResult

RESOURCES: Final = (CPU, MEMORY)


@dataclass(frozen=True, slots=True)
class MovedPod:
    """A pod (`namespace/name`) on different nodes in the baseline and in the result."""

    pod: str
    baseline: str
    node: str
    workload: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Differences of a result from its baseline.

    `newly_pending` are pods that only the baseline places, `newly_placed` those that only the result places. Pods that
    exist at the end of one simulation only, such as replacements of preempted pods, are in neither.
    """

    baseline: SimulationResult
    result: SimulationResult
    moved: tuple[MovedPod, ...]
    newly_pending: tuple[PendingPod, ...]
    newly_placed: tuple[Placement, ...]

    def as_dict(self) -> dict[str, object]:
        """The comparison as plain values, in the format of `kubewasp simulate --baseline -o json`."""
        return {
            "moved": [{"pod": item.pod, "baseline": item.baseline, "node": item.node} for item in self.moved],
            "newly_pending": [{"pod": item.pod, "message": item.message} for item in self.newly_pending],
            "newly_placed": [{"pod": item.pod, "node": item.node} for item in self.newly_placed],
            "totals": {"baseline": totals(self.baseline), "result": totals(self.result)},
        }


def compare(baseline: SimulationResult, result: SimulationResult) -> Comparison:
    """Compares two simulations of one input, for example without and with a plugin.

    >>> before = simulate(["cluster.yaml"])                                             # doctest: +SKIP
    >>> after = simulate(["cluster.yaml"], plugins={"nodenumber": "nodenumber.wasm"})   # doctest: +SKIP
    >>> [(pod.pod, pod.baseline, pod.node) for pod in compare(before, after).moved]     # doctest: +SKIP
    [('default/web-3', 'node-1', 'node-3')]
    """
    before = {item.pod: item.node for item in baseline.placements}
    after = {item.pod: item for item in result.placements}
    waited = {item.pod for item in baseline.pending}
    return Comparison(
        baseline,
        result,
        moved=tuple(
            MovedPod(pod, before[pod], item.node, item.workload)
            for pod, item in after.items()
            if before.get(pod, item.node) != item.node
        ),
        newly_pending=tuple(item for item in result.pending if item.pod in before),
        newly_placed=tuple(item for pod, item in after.items() if pod in waited),
    )


def totals(result: SimulationResult) -> dict[str, Any]:
    """Figures of a simulation as a whole."""
    return {
        "placed": len(result.placements),
        "pending": len(result.pending),
        "errors": sum(item.is_error for item in result.pending),
        "preempted": len(result.preempted),
        "nodes": len(result.nodes),
        "empty_nodes": sum(not node.after.get("pods") for node in result.nodes),
        "utilization": {
            name: {key: round(share, 4) for key, share in asdict(result.utilization(name)).items()}
            for name in RESOURCES
        },
    }
