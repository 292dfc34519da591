"""NodeVolumeLimits: volume limits of CSI drivers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from kubewasp.framework.cluster_events import Action
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
from kubewasp.k8s.csi_migration import BY_NAME, BY_SOURCE
from kubewasp.k8s.storage import claim_name, not_owner, uses_claim
from kubewasp.state.object_kinds import (
    CSI_NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    VOLUME_ATTACHMENT,
)
from kubewasp.state.volume_index import may_attach

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows
    from kubewasp.k8s.pods import Pod, Volume
    from kubewasp.k8s.storage import CsiNode, PersistentVolume, PersistentVolumeClaim, VolumeAttachment
    from kubewasp.state.node_table import NodeTable

    # Drivers by the unique ids of volumes.
    Volumes = dict[str, str]

_TOO_MANY = rejection("node(s) exceed max volume count", resolvable=True)
_NO_LIMIT = -1


class NodeVolumeLimits(PreFilterPlugin, FilterPlugin, EnqueueExtensions, RejectionHints):
    """Exact counts are limited to nodes that an upper bound of their volumes does not rule out."""

    name = "NodeVolumeLimits"

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        self._store = handle.store
        self._limits: dict[str, tuple[tuple[int, ...], NDArray[np.int64]]] = {}
        self._attachments: tuple[int, dict[str, list[VolumeAttachment]]] = (-1, {})

    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult:
        if any(may_attach(volume) for volume in pod.spec.volumes):
            return PreFilterResult()
        return PreFilterResult(Status(Code.SKIP))

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        new: Volumes = {}
        problem = self._collect(pod, new, is_new=True)
        if not problem.is_success:
            return Verdicts(np.ones(len(rows), np.bool_), (SUCCESS, problem))
        numbers = np.zeros(len(rows), np.bool_)
        at_most = self._attached_at_most(table)
        for driver, count in Counter(new.values()).items():
            limits = self._limits_of(driver, table)[rows]
            numbers |= (limits != _NO_LIMIT) & (at_most[rows] + count > limits)
        for index in np.flatnonzero(numbers).tolist():
            numbers[index] = self._exceeds(new, int(rows[index]), table)
        return Verdicts(numbers, (SUCCESS, _TOO_MANY)) if np.count_nonzero(numbers) else None

    # ------------------------------------------------------------------ volumes of a node

    def _attached_at_most(self, table: NodeTable) -> NDArray[np.int64]:
        """An upper bound of the volumes per row: volumes shared by pods count several times."""
        counts = table.volumes.attachable.astype(np.int64)
        for node, attachments in self._attachments_by_node().items():
            row = table.row(node)
            if row is not None:
                counts[row] += len(attachments)
        return counts

    def _exceeds(self, new: Volumes, row: int, table: NodeTable) -> bool:
        return any(count + more > limit for _, count, more, limit in self._counts(new, row, table))

    def _counts(self, new: Volumes, row: int, table: NodeTable) -> list[tuple[str, int, int, int]]:
        """Attached volumes, new volumes and the limit on a node, by driver with a limit."""
        node = table.node(row).name
        attached: Volumes = {}
        for pod in table.pods_on[row].values():
            if pod.spec.volumes:
                self._collect(pod, attached, is_new=False)
        # As in kube-scheduler: an attached volume that no pod on the node uses counts again as a new one.
        more = Counter(driver for volume, driver in new.items() if volume not in attached)
        for attachment in self._attachments_by_node().get(node, ()):
            volume = self._store.get(PERSISTENT_VOLUME, attachment.volume)
            if volume is not None and volume.source == "csi":
                attached.update(_persistent(volume))
        csi_node = self._store.get(CSI_NODE, node)
        limits = {} if csi_node is None else csi_node.limits
        counts = Counter(attached.values())
        return [(driver, counts[driver], count, limits[driver]) for driver, count in more.items() if driver in limits]

    def _attachments_by_node(self) -> dict[str, list[VolumeAttachment]]:
        generation = self._store.generation(VOLUME_ATTACHMENT)
        if self._attachments[0] != generation:
            by_node: dict[str, list[VolumeAttachment]] = {}
            for attachment in self._store.all(VOLUME_ATTACHMENT):
                if attachment.volume:
                    by_node.setdefault(attachment.node, []).append(attachment)
            self._attachments = (generation, by_node)
        return self._attachments[1]

    def _limits_of(self, driver: str, table: NodeTable) -> NDArray[np.int64]:
        """The volume limit of a driver per row."""
        version = (self._store.generation(CSI_NODE), table.objects.generation, table.capacity)
        known = self._limits.get(driver)
        if known is None or known[0] != version:
            limits = np.full(table.capacity, _NO_LIMIT, np.int64)
            for csi_node in self._store.all(CSI_NODE):
                row = table.row(csi_node.name)
                if row is not None:
                    limits[row] = csi_node.limits.get(driver, _NO_LIMIT)
            known = self._limits[driver] = (version, limits)
        return known[1]

    # ------------------------------------------------------------------ volumes of a pod

    def _collect(self, pod: Pod, volumes: Volumes, *, is_new: bool) -> Status:
        """Adds the volumes of a pod that CSI drivers attach. Nodes without a CSINode have no limits."""
        for volume in pod.spec.volumes:
            if not uses_claim(volume):
                volumes.update(_inline(volume))
                continue
            name = claim_name(pod, volume)
            claim = self._store.get(PERSISTENT_VOLUME_CLAIM, name, pod.namespace)
            if claim is None:
                if is_new:
                    text = f'looking up PVC {pod.namespace}/{name}: persistentvolumeclaim "{name}" not found'
                    return rejection(text, resolvable=False)
            elif not volume.is_ephemeral or claim.is_controlled_by(pod):
                volumes.update(self._claimed(claim))
            elif is_new:
                return Status(Code.ERROR, not_owner(pod, claim))
        return SUCCESS

    def _claimed(self, claim: PersistentVolumeClaim) -> Iterable[tuple[str, str]]:
        volume = self._store.get(PERSISTENT_VOLUME, claim.volume) if claim.volume else None
        if volume is not None:
            return _persistent(volume)
        storage_class = self._store.get(STORAGE_CLASS, claim.storage_class) if claim.storage_class else None
        if storage_class is None:
            return ()
        plugin = BY_NAME.get(storage_class.provisioner)
        if plugin is None:
            driver = storage_class.provisioner
        elif plugin.is_migrated:
            driver = plugin.driver
        else:
            return ()
        # A placeholder handle for the future volume of the claim.
        return [_identified(driver, f"claim:{claim.key}")] if driver else ()

    def node_hints(self, state: CycleState, pod: Pod, table: NodeTable, row: int) -> Sequence[str]:
        new: Volumes = {}
        if not self._collect(pod, new, is_new=True).is_success:
            names = [claim_name(pod, volume) for volume in pod.spec.volumes if uses_claim(volume)]
            missing = [name for name in names if self._store.get(PERSISTENT_VOLUME_CLAIM, name, pod.namespace) is None]
            return [f"PersistentVolumeClaim {pod.namespace}/{name}" for name in missing]
        return [
            f"{count + more - limit} fewer volumes of {driver} (limit {limit}, attached {count}, new {more})"
            for driver, count, more, limit in self._counts(new, row, table)
            if count + more > limit
        ]

    # ------------------------------------------------------------------ events

    def events(self) -> Sequence[Registration]:
        return [
            Registration("CSINode", Action.ADD),
            Registration("CSINode", Action.UPDATE, _limit_grew),
            Registration("Pod", Action.DELETE, _freed),
            Registration("PersistentVolumeClaim", Action.ADD, _is_claimed),
            Registration("VolumeAttachment", Action.DELETE, _detached),
        ]


def _identified(driver: str, handle: str) -> tuple[str, str]:
    return f"{driver}/{handle}", driver


def _inline(volume: Volume) -> Iterable[tuple[str, str]]:
    plugin = BY_SOURCE.get(volume.source)
    if plugin is None or not plugin.is_migrated:
        return ()
    return [_identified(plugin.driver, plugin.handle(volume.details, {}))]


def _persistent(volume: PersistentVolume) -> Iterable[tuple[str, str]]:
    plugin = BY_SOURCE.get(volume.source)
    if volume.source == "csi":
        driver, handle = volume.details.get("driver") or "", volume.details.get("volumeHandle") or ""
    elif plugin is not None and plugin.is_migrated:
        driver, handle = plugin.driver, plugin.handle(volume.details, volume.labels)
    else:
        return ()
    return [_identified(driver, handle)] if driver and handle else ()


def _limit_grew(_pod: Pod, old: CsiNode | None, new: CsiNode | None) -> bool:
    before = {} if old is None else old.limits
    return new is not None and any(count > before.get(driver, 0) for driver, count in new.limits.items())


def _freed(_pod: Pod, old: Pod | None, _new: Pod | None) -> bool:
    if old is None or not (old.node or old.nominated_node):
        return False
    return any(may_attach(volume) for volume in old.spec.volumes)


def _is_claimed(pod: Pod, _old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> bool:
    names = (claim_name(pod, volume) for volume in pod.spec.volumes)
    return new is not None and new.namespace == pod.namespace and new.name in names


def _detached(pod: Pod, old: VolumeAttachment | None, _new: VolumeAttachment | None) -> bool:
    drivers = (BY_SOURCE[volume.source].driver for volume in pod.spec.volumes if volume.source in BY_SOURCE)
    return any(volume.claim for volume in pod.spec.volumes) or (old is not None and old.attacher in drivers)
