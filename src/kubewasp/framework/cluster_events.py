"""Cluster events for queueing hints, and events that plugins record."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import IntFlag
from typing import TYPE_CHECKING

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


class Action(IntFlag):
    """Changes of an object. The first six bits are those of the guest ABI."""

    NONE = 0
    ADD = 1 << 0
    DELETE = 1 << 1
    UPDATE_NODE_ALLOCATABLE = 1 << 2
    UPDATE_NODE_LABEL = 1 << 3
    UPDATE_NODE_TAINT = 1 << 4
    UPDATE_NODE_CONDITION = 1 << 5
    UPDATE_NODE_ANNOTATION = 1 << 6
    UPDATE_NODE_DECLARED_FEATURE = 1 << 7
    UPDATE_POD_LABEL = 1 << 8
    UPDATE_POD_SCALE_DOWN = 1 << 9
    UPDATE_POD_TOLERATION = 1 << 10
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 11
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 12
    UPDATE_OTHER = 1 << 13
    UPDATE = (1 << 14) - 4
    ALL = (1 << 14) - 1


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
    """A change that may make a pod schedulable: a resource and its actions (bits)."""

    resource: str
    action: int

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(name for bit, name in ACTIONS.items() if self.action & bit)


ALL_EVENTS = (ClusterEvent("*", ALL_ACTIONS),)


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """Reference to the subject of an event."""

    kind: str = ""
    api_version: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event recorded by a plugin. The scheduler sends it as an events.k8s.io/v1 Event."""

    regarding: ObjectReference
    related: ObjectReference
    type: str
    reason: str
    action: str
    note: str

    def as_dict(self) -> Mapping[str, object]:
        return asdict(self)
