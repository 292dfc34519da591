"""One-line volumes, claims and classes for tests, and a client that binds volumes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.framework.cycle_state import CycleState
from kubewasp.k8s.storage import BIND_COMPLETED, SELECTED_NODE
from kubewasp.state.object_store import ObjectStore
from tests.plugins.building import FakeClient, make_pod

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.plugin import EnqueueExtensions, PreFilterPlugin
    from kubewasp.framework.status import Status
    from kubewasp.k8s.pods import Pod
    from kubewasp.simulation.volume_controller import VolumeController
    from kubewasp.state.node_table import NodeTable

Manifest = dict[str, Any]


def volume(
    name: str,
    size: str = "10Gi",
    *,
    storage_class: str = "",
    modes: Sequence[str] = ("ReadWriteOnce",),
    labels: Mapping[str, str] | None = None,
    claim: str = "",
    claim_uid: str = "",
    affinity: Mapping[str, Sequence[str]] | None = None,
    phase: str = "Available",
    deleting: bool = False,
    **spec: Any,
) -> Manifest:
    """A PersistentVolume. `affinity` are labels with the values a node may have; `claim` is `namespace/name`."""
    body: Manifest = {
        "capacity": {"storage": size},
        "accessModes": list(modes),
        "storageClassName": storage_class,
        **spec,
    }
    if claim:
        namespace, _, claim_name = claim.rpartition("/")
        body["claimRef"] = {"namespace": namespace or "default", "name": claim_name, "uid": claim_uid}
    if affinity is not None:
        expressions = [{"key": k, "operator": "In", "values": list(v)} for k, v in affinity.items()]
        body["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}
    metadata: Manifest = {"name": name, "labels": dict(labels or {})}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"kind": "PersistentVolume", "metadata": metadata, "spec": body, "status": {"phase": phase}}


def csi(driver: str, handle: str) -> Manifest:
    return {"csi": {"driver": driver, "volumeHandle": handle}}


def claim(
    name: str,
    size: str | None = "5Gi",
    *,
    namespace: str = "default",
    storage_class: str | None = None,
    modes: Sequence[str] = ("ReadWriteOnce",),
    volume: str = "",
    bound: bool | None = None,
    uid: str = "",
    phase: str = "",
    selected_node: str | None = None,
    deleting: bool = False,
    owner: str = "",
    **spec: Any,
) -> Manifest:
    """A PersistentVolumeClaim; one that names a volume is bound, unless `bound` says otherwise."""
    annotations = {}
    if bound if bound is not None else volume:
        annotations[BIND_COMPLETED] = "yes"
    if selected_node is not None:
        annotations[SELECTED_NODE] = selected_node
    metadata: Manifest = {"name": name, "namespace": namespace, "annotations": annotations, "uid": uid}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if owner:
        metadata["ownerReferences"] = [{"kind": "Pod", "name": owner, "controller": True}]
    body: Manifest = {"accessModes": list(modes), **spec}
    if size is not None:
        body["resources"] = {"requests": {"storage": size}}
    if storage_class is not None:
        body["storageClassName"] = storage_class
    if volume:
        body["volumeName"] = volume
    return {"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": body, "status": {"phase": phase}}


def storage_class(
    name: str, provisioner: str = "kubernetes.io/no-provisioner", *, delayed: bool = True, **fields: Any
) -> Manifest:
    mode = "WaitForFirstConsumer" if delayed else "Immediate"
    return {
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **fields,
    }


def topology(*values: Mapping[str, Sequence[str]]) -> list[Manifest]:
    """`allowedTopologies`: a term for each mapping."""
    return [{"matchLabelExpressions": [{"key": k, "values": list(v)} for k, v in term.items()]} for term in values]


def csi_node(name: str, limits: Mapping[str, int | None] | None = None, migrated: str = "") -> Manifest:
    drivers = [
        {"name": driver, "nodeID": name, **({} if count is None else {"allocatable": {"count": count}})}
        for driver, count in (limits or {}).items()
    ]
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": migrated} if migrated else {}
    return {"kind": "CSINode", "metadata": {"name": name, "annotations": annotations}, "spec": {"drivers": drivers}}


def csi_driver(name: str, *, capacity: bool = True) -> Manifest:
    return {"kind": "CSIDriver", "metadata": {"name": name}, "spec": {"storageCapacity": capacity}}


def capacity(
    name: str,
    storage_class: str,
    labels: Mapping[str, str] | None,
    size: str | None = "10Gi",
    largest: str | None = None,
) -> Manifest:
    item: Manifest = {"kind": "CSIStorageCapacity", "metadata": {"name": name}, "storageClassName": storage_class}
    if labels is not None:
        item["nodeTopology"] = {"matchLabels": dict(labels)}
    if size is not None:
        item["capacity"] = size
    if largest is not None:
        item["maximumVolumeSize"] = largest
    return item


def attachment(name: str, node: str, volume: str, attacher: str = "") -> Manifest:
    spec = {"attacher": attacher, "nodeName": node, "source": {"persistentVolumeName": volume}}
    return {"kind": "VolumeAttachment", "metadata": {"name": name}, "spec": spec}


def claiming(*claims: str, ephemeral: Sequence[str] = (), inline: Sequence[Manifest] = (), **pod: Any) -> Pod:
    """A pod with a volume for each claim, for each ephemeral volume and for each inline source."""
    volumes: list[Manifest] = [
        {"name": f"claim-{number}", "persistentVolumeClaim": {"claimName": name}} for number, name in enumerate(claims)
    ]
    volumes += [{"name": name, "ephemeral": {"volumeClaimTemplate": {}}} for name in ephemeral]
    volumes += [{"name": f"inline-{number}", **source} for number, source in enumerate(inline)]
    return make_pod(volumes=volumes, **pod)


class BindingClient(FakeClient):
    """Writes to the store and lets the volume controller do its work, as a simulated cluster does."""

    def __init__(self, store: ObjectStore, controller: VolumeController) -> None:
        super().__init__()
        self._store = store
        self._controller = controller

    def update(self, manifest: Mapping[str, Any]) -> Status:
        status = super().update(manifest)
        if status.is_success:
            self._store.put(manifest)
            self._controller.sync()
        return status


def pre_filtered(plugin: PreFilterPlugin, pod: Pod, table: NodeTable) -> tuple[Status, CycleState]:
    state = CycleState()
    return plugin.pre_filter(state, pod, table).status, state


def hint(plugin: EnqueueExtensions, resource: str, action: int, pod: Pod, *, old: Any = None, new: Any = None) -> bool:
    """Whether one of the plugin's registrations for that event says that the pod is worth another try."""
    matching = [item for item in plugin.events() if item.resource == resource and item.actions & action]
    assert matching, f"{plugin.name} does not listen to {resource}"
    return any(item.hint is None or item.hint(pod, old, new) for item in matching)


def registered(plugin: EnqueueExtensions) -> dict[str, int]:
    """The actions that a plugin listens to, by resource."""
    found: dict[str, int] = {}
    for item in plugin.events():
        found[item.resource] = found.get(item.resource, 0) | item.actions
    return found


def parsed(manifest: Mapping[str, Any]) -> Any:
    return ObjectStore().put(manifest)
