"""All objects but nodes and pods on nodes: what plugins look up by name, and who hears of changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kubewasp.k8s.objects import name_of, namespace_of, parse_budget, parse_namespace, parse_owner, parse_priority_class
from kubewasp.k8s.storage import (
    parse_attachment,
    parse_capacity,
    parse_claim,
    parse_csi_driver,
    parse_csi_node,
    parse_storage_class,
    parse_volume,
)

# Kinds without a namespace.
CLUSTER_SCOPED = frozenset(
    (
        "Namespace",
        "Node",
        "PersistentVolume",
        "PriorityClass",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "VolumeAttachment",
    )
)
PARSERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "Namespace": parse_namespace,
    "Service": parse_owner,
    "ReplicationController": parse_owner,
    "ReplicaSet": parse_owner,
    "StatefulSet": parse_owner,
    "PodDisruptionBudget": parse_budget,
    "PriorityClass": parse_priority_class,
    "PersistentVolume": parse_volume,
    "PersistentVolumeClaim": parse_claim,
    "StorageClass": parse_storage_class,
    "CSINode": parse_csi_node,
    "CSIDriver": parse_csi_driver,
    "CSIStorageCapacity": parse_capacity,
    "VolumeAttachment": parse_attachment,
}
Listener = Callable[[str, Any, Any], None]


class ObjectStore:
    """Parsed objects by kind, namespace and name. `generation(kind)` moves with every change of that kind."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[tuple[str, str], Any]] = {}
        self._generations: dict[str, int] = {}
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> None:
        """The listener is called with kind, old object and new object (either may be None) after each change."""
        self._listeners.append(listener)

    def put(self, manifest: Mapping[str, Any]) -> Any:
        """Adds or replaces an object given as a (valid) manifest; returns it parsed."""
        kind = str(manifest.get("kind"))
        return self.put_parsed(kind, _key(kind, manifest), PARSERS[kind](manifest))

    def put_parsed(self, kind: str, key: tuple[str, str], parsed: Any) -> Any:
        """As `put`, for an object that is parsed already; the key is namespace (empty if it has none) and name."""
        objects = self._objects.setdefault(kind, {})
        before = objects.get(key)
        objects[key] = parsed
        self._changed(kind, before, parsed)
        return parsed

    def delete(self, kind: str, namespace: str, name: str) -> None:
        before = self._objects.get(kind, {}).pop(("" if kind in CLUSTER_SCOPED else namespace, name), None)
        if before is not None:
            self._changed(kind, before, None)

    def get(self, kind: str, name: str, namespace: str = "") -> Any:
        """The object, or None."""
        return self._objects.get(kind, {}).get((namespace, name))

    def all(self, kind: str) -> Iterable[Any]:
        return self._objects.get(kind, {}).values()

    def in_namespace(self, kind: str, namespace: str) -> Iterable[Any]:
        return [item for (place, _), item in self._objects.get(kind, {}).items() if place == namespace]

    def generation(self, kind: str) -> int:
        return self._generations.get(kind, 0)

    def _changed(self, kind: str, before: Any, after: Any) -> None:
        self._generations[kind] = self._generations.get(kind, 0) + 1
        for listener in self._listeners:
            listener(kind, before, after)


def _key(kind: str, manifest: Mapping[str, Any]) -> tuple[str, str]:
    return "" if kind in CLUSTER_SCOPED else namespace_of(manifest), name_of(manifest)
