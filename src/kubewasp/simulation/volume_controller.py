"""Volume controllers of a simulated cluster: binding of claims, provisioning and phases of volumes.

Deterministic and without delays: the result depends only on the objects and their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.k8s.storage import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PROVISIONED_BY,
    WAIT_FOR_FIRST_CONSUMER,
    bound_to,
    changed,
    claim_name,
    parse_volume,
)
from kubewasp.state.object_kinds import CSI_NODE, PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, STORAGE_CLASS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kubewasp.k8s.pods import Pod
    from kubewasp.k8s.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
    from kubewasp.state.object_store import ObjectStore

    Key = tuple[str, str]

_VOLUME, _CLAIM = PERSISTENT_VOLUME.name, PERSISTENT_VOLUME_CLAIM.name
_SETTLED = ("Bound", "Released", "Failed")


class VolumeController:
    """Queues changes of the store; `sync` processes them.

    `labels_of` returns the labels of a node: volumes provisioned for it are accessible from its topology.
    """

    def __init__(self, store: ObjectStore, labels_of: Callable[[str], Mapping[str, str]] | None = None) -> None:
        self._store = store
        self._labels_of = labels_of or (lambda _node: {})
        self._todo: dict[tuple[str, Key], None] = {}
        self._free: dict[str, dict[str, None]] = {}
        # Pending claims: by storage class, and by the name of the volume they request.
        self._waiting: dict[str, dict[Key, None]] = {}
        self._waiting_for: dict[str, dict[Key, None]] = {}
        self._deleted: set[Key] = set()
        for volume in store.all(PERSISTENT_VOLUME):
            self._note(_VOLUME, None, volume)
        for claim in store.all(PERSISTENT_VOLUME_CLAIM):
            self._note(_CLAIM, None, claim)
        store.subscribe(self._note)

    def sync(self) -> None:
        """Processes queued changes until none is left."""
        while self._todo:
            kind, (namespace, name) = work = next(iter(self._todo))
            del self._todo[work]
            if kind == _VOLUME:
                volume = self._store.get(PERSISTENT_VOLUME, name)
                if volume is not None:
                    self._sync_volume(volume)
            else:
                claim = self._store.get(PERSISTENT_VOLUME_CLAIM, name, namespace)
                if claim is not None:
                    self._sync_claim(claim)

    def create_claims_of(self, pod: Pod) -> None:
        """Creates the claims of a pod's ephemeral volumes, owned by the pod."""
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
        for volume in pod.spec.volumes:
            name = claim_name(pod, volume)
            if not volume.is_ephemeral or self._store.has(_CLAIM, name, pod.namespace):
                continue
            template = volume.details.get("volumeClaimTemplate") or {}
            metadata = {**(template.get("metadata") or {}), "name": name, "namespace": pod.namespace}
            self._store.put(
                {
                    "apiVersion": "v1",
                    "kind": _CLAIM,
                    "metadata": {**metadata, "ownerReferences": [owner]},
                    "spec": template.get("spec") or {},
                }
            )
        self.sync()

    # ------------------------------------------------------------------ queue of changes

    def _note(self, kind: str, old: Any, new: Any) -> None:
        if kind == _VOLUME:
            self._note_volume(old, new)
        elif kind == _CLAIM:
            item = old if new is None else new
            key = (item.namespace, item.name)
            self._todo[_CLAIM, key] = None
            self._waiting.get(item.storage_class, {}).pop(key, None)
            if item.volume:
                self._todo[_VOLUME, ("", item.volume)] = None
            if new is None:
                self._deleted.add(key)
            else:
                self._deleted.discard(key)
        elif kind == STORAGE_CLASS.name:
            for claim in self._store.all(PERSISTENT_VOLUME_CLAIM):
                if not claim.is_bound:
                    self._todo[_CLAIM, (claim.namespace, claim.name)] = None

    def _note_volume(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        if old is not None:
            self._free.get(old.storage_class, {}).pop(old.name, None)
        if new is not None:
            self._todo[_VOLUME, ("", new.name)] = None
            self._wake(self._waiting_for, new.name)
            if new.phase not in _SETTLED:
                self._free.setdefault(new.storage_class, {})[new.name] = None
        for volume in (old, new):
            if volume is not None and volume.claim is not None:
                self._todo[_CLAIM, (volume.claim.namespace, volume.claim.name)] = None

    def _wake(self, waiting: dict[str, dict[Key, None]], name: str) -> None:
        for key in waiting.pop(name, {}):
            self._todo[_CLAIM, key] = None

    # ------------------------------------------------------------------ volumes

    def _sync_volume(self, volume: PersistentVolume) -> None:
        reference = volume.claim
        if reference is None:
            self._set_phase(volume, "Available")
            self._wake(self._waiting, volume.storage_class)
            return
        claim = self._store.get(PERSISTENT_VOLUME_CLAIM, reference.name, reference.namespace)
        if claim is not None and volume.is_bound_to(claim):
            if not claim.is_bound:
                self._set_phase(volume, volume.phase or "Available")
            elif claim.volume == volume.name:
                self._set_phase(volume, "Bound")
        elif (reference.namespace, reference.name) in self._deleted and volume.phase == "Bound":
            self._reclaim(volume)
        else:  # objects arrive in any order: the claim may follow
            self._set_phase(volume, volume.phase or "Available")

    def _reclaim(self, volume: PersistentVolume) -> None:
        """Releases or deletes a volume after its claim."""
        if (volume.manifest.get("spec") or {}).get("persistentVolumeReclaimPolicy") == "Delete":
            self._store.delete(_VOLUME, "", volume.name)
        else:
            self._set_phase(volume, "Released")

    # ------------------------------------------------------------------ claims

    def _sync_claim(self, claim: PersistentVolumeClaim) -> None:
        if not claim.volume:
            self._find_volume(claim)
            return
        volume = self._store.get(PERSISTENT_VOLUME, claim.volume)
        if volume is not None and (_belongs_to(volume, claim) if claim.is_bound else _may_be_bound(volume, claim)):
            self._bind(volume, claim)
            return
        self._set_phase(claim, "Lost" if claim.is_bound else "Pending")
        self._waiting_for.setdefault(claim.volume, {})[claim.namespace, claim.name] = None

    def _find_volume(self, claim: PersistentVolumeClaim) -> None:
        if not claim.names_class:
            default = self._default_class()
            if default is not None:
                self._write(changed(claim.manifest, spec={"storageClassName": default.name}), claim)
                return
        storage_class = self._store.get(STORAGE_CLASS, claim.storage_class)
        delays = storage_class is not None and storage_class.binding_mode == WAIT_FOR_FIRST_CONSUMER
        volume = self._match(claim, delays=delays)
        if volume is not None:
            self._bind(volume, claim)
        elif storage_class is not None and storage_class.provisions and (not delays or claim.selected_node):
            self._bind(self._provision(claim, storage_class), claim)
        else:
            self._set_phase(claim, "Pending")
            if not delays:
                self._waiting.setdefault(claim.storage_class, {})[claim.namespace, claim.name] = None

    def _default_class(self) -> StorageClass | None:
        """The newest default class."""
        defaults = sorted(
            (item for item in self._store.all(STORAGE_CLASS) if item.is_default), key=lambda item: item.name
        )
        return max(defaults, key=lambda item: item.created, default=None)

    def _match(self, claim: PersistentVolumeClaim, *, delays: bool) -> PersistentVolume | None:
        """The volume reserved for the claim, else the smallest with the fewest access modes beyond the requested ones.

        Claims with WaitForFirstConsumer get a reserved volume only.
        """
        free = (self._store.get(PERSISTENT_VOLUME, name) for name in self._free.get(claim.storage_class, {}))
        fitting = [volume for volume in free if volume is not None and _fits(volume, claim)]
        meant = [volume for volume in fitting if volume.is_bound_to(claim)]
        if meant:
            return meant[0]
        if delays:
            return None
        suitable = [
            volume
            for volume in fitting
            if volume.claim is None
            and volume.phase == "Available"
            and not claim.selector_error
            and (claim.selector is None or claim.selector.matches(volume.labels))
        ]
        return min(suitable, key=lambda volume: (len(volume.access_modes), volume.capacity.nanos), default=None)

    def _bind(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        """Writes both sides of the binding, if they differ."""
        owned = bound_to(volume, claim)
        self._write(changed(owned.manifest, status={"phase": "Bound"}), volume)
        annotations = dict((claim.manifest.get("metadata") or {}).get("annotations") or {})
        if not claim.volume:
            annotations[BOUND_BY_CONTROLLER] = "yes"
        annotations.setdefault(BIND_COMPLETED, "yes")
        spec = volume.manifest.get("spec") or {}
        granted = {"accessModes": spec.get("accessModes") or [], "capacity": spec.get("capacity") or {}}
        self._write(
            changed(
                claim.manifest,
                metadata={"annotations": annotations},
                spec={"volumeName": volume.name},
                status={"phase": "Bound", **granted},
            ),
            claim,
        )

    # ------------------------------------------------------------------ provisioning

    def _provision(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> PersistentVolume:
        name = f"pvc-{claim.uid or f'{claim.namespace}-{claim.name}'}"
        spec: dict[str, Any] = {
            "capacity": {"storage": str(claim.size)},
            "accessModes": sorted(claim.access_modes),
            "volumeMode": claim.volume_mode,
            "storageClassName": storage_class.name,
            "persistentVolumeReclaimPolicy": storage_class.reclaim_policy,
            "csi": {"driver": storage_class.provisioner, "volumeHandle": name},
        }
        if claim.attributes_class:
            spec["volumeAttributesClassName"] = claim.attributes_class
        terms = self._topology(claim, storage_class)
        if terms:
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
        metadata = {"name": name, "annotations": {PROVISIONED_BY: storage_class.provisioner}}
        volume = parse_volume({"apiVersion": "v1", "kind": _VOLUME, "metadata": metadata, "spec": spec})
        return self._store.put_parsed(PERSISTENT_VOLUME, ("", name), volume)

    def _topology(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> list[dict[str, Any]]:
        """Topology of a new volume: that of the selected node by its driver, else those allowed by the class."""
        if claim.selected_node:
            labels = self._labels_of(claim.selected_node)
            csi_node = self._store.get(CSI_NODE, claim.selected_node)
            keys: Iterable[str] = () if csi_node is None else csi_node.topology_keys.get(storage_class.provisioner, ())
            keys = keys or {r.key: None for term in storage_class.topologies for r in term.expressions}
            same = {key: [labels[key]] for key in keys if key in labels}
            return [_term(same)] if same else []
        return [_term({r.key: r.values for r in term.expressions}) for term in storage_class.topologies]

    # ------------------------------------------------------------------ writing

    def _set_phase(self, item: PersistentVolume | PersistentVolumeClaim, phase: str) -> None:
        self._write(changed(item.manifest, status={"phase": phase}), item)

    def _write(self, manifest: Mapping[str, Any], before: PersistentVolume | PersistentVolumeClaim) -> None:
        if manifest != before.manifest:
            self._store.put(manifest)


def _fits(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    return (
        _belongs_to(volume, claim)
        and volume.capacity.nanos >= claim.size.nanos
        and volume.volume_mode == claim.volume_mode
        and volume.attributes_class == claim.attributes_class
        and claim.access_modes <= volume.access_modes
        and not volume.is_deleting
    )


def _belongs_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    return volume.claim is None or volume.is_bound_to(claim)


def _may_be_bound(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a claim can be bound to the volume it requests by name."""
    return volume.storage_class == claim.storage_class and _fits(volume, claim)


def _term(values: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    return {
        "matchExpressions": [{"key": key, "operator": "In", "values": list(wanted)} for key, wanted in values.items()]
    }
