"""Cluster events, which plugins register for, and recorded events, which they send."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

RESOURCES = (
    "Pod",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PodSchedulingContext",
    "ResourceClaim",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "*",
)
ACTIONS = {
    1: "Add",
    2: "Delete",
    4: "UpdateNodeAllocatable",
    8: "UpdateNodeLabel",
    16: "UpdateNodeTaint",
    32: "UpdateNodeCondition",
}
ALL_ACTIONS = sum(ACTIONS)


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """A change of the cluster that may make a pod schedulable: which resource, which actions (bits)."""

    resource: str
    action: int

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(name for bit, name in ACTIONS.items() if self.action & bit)


ALL_EVENTS = (ClusterEvent("*", ALL_ACTIONS),)


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """The object an event is about."""

    kind: str = ""
    api_version: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event as a plugin records it; the scheduler turns it into an events.k8s.io/v1 Event."""

    regarding: ObjectReference
    related: ObjectReference
    type: str
    reason: str
    action: str
    note: str

    def as_dict(self) -> Mapping[str, Any]:
        return asdict(self)
