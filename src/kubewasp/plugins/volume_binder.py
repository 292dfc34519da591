"""Volume matching for VolumeBinding: volumes or provisioning for the claims of a pod, for all nodes together.

The candidates of a claim depend on the node only by label requirements of volumes, classes and capacities, which are
evaluated for all rows together. Assumed bindings of pods in flight overlay the object store.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from kubewasp.k8s.csi_migration import BY_SOURCE
from kubewasp.k8s.storage import (
    WAIT_FOR_FIRST_CONSUMER,
    PersistentVolume,
    PersistentVolumeClaim,
    claim_name,
    uses_claim,
)
from kubewasp.state.label_masks import rows_matching_any, rows_matching_terms, single_label
from kubewasp.state.object_kinds import (
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kubewasp.framework.plugin import Rows
    from kubewasp.k8s.pods import Pod
    from kubewasp.k8s.selectors import Requirement
    from kubewasp.k8s.storage import StorageClass
    from kubewasp.state.node_table import NodeTable
    from kubewasp.state.object_kinds import ObjectKind
    from kubewasp.state.object_store import ObjectStore

    Mask = NDArray[np.bool_]
    Choice = NDArray[np.int64]

Promised = TypeVar("Promised", PersistentVolume, PersistentVolumeClaim)

# Reasons against a node, one bit each.
NODE_CONFLICT, BIND_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING = 1, 2, 4, 8
_NONE = -1


class BindingError(Exception):
    """An invalid or missing storage object, as opposed to a pod that does not fit."""


@dataclass(frozen=True, slots=True)
class PodClaims:
    """Claims of a pod by state. `candidates` are the volumes of each class of a delayed claim."""

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[tuple[PersistentVolumeClaim, StorageClass], ...]
    immediate: tuple[PersistentVolumeClaim, ...]
    candidates: dict[str, list[PersistentVolume]]


@dataclass(slots=True)
class Findings:
    """Rejections per row (bits, 0 if none), and the volume or provisioning of each claim there."""

    reasons: NDArray[np.int8]
    matches: list[tuple[PersistentVolumeClaim, Choice]] = field(default_factory=list)
    provisions: list[tuple[PersistentVolumeClaim, Mask]] = field(default_factory=list)


class Assumed(Generic[Promised]):
    """Objects of a kind with assumed changes over the store, until the store has a newer state."""

    def __init__(self, store: ObjectStore, kind: ObjectKind[Promised]) -> None:
        self._store = store
        self._kind: ObjectKind[Promised] = kind
        self._promised: dict[tuple[str, str], tuple[Promised | None, Promised]] = {}
        self.version = 0

    def get(self, name: str, namespace: str = "") -> Promised | None:
        stored = self._store.get(self._kind, name, namespace)
        known = self._promised.get((namespace, name))
        return stored if known is None else self._current(known, stored)

    def all(self) -> list[Promised]:
        if not self._promised:
            return list(self._store.all(self._kind))
        found = []
        for item in list(self._store.all(self._kind)):
            known = self._promised.get(_key(item))
            found.append(item if known is None else self._current(known, item) or item)
        return found

    def promise(self, promised: Promised) -> Promised | None:
        """Assumes the given state of an object; returns its stored state."""
        namespace, name = _key(promised)
        stored = self._store.get(self._kind, name, namespace)
        self._promised[namespace, name] = (stored, promised)
        self.version += 1
        return stored

    def take_back(self, promised: Promised) -> None:
        if self._promised.pop(_key(promised), None) is not None:
            self.version += 1

    def _current(self, known: tuple[Promised | None, Promised], stored: Promised | None) -> Promised | None:
        before, promised = known
        if stored is before or (stored is not None and before is not None and stored.manifest == before.manifest):
            return promised
        self.take_back(promised)
        return stored


def _key(item: PersistentVolume | PersistentVolumeClaim) -> tuple[str, str]:
    return ("", item.name) if isinstance(item, PersistentVolume) else (item.namespace, item.name)


class VolumeBinder:
    """Volume lookup and matching on the store with assumed changes."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self.volumes = Assumed(store, PERSISTENT_VOLUME)
        self.claims = Assumed(store, PERSISTENT_VOLUME_CLAIM)
        self._by_class: dict[str, list[PersistentVolume]] = {}
        self._by_class_version = (-1, -1)

    # ------------------------------------------------------------------ claims of a pod

    def claims_of(self, pod: Pod) -> PodClaims:
        """The claims of a pod. Raises BindingError for a missing claim."""
        bound: list[PersistentVolumeClaim] = []
        delayed: list[tuple[PersistentVolumeClaim, StorageClass]] = []
        immediate: list[PersistentVolumeClaim] = []
        for volume in pod.spec.volumes:
            if not uses_claim(volume):
                continue
            name = claim_name(pod, volume)
            claim = self.claims.get(name, pod.namespace)
            if claim is None:
                raise BindingError(f'persistentvolumeclaim "{name}" not found')
            if claim.is_bound:
                bound.append(claim)
                continue
            storage_class = self._delaying_class(claim)
            if storage_class is None or claim.volume:
                immediate.append(claim)
            else:
                delayed.append((claim, storage_class))
        names = {storage_class.name for _, storage_class in delayed}
        candidates = {name: self._volumes_of(name) for name in names}
        return PodClaims(tuple(bound), tuple(delayed), tuple(immediate), candidates)

    def _delaying_class(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        found = self._store.get(STORAGE_CLASS, claim.storage_class)
        if found is None:
            return None
        if not found.binding_mode:
            raise BindingError(f'VolumeBindingMode not set for StorageClass "{found.name}"')
        return found if found.binding_mode == WAIT_FOR_FIRST_CONSUMER else None

    def _volumes_of(self, storage_class: str) -> list[PersistentVolume]:
        version = (self._store.generation(PERSISTENT_VOLUME), self.volumes.version)
        if self._by_class_version != version:
            self._by_class = {}
            for volume in self.volumes.all():
                self._by_class.setdefault(volume.storage_class, []).append(volume)
            self._by_class_version = (version[0], self.volumes.version)
        return self._by_class.get(storage_class, [])

    # ------------------------------------------------------------------ nodes

    def find(self, claims: PodClaims, table: NodeTable, rows: Rows) -> Findings:
        """The rows where the claims can be bound, and their volumes there."""
        findings = Findings(np.zeros(len(rows), np.int8))
        self._check_bound(claims, table, rows, findings)
        if claims.delayed:
            self._find_delayed(claims, table, rows, findings)
        return findings

    def _check_bound(self, claims: PodClaims, table: NodeTable, rows: Rows, findings: Findings) -> None:
        """Checks bound claims; the first failed claim decides a row."""
        undecided = np.ones(len(rows), np.bool_)
        for claim in claims.bound:
            volume = self.volumes.get(claim.volume)
            if volume is None:
                findings.reasons[undecided] |= VOLUME_MISSING
                return
            reached = self.reaches(volume, table, rows)
            findings.reasons[undecided & ~reached] |= NODE_CONFLICT
            undecided &= reached

    def _find_delayed(self, claims: PodClaims, table: NodeTable, rows: Rows, findings: Findings) -> None:
        left = np.ones(len(rows), np.bool_)
        to_match, to_provision = [], []
        for claim, storage_class in claims.delayed:
            if claim.selected_node is None:
                to_match.append((claim, storage_class))
            else:
                left &= rows == _row(table, claim.selected_node)
                to_provision.append((claim, storage_class, left))
        findings.reasons[~left] |= BIND_CONFLICT
        chosen: dict[str, list[Choice]] = {}
        for claim, storage_class in sorted(to_match, key=lambda item: item[0].size.nanos):
            taken = chosen.setdefault(storage_class.name, [])
            choice = _choose(claim, claims.candidates[storage_class.name], taken, table, rows)
            taken.append(choice)
            findings.matches.append((claim, choice))
            if (choice == _NONE).any():
                to_provision.append((claim, storage_class, choice == _NONE))
        for claim, storage_class, wanted in to_provision:
            here = wanted & left
            allowed = rows_allowed(storage_class, table, rows)
            roomy = self.rows_with_space(claim, storage_class, table, rows)
            findings.reasons[here & ~allowed] |= BIND_CONFLICT
            findings.reasons[here & allowed & ~roomy] |= NOT_ENOUGH_SPACE
            findings.provisions.append((claim, here))
            left &= ~here | (allowed & roomy)

    def rows_with_space(
        self, claim: PersistentVolumeClaim, storage_class: StorageClass, table: NodeTable, rows: Rows
    ) -> Mask:
        """The rows with enough capacity for a new volume, where the driver publishes it."""
        driver = self._store.get(CSI_DRIVER, storage_class.provisioner)
        if claim.request is None or driver is None or not driver.checks_capacity:
            return np.ones(len(rows), np.bool_)
        size = claim.request.value()
        selectors = [
            capacity.topology.requirements
            for capacity in self._store.all(CSI_STORAGE_CAPACITY)
            if capacity.storage_class == storage_class.name
            and capacity.topology is not None
            and capacity.limit is not None
            and capacity.limit >= size
        ]
        return rows_matching_any(table, selectors, rows)

    def reaches(self, volume: PersistentVolume, table: NodeTable, rows: Rows) -> Mask:
        """Whether each row's node can access the volume, in-tree or by the CSI driver of the node."""
        reached = _reaches(volume, table, rows)
        plugin = BY_SOURCE.get(volume.source)
        if plugin is None or not plugin.is_migrated or not plugin.zone_key:
            return reached
        csi_nodes = [self._store.get(CSI_NODE, table.node(row).name) for row in rows.tolist()]
        migrated = np.array([item is not None and item.has_migrated(plugin.name) for item in csi_nodes], np.bool_)
        affinity = plugin.affinity(volume.affinity, volume.labels)
        if affinity is None or not migrated.any():
            return reached
        return np.where(migrated, rows_matching_terms(table, affinity, rows), reached)


def rows_allowed(storage_class: StorageClass, table: NodeTable, rows: Rows) -> Mask:
    """The rows where volumes of the class can be provisioned."""
    if not storage_class.provisions:
        return np.zeros(len(rows), np.bool_)
    if not storage_class.topologies:
        return np.ones(len(rows), np.bool_)
    return rows_matching_terms(table, storage_class.topologies, rows)


# ---------------------------------------------------------------------- matching


def _choose(
    claim: PersistentVolumeClaim,
    volumes: Sequence[PersistentVolume],
    taken: Sequence[Choice],
    table: NodeTable,
    rows: Rows,
) -> Choice:
    """The index of the volume for the claim per row: a pre-bound one, else the smallest; -1 if none."""
    if claim.selector_error:
        text = f"error creating internal label selector for claim: {claim.key}: {claim.selector_error}"
        raise BindingError(text)
    chosen = np.full(len(rows), _NONE, np.int64)
    undecided = np.ones(len(rows), np.bool_)
    suitable = []
    for place, volume in enumerate(volumes):
        if not _is_eligible(volume, claim):
            continue
        if volume.claim is not None:
            meant = undecided & _is_left(np.full(len(rows), place, np.int64), taken)
            chosen[meant & _reaches(volume, table, rows)] = place
            undecided &= ~meant
        elif _is_suitable(volume, claim):
            suitable.append(place)
    if undecided.any():
        suitable.sort(key=lambda place: volumes[place].capacity.nanos)
        for choice in _first_reached(suitable, len(taken) + 1, volumes, table, rows).T[::-1]:
            free = undecided & (choice != _NONE) & _is_left(choice, taken)
            chosen[free] = choice[free]
    return chosen


def _is_left(choice: Choice, taken: Sequence[Choice]) -> Mask:
    """Whether no other claim of the pod has the same volume on the same row."""
    left = np.ones(len(choice), np.bool_)
    for other in taken:
        left &= choice != other
    return left


def _is_eligible(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Conditions for all volumes, pre-bound ones included."""
    return (
        (volume.claim is None or volume.is_bound_to(claim))
        and volume.capacity.nanos >= claim.size.nanos
        and volume.volume_mode == claim.volume_mode
        and volume.attributes_class == claim.attributes_class
        and not volume.is_deleting
    )


def _is_suitable(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    return (
        volume.phase == "Available"
        and (claim.selector is None or claim.selector.matches(volume.labels))
        and claim.access_modes <= volume.access_modes
    )


def _first_reached(
    suitable: Sequence[int], limit: int, volumes: Sequence[PersistentVolume], table: NodeTable, rows: Rows
) -> NDArray[np.int64]:
    """The first `limit` suitable volumes accessible from each row; -1 where there are no more.

    Volumes with a requirement on one label, such as local volumes, are looked up by the value of the label.
    """
    none = len(suitable)
    ranks = np.full((len(rows), limit), none, np.int64)
    by_label: dict[str, dict[int, list[int]]] = {}
    everywhere = 0
    for rank, place in enumerate(suitable):
        label = _only_label(volumes[place])
        if label is not None:
            column = table.label(label.key)
            for value in set(label.values):
                by_label.setdefault(label.key, {}).setdefault(column.find(value), []).append(rank)
            continue
        reached = _reaches(volumes[place], table, rows)
        ranks = _smallest(ranks, np.where(reached, rank, none)[:, np.newaxis])
        everywhere += bool(reached.all())
        if everywhere == limit:
            break
    for key, known in by_label.items():
        column = table.label(key)
        of_value = np.full((len(column.values), limit), none, np.int64)
        for number, found in known.items():
            if number >= 0:
                of_value[number, : len(found)] = found[:limit]
        ranks = _smallest(ranks, of_value[column.ids[rows]])
    return np.array([*suitable, _NONE], np.int64).take(ranks)


def _smallest(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """The smallest values per row, as many as `left` has."""
    return np.sort(np.hstack((left, right)), axis=1)[:, : left.shape[1]]


def _only_label(volume: PersistentVolume) -> Requirement | None:
    terms = volume.affinity
    if terms is None or len(terms) != 1 or terms[0].fields or terms[0].invalid:
        return None
    return single_label(terms[0].expressions)


def _reaches(volume: PersistentVolume, table: NodeTable, rows: Rows) -> Mask:
    if volume.affinity is None:
        return np.ones(len(rows), np.bool_)
    return rows_matching_terms(table, volume.affinity, rows)


def _row(table: NodeTable, node: str) -> int:
    row = table.row(node)
    return _NONE if row is None else row
