"""Objects of a simulated cluster, with the work of API server and controllers.

Implements the scheduler's client: binds, updates and evictions take effect immediately.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.codec import encode
from kubewasp.k8s.defaulting import default_pod
from kubewasp.k8s.errors import ManifestError
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.objects import name_of, namespace_of
from kubewasp.k8s.pods import PodParser, annotated, placed_on
from kubewasp.k8s.selectors import SelectorError
from kubewasp.simulation.disruption_controller import DisruptionController
from kubewasp.simulation.pod_template import template
from kubewasp.simulation.scale_down import deletion_cost, removed_last_first
from kubewasp.simulation.volume_controller import VolumeController
from kubewasp.simulation.workloads import WORKLOADS, controller_of, replacement
from kubewasp.state.object_kinds import CLUSTER_SCOPED, KINDS, PRIORITY_CLASS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.clock import Clock
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.objects import PriorityClass
    from kubewasp.k8s.pods import Pod
    from kubewasp.simulation.disruption_controller import BudgetState
    from kubewasp.simulation.pod_template import PodTemplate
    from kubewasp.simulation.workloads import Identity
    from kubewasp.state.object_store import ObjectStore


@dataclass(frozen=True, slots=True)
class Preemption:
    """A pod evicted for another one."""

    pod: Pod
    by: Pod
    node: str
    at: float


class Placed(NamedTuple):
    """A pod that was bound, and when."""

    at: float
    pod: Pod


class ObjectListener(Protocol):
    """Listener for nodes and pods, such as the scheduler's `ClusterEvents`. Other objects are in the store."""

    def put_node(self, node: Node) -> None: ...

    def delete_node(self, name: str) -> None: ...

    def put_pod(self, pod: Pod, before: Pod | None) -> None: ...

    def delete_pod(self, pod: Pod) -> None: ...


class PlacementListener(Protocol):
    """Listener for bound pods."""

    def placed(self, pod: Pod) -> None: ...


class ClusterObjects:
    """All objects of a cluster. Implements `framework.handle.Client`.

    It has a method per request of clients and controllers, and so more than 25.
    """

    def __init__(self, clock: Clock, store: ObjectStore) -> None:
        self.store = store
        self.pods: dict[str, Pod] = {}
        self.manifests: dict[str, dict[str, Any]] = {}
        self.node_manifests: dict[str, Mapping[str, Any]] = {}
        self.preemptions: list[Preemption] = []
        self.bindings: dict[str, Placed] = {}  # by uid, in the order of binding
        self.binding_annotations: dict[str, Mapping[str, str]] = {}  # by uid
        self.successors: dict[str, str] = {}  # uids of replaced pods, and of those that took their place
        self.workloads: dict[Identity, Mapping[str, Any]] = {}
        self.owners: dict[Identity, Mapping[str, Any]] = {}
        self._clock = clock
        self._listeners: list[ObjectListener] = []
        self._placement_listeners: list[PlacementListener] = []
        self._parser = PodParser()
        self._uids: dict[str, str] = {}
        self._births: Counter[str] = Counter()
        self._volumes = VolumeController(store, labels_of=self._labels_of)
        self._budgets = DisruptionController(store)

    def subscribe(self, listener: ObjectListener) -> None:
        self._listeners.append(listener)

    def subscribe_placements(self, listener: PlacementListener) -> None:
        self._placement_listeners.append(listener)

    # ------------------------------------------------------------------ create, update, delete

    def apply(self, manifest: Mapping[str, Any]) -> None:
        """Creates or updates an object; the manifest must be valid."""
        kind = manifest.get("kind")
        if kind == "Node":
            self._apply_node(manifest)
        elif kind == "Pod":
            self._apply_pod(manifest)
        elif kind in KINDS:
            self.store.put(manifest)
            self._volumes.sync()
            if kind == "PodDisruptionBudget":
                self._budgets.take(manifest, self.pods.values())

    def delete(self, kind: str, namespace: str, name: str) -> bool:
        """Deletes an object; returns whether it existed."""
        if kind == "Node":
            return self._delete_node(name)
        if kind == "Pod":
            return self._delete_pod(f"{namespace}/{name}")
        place = "" if kind in CLUSTER_SCOPED else namespace
        existed = self.store.has(kind, name, place)
        self.store.delete(kind, place, name)
        self._volumes.sync()
        if kind == "PodDisruptionBudget":
            self._budgets.drop(namespace, name)
        return self._delete_workload((kind, namespace, name)) if kind in WORKLOADS else existed

    def _apply_node(self, manifest: Mapping[str, Any]) -> None:
        self.node_manifests[name_of(manifest)] = manifest
        node = parse_node(manifest, encode("Node", manifest))
        for listener in self._listeners:
            listener.put_node(node)

    def _apply_pod(self, manifest: Mapping[str, Any]) -> None:
        key = f"{namespace_of(manifest)}/{name_of(manifest)}"
        before = self.pods.get(key)
        if before is not None and before.node:
            manifest = _still_bound(manifest, before, self.binding_annotations.get(before.uid) or {})
        uid = before.uid if before is not None else self._uid(key, manifest)
        stored = default_pod(manifest, uid=uid, priority_class=self._priority_class)
        try:
            pod = self._parser.parse(stored, encode("Pod", stored))
        except SelectorError as error:
            raise ManifestError("spec", f"invalid selector: {error}") from None
        self._store_pod(stored, pod, before)

    def pod_template(self, namespace: str, labels: Mapping[str, str], spec: Mapping[str, Any]) -> PodTemplate:
        """The template of pods with equal namespace, labels and spec, for `create_pod`."""
        return template(namespace, labels, spec, parser=self._parser, priority_class=self._priority_class)

    def create_pod(self, made_from: PodTemplate, name: str, uid: str, annotations: Mapping[str, str]) -> Pod:
        """Creates a pod; name and uid must be new."""
        stored, pod = made_from.made(name, uid, annotations)
        self._store_pod(stored, pod, None)
        return pod

    def _store_pod(self, stored: dict[str, Any], pod: Pod, before: Pod | None) -> None:
        self.manifests[pod.key] = stored
        self.pods[pod.key] = pod
        self._uids[pod.uid] = pod.key
        self._budgets.moved(before, pod)
        if pod.spec.volumes:
            self._volumes.create_claims_of(pod)
        self._volumes.sync()
        for listener in self._listeners:
            listener.put_pod(pod, before)

    def _uid(self, key: str, manifest: Mapping[str, Any]) -> str:
        """The uid of the manifest, or a new one for each pod of the same name."""
        given = (manifest.get("metadata") or {}).get("uid")
        if given:
            if given in self._uids:
                raise ManifestError("metadata.uid", f"pod {self._uids[given]} has the same uid")
            return str(given)
        self._births[key] += 1
        return f"uid-{key}" if self._births[key] == 1 else f"uid-{key}-{self._births[key]}"

    def _delete_node(self, name: str) -> bool:
        """Deletes a node and its pods, which their controllers replace."""
        existed = self.node_manifests.pop(name, None) is not None
        for listener in self._listeners:
            listener.delete_node(name)
        for pod in self.pods_on(name):
            self.remove_pod(pod)
        return existed

    def _delete_pod(self, key: str) -> bool:
        pod = self.pods.pop(key, None)
        if pod is None:
            return False
        del self.manifests[key], self._uids[pod.uid]
        self.bindings.pop(pod.uid, None)
        self.binding_annotations.pop(pod.uid, None)
        self._budgets.moved(pod, None)
        for listener in self._listeners:
            listener.delete_pod(pod)
        return True

    def _delete_workload(self, identity: Identity) -> bool:
        """Deletes a workload and the objects it owns."""
        existed = self.workloads.pop(identity, None) is not None
        existed |= self.owners.pop(identity, None) is not None
        for owner in [key for key, owner in self.owners.items() if controller_of(owner) == identity]:
            self.delete(*owner)
        for key in self.pods_of(identity):
            self._delete_pod(key)
        return existed

    # ------------------------------------------------------------------ queries

    def pods_on(self, node: str) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.node == node]

    def pod_of(self, uid: str) -> Pod | None:
        key = self._uids.get(uid)
        return self.pods[key] if key is not None else None

    def budgets_of(self, pod: Pod) -> list[BudgetState]:
        """The PodDisruptionBudgets of a pod, now."""
        return self._budgets.of(pod)

    def pods_of(self, owner: Identity) -> list[str]:
        """Keys of a controller's pods; those that it would remove first are the last."""
        kind, namespace, name = owner
        found = [
            pod
            for pod in self.pods.values()
            if pod.owner is not None and (pod.owner.kind, pod.namespace, pod.owner.name) == (kind, namespace, name)
        ]
        costs = {pod.uid: deletion_cost(self.manifests[pod.key]) for pod in found}
        return [pod.key for pod in removed_last_first(kind, found, costs)]

    def _labels_of(self, node: str) -> Mapping[str, str]:
        return (self.node_manifests.get(node, {}).get("metadata") or {}).get("labels") or {}

    def _priority_class(self, name: str) -> PriorityClass | None:
        if name:
            return self.store.get(PRIORITY_CLASS, name)
        defaults = (item for item in self.store.all(PRIORITY_CLASS) if item.is_default)
        return max(defaults, key=lambda item: -item.value, default=None)

    # ------------------------------------------------------------------ framework.handle.Client

    def bind(self, pod: Pod, node: str, annotations: Mapping[str, str] | None = None) -> Status:
        known = self.pods.get(pod.key)
        if known is None or known.uid != pod.uid:
            return Status(Code.ERROR, f'pods "{pod.name}" not found')
        if known.node:
            return Status(Code.ERROR, f'pod {pod.name} is already assigned to node "{known.node}"')
        bound = placed_on(known, node)
        if bound.nominated_node:
            bound = replace(bound, nominated_node="")
        if annotations:
            bound = annotated(bound, annotations)
            self.manifests[pod.key] = _with_annotations(self.manifests[pod.key], annotations)
            self.binding_annotations[pod.uid] = annotations
        self.pods[pod.key] = bound
        self._budgets.moved(known, bound)
        self.bindings[pod.uid] = Placed(self._clock.now(), bound)
        for listener in self._listeners:
            listener.put_pod(bound, known)
        for placement_listener in self._placement_listeners:
            placement_listener.placed(bound)
        return SUCCESS

    def update(self, manifest: Mapping[str, Any]) -> Status:
        self.store.put(manifest)
        self._volumes.sync()
        return SUCCESS

    def evict(self, victims: Sequence[Pod], preemptor: Pod, node: str) -> Status:
        statuses = [self._evict(victim, preemptor, node) for victim in victims]
        return next((status for status in statuses if not status.is_success), SUCCESS)

    def _evict(self, pod: Pod, preemptor: Pod, node: str) -> Status:
        known = self.pods.get(pod.key)
        if known is None or known.uid != pod.uid:
            return Status(Code.ERROR, f'pods "{pod.name}" not found')
        self.preemptions.append(Preemption(pod, preemptor, node, self._clock.now()))
        self.remove_pod(known)
        return SUCCESS

    # ------------------------------------------------------------------ controllers

    def remove_pod(self, pod: Pod) -> None:
        """Evicts a pod; its controller replaces it."""
        lost = {**(manifest := self.manifests[pod.key]), "spec": {**manifest["spec"], "nodeName": pod.node}}
        self._delete_pod(pod.key)
        owner = self._owner(pod)
        if owner is not None:
            successor = replacement(owner, lost, _Names(pod.namespace, self.pods), self.node_manifests)
            if successor is not None:
                self.apply(successor)
                self.successors[pod.uid] = self.pods[f"{pod.namespace}/{name_of(successor)}"].uid

    def finish_pod(self, pod: Pod) -> None:
        """Deletes a completed pod; its controller does not replace it."""
        self._delete_pod(pod.key)

    def _owner(self, pod: Pod) -> Mapping[str, Any] | None:
        if pod.owner is None:
            return None
        return self.owners.get((pod.owner.kind, pod.namespace, pod.owner.name))


@dataclass(frozen=True, slots=True)
class _Names:
    """Names of the pods in a namespace, without a copy of them."""

    namespace: str
    pods: Mapping[str, Pod]

    def __contains__(self, name: object) -> bool:
        return f"{self.namespace}/{name}" in self.pods


def _still_bound(manifest: Mapping[str, Any], before: Pod, annotations: Mapping[str, str]) -> Mapping[str, Any]:
    """The manifest with node and annotations of the bound pod, which stays there."""
    spec = manifest.get("spec") or {}
    if spec.get("nodeName") not in (None, "", before.node):
        raise ManifestError("spec.nodeName", f"pod {before.key} is already bound to {before.node}")
    placed = {**manifest, "spec": {**spec, "nodeName": before.node}}
    return _with_annotations(placed, {**annotations, **_annotations(placed)}) if annotations else placed


def _with_annotations(manifest: Mapping[str, Any], annotations: Mapping[str, str]) -> dict[str, Any]:
    annotated_metadata = {**manifest["metadata"], "annotations": {**_annotations(manifest), **annotations}}
    return {**manifest, "metadata": annotated_metadata}


def _annotations(manifest: Mapping[str, Any]) -> Mapping[str, str]:
    return manifest["metadata"].get("annotations") or {}
