"""A cluster in memory: objects from manifests, simulated time, and the controllers that a scheduler counts on.

`EmbeddedCluster` is the client of its scheduler: what the scheduler binds, updates or evicts happens here at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kubewasp.cluster.store import PARSERS
from kubewasp.cluster.volume_controller import VolumeController
from kubewasp.k8s.codec import encode
from kubewasp.k8s.defaulting import default_pod
from kubewasp.k8s.errors import ManifestError
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.objects import name_of, namespace_of
from kubewasp.k8s.pods import PodParser
from kubewasp.k8s.selectors import SelectorError
from kubewasp.scheduler.scheduler import Attempt, Scheduler
from kubewasp.scheduler.workloads import replacement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kubewasp.k8s.objects import PriorityClass
    from kubewasp.k8s.pods import Pod

# A pod that fails by an error is tried again after its backoff; a simulation gives up after so many in a row.
_MOST_ERRORS = 3


class SimulatedClock:
    """Time that passes only when it is told to."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        return self._now

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
    """All objects of a simulated cluster, and its scheduler."""

    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.scheduler = Scheduler(self.clock, self)
        self.pods: dict[str, Pod] = {}
        self.manifests: dict[str, dict[str, Any]] = {}
        self.node_manifests: dict[str, Mapping[str, Any]] = {}
        self.preemptions: list[Preemption] = []
        self.placed: list[tuple[float, Pod]] = []
        self.owners: dict[tuple[str, str, str], Mapping[str, Any]] = {}
        self.on_attempt: Callable[[Attempt], None] = lambda _attempt: None
        self._parser = PodParser()
        self._volumes = VolumeController(self.scheduler.store, labels_of=self._labels_of)

    # ------------------------------------------------------------------ objects

    def apply(self, manifest: Mapping[str, Any]) -> None:
        """Creates an object or takes its new state; the manifest must be valid."""
        kind = manifest.get("kind")
        if kind == "Node":
            self._apply_node(manifest)
        elif kind == "Pod":
            self._apply_pod(manifest)
        elif kind in PARSERS:
            self.scheduler.store.put(manifest)
            self._volumes.sync()

    def delete(self, kind: str, namespace: str, name: str) -> bool:
        """Whether there was such an object."""
        if kind == "Node":
            known = self.node_manifests.pop(name, None) is not None
            self.scheduler.delete_node(name)
            return known
        if kind == "Pod":
            pod = self.pods.pop(f"{namespace}/{name}", None)
            self.manifests.pop(f"{namespace}/{name}", None)
            if pod is not None:
                self.scheduler.delete_pod(pod)
            return pod is not None
        known = self.scheduler.store.get(kind, name, namespace) is not None
        self.scheduler.store.delete(kind, namespace, name)
        self._volumes.sync()
        return known

    def _apply_node(self, manifest: Mapping[str, Any]) -> None:
        self.node_manifests[name_of(manifest)] = manifest
        self.scheduler.put_node(parse_node(manifest, encode("Node", manifest)))

    def _apply_pod(self, manifest: Mapping[str, Any]) -> None:
        key = f"{namespace_of(manifest)}/{name_of(manifest)}"
        before = self.pods.get(key)
        uid = before.uid if before is not None else f"uid-{key}"
        stored = default_pod(manifest, uid=uid, priority_class=self._priority_class)
        try:
            pod = self._parser.parse(stored, encode("Pod", stored))
        except SelectorError as error:
            raise ManifestError("spec", f"a selector cannot be used: {error}") from None
        self.manifests[key] = stored
        self.pods[key] = pod
        self._volumes.create_claims_of(pod)
        self._volumes.sync()
        self.scheduler.put_pod(pod, before)

    def _labels_of(self, node: str) -> Mapping[str, str]:
        return (self.node_manifests.get(node, {}).get("metadata") or {}).get("labels") or {}

    def _priority_class(self, name: str) -> PriorityClass | None:
        store = self.scheduler.store
        if name:
            found: PriorityClass | None = store.get("PriorityClass", name)
            return found
        defaults: Iterator[PriorityClass] = (item for item in store.all("PriorityClass") if item.is_default)
        return max(defaults, key=lambda item: -item.value, default=None)

    # ------------------------------------------------------------------ framework.handle.Client

    def bind(self, pod: Pod, node: str) -> str:
        known = self.pods.get(pod.key)
        if known is None or known.uid != pod.uid:
            return f'pods "{pod.name}" not found'
        if known.node:
            return f'pod {pod.name} is already assigned to node "{known.node}"'
        bound = replace(known, node=node, nominated_node="")
        self.pods[pod.key] = bound
        self.placed.append((self.clock.now(), bound))
        self.scheduler.put_pod(bound, known)
        return ""

    def update(self, manifest: Mapping[str, Any]) -> str:
        self.scheduler.store.put(manifest)
        self._volumes.sync()
        return ""

    def evict(self, pod: Pod, preemptor: Pod, node: str) -> str:
        self.preemptions.append(Preemption(pod, preemptor, node, self.clock.now()))
        self.remove_pod(pod)
        return ""

    # ------------------------------------------------------------------ controllers

    def remove_pod(self, pod: Pod) -> None:
        """Deletes a pod as an eviction does: its controller makes another one."""
        self.delete("Pod", pod.namespace, pod.name)
        owner = self._owner(pod)
        if owner is not None:
            names = {known.name for known in self.pods.values() if known.namespace == pod.namespace}
            successor = replacement(owner, pod.name, names)
            if successor is not None:
                self.apply(successor)

    def finish_pod(self, pod: Pod) -> None:
        """The pod has done its work: it takes up no room any more, and nobody replaces it."""
        self.delete("Pod", pod.namespace, pod.name)

    def _owner(self, pod: Pod) -> Mapping[str, Any] | None:
        if pod.owner is None:
            return None
        return self.owners.get((pod.owner.kind, pod.namespace, pod.owner.name))

    # ------------------------------------------------------------------ time

    def settle(self, until: float | None = None) -> None:
        """Schedules until nothing changes any more, or until that time; pods that back off are waited for."""
        while True:
            while (attempt := self.scheduler.schedule_one()) is not None:
                self.on_attempt(attempt)
            when = self._next_moment()
            if when is None or (until is not None and when > until):
                break
            self.clock.advance_to(when)
            for attempt in self.scheduler.expire_waiting():
                self.on_attempt(attempt)
            self.scheduler.queue.flush_stuck()
        if until is not None:
            self.clock.advance_to(until)

    def _next_moment(self) -> float | None:
        """When something happens by itself: a backoff ends, a permission expires. Hopeless pods are not waited for."""
        queue = self.scheduler.queue
        hopeful = any(queued.errors and queued.errors < _MOST_ERRORS for queued in queue)
        times = [self.scheduler.next_deadline(), queue.next_backoff() if hopeful else None]
        return min((when for when in times if when is not None), default=None)
