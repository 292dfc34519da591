"""Evictions as by `kubectl drain`: budgets are respected, and blocked pods are tried again after each round."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kubewasp.lab.what_if.pod_changes import PodPicture
from kubewasp.lab.what_if.what_if_trial import KeptPod
from kubewasp.simulation.node_drain import cordoned, reason_to_stay
from kubewasp.simulation.result import workload_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kubewasp.k8s.pods import Pod
    from kubewasp.lab.what_if.what_if_trial import Trial
    from kubewasp.simulation.cluster_objects import ClusterObjects

_FLAGS: Final = ("--ignore-daemonsets", "--force", "--delete-emptydir-data")


@dataclass(slots=True)
class Drain:
    """A drain of nodes: pods evicted in rounds, pods that stay, and the flags that `kubectl drain` would need.

    In each round every pod is evicted that its budgets allow; then their replacements are scheduled, and count as
    ready at once when they have a node. A round without an eviction is the last.
    """

    evicted: dict[str, PodPicture] = field(default_factory=dict)  # by uid
    rounds: int = 0
    kept: list[KeptPod] = field(default_factory=list)
    flags: tuple[str, ...] = ()


def drain(trial: Trial, nodes: Sequence[str]) -> Drain:
    """Cordons the nodes, and evicts their pods in rounds until nothing changes."""
    objects = trial.cluster.objects
    done = Drain(flags=_flags(objects, nodes))

    def cordon() -> None:
        for node in nodes:
            objects.apply(cordoned(objects.node_manifests[node]))

    def evict() -> None:
        for pod in _evictable(objects, nodes):
            if not eviction_problem(objects, pod):
                trial.causes[pod.uid] = f"evicted from {pod.node}"
                done.evicted[pod.uid] = PodPicture(pod, workload_of(trial.cluster, pod))
                objects.remove_pod(pod)

    trial.change(cordon)
    while True:
        count = len(done.evicted)
        trial.change(evict)
        if len(done.evicted) == count:
            break
        done.rounds += 1
    done.kept += _kept(trial, nodes)
    return done


def eviction_problem(objects: ClusterObjects, pod: Pod) -> str:
    """The reason why the API server refuses to evict a pod now; empty if it does not."""
    budgets = objects.budgets_of(pod)
    if len(budgets) > 1:
        names = ", ".join(budget.name for budget in budgets)
        return f"more than one PodDisruptionBudget: {names}; such a pod cannot be evicted"
    for budget in budgets:
        if not budget.allows(pod):
            healthy = f"{budget.healthy} of {budget.pods} pods healthy, {budget.desired} must be"
            return f"PodDisruptionBudget {budget.name}: {healthy}"
    return ""


def _evictable(objects: ClusterObjects, nodes: Iterable[str]) -> list[Pod]:
    return [pod for node in nodes for pod in objects.pods_on(node) if not reason_to_stay(objects, pod)]


def _kept(trial: Trial, nodes: Sequence[str]) -> list[KeptPod]:
    objects = trial.cluster.objects
    found = []
    for node in nodes:
        for pod in objects.pods_on(node):
            reason = reason_to_stay(objects, pod)
            problem = "" if reason else eviction_problem(objects, pod)
            workload = workload_of(trial.cluster, pod)
            found.append(KeptPod(pod.key, workload, node, reason or problem, is_blocked=not reason))
    return found


def _flags(objects: ClusterObjects, nodes: Sequence[str]) -> tuple[str, ...]:
    """The flags without which `kubectl drain` would refuse to begin."""
    pods = [pod for node in nodes for pod in objects.pods_on(node)]
    goes = [pod for pod in pods if not reason_to_stay(objects, pod)]
    needed = (
        any(pod.owner is not None and pod.owner.kind == "DaemonSet" for pod in pods),
        any(pod.owner is None for pod in goes),
        any(_has_local_data(objects.manifests[pod.key]) for pod in goes),
    )
    return tuple(flag for flag, is_needed in zip(_FLAGS, needed, strict=True) if is_needed)


def _has_local_data(manifest: dict[str, Any]) -> bool:
    return any(volume.get("emptyDir") is not None for volume in manifest["spec"].get("volumes") or ())
