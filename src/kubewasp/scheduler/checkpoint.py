"""Checkpoint of a scheduler: its state as a plain document, apart from the objects of the cluster, and back.

The private state of plugins is not part of it. Pods that wait on Permit or are being bound go on with a framework of
the caller's, as their cycle state is the plugins'.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kubewasp.framework.cycle_state import CycleState
from kubewasp.k8s.pods import placed_on
from kubewasp.scheduler.queued_pod import QueuedPod
from kubewasp.scheduler.waiting import WaitingPod

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.framework.runtime import Framework
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.scheduler import Scheduler

_HISTORY: Final = (
    *("timestamp", "added_at", "attempts", "unschedulable_count", "errors", "gated_by", "gate_reason", "gate_failed"),
    *("place", "ready_at", "message", "last_flush", "ready_since", "was_flushed"),
)


def checkpoint(scheduler: Scheduler) -> dict[str, Any]:
    """The state between two pods, on the scheduler's thread."""
    sent, unaccepted = scheduler.evictions.state
    return {
        "visits": [[_name(scheduler, row) for row in rows] for rows in scheduler.table.visits.zones()],
        "start": scheduler.builder.rotation.start,
        "placed": [uid for pods in scheduler.table.pods_on for uid in pods],
        "lost": [pod.uid for pod in scheduler.table.orphans],
        "assumed": {pod.uid: [pod.node, _addition(scheduler, pod)] for pod in scheduler.assumed},
        "queue": [_entry(queued) for queued in scheduler.queue.in_order()],
        "nominated": [[pod.uid, node] for node, pod in scheduler.nominator],
        "victims": sent,
        "unaccepted": unaccepted,
        "reconsidered": [queued.pod.uid for queued in scheduler.reconsidered],
        "waiting": [[item.assumed.uid, item.started, item.timeouts] for item in scheduler.waiting.all()],
        "binding": [item.assumed.uid for item in scheduler.binding],
    }


def node_rows(scheduler: Scheduler) -> tuple[list[str | None], list[int]]:
    """The names of the nodes by row, and the free rows in the order of their release."""
    objects = scheduler.table.objects
    return [objects.name(row) for row in range(objects.row_count)], objects.free_rows


def restore(
    scheduler: Scheduler,
    document: Mapping[str, Any],
    pods: Mapping[str, Pod],
    departed: Mapping[str, Pod],
    framework: Callable[[Pod], Framework],
) -> None:
    """Restores the state of a scheduler whose nodes and other objects are there already.

    `pods` has the pods by uid, `departed` those that were deleted while they are being bound, with their nodes. A pod
    that is missing is left out.
    """
    table = scheduler.table
    visits = [[row for row in map(table.row, names) if row is not None] for names in document["visits"]]
    table.visits.arrange(visits)
    assumed = document["assumed"]
    for uid in (*document["placed"], *document["lost"]):
        pod = pods.get(uid)
        if pod is not None and uid in assumed:
            scheduler.assumed.restore(_assumed(pod, *assumed[uid]))
        elif pod is not None:
            table.add_pod(pod)
    for entry in document["queue"]:
        if entry["uid"] in pods:
            scheduler.queue.restore(_queued(pods[entry["uid"]], entry))
    for uid, node in document["nominated"]:
        queued = scheduler.queue.get(uid)
        if queued is not None:
            scheduler.nominator.nominate(queued.pod, node)
    scheduler.evictions.restore(document["victims"], document["unaccepted"])
    found = map(scheduler.queue.get, document["reconsidered"])
    scheduler.reconsidered.extend(queued for queued in found if queued is not None)
    _go_on(scheduler, document["waiting"], document["binding"], departed, framework)
    scheduler.builder.rotation.start = document["start"]


def _go_on(
    scheduler: Scheduler,
    waiting: Sequence[Any],
    binding: Sequence[str],
    departed: Mapping[str, Pod],
    framework: Callable[[Pod], Framework],
) -> None:
    assumed = {pod.uid: pod for pod in scheduler.assumed}
    for uid, started, timeouts in waiting:
        queued = scheduler.queue.get(uid)
        if queued is not None and uid in assumed:
            pod = assumed[uid]
            scheduler.waiting.add(WaitingPod(queued, framework(pod), pod, CycleState(), started, dict(timeouts)))
    for uid in binding:
        placed = assumed.get(uid) or departed.get(uid)
        if placed is not None:
            queued = scheduler.queue.get(uid) or QueuedPod(placed, timestamp=0.0, added_at=0.0)
            scheduler.binding.bind(queued, framework(placed), placed, CycleState())


def _name(scheduler: Scheduler, row: int) -> str:
    return scheduler.table.node(row).name


def _addition(scheduler: Scheduler, assumed: Pod) -> str:
    """The part of an assumed pod's protobuf after that of the pending one: its node and annotations."""
    queued = scheduler.queue.get(assumed.uid)
    if queued is None or not assumed.encoded.startswith(queued.pod.encoded):
        return ""
    return assumed.encoded[len(queued.pod.encoded) :].hex()


def _assumed(pod: Pod, node: str, addition: str) -> Pod:
    if not addition:
        return placed_on(pod, node)
    return replace(pod, node=node, encoded=pod.encoded + bytes.fromhex(addition))


def _entry(queued: QueuedPod) -> dict[str, Any]:
    found = {name: getattr(queued, name) for name in _HISTORY}
    return found | {
        "uid": queued.pod.uid,
        "rejected_by": sorted(queued.rejected_by),
        "nominated_node": queued.pod.nominated_node,
    }


def _queued(pod: Pod, entry: Mapping[str, Any]) -> QueuedPod:
    known = {name: entry[name] for name in _HISTORY}
    pod = replace(pod, nominated_node=entry["nominated_node"])
    return QueuedPod(pod, rejected_by=frozenset(entry["rejected_by"]), **known)
