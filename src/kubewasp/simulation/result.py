"""Result of a simulation as plain values: placements, pending and preempted pods, errors by cause, node usage."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kubewasp.simulation.workloads import controller_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.k8s.pods import Pod
    from kubewasp.simulation.embedded_cluster import EmbeddedCluster

_TEMPLATE_HASH = "pod-template-hash"


@dataclass(frozen=True, slots=True)
class Placement:
    """A pod (`namespace/name`) bound to a node, with the time in simulated seconds.

    `workload` is `namespace/name` of the Deployment, Job or other workload it belongs to; empty for a bare pod.
    `annotations` are those that plugins added with the binding.
    """

    pod: str
    node: str
    at: float
    workload: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PendingPod:
    """A pod (`namespace/name`) without a node, with the message of its last scheduling attempt.

    `is_error` means that a plugin failed in that attempt. `workload` is that of `Placement`.
    """

    pod: str
    message: str
    workload: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class PreemptedPod:
    """A pod (`namespace/name`) preempted on a node, and its preemptor."""

    pod: str
    by: str
    node: str


@dataclass(frozen=True, slots=True)
class ErrorCause:
    """Scheduling attempts that ended with an error of one cause, such as a trap of a wasm plugin.

    `message` is the text of the first one, `pods` are all pods with this error, placed since or not. Texts that differ
    only in the names of pods and nodes and in addresses have one cause.
    """

    message: str
    pods: tuple[str, ...]
    attempts: int

    def as_dict(self) -> dict[str, object]:
        return {"message": self.message, "pods": list(self.pods), "attempts": self.attempts}


@dataclass(frozen=True, slots=True)
class NodeUsage:
    """Allocatable resources of a node, and requests before and after the simulation, with the number of pods.

    CPU is in millicores, memory in bytes.
    """

    name: str
    allocatable: Mapping[str, int]
    before: Mapping[str, int]
    after: Mapping[str, int]

    def share(self, resource: str) -> float | None:
        """Requested share of a resource after the simulation; None for a node without the resource."""
        total = self.allocatable.get(resource, 0)
        return self.after.get(resource, 0) / total if total else None

    def as_dict(self) -> dict[str, object]:
        return {
            "name": self.name,
            "allocatable": dict(self.allocatable),
            "before": dict(self.before),
            "after": dict(self.after),
        }


@dataclass(frozen=True, slots=True)
class Utilization:
    """Requested shares (0 to 1) of a resource: of the cluster, of the busiest node, and their standard deviation."""

    total: float
    busiest: float
    deviation: float


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """Result of a simulation. `placements` are those at the end, in the order of binding."""

    placements: tuple[Placement, ...]
    pending: tuple[PendingPod, ...]
    preempted: tuple[PreemptedPod, ...]
    warnings: tuple[str, ...]
    simulated_seconds: float
    nodes: tuple[NodeUsage, ...] = ()
    errors: tuple[ErrorCause, ...] = ()

    def node_of(self, pod: str) -> str | None:
        """The node of a pod (`namespace/name`), None if it has none."""
        return next((placement.node for placement in self.placements if placement.pod == pod), None)

    def utilization(self, resource: str) -> Utilization:
        """Requested shares of a resource at the end, over the nodes that have it; zeros without such nodes."""
        nodes = [node for node in self.nodes if node.allocatable.get(resource)]
        if not nodes:
            return Utilization(0.0, 0.0, 0.0)
        shares = [node.after.get(resource, 0) / node.allocatable[resource] for node in nodes]
        requested = sum(node.after.get(resource, 0) for node in nodes)
        mean = sum(shares) / len(shares)
        return Utilization(
            requested / sum(node.allocatable[resource] for node in nodes),
            max(shares),
            math.sqrt(sum((share - mean) ** 2 for share in shares) / len(shares)),
        )


def result_of(
    cluster: EmbeddedCluster,
    *,
    before: Mapping[str, Mapping[str, int]],
    errors: Sequence[ErrorCause] = (),
    failed: frozenset[str] = frozenset(),
    warnings: Sequence[str] = (),
) -> SimulationResult:
    """The result of a cluster that has run. `failed` are the pods whose last attempt ended with an error."""
    there = {pod.uid: pod for pod in cluster.pods.values()}
    return SimulationResult(
        placements=tuple(
            Placement(
                pod.key, pod.node, at, workload_of(cluster, pod), cluster.objects.binding_annotations.get(pod.uid, {})
            )
            for at, pod in cluster.objects.bindings.values()
        ),
        pending=tuple(
            PendingPod(pod.key, cluster.why_pending(pod), workload_of(cluster, pod), pod.key in failed)
            for pod in there.values()
            if not pod.node
        ),
        preempted=tuple(PreemptedPod(item.pod.key, item.by.key, item.node) for item in cluster.objects.preemptions),
        warnings=tuple(warnings),
        simulated_seconds=cluster.clock.now(),
        nodes=_nodes(cluster, before),
        errors=tuple(errors),
    )


def workload_of(cluster: EmbeddedCluster, pod: Pod) -> str:
    """The workload of a pod; for a pod of a ReplicaSet, the Deployment that owns it."""
    owner = pod.owner
    if owner is None:
        return ""
    known = cluster.objects.owners.get((owner.kind, pod.namespace, owner.name))
    above = controller_of(known) if known is not None else None
    if above is not None:
        return f"{pod.namespace}/{above[2]}"
    digest = pod.labels.get(_TEMPLATE_HASH)
    return f"{pod.namespace}/{owner.name.removesuffix(f'-{digest}') if digest else owner.name}"


def usage(cluster: EmbeddedCluster) -> dict[str, dict[str, int]]:
    """Requests and number of pods of all nodes, now."""
    table = cluster.scheduler.table
    found = {}
    for row in table.order().tolist():
        amounts = {name: int(column[row]) for name, column in table.requested.items() if column[row]}
        found[table.node(row).name] = {"pods": int(table.pod_count[row]), **amounts}
    return found


def _nodes(cluster: EmbeddedCluster, before: Mapping[str, Mapping[str, int]]) -> tuple[NodeUsage, ...]:
    table, after = cluster.scheduler.table, usage(cluster)
    found = []
    for name in sorted(after):
        row = table.row(name)
        if row is not None:
            allocatable = {key: int(column[row]) for key, column in table.allocatable.items() if column[row]}
            capacity = {"pods": int(table.max_pods[row]), **allocatable}
            found.append(NodeUsage(name, capacity, before.get(name, {"pods": 0}), after[name]))
    return tuple(found)
