"""Changes to the pods of a cluster between two moments: moved, pending, lost, removed, placed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kubewasp.simulation.result import workload_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kubewasp.k8s.pods import Pod
    from kubewasp.simulation.embedded_cluster import EmbeddedCluster

MOVED: Final = "moved"  # replaced, and its successor has a node
DISPLACED: Final = "displaced"  # replaced, and its successor is pending
LOST: Final = "lost"  # gone, and no controller replaces it
REMOVED: Final = "removed"  # gone, and not wanted any more
PLACED: Final = "placed"  # new, or pending before, and has a node now
PENDING: Final = "pending"  # new, without a node
KINDS: Final = (MOVED, DISPLACED, LOST, REMOVED, PLACED, PENDING)


@dataclass(frozen=True, slots=True)
class PodChange:
    """A pod (`namespace/name`) that a change has touched.

    `node` is its node before, `to` the node after it. `successor` is the pod in its place, if that has another name.
    `message` is that of the scheduler for a pod without a node, `plugins` are those that rejected it.
    """

    pod: str
    workload: str
    kind: str
    cause: str = ""
    node: str = ""
    successor: str = ""
    to: str = ""
    message: str = ""
    plugins: tuple[str, ...] = ()
    is_error: bool = False

    def as_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"pod": self.pod, "workload": self.workload, "change": self.kind, "cause": self.cause}
        for name in ("node", "successor", "to", "message"):
            if getattr(self, name):
                found[name] = getattr(self, name)
        return found | ({"plugins": list(self.plugins)} if self.plugins else {})


class PodPicture(NamedTuple):
    """A pod at one moment."""

    pod: Pod
    workload: str


def pictures(cluster: EmbeddedCluster) -> dict[str, PodPicture]:
    """All pods by uid, as they are now."""
    return {pod.uid: PodPicture(pod, workload_of(cluster, pod)) for pod in cluster.pods.values()}


def pod_changes(
    cluster: EmbeddedCluster, before: Mapping[str, PodPicture], causes: Mapping[str, str]
) -> tuple[PodChange, ...]:
    """All pods that differ from `before`. `causes` are reasons for removals by uid; preemptions are known anyway."""
    heirs = {heir for uid in before for heir in _successors(cluster, uid)}
    new = [
        _placed_or_not(cluster, pod, PodChange(pod.key, workload_of(cluster, pod), PLACED, "new"), PENDING)
        for pod in cluster.pods.values()
        if pod.uid not in before and pod.uid not in heirs
    ]
    return (*followed(cluster, before, causes), *new)


def followed(
    cluster: EmbeddedCluster, before: Mapping[str, PodPicture], causes: Mapping[str, str]
) -> tuple[PodChange, ...]:
    """The changes of these pods only."""
    objects = cluster.objects
    causes = {**causes, **{item.pod.uid: f"preempted by {item.by.key}" for item in objects.preemptions}}
    found = (
        _change(cluster, picture, objects.pod_of(deque((uid, *_successors(cluster, uid)), 1)[0]), causes.get(uid, ""))
        for uid, picture in before.items()
    )
    return tuple(change for change in found if change is not None)


def _successors(cluster: EmbeddedCluster, uid: str) -> Iterator[str]:
    """Uids of the pods that took the place of a pod, one after the other."""
    while (following := cluster.objects.successors.get(uid)) is not None:
        uid = following
        yield uid


def _change(cluster: EmbeddedCluster, picture: PodPicture, after: Pod | None, cause: str) -> PodChange | None:
    """The change of a pod; `after` is the pod itself or the last of its successors, None if that is gone."""
    pod, workload = picture
    if after is None:
        # A bare pod is lost; others are not wanted any more, or their successors are not.
        kind = LOST if pod.owner is None and pod.node and pod.uid not in cluster.objects.successors else REMOVED
        return PodChange(pod.key, workload, kind, cause, pod.node)
    if pod.node and after.uid != pod.uid:
        return _placed_or_not(cluster, after, PodChange(pod.key, workload, MOVED, cause, pod.node), DISPLACED)
    if after.node and not pod.node:
        successor = after.key if after.key != pod.key else ""
        return PodChange(pod.key, workload, PLACED, "was pending", "", successor, after.node)
    return None


def _placed_or_not(cluster: EmbeddedCluster, pod: Pod, change: PodChange, without_node: str) -> PodChange:
    """The change with the place of the pod, or as the kind of a pod without a node."""
    successor = pod.key if pod.key != change.pod else ""
    start = (change.pod, change.workload)
    if pod.node:
        return PodChange(*start, change.kind, change.cause, change.node, successor, pod.node)
    queued = cluster.scheduler.queue.get(pod.uid)
    plugins = tuple(sorted(queued.rejected_by)) if queued is not None else ()
    message = cluster.why_pending(pod)
    is_error = queued is not None and bool(queued.errors or queued.gate_failed)
    return PodChange(*start, without_node, change.cause, change.node, successor, "", message, plugins, is_error)
