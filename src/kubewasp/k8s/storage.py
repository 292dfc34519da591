"""Scheduling views of storage objects: volumes, claims, classes and the objects of CSI drivers.

Volumes and claims keep their manifests, because the scheduler updates them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s import quantity
from kubewasp.k8s.csi_migration import BY_SOURCE
from kubewasp.k8s.objects import name_of, namespace_of
from kubewasp.k8s.selectors import (
    LabelSelector,
    NodeSelectorTerm,
    Requirement,
    SelectorError,
    label_selector,
    node_selector_terms,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.k8s.pods import Pod, Volume
    from kubewasp.k8s.quantity import Quantity

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
DEFAULT_CLASS_ANNOTATIONS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"
IMMEDIATE, WAIT_FOR_FIRST_CONSUMER = "Immediate", "WaitForFirstConsumer"

_NOTHING: Final = quantity.parse(0)


@dataclass(frozen=True, slots=True)
class ClaimReference:
    """`spec.claimRef` of a volume; without a uid it matches any claim of that name."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, eq=False, slots=True)
class PersistentVolume:
    """A PersistentVolume. `affinity` None: accessible everywhere; `source` is csi or an in-tree type, else empty."""

    name: str
    labels: Mapping[str, str]
    storage_class: str
    capacity: Quantity
    access_modes: frozenset[str]
    volume_mode: str
    attributes_class: str
    claim: ClaimReference | None
    affinity: tuple[NodeSelectorTerm, ...] | None
    phase: str
    is_deleting: bool
    source: str
    details: Mapping[str, Any]
    resource_version: str
    manifest: Mapping[str, Any] = field(repr=False)

    def is_bound_to(self, claim: PersistentVolumeClaim) -> bool:
        """Whether `claimRef` is that claim, before or after binding."""
        wanted = self.claim
        return (
            wanted is not None
            and (wanted.namespace, wanted.name) == (claim.namespace, claim.name)
            and wanted.uid in ("", claim.uid)
        )


@dataclass(frozen=True, eq=False, slots=True)
class PersistentVolumeClaim:
    """A PersistentVolumeClaim. `selector_error` is set for an invalid selector; `owner_uid` is its controller's."""

    namespace: str
    name: str
    uid: str
    storage_class: str
    names_class: bool
    volume: str
    request: Quantity | None
    access_modes: frozenset[str]
    volume_mode: str
    attributes_class: str
    selector: LabelSelector | None
    selector_error: str
    phase: str
    is_deleting: bool
    owner_uid: str
    selected_node: str | None
    is_bound: bool
    resource_version: str
    manifest: Mapping[str, Any] = field(repr=False)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def size(self) -> Quantity:
        return self.request or _NOTHING

    def is_controlled_by(self, pod: Pod) -> bool:
        return self.namespace == pod.namespace and self.owner_uid == pod.uid


@dataclass(frozen=True, slots=True)
class StorageClass:
    """A StorageClass. `topologies` are ORed; an invalid or empty one matches nothing, none at all match everything."""

    name: str
    provisioner: str
    binding_mode: str
    topologies: tuple[NodeSelectorTerm, ...]
    reclaim_policy: str
    is_default: bool
    created: str

    @property
    def provisions(self) -> bool:
        return self.provisioner not in ("", NO_PROVISIONER)


@dataclass(frozen=True, slots=True)
class CsiNode:
    """A CSINode: volume limits and topology keys, by driver."""

    name: str
    limits: Mapping[str, int]
    topology_keys: Mapping[str, tuple[str, ...]]
    migrated_plugins: str

    def has_migrated(self, plugin: str) -> bool:
        return plugin in self.migrated_plugins.split(",")


@dataclass(frozen=True, slots=True)
class CsiDriver:
    """A CSIDriver, and whether its published storage capacity counts."""

    name: str
    checks_capacity: bool


@dataclass(frozen=True, slots=True)
class CsiStorageCapacity:
    """A CSIStorageCapacity: free storage of a class for the nodes in `topology`. `limit` is per volume."""

    namespace: str
    name: str
    storage_class: str
    topology: LabelSelector | None
    limit: int | None


@dataclass(frozen=True, slots=True)
class VolumeAttachment:
    """A VolumeAttachment; `volume` is empty for an inline volume."""

    name: str
    attacher: str
    node: str
    volume: str


# ---------------------------------------------------------------------- pods


def uses_claim(volume: Volume) -> bool:
    """Whether a volume of a pod refers to a claim, by name or as an ephemeral volume."""
    return volume.is_ephemeral or volume.source == "persistentVolumeClaim"


def claim_name(pod: Pod, volume: Volume) -> str:
    """The name of the claim of a volume; empty if it has none."""
    return f"{pod.name}-{volume.name}" if volume.is_ephemeral else volume.claim


def not_owner(pod: Pod, claim: PersistentVolumeClaim) -> str:
    """The error text for an ephemeral volume whose claim has another owner."""
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"


# ---------------------------------------------------------------------- changes


def bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume bound to that claim; the same object if it is bound already."""
    by_us = not volume.is_bound_to(claim)
    annotations = _metadata(volume.manifest).get("annotations") or {}
    if by_us and BOUND_BY_CONTROLLER not in annotations:
        annotations = {**annotations, BOUND_BY_CONTROLLER: "yes"}
    elif volume.claim == ClaimReference(claim.namespace, claim.name, claim.uid):
        return volume
    reference = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": claim.namespace,
        "name": claim.name,
        "uid": claim.uid,
        "resourceVersion": claim.resource_version,
    }
    return parse_volume(
        changed(
            volume.manifest,
            metadata={"annotations": annotations} if annotations else {},
            spec={"claimRef": {name: value for name, value in reference.items() if value}},
        )
    )


def with_selected_node(claim: PersistentVolumeClaim, node: str) -> PersistentVolumeClaim:
    """The claim annotated for provisioning on that node."""
    annotations = {**(_metadata(claim.manifest).get("annotations") or {}), SELECTED_NODE: node}
    return parse_claim(changed(claim.manifest, metadata={"annotations": annotations}))


def changed(manifest: Mapping[str, Any], **sections: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a manifest with the given fields of its sections replaced."""
    return {**manifest, **{name: {**(manifest.get(name) or {}), **fields} for name, fields in sections.items()}}


# ---------------------------------------------------------------------- parsing


def parse_volume(manifest: Mapping[str, Any]) -> PersistentVolume:
    metadata, spec, status = (manifest.get(part) or {} for part in ("metadata", "spec", "status"))
    reference = spec.get("claimRef")
    required = (spec.get("nodeAffinity") or {}).get("required")
    source = next((name for name in ("csi", *BY_SOURCE) if spec.get(name)), "")
    return PersistentVolume(
        name=name_of(manifest),
        labels=metadata.get("labels") or {},
        storage_class=_class(metadata, spec),
        capacity=quantity.parse((spec.get("capacity") or {}).get("storage") or 0),
        access_modes=frozenset(spec.get("accessModes") or ()),
        volume_mode=spec.get("volumeMode") or "Filesystem",
        attributes_class=spec.get("volumeAttributesClassName") or "",
        claim=None if reference is None else _reference(reference),
        affinity=None if required is None else node_selector_terms(required.get("nodeSelectorTerms") or ()),
        phase=status.get("phase") or "",
        is_deleting=bool(metadata.get("deletionTimestamp")),
        source=source,
        details=spec.get(source) or {},
        resource_version=metadata.get("resourceVersion") or "",
        manifest=manifest,
    )


def parse_claim(manifest: Mapping[str, Any]) -> PersistentVolumeClaim:
    metadata, spec, status = (manifest.get(part) or {} for part in ("metadata", "spec", "status"))
    annotations = metadata.get("annotations") or {}
    request = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    namespace, volume = namespace_of(manifest), spec.get("volumeName") or ""
    selector, selector_error = None, ""
    try:
        selector = label_selector(spec.get("selector"))
    except SelectorError as problem:
        selector_error = str(problem)
    return PersistentVolumeClaim(
        namespace=namespace,
        name=name_of(manifest),
        uid=metadata.get("uid") or "",
        storage_class=_class(metadata, spec),
        names_class=CLASS_ANNOTATION in annotations or spec.get("storageClassName") is not None,
        volume=volume,
        request=None if request is None else quantity.parse(request),
        access_modes=frozenset(spec.get("accessModes") or ()),
        volume_mode=spec.get("volumeMode") or "Filesystem",
        attributes_class=spec.get("volumeAttributesClassName") or "",
        selector=selector,
        selector_error=selector_error,
        phase=status.get("phase") or "",
        is_deleting=bool(metadata.get("deletionTimestamp")),
        owner_uid=_controller_uid(metadata.get("ownerReferences") or (), namespace),
        selected_node=annotations.get(SELECTED_NODE),
        is_bound=bool(volume) and BIND_COMPLETED in annotations,
        resource_version=metadata.get("resourceVersion") or "",
        manifest=manifest,
    )


def parse_storage_class(manifest: Mapping[str, Any]) -> StorageClass:
    """The binding mode defaults to Immediate, as in the API server."""
    metadata = _metadata(manifest)
    annotations = metadata.get("annotations") or {}
    return StorageClass(
        name=name_of(manifest),
        provisioner=manifest.get("provisioner") or "",
        binding_mode=manifest.get("volumeBindingMode") or IMMEDIATE,
        topologies=tuple(_topology(term) for term in manifest.get("allowedTopologies") or ()),
        reclaim_policy=manifest.get("reclaimPolicy") or "Delete",
        is_default=any(annotations.get(name) == "true" for name in DEFAULT_CLASS_ANNOTATIONS),
        created=metadata.get("creationTimestamp") or "",
    )


def parse_csi_node(manifest: Mapping[str, Any]) -> CsiNode:
    drivers = (manifest.get("spec") or {}).get("drivers") or ()
    counts = {driver.get("name") or "": (driver.get("allocatable") or {}).get("count") for driver in drivers}
    return CsiNode(
        name=name_of(manifest),
        limits={name: count for name, count in counts.items() if count is not None},
        topology_keys={driver.get("name") or "": tuple(driver.get("topologyKeys") or ()) for driver in drivers},
        migrated_plugins=(_metadata(manifest).get("annotations") or {}).get(MIGRATED_PLUGINS) or "",
    )


def parse_csi_driver(manifest: Mapping[str, Any]) -> CsiDriver:
    return CsiDriver(name_of(manifest), bool((manifest.get("spec") or {}).get("storageCapacity")))


def parse_capacity(manifest: Mapping[str, Any]) -> CsiStorageCapacity:
    """An invalid topology selects no node, like a missing one."""
    largest = manifest.get("maximumVolumeSize")
    limit = manifest.get("capacity") if largest is None else largest
    try:
        topology = label_selector(manifest.get("nodeTopology"))
    except SelectorError:
        topology = None
    return CsiStorageCapacity(
        namespace=namespace_of(manifest),
        name=name_of(manifest),
        storage_class=manifest.get("storageClassName") or "",
        topology=topology,
        limit=None if limit is None else quantity.parse(limit).value(),
    )


def parse_attachment(manifest: Mapping[str, Any]) -> VolumeAttachment:
    spec = manifest.get("spec") or {}
    return VolumeAttachment(
        name=name_of(manifest),
        attacher=spec.get("attacher") or "",
        node=spec.get("nodeName") or "",
        volume=(spec.get("source") or {}).get("persistentVolumeName") or "",
    )


def _metadata(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    return manifest.get("metadata") or {}


def _class(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    annotations = metadata.get("annotations") or {}
    return str(annotations.get(CLASS_ANNOTATION, spec.get("storageClassName")) or "")


def _reference(value: Mapping[str, Any]) -> ClaimReference:
    return ClaimReference(value.get("namespace") or "", value.get("name") or "", value.get("uid") or "")


def _controller_uid(references: Sequence[Mapping[str, Any]], namespace: str) -> str:
    """A reference without a uid, as in hand-written manifests, refers to the pod of that name."""
    owner = next((item for item in references if item.get("controller")), None)
    return "" if owner is None else str(owner.get("uid") or f"{namespace}/{owner.get('name')}")


def _topology(term: Mapping[str, Any]) -> NodeSelectorTerm:
    expressions = term.get("matchLabelExpressions") or ()
    wanted = tuple(Requirement(item.get("key") or "", "In", tuple(item.get("values") or ())) for item in expressions)
    return NodeSelectorTerm(wanted)
