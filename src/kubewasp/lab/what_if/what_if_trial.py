"""Trial: a simulated cluster that is changed once its pending pods are scheduled, and the changes to its pods."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kubewasp.lab.what_if.made_up_controllers import with_controllers
from kubewasp.lab.what_if.pod_changes import PodPicture, pictures, pod_changes
from kubewasp.simulation.simulator import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.lab.experiments.experiment import Candidate
    from kubewasp.lab.what_if.pod_changes import PodChange
    from kubewasp.scheduler.attempt import AttemptListener
    from kubewasp.simulation.embedded_cluster import EmbeddedCluster
    from kubewasp.simulation.result import PendingPod, SimulationResult
    from kubewasp.simulation.simulator import SimulationInput, SimulationReport


@dataclass(frozen=True, slots=True)
class KeptPod:
    """A pod that a drain leaves on its node, and the reason. `is_blocked`: a budget forbids its eviction."""

    pod: str
    workload: str
    node: str
    reason: str
    is_blocked: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {"pod": self.pod, "workload": self.workload, "node": self.node, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to a question: the input as it is, the cluster after the change, and all pods that the change touches.

    `waiting` are the pods that were pending before and still are: the change is not their cause.
    """

    baseline: SimulationResult
    report: SimulationReport
    changes: tuple[PodChange, ...]
    waiting: tuple[PendingPod, ...]
    kept: tuple[KeptPod, ...] = ()

    @property
    def blocked(self) -> list[KeptPod]:
        """Pods that a budget keeps on their nodes."""
        return [pod for pod in self.kept if pod.is_blocked]

    def of_kind(self, *kinds: str) -> list[PodChange]:
        return [change for change in self.changes if change.kind in kinds]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, in the format of `kubewasp what-if -o json`."""
        counts: dict[str, int] = {}
        for change in self.changes:
            counts[change.kind] = counts.get(change.kind, 0) + 1
        return {
            "totals": {
                "pendingBefore": len(self.baseline.pending),
                "pendingAfter": len(self.report.result.pending),
                **counts,
                "blocked": len(self.blocked),
            },
            "pods": [change.as_dict() for change in self.changes],
            "stay": [pod.as_dict() for pod in self.kept if not pod.is_blocked],
            "blocked": [pod.as_dict() for pod in self.blocked],
            "stillPending": [{"pod": item.pod, "message": item.message} for item in self.waiting],
            "errors": [cause.as_dict() for cause in self.report.result.errors],
            "nodes": [node.as_dict() for node in self.report.result.nodes],
        }


class Trial:
    """A cluster of the input, with its pending pods scheduled: the baseline of a question.

    Budgets follow the pods, whatever status their manifests have. Pods whose controllers are not in the input are
    replaced too. `causes` says why a pod was removed, by uid.
    """

    def __init__(
        self, given: SimulationInput, candidate: Candidate, *, listeners: Sequence[AttemptListener] = ()
    ) -> None:
        objects = with_controllers(given.objects)
        objects = replace(objects, others=[_without_status(item) for item in objects.others])
        self.given = replace(given, objects=objects)
        self._simulation = Simulation(self.given, candidate.settings, candidate.added, listeners=listeners)
        self.warnings: Sequence[str] = self._simulation.warnings
        self.baseline: SimulationReport = self._simulation.run()
        self.causes: dict[str, str] = {}
        self._before: Mapping[str, PodPicture] = pictures(self.cluster)

    @property
    def cluster(self) -> EmbeddedCluster:
        return self._simulation.cluster

    def change(self, action: Callable[[], None]) -> None:
        """Changes the cluster, which settles."""
        self.cluster.at(self.cluster.clock.now(), action)
        self.cluster.settle()

    def ask(self, drive: Callable[[], Sequence[KeptPod]]) -> Answer:
        """Runs a change, which calls `change`, and compares the cluster with that before."""
        kept: list[KeptPod] = []
        report = self._simulation.run(lambda: kept.extend(drive()))
        changes = pod_changes(self.cluster, self._before, self.causes)
        pending_before = {pod.pod for pod in self.baseline.result.pending}
        new = {change.successor or change.pod for change in changes}
        waiting = tuple(item for item in report.result.pending if item.pod in pending_before and item.pod not in new)
        return Answer(self.baseline.result, report, changes, waiting, tuple(kept))


def _without_status(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """A budget without its status, which the simulated controller would leave as it is."""
    if item.get("kind") != "PodDisruptionBudget":
        return item
    return {key: value for key, value in item.items() if key != "status"}
