"""VolumeRestrictions: exclusive inline disks and ReadWriteOncePod claims."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from kubewasp.k8s.storage import READ_WRITE_ONCE_POD
from kubewasp.plugins.hint_texts import few
from kubewasp.state.object_kinds import PERSISTENT_VOLUME_CLAIM
from kubewasp.state.volume_index import EXCLUSIVE_DISKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows
    from kubewasp.k8s.pods import Pod, PodSpec, Volume
    from kubewasp.k8s.storage import PersistentVolumeClaim
    from kubewasp.state.node_table import NodeTable

_SKIP = PreFilterResult(Status(Code.SKIP))
_DISK, _CLAIM = 1, 2
_STATUSES = (
    SUCCESS,
    rejection("node(s) had no available disk", resolvable=True),
    rejection(
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod",
        resolvable=True,
    ),
)


@dataclass(slots=True)
class _Conflicts:
    """The ReadWriteOncePod claims of the pod, and the number of their uses by other pods."""

    claims: frozenset[str]
    count: int

    def clone(self) -> _Conflicts:
        return replace(self)


_CONFLICTS = StateKey[_Conflicts]("VolumeRestrictions")
_HOLDERS = StateKey[list[str]]("VolumeRestrictions/holders")


class VolumeRestrictions(PreFilterPlugin, FilterPlugin, EnqueueExtensions, RejectionHints):
    """Pods without exclusive disks skip it, unless another pod uses one of their ReadWriteOncePod claims."""

    name = "VolumeRestrictions"

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        self._store = handle.store

    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult:
        if not pod.spec.volumes:
            return _SKIP
        exclusive = set()
        for volume in pod.spec.volumes:
            if volume.source != "persistentVolumeClaim":
                continue
            claim = self._store.get(PERSISTENT_VOLUME_CLAIM, volume.claim, pod.namespace)
            if claim is None:
                text = f'persistentvolumeclaim "{volume.claim}" not found'
                return PreFilterResult(rejection(text, resolvable=False))
            if READ_WRITE_ONCE_POD in claim.access_modes:
                exclusive.add(volume.claim)
        used = sum((pod.namespace, claim) in table.volumes.claims for claim in exclusive)
        if not used and not _disks(pod.spec):
            return _SKIP
        state[_CONFLICTS] = _Conflicts(frozenset(exclusive), used)
        return PreFilterResult()

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, row: int, table: NodeTable) -> Status:
        conflicts = state[_CONFLICTS]
        conflicts.count += _uses(added, conflicts.claims)
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, row: int, table: NodeTable) -> Status:
        conflicts = state[_CONFLICTS]
        conflicts.count -= _uses(removed, conflicts.claims)
        return SUCCESS

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        conflicts = state[_CONFLICTS]
        numbers = np.full(len(rows), _CLAIM if conflicts.count > 0 else 0, np.int8)
        if _disks(pod.spec):
            numbers[_rows_with_conflict(pod.spec, table)[rows]] = _DISK
        return Verdicts(numbers, _STATUSES) if np.count_nonzero(numbers) else None

    def pod_hints(self, state: CycleState, pod: Pod, table: NodeTable) -> Sequence[str]:
        names = [volume.claim for volume in pod.spec.volumes if volume.source == "persistentVolumeClaim"]
        missing = [name for name in names if self._store.get(PERSISTENT_VOLUME_CLAIM, name, pod.namespace) is None]
        return [f"PersistentVolumeClaim {pod.namespace}/{name}" for name in missing]

    def node_hints(self, state: CycleState, pod: Pod, table: NodeTable, row: int) -> Sequence[str]:
        found = []
        for disk in _disks(pod.spec):
            others = [
                other.key
                for other in table.pods_on[row].values()
                if any(_conflict(disk, theirs) for theirs in _disks(other.spec))
            ]
            if others:
                found.append(f"volume {disk.name} free, its disk is used by {few(others)}")
        conflicts = state[_CONFLICTS]
        return [*found, *self._claim_hints(state, pod, table)] if conflicts.count > 0 else found

    def _claim_hints(self, state: CycleState, pod: Pod, table: NodeTable) -> list[str]:
        """The users of the exclusive claims, searched once per attempt."""
        known = state.shared(_HOLDERS)
        if known is None:
            claims = state[_CONFLICTS].claims
            known = [
                f"claim {volume.claim} free, {other.key} on {other.node} uses it"
                for others in table.pods_on
                for other in others.values()
                for volume in other.spec.volumes
                if volume.claim in claims and other.namespace == pod.namespace
            ]
            state.share(_HOLDERS, known)
        return known

    def events(self) -> Sequence[Registration]:
        return [
            Registration("Pod", Action.DELETE, _freed),
            Registration("Node", Action.ADD),
            Registration("PersistentVolumeClaim", Action.ADD, _is_claimed),
        ]


def _rows_with_conflict(spec: PodSpec, table: NodeTable) -> NDArray[np.bool_]:
    mask = np.zeros(table.capacity, np.bool_)
    for other, counts in table.volumes.with_disks.items():
        if _share_disk(spec, other):
            mask[counts.rows()] = True
    return mask


def _uses(pod: Pod, claims: frozenset[str]) -> int:
    # By name only, in any namespace, as in trials of kube-scheduler.
    return sum(volume.claim in claims for volume in pod.spec.volumes if volume.claim)


def _disks(spec: PodSpec) -> list[Volume]:
    return [volume for volume in spec.volumes if volume.source in EXCLUSIVE_DISKS]


def _share_disk(spec: PodSpec, other: PodSpec) -> bool:
    return any(_conflict(mine, theirs) for mine in _disks(spec) for theirs in _disks(other))


def _conflict(mine: Volume, theirs: Volume) -> bool:
    """Whether two volumes are the same disk and at least one is writable."""
    if mine.source != theirs.source:
        return False
    here, there = mine.details, theirs.details
    if mine.source == "awsElasticBlockStore":
        return bool(here.get("volumeID") == there.get("volumeID"))
    if here.get("readOnly") and there.get("readOnly"):
        return False
    if mine.source == "gcePersistentDisk":
        return bool(here.get("pdName") == there.get("pdName"))
    if mine.source == "iscsi":
        return bool(here.get("iqn") == there.get("iqn"))
    return _image(here) == _image(there) and not set(here.get("monitors") or ()).isdisjoint(there.get("monitors") or ())


def _image(details: Mapping[str, Any]) -> tuple[str, str]:
    return details.get("pool") or "rbd", details.get("image") or ""


def _freed(pod: Pod, old: Pod | None, _new: Pod | None) -> bool:
    if old is None or old.namespace != pod.namespace:
        return False
    claims = {volume.claim for volume in old.spec.volumes if volume.claim}
    return _share_disk(pod.spec, old.spec) or any(volume.claim in claims for volume in pod.spec.volumes)


def _is_claimed(pod: Pod, _old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> bool:
    names = (volume.claim for volume in pod.spec.volumes)
    return new is not None and new.namespace == pod.namespace and new.name in names
