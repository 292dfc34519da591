"""Recorder of a history: follows nodes, pods, other objects and attempts of a scheduler."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, Final

from kubewasp.console.console_source import Change
from kubewasp.console.history import NODES, OBJECTS, PODS, QUEUE, ROTATION, History, State
from kubewasp.console.queue_entries import queue_entries, queue_entry, waiting_entry
from kubewasp.k8s.texts import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kubewasp.console.picture import QueueEntry
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.attempt import Attempt
    from kubewasp.scheduler.scheduler import Scheduler
    from kubewasp.simulation.embedded_cluster import EmbeddedCluster

_MOST_LATENCIES: Final = 1_000_000
_LONGEST: Final = 500


class HistoryRecorder:
    """Writes a history. Implements `ObjectListener` and `AttemptListener`, after those of the scheduler itself."""

    def __init__(
        self, scheduler: Scheduler, state: State, preemptor_of: Callable[[str], str] = lambda _uid: ""
    ) -> None:
        """`preemptor_of` gives the pod for which another one, by its uid, is preempted just now; empty otherwise."""
        self.history = History(state, scheduler.clock.wall())
        self.results = {"scheduled": 0, "unschedulable": 0, "error": 0}
        self.latencies = array("f")
        self._scheduler = scheduler
        self._preemptor_of = preemptor_of
        self._preemptors: dict[str, str] = {}  # uids of victims, and the pods that they make room for
        self._first_victim: dict[str, int] = {}  # by preemptor: the position before its first victim left
        self._loaded: set[str] | None = None  # names of nodes, while a cluster is loaded
        scheduler.subscribe(self)
        scheduler.store.subscribe(self.object_changed)

    @classmethod
    def of_cluster(cls, cluster: EmbeddedCluster) -> HistoryRecorder:
        """Records a simulated cluster from now on."""
        scheduler = cluster.scheduler
        nodes = {node.name: node for node in map(scheduler.table.node, _in_order(scheduler))}
        state = State(nodes, dict(cluster.pods), queue_entries(scheduler), scheduler.store.copy())
        state.rotation = scheduler.builder.rotation.start

        def preemptor_of(uid: str) -> str:
            last = cluster.objects.preemptions[-1:]
            return next((found.by.key for found in last if found.pod.uid == uid), "")

        made = cls(scheduler, state, preemptor_of)
        cluster.objects.subscribe(made)
        return made

    def close(self) -> History:
        """The history of a run that has ended."""
        self.history.close(self._scheduler.clock.wall(), queue_entries(self._scheduler))
        return self.history

    # ------------------------------------------------------------------ another scheduler

    def load(self, scheduler: Scheduler) -> None:
        """Goes on with a scheduler whose cluster is loaded now: what it loads is one change, or part of the start."""
        if scheduler is not self._scheduler:
            self._scheduler = scheduler
            scheduler.subscribe(self)
            scheduler.store.subscribe(self.object_changed)
        self._loaded = set()

    def restored(self, pods: Mapping[str, Pod]) -> None:
        """The pods of a cluster that is being loaded: all of them."""
        known = self.history.state.pods
        for key in [key for key in known if key not in pods]:
            self.history.effect(PODS, key, None)
        assumed = {pod.uid: pod for pod in self._scheduler.assumed}
        for key, pod in pods.items():
            self.history.effect(PODS, key, assumed.get(pod.uid, pod))
        self._all_entries()

    def _is_loaded(self) -> None:
        """The end of loading, with the first attempt."""
        loaded, self._loaded = self._loaded, None
        for name in [name for name in self.history.state.nodes if name not in (loaded or ())]:
            self.history.effect(NODES, name, None)
        self._all_entries()

    def _all_entries(self) -> None:
        entries = queue_entries(self._scheduler)
        for key in [key for key in self.history.state.queue if key not in entries]:
            self.history.effect(QUEUE, key, None)
        for key, entry in entries.items():
            self.history.effect(QUEUE, key, entry)

    # ------------------------------------------------------------------ objects

    def put_node(self, node: Node) -> None:
        if self._loaded is not None:
            self._loaded.add(node.name)
        known = self.history.state.nodes.get(node.name)
        kind = "node-added" if known is None else "node-changed"
        self._add(kind, f"node {node.name} {'added' if known is None else 'changed'}", node=node.name)
        self.history.effect(NODES, node.name, node)

    def delete_node(self, name: str) -> None:
        if name in self.history.state.nodes:
            self._add("node-removed", f"node {name} removed", node=name)
            self.history.effect(NODES, name, None)

    def put_pod(self, pod: Pod, before: Pod | None) -> None:
        history, key = self.history, pod.key
        had_node = before is not None and bool(before.node)
        if pod.is_finished:
            self.delete_pod(pod)
            return
        if before is None:
            self._add("created", f"{key} created" + (f" on {pod.node}" if pod.node else ""), pod=key, node=pod.node)
        elif pod.node and not had_node:
            known = history.state.pods.get(key)
            if known is None or known.node != pod.node:
                history.decided(key, self._before(key))
                self._add("scheduled", f"{key} on {pod.node}", pod=key, node=pod.node)
        history.effect(PODS, key, pod)
        self._queue(pod)

    def delete_pod(self, pod: Pod) -> None:
        history, key = self.history, pod.key
        if key not in history.state.pods:
            return
        by = self._preemptors.pop(pod.uid, "") or self._preemptor_of(pod.uid)
        if by:
            self._first_victim.setdefault(by, history.length)
            self._add("preempted", f"{key} preempted on {pod.node} for {by}", pod=key, node=pod.node)
        else:
            self._add("deleted", f"{key} deleted", pod=key, node=pod.node)
        history.effect(PODS, key, None)
        history.effect(QUEUE, key, None)

    def object_changed(self, kind: str, before: Any, after: Any) -> None:
        """Listener of the object store: an effect of whatever happens just now."""
        found = before if after is None else after
        self.history.effect(OBJECTS, (kind, (getattr(found, "namespace", ""), found.name)), after)

    # ------------------------------------------------------------------ attempts

    def attempted(self, attempt: Attempt) -> None:
        if self._loaded is not None:
            self._is_loaded()
        pod, key, history = attempt.pod, attempt.pod.key, self.history
        if attempt.seconds:
            result = "scheduled" if attempt.node else "error" if attempt.is_error else "unschedulable"
            self.results[result] += 1
            if len(self.latencies) < _MOST_LATENCIES:
                self.latencies.append(attempt.seconds)
        for victim in attempt.victims:
            self._preemptors.setdefault(victim.uid, key)
        if attempt.node:
            known = history.state.pods.get(key)
            if known is not None and not known.node:  # assumed, before its binding
                history.decided(key, self._before(key))
                waits = f", waits on Permit for {attempt.node}" if attempt.is_waiting else f" on {attempt.node}"
                self._add("scheduled", f"{key}{waits}", pod=key, node=attempt.node)
                placed = next((other for other in self._scheduler.assumed if other.uid == pod.uid), None)
                if placed is not None:
                    history.effect(PODS, key, placed)
            self._queue(pod)
        elif key in history.state.pods:
            kind = "error" if attempt.is_error else "unschedulable"
            history.decided(key, self._before(key))
            text = shortened(f"{key}: {attempt.message}", _LONGEST)
            self._add(kind, text, pod=key, node=attempt.nominated_node)
            if history.state.pods[key].node:  # its placement was undone
                history.effect(PODS, key, pod)
            self._queue(pod)
        start = self._scheduler.builder.rotation.start
        if start != history.state.rotation:
            history.effect(ROTATION, None, start)

    def _before(self, key: str) -> int:
        """The position at which an attempt of a pod was made: before its victims left."""
        return self._first_victim.pop(key, self.history.length)

    # ------------------------------------------------------------------ parts

    def _queue(self, pod: Pod) -> None:
        """Takes over the queue entry of a pod."""
        scheduler, key = self._scheduler, pod.key
        waiting = scheduler.waiting.get(pod.uid)
        queued = scheduler.queue.get(pod.uid)
        entry: QueueEntry | None = None
        if waiting is not None:
            entry = waiting_entry(waiting, scheduler.clock)
        elif queued is not None:
            entry = queue_entry(queued, scheduler.clock)
        if entry is not None or key in self.history.state.queue:
            self.history.effect(QUEUE, key, entry)

    def _add(self, kind: str, text: str, *, pod: str = "", node: str = "") -> None:
        if self._loaded is not None:
            return
        self.history.add(Change(self._scheduler.clock.wall(), kind, text, pod, node))


def _in_order(scheduler: Scheduler) -> list[int]:
    """Rows by zone, in the order of the table: a picture with them gives the same order of visits."""
    return [row for rows in scheduler.table.visits.zones() for row in rows]
