"""Kinds of objects in the object store, each with the type of its parsed objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from kubewasp.k8s.objects import (
    DisruptionBudget,
    Namespace,
    PodOwner,
    PriorityClass,
    name_of,
    namespace_of,
    parse_budget,
    parse_namespace,
    parse_owner,
    parse_priority_class,
)
from kubewasp.k8s.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    parse_attachment,
    parse_capacity,
    parse_claim,
    parse_csi_driver,
    parse_csi_node,
    parse_storage_class,
    parse_volume,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Stored_co = TypeVar("Stored_co", covariant=True)


class ObjectKind(Generic[Stored_co]):
    """A kind by its name, its scope and the parser of its manifests. Each kind exists once and is compared by identity.

    >>> store.get(PERSISTENT_VOLUME, "pv-1")          # PersistentVolume | None        # doctest: +SKIP
    """

    __slots__ = ("is_namespaced", "name", "parse")

    def __init__(
        self, name: str, parse: Callable[[Mapping[str, Any]], Stored_co], *, is_namespaced: bool = False
    ) -> None:
        self.name: Final = name
        self.parse: Final = parse
        self.is_namespaced: Final = is_namespaced

    def __repr__(self) -> str:
        return f"ObjectKind({self.name})"

    def key(self, manifest: Mapping[str, Any]) -> tuple[str, str]:
        """Namespace (empty for cluster-scoped kinds) and name."""
        return namespace_of(manifest) if self.is_namespaced else "", name_of(manifest)


NAMESPACE: Final[ObjectKind[Namespace]] = ObjectKind("Namespace", parse_namespace)
SERVICE: Final[ObjectKind[PodOwner]] = ObjectKind("Service", parse_owner, is_namespaced=True)
REPLICATION_CONTROLLER: Final[ObjectKind[PodOwner]] = ObjectKind(
    "ReplicationController", parse_owner, is_namespaced=True
)
REPLICA_SET: Final[ObjectKind[PodOwner]] = ObjectKind("ReplicaSet", parse_owner, is_namespaced=True)
STATEFUL_SET: Final[ObjectKind[PodOwner]] = ObjectKind("StatefulSet", parse_owner, is_namespaced=True)
DISRUPTION_BUDGET: Final[ObjectKind[DisruptionBudget]] = ObjectKind(
    "PodDisruptionBudget", parse_budget, is_namespaced=True
)
PRIORITY_CLASS: Final[ObjectKind[PriorityClass]] = ObjectKind("PriorityClass", parse_priority_class)
PERSISTENT_VOLUME: Final[ObjectKind[PersistentVolume]] = ObjectKind("PersistentVolume", parse_volume)
PERSISTENT_VOLUME_CLAIM: Final[ObjectKind[PersistentVolumeClaim]] = ObjectKind(
    "PersistentVolumeClaim", parse_claim, is_namespaced=True
)
STORAGE_CLASS: Final[ObjectKind[StorageClass]] = ObjectKind("StorageClass", parse_storage_class)
CSI_NODE: Final[ObjectKind[CsiNode]] = ObjectKind("CSINode", parse_csi_node)
CSI_DRIVER: Final[ObjectKind[CsiDriver]] = ObjectKind("CSIDriver", parse_csi_driver)
CSI_STORAGE_CAPACITY: Final[ObjectKind[CsiStorageCapacity]] = ObjectKind(
    "CSIStorageCapacity", parse_capacity, is_namespaced=True
)
VOLUME_ATTACHMENT: Final[ObjectKind[VolumeAttachment]] = ObjectKind("VolumeAttachment", parse_attachment)

KINDS: Final[Mapping[str, ObjectKind[object]]] = {
    kind.name: kind
    for kind in (
        NAMESPACE,
        SERVICE,
        REPLICATION_CONTROLLER,
        REPLICA_SET,
        STATEFUL_SET,
        DISRUPTION_BUDGET,
        PRIORITY_CLASS,
        PERSISTENT_VOLUME,
        PERSISTENT_VOLUME_CLAIM,
        STORAGE_CLASS,
        CSI_NODE,
        CSI_DRIVER,
        CSI_STORAGE_CAPACITY,
        VOLUME_ATTACHMENT,
    )
}
CLUSTER_SCOPED: Final = frozenset(("Node", *(kind.name for kind in KINDS.values() if not kind.is_namespaced)))
