"""A cluster in memory: objects from manifests, simulated time, and the controllers that a scheduler counts on.

`EmbeddedCluster` is the client of its scheduler: what the scheduler binds, updates or evicts happens here at once.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kubewasp.k8s.codec import encode
from kubewasp.k8s.defaulting import default_pod
from kubewasp.k8s.errors import ManifestError
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.objects import name_of, namespace_of
from kubewasp.k8s.pods import PodParser, placed_on
from kubewasp.k8s.selectors import SelectorError
from kubewasp.scheduler.scheduler import Attempt, Scheduler
from kubewasp.simulation.disruption_controller import DisruptionController
from kubewasp.simulation.volume_controller import VolumeController
from kubewasp.simulation.workloads import WORKLOADS, controller_of, replacement
from kubewasp.state.object_kinds import CLUSTER_SCOPED, KINDS, PRIORITY_CLASS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.k8s.objects import PriorityClass
    from kubewasp.k8s.pods import Pod
    from kubewasp.simulation.workloads import Identity

# Some pods are tried over and over: after an error, or when the permission to bind expires. A real scheduler goes on
# for ever; a simulation gives up after so many tries without any pod being placed.
_MOST_ERRORS = 3
_MOST_TRIES = 10
# So many times, pods that wait for an event are tried without one before time leaps to the next thing that happens.
_MOST_FLUSHES = 3


class SimulatedClock:
    """Time that passes only when it is told to. `epoch` is the wall-clock time at which it begins."""

    def __init__(self, epoch: float = 0.0) -> None:
        self._epoch = epoch
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def wall(self) -> float:
        return self._epoch + self._now

    def advance_to(self, when: float) -> None:
        self._now = max(self._now, when)


@dataclass(frozen=True, slots=True)
class Preemption:
    """A pod that had to go for another one."""

    pod: Pod
    by: Pod
    node: str
    at: float


class EmbeddedCluster:
    """All objects of a simulated cluster, and its scheduler. `epoch` is the wall-clock time at which it begins."""

    def __init__(self, epoch: float = 0.0) -> None:
        self.clock = SimulatedClock(epoch)
        self.scheduler = Scheduler(self.clock, self)
        self.pods: dict[str, Pod] = {}
        self.manifests: dict[str, dict[str, Any]] = {}
        self.node_manifests: dict[str, Mapping[str, Any]] = {}
        self.preemptions: list[Preemption] = []
        self.placed: list[tuple[float, Pod]] = []
        self.workloads: dict[Identity, Mapping[str, Any]] = {}
        self.owners: dict[Identity, Mapping[str, Any]] = {}
        self.on_attempt: Callable[[Attempt], None] = lambda _attempt: None
        self.on_placed: Callable[[Pod], None] = lambda _pod: None
        self.scheduler.on_settled = self._settled
        self._parser = PodParser()
        self._uids: dict[str, str] = {}
        self._births: Counter[str] = Counter()
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._tries: Counter[str] = Counter()
        self._is_stuck = False
        self._flushes = 0
        self._volumes = VolumeController(self.scheduler.store, labels_of=self._labels_of)
        self._budgets = DisruptionController(self.scheduler.store)

    # ------------------------------------------------------------------ objects

    def apply(self, manifest: Mapping[str, Any]) -> None:
        """Creates an object or takes its new state; the manifest must be valid."""
        kind = manifest.get("kind")
        if kind == "Node":
            self._apply_node(manifest)
        elif kind == "Pod":
            self._apply_pod(manifest)
        elif kind in KINDS:
            self.scheduler.store.put(manifest)
            self._volumes.sync()
            if kind == "PodDisruptionBudget":
                self._budgets.take(manifest, self.pods.values())

    def delete(self, kind: str, namespace: str, name: str) -> bool:
        """Whether there was such an object."""
        if kind == "Node":
            return self._delete_node(name)
        if kind == "Pod":
            return self._delete_pod(f"{namespace}/{name}")
        place = "" if kind in CLUSTER_SCOPED else namespace
        known = self.scheduler.store.has(kind, name, place)
        self.scheduler.store.delete(kind, place, name)
        self._volumes.sync()
        if kind == "PodDisruptionBudget":
            self._budgets.drop(namespace, name)
        return self._delete_workload((kind, namespace, name)) if kind in WORKLOADS else known

    def _delete_node(self, name: str) -> bool:
        """Its pods go with it, and their controllers make others."""
        known = self.node_manifests.pop(name, None) is not None
        self.scheduler.delete_node(name)
        for pod in self.pods_on(name):
            self.remove_pod(pod)
        return known

    def _delete_pod(self, key: str) -> bool:
        pod = self.pods.pop(key, None)
        if pod is None:
            return False
        del self.manifests[key], self._uids[pod.uid]
        self._budgets.moved(pod, None)
        self.scheduler.delete_pod(pod)
        return True

    def _delete_workload(self, identity: Identity) -> bool:
        """What it owns goes with it."""
        known = self.workloads.pop(identity, None) is not None
        known |= self.owners.pop(identity, None) is not None
        for owner in [key for key, owner in self.owners.items() if controller_of(owner) == identity]:
            self.delete(*owner)
        for key in self.pods_of(identity):
            self._delete_pod(key)
        return known

    def why_pending(self, pod: Pod) -> str:
        """What a pod without a node waits for."""
        queued = self.scheduler.queue.get(pod.uid)
        if pod.uid in self.scheduler.waiting:
            return f"waiting for permission to go to {self.scheduler.waiting[pod.uid].assumed.node}"
        if queued is None:
            return f"no profile has the schedulerName {pod.spec.scheduler_name}"
        return queued.gate_reason or queued.message

    def pods_on(self, node: str) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.node == node]

    def pods_of(self, owner: Identity) -> list[str]:
        """The names of the pods that a controller has, those with a node first."""
        kind, namespace, name = owner
        found = [
            (key, pod)
            for key, pod in self.pods.items()
            if pod.owner is not None and (pod.owner.kind, pod.namespace, pod.owner.name) == (kind, namespace, name)
        ]
        return [key for key, _ in sorted(found, key=lambda item: not item[1].node)]

    def _apply_node(self, manifest: Mapping[str, Any]) -> None:
        self.node_manifests[name_of(manifest)] = manifest
        self.scheduler.put_node(parse_node(manifest, encode("Node", manifest)))

    def _apply_pod(self, manifest: Mapping[str, Any]) -> None:
        key = f"{namespace_of(manifest)}/{name_of(manifest)}"
        before = self.pods.get(key)
        if before is not None and before.node:
            manifest = _still_bound(manifest, before)
        uid = before.uid if before is not None else self._uid(key, manifest)
        stored = default_pod(manifest, uid=uid, priority_class=self._priority_class)
        try:
            pod = self._parser.parse(stored, encode("Pod", stored))
        except SelectorError as error:
            raise ManifestError("spec", f"a selector cannot be used: {error}") from None
        self.manifests[key] = stored
        self.pods[key] = pod
        self._uids[uid] = key
        self._budgets.moved(before, pod)
        self._volumes.create_claims_of(pod)
        self._volumes.sync()
        self.scheduler.put_pod(pod, before)

    def _uid(self, key: str, manifest: Mapping[str, Any]) -> str:
        """Its own, or one that no pod ever had: the next pod of a name is not the last one."""
        given = (manifest.get("metadata") or {}).get("uid")
        if given:
            if given in self._uids:
                raise ManifestError("metadata.uid", f"pod {self._uids[given]} has the same uid")
            return str(given)
        self._births[key] += 1
        return f"uid-{key}" if self._births[key] == 1 else f"uid-{key}-{self._births[key]}"

    def _labels_of(self, node: str) -> Mapping[str, str]:
        return (self.node_manifests.get(node, {}).get("metadata") or {}).get("labels") or {}

    def _priority_class(self, name: str) -> PriorityClass | None:
        store = self.scheduler.store
        if name:
            return store.get(PRIORITY_CLASS, name)
        defaults = (item for item in store.all(PRIORITY_CLASS) if item.is_default)
        return max(defaults, key=lambda item: -item.value, default=None)

    # ------------------------------------------------------------------ framework.handle.Client

    def bind(self, pod: Pod, node: str) -> str:
        known = self.pods.get(pod.key)
        if known is None or known.uid != pod.uid:
            return f'pods "{pod.name}" not found'
        if known.node:
            return f'pod {pod.name} is already assigned to node "{known.node}"'
        bound = replace(placed_on(known, node), nominated_node="")
        self.pods[pod.key] = bound
        self._budgets.moved(known, bound)
        self.placed.append((self.clock.now(), bound))
        self._gain_hope()
        self.scheduler.put_pod(bound, known)
        self.on_placed(bound)
        return ""

    def update(self, manifest: Mapping[str, Any]) -> str:
        self.scheduler.store.put(manifest)
        self._volumes.sync()
        return ""

    def evict(self, victims: Sequence[Pod], preemptor: Pod, node: str) -> str:
        errors = [self._evict(victim, preemptor, node) for victim in victims]
        return next(filter(None, errors), "")

    def _evict(self, pod: Pod, preemptor: Pod, node: str) -> str:
        known = self.pods.get(pod.key)
        if known is None or known.uid != pod.uid:
            return f'pods "{pod.name}" not found'
        self.preemptions.append(Preemption(pod, preemptor, node, self.clock.now()))
        self.remove_pod(known)
        return ""

    # ------------------------------------------------------------------ controllers

    def remove_pod(self, pod: Pod) -> None:
        """Deletes a pod as an eviction does: its controller makes another one."""
        lost = {**(manifest := self.manifests[pod.key]), "spec": {**manifest["spec"], "nodeName": pod.node}}
        self._delete_pod(pod.key)
        owner = self._owner(pod)
        if owner is not None:
            names = {known.name for known in self.pods.values() if known.namespace == pod.namespace}
            successor = replacement(owner, lost, names, self.node_manifests)
            if successor is not None:
                self.apply(successor)

    def finish_pod(self, pod: Pod) -> None:
        """The pod has done its work: it takes up no room any more, and nobody replaces it."""
        self._delete_pod(pod.key)

    def _owner(self, pod: Pod) -> Mapping[str, Any] | None:
        if pod.owner is None:
            return None
        return self.owners.get((pod.owner.kind, pod.namespace, pod.owner.name))

    # ------------------------------------------------------------------ time

    def at(self, when: float, action: Callable[[], None]) -> None:
        """Something that happens at that time; of two at the same time, what was said first."""
        heapq.heappush(self._agenda, (when, next(self._order), action))

    def settle(self, until: float = math.inf) -> None:
        """Schedules until nothing changes any more; where nothing is left to do, time goes on to what happens next.

        With `until`, time goes on to that moment at most.
        """
        while True:
            self._schedule()
            when = self._next_moment()
            if when is None or when > until:
                break
            self.clock.advance_to(when)
            for attempt in self.scheduler.expire_waiting():
                self.on_attempt(attempt)
            self.scheduler.flush_stuck()
            if self._agenda and self._agenda[0][0] <= self.clock.now():
                self._gain_hope()
                heapq.heappop(self._agenda)[2]()

    def _settled(self, attempt: Attempt) -> None:
        self.on_attempt(attempt)

    def _schedule(self) -> None:
        while not self._is_stuck and (attempt := self.scheduler.schedule_one()) is not None:
            self.on_attempt(attempt)
            if not attempt.node or attempt.is_waiting:
                self._tries[attempt.pod.uid] += 1
                self._is_stuck = self._tries[attempt.pod.uid] >= _MOST_TRIES

    def _gain_hope(self) -> None:
        """Something has changed: it is worth trying again."""
        self._tries.clear()
        self._is_stuck = False
        self._flushes = 0

    def _next_moment(self) -> float | None:
        """When something happens by itself: a permission expires, a backoff ends, the agenda has something."""
        queue = self.scheduler.queue
        times = [self.scheduler.next_deadline(), self._agenda[0][0] if self._agenda else None]
        if not self._is_stuck and any(queued.errors and queued.errors < _MOST_ERRORS for queued in queue):
            times.append(queue.next_backoff())
        if self._agenda and self._flushes < _MOST_FLUSHES:
            flush = queue.next_flush()
            if flush is not None and flush < self._agenda[0][0]:
                times.append(flush)
        when = min((when for when in times if when is not None), default=None)
        if when is not None and when == queue.next_flush():
            self._flushes += 1
        return when


def _still_bound(manifest: Mapping[str, Any], before: Pod) -> Mapping[str, Any]:
    """A pod that is applied again stays where it is."""
    spec = manifest.get("spec") or {}
    if spec.get("nodeName") not in (None, "", before.node):
        raise ManifestError("spec.nodeName", f"pod {before.key} is bound to {before.node} already")
    return {**manifest, "spec": {**spec, "nodeName": before.node}}
