"""Cluster events: changes that may make a rejected pod schedulable."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubewasp_sdk.objects import Node, Pod

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
    """Kinds of changes to an object."""

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


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """A subscription to changes: `ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL)`."""

    resource: str
    action: Action = Action.ALL

    def __post_init__(self) -> None:
        if self.resource not in RESOURCES:
            raise ValueError(f'unknown resource "{self.resource}"; there are {", ".join(RESOURCES)}')


@dataclass(frozen=True, slots=True)
class Change:
    """One change. `old` is None for a new object, `new` for a deleted one, both for kinds other than Pod and Node."""

    resource: str
    action: Action
    old: Pod | Node | None = None
    new: Pod | Node | None = None
