"""VolumeZone: zone and region labels of bound volumes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.cycle_state import StateKey
from kubewasp.framework.plugin import (
    EnqueueExtensions,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    Registration,
    RejectionHints,
    Verdicts,
    rejection,
)
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.csi_migration import MULTIZONE_SEPARATOR
from kubewasp.k8s.nodes import BETA_REGION, BETA_ZONE, REGION, ZONE
from kubewasp.k8s.selectors import Requirement
from kubewasp.k8s.storage import WAIT_FOR_FIRST_CONSUMER
from kubewasp.plugins.hint_texts import lacking
from kubewasp.state.columns import ABSENT
from kubewasp.state.object_kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, STORAGE_CLASS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows
    from kubewasp.k8s.pods import Pod
    from kubewasp.k8s.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
    from kubewasp.state.node_table import NodeTable

_STATUSES = (SUCCESS, rejection("node(s) had no available volume zone", resolvable=False))
_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_SUCCESSOR = {BETA_ZONE: ZONE, BETA_REGION: REGION}
_SKIP = PreFilterResult(Status(Code.SKIP))


@dataclass(frozen=True, slots=True)
class _Topology:
    """A topology label of a volume, and the values allowed for nodes."""

    label: str
    values: frozenset[str]
    volume: str = field(compare=False)


_TOPOLOGIES = StateKey[list[_Topology]]("VolumeZone")


class VolumeZone(PreFilterPlugin, FilterPlugin, EnqueueExtensions, RejectionHints):
    """Only bound claims are checked; nodes without any topology label pass."""

    name = "VolumeZone"

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        self._store = handle.store

    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult:
        topologies: list[_Topology] = []
        for volume in pod.spec.volumes:
            if volume.source != "persistentVolumeClaim":
                continue
            problem = self._collect(pod.namespace, volume.claim, topologies)
            if problem:
                return PreFilterResult(rejection(problem, resolvable=False))
        if not topologies:
            return _SKIP
        state[_TOPOLOGIES] = topologies
        return PreFilterResult()

    def _collect(self, namespace: str, name: str, topologies: list[_Topology]) -> str:
        """Adds the topologies of the volume of a claim; returns the problem of the claim, if any."""
        claim = self._store.get(PERSISTENT_VOLUME_CLAIM, name, namespace)
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if not claim.volume:
            return self._unbound_problem(claim)
        volume = self._store.get(PERSISTENT_VOLUME, claim.volume)
        if volume is None:
            return f'persistentvolume "{claim.volume}" not found'
        topologies.extend(_topologies(volume))
        return ""

    def _unbound_problem(self, claim: PersistentVolumeClaim) -> str:
        if not claim.storage_class:
            return "PersistentVolumeClaim had no pv name and storageClass name"
        storage_class = self._store.get(STORAGE_CLASS, claim.storage_class)
        if storage_class is None:
            return f'storageclass.storage.k8s.io "{claim.storage_class}" not found'
        if not storage_class.binding_mode:
            return f'VolumeBindingMode not set for StorageClass "{claim.storage_class}"'
        return "" if storage_class.binding_mode == WAIT_FOR_FIRST_CONSUMER else "PersistentVolume had no name"

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        constrained = np.zeros(len(rows), np.bool_)
        for label in _LABELS:
            constrained |= table.label(label).ids[rows] != ABSENT
        outside = np.zeros(len(rows), np.bool_)
        for topology in state[_TOPOLOGIES]:
            outside |= ~_inside(topology, table, rows)
        return Verdicts(constrained & outside, _STATUSES)

    def pod_hints(self, state: CycleState, pod: Pod, table: NodeTable) -> Sequence[str]:
        claims = [volume.claim for volume in pod.spec.volumes if volume.source == "persistentVolumeClaim"]
        return [self._remedy(pod.namespace, name) for name in claims if self._collect(pod.namespace, name, [])]

    def _remedy(self, namespace: str, name: str) -> str:
        claim = self._store.get(PERSISTENT_VOLUME_CLAIM, name, namespace)
        if claim is None:
            return f"PersistentVolumeClaim {namespace}/{name}"
        if claim.volume:
            return f"PersistentVolume {claim.volume}, for claim {name}"
        if not claim.storage_class:
            return f"claim {name} with a volume or a class"
        if self._store.get(STORAGE_CLASS, claim.storage_class) is None:
            return f"StorageClass {claim.storage_class}, for claim {name}"
        return f"claim {name} bound to a volume, or {WAIT_FOR_FIRST_CONSUMER} in class {claim.storage_class}"

    def node_hints(self, state: CycleState, pod: Pod, table: NodeTable, row: int) -> Sequence[str]:
        one, labels = np.array([row]), table.node(row).labels
        return [
            f"{lacking(Requirement(topology.label, 'In', tuple(sorted(topology.values))), labels)}, "
            f"where volume {topology.volume} is"
            for topology in state[_TOPOLOGIES]
            if not _inside(topology, table, one).all()
        ]

    def events(self) -> Sequence[Registration]:
        return [
            Registration("StorageClass", Action.ADD, _delays_binding),
            Registration("Node", Action.ADD | Action.UPDATE_NODE_LABEL),
            Registration("PersistentVolumeClaim", Action.ADD | Action.UPDATE, _is_claimed),
            Registration("PersistentVolume", Action.ADD | Action.UPDATE, _topologies_changed),
        ]


def _topologies(volume: PersistentVolume) -> list[_Topology]:
    found = []
    for label in _LABELS:
        if label in volume.labels:
            values = [value.strip() for value in volume.labels[label].split(MULTIZONE_SEPARATOR)]
            if all(values):
                found.append(_Topology(label, frozenset(values), volume.name))
    return found


def _inside(topology: _Topology, table: NodeTable, rows: Rows) -> NDArray[np.bool_]:
    column = table.label(topology.label)
    numbers = column.ids[rows]
    inside = np.isin(numbers, [column.find(value) for value in topology.values])
    successor = _SUCCESSOR.get(topology.label)
    if successor is None:
        return inside
    newer = table.label(successor)
    wanted = [newer.find(value) for value in topology.values]
    return np.where(numbers == ABSENT, np.isin(newer.ids[rows], wanted), inside)


def _delays_binding(_pod: Pod, _old: StorageClass | None, new: StorageClass | None) -> bool:
    return new is not None and new.binding_mode == WAIT_FOR_FIRST_CONSUMER


def _is_claimed(pod: Pod, _old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> bool:
    names = (volume.claim for volume in pod.spec.volumes)
    return new is not None and new.namespace == pod.namespace and new.name in names


def _topologies_changed(_pod: Pod, old: PersistentVolume | None, new: PersistentVolume | None) -> bool:
    return new is not None and (old is None or _topologies(old) != _topologies(new))
