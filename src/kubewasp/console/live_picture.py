"""Pictures of a running scheduler, taken by any thread while it works.

Copies of dictionaries and lists are atomic under Python's lock; a picture is made of several, so its parts may be a few
milliseconds apart. Entries of the queue that did not change are taken from the picture before.
"""

from __future__ import annotations

from heapq import nsmallest
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kubewasp.console.console_source import Change
from kubewasp.console.picture import ACTIVE, NodeColumns, Picture, QueueEntry
from kubewasp.console.queue_entries import queue_entry, waiting_entry
from kubewasp.scheduler import subqueues

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.clock import Clock
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.queued_pod import QueuedPod
    from kubewasp.scheduler.scheduler import Scheduler
    from kubewasp.scheduler.waiting import WaitingPod
    from kubewasp.state.node_table import NodeTable

# Pods of the active part whose places are known.
_ORDERED: Final = 1000
_AT_ONCE: Final = 500  # entries between two rests
_MOST_CHANGES: Final = 20


class LivePictures:
    """Takes pictures of one scheduler. One thread at a time."""

    def __init__(
        self, scheduler: Scheduler, pods: Callable[[], dict[str, Pod]], clock: Clock, rest: Callable[[], None]
    ) -> None:
        """`pods`: a copy of the observed pods by key. `rest` is called now and then, with Python's lock to give up."""
        self._scheduler = scheduler
        self._pods = pods
        self._clock = clock
        self._rest = rest
        self._entries: dict[str, tuple[tuple[Any, ...], QueueEntry]] = {}

    def take(self) -> Picture:
        scheduler, table = self._scheduler, self._scheduler.table
        wall = self._clock.wall()
        nodes, columns = _nodes(table)
        pods = self._pods()
        waiting = scheduler.waiting.all()
        assumed = scheduler.assumed.copy()
        for pod in assumed:  # on their nodes, though not yet observed there
            if pod.key in pods:
                pods[pod.key] = pod
        self._rest()
        queue = self._queue({pod.uid for pod in assumed}, waiting)
        rotation = scheduler.builder.rotation.start
        return Picture(wall, nodes, pods, queue, scheduler.store.copy(), rotation, columns)

    def _queue(self, assumed: set[str], waiting: list[WaitingPod]) -> dict[str, QueueEntry]:
        """Entries by pod, without those that are being bound."""
        before, known, found = self._entries, {}, dict[str, QueueEntry]()
        permits = {item.assumed.uid: item for item in waiting}
        queued_pods = list(self._scheduler.queue)
        places = _places(queued_pods)
        for number, queued in enumerate(queued_pods):
            if not number % _AT_ONCE:
                self._rest()
            uid = queued.pod.uid
            permit = permits.get(uid)
            if permit is None and uid in assumed:
                continue
            order = places.get(uid, _ORDERED + 1 if queued.place == subqueues.ACTIVE else 0)
            state = (queued.pod, queued.place, queued.attempts, queued.gated_by, queued.ready_at, order, permit)
            kept = before.get(uid)
            if kept is None or kept[0] != state:
                if permit is not None:
                    entry = waiting_entry(permit, self._clock)
                else:  # in flight: at the head of the active part
                    entry = queue_entry(queued, self._clock, order) or self._in_flight(queued)
                kept = state, entry
            known[uid] = kept
            found[queued.pod.key] = kept[1]
        self._entries = known
        return found

    def _in_flight(self, queued: QueuedPod) -> QueueEntry:
        since = queued.added_at + self._clock.wall() - self._clock.now()
        return QueueEntry(queued.pod, ACTIVE, since, queued.attempts)


def _places(queued_pods: list[QueuedPod]) -> dict[str, int]:
    """Places of the next pods to be scheduled, from 1 on."""
    active = [queued for queued in queued_pods if queued.place == subqueues.ACTIVE]
    try:
        first = nsmallest(_ORDERED, active, key=lambda queued: (queued.sort_key, queued.timestamp))
    except TypeError:  # a profile is being replaced: keys of two plugins have no common order
        return {}
    return {queued.pod.uid: place for place, queued in enumerate(first, 1)}


def _nodes(table: NodeTable) -> tuple[dict[str, Node], NodeColumns]:
    """Nodes by name, and their columns."""
    at = [(row, node) for row, node in enumerate(table.nodes.copy()) if node is not None]
    nodes = {node.name: node for _, node in at}
    rows = np.fromiter((row for row, _ in at), np.intp, len(at))
    return nodes, NodeColumns(
        list(nodes),
        {name: column[rows] for name, column in table.allocatable.copy().items()},
        {name: column[rows] for name, column in table.requested.copy().items()},
        table.pod_count[rows],
        table.max_pods[rows],
        table.is_unschedulable[rows],
    )


def differences(before: Picture, after: Picture) -> list[Change]:
    """Changes between two pictures that no attempt tells about, a few of each kind."""
    when, found = after.time, list[Change]()
    for name, node in after.nodes.items():
        known = before.nodes.get(name)
        if known is None:
            found.append(Change(when, "node-added", f"node {name} was added", node=name))
        elif known is not node and (text := _node_change(known, node)):
            found.append(Change(when, "node-changed", text, node=name))
    if len(before.nodes) + len(found) != len(after.nodes):
        gone = before.nodes.keys() - after.nodes.keys()
        found += [Change(when, "node-removed", f"node {name} was removed", node=name) for name in sorted(gone)]
    deleted = sorted(before.pods.keys() - after.pods.keys())
    found += [_deletion(when, before.pods[key]) for key in deleted[:_MOST_CHANGES]]
    by_kind: dict[str, list[Change]] = {}
    for item in found:
        by_kind.setdefault(item.kind, []).append(item)
    return [item for items in by_kind.values() for item in items[:_MOST_CHANGES]]


def _deletion(when: float, pod: Pod) -> Change:
    return Change(when, "deleted", "ended or deleted", pod.key, pod.node)


def _node_change(before: Node, after: Node) -> str:
    """Changes that matter to pods; a heartbeat is none."""
    changed = [
        text
        for text, is_other in (
            ("cordoned" if after.is_unschedulable else "uncordoned", before.is_unschedulable != after.is_unschedulable),
            ("other labels", before.labels != after.labels),
            ("other taints", before.taints != after.taints),
            ("other capacity", before.allocatable != after.allocatable),
        )
        if is_other
    ]
    return f"node {after.name}: {', '.join(changed)}" if changed else ""
