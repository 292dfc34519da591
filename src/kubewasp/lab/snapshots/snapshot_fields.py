"""Fields of objects in a snapshot, by kind, each with its sort. A field without an entry is left out.

One table serves both purposes: a field that is kept has a sort, and its sort decides how it is anonymised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from fnmatch import fnmatchcase
from typing import Any, Final

from kubewasp.k8s.csi_migration import IN_TREE_PLUGINS
from kubewasp.k8s.storage import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    CLASS_ANNOTATION,
    DEFAULT_CLASS_ANNOTATIONS,
    MIGRATED_PLUGINS,
    PROVISIONED_BY,
    SELECTED_NODE,
)
from kubewasp.state.volume_index import EXCLUSIVE_DISKS


class Sort(Enum):
    """Meaning of a text: PLAIN is never replaced (numbers, keys, names of drivers and schedulers)."""

    PLAIN = auto()
    NAME = auto()  # names and label values
    UID = auto()
    IMAGE = auto()
    ADDRESS = auto()
    HANDLE = auto()  # of a volume


@dataclass(frozen=True, slots=True)
class ListOf:
    """Items of one shape. `types` are the values of `type` to keep; `has_more`: items with a field beside `name`."""

    item: Shape
    types: frozenset[str] = frozenset()
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map with free keys."""

    value: Sort
    key: Sort = Sort.PLAIN


@dataclass(frozen=True, slots=True)
class Annotations:
    """Annotations that scheduling reads, and those that are chosen by name."""

    known: Mapping[str, Sort] = field(default_factory=dict)


Shape = Sort | ListOf | MapOf | Annotations | dict[str, "Shape"]
Rename = Callable[[Sort, str], str]

_PLAIN, _NAME = Sort.PLAIN, Sort.NAME
_QUANTITIES: Final = MapOf(_PLAIN)
_LABELS: Final = MapOf(_NAME)
# Annotations of plugins of this project, such as the GPUs that were chosen for a pod.
_OWN_ANNOTATIONS: Final = "kubewasp.dev/*"

_EXPRESSIONS: Final = ListOf({"key": _PLAIN, "operator": _PLAIN, "values": ListOf(_NAME)})
_SELECTOR: Final[Shape] = {"matchLabels": _LABELS, "matchExpressions": _EXPRESSIONS}
_NODE_TERM: Final[Shape] = {"matchExpressions": _EXPRESSIONS, "matchFields": _EXPRESSIONS}
_NODE_TERMS: Final[Shape] = {"nodeSelectorTerms": ListOf(_NODE_TERM)}
_POD_TERM: Final[Shape] = {
    "labelSelector": _SELECTOR,
    "namespaces": ListOf(_NAME),
    "namespaceSelector": _SELECTOR,
    "topologyKey": _PLAIN,
    "matchLabelKeys": ListOf(_PLAIN),
    "mismatchLabelKeys": ListOf(_PLAIN),
}
_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_POD_AFFINITY: Final[Shape] = {
    _REQUIRED: ListOf(_POD_TERM),
    _PREFERRED: ListOf({"weight": _PLAIN, "podAffinityTerm": _POD_TERM}),
}
_AFFINITY: Final[Shape] = {
    "nodeAffinity": {_REQUIRED: _NODE_TERMS, _PREFERRED: ListOf({"weight": _PLAIN, "preference": _NODE_TERM})},
    "podAffinity": _POD_AFFINITY,
    "podAntiAffinity": _POD_AFFINITY,
}
_RESOURCES: Final[Shape] = {"requests": _QUANTITIES, "limits": _QUANTITIES, "claims": ListOf({"name": _NAME})}
_CONTAINER: Final[Shape] = {
    "name": _NAME,
    "image": Sort.IMAGE,
    "resources": _RESOURCES,
    "ports": ListOf({"containerPort": _PLAIN, "hostPort": _PLAIN, "protocol": _PLAIN, "hostIP": Sort.ADDRESS}),
    "restartPolicy": _PLAIN,
    "restartPolicyRules": ListOf({"action": _PLAIN}),
}
_CLAIM_SPEC: Final[Shape] = {
    "accessModes": ListOf(_PLAIN),
    "resources": {"requests": _QUANTITIES, "limits": _QUANTITIES},
    "selector": _SELECTOR,
    "storageClassName": _NAME,
    "volumeAttributesClassName": _NAME,
    "volumeMode": _PLAIN,
    "volumeName": _NAME,
}
_CLAIM_ANNOTATIONS: Final = Annotations(
    {
        BIND_COMPLETED: _PLAIN,
        BOUND_BY_CONTROLLER: _PLAIN,
        PROVISIONED_BY: _PLAIN,
        SELECTED_NODE: _NAME,
        CLASS_ANNOTATION: _NAME,
    }
)
_IN_TREE: Final[dict[str, Shape]] = {
    plugin.source: {
        plugin.handle_field: Sort.HANDLE,
        **({"readOnly": _PLAIN} if plugin.source in EXCLUSIVE_DISKS else {}),
    }
    for plugin in IN_TREE_PLUGINS
}
_VOLUME: Final[Shape] = {
    "name": _NAME,
    "persistentVolumeClaim": {"claimName": _NAME, "readOnly": _PLAIN},
    "ephemeral": {
        "volumeClaimTemplate": {"metadata": {"labels": _LABELS, "annotations": _CLAIM_ANNOTATIONS}, "spec": _CLAIM_SPEC}
    },
    "csi": {"driver": _PLAIN, "readOnly": _PLAIN},
    "image": {"reference": Sort.IMAGE},
    "iscsi": {"iqn": _NAME, "lun": _PLAIN, "targetPortal": _NAME, "readOnly": _PLAIN},
    "rbd": {"monitors": ListOf(_NAME), "image": _NAME, "pool": _NAME, "readOnly": _PLAIN},
    **_IN_TREE,
}
_POD_SPEC: Final[Shape] = {
    "affinity": _AFFINITY,
    "containers": ListOf(_CONTAINER),
    "hostNetwork": _PLAIN,
    "hostUsers": _PLAIN,
    "initContainers": ListOf(_CONTAINER),
    "nodeName": _NAME,
    "nodeSelector": _LABELS,
    "os": {"name": _PLAIN},
    "overhead": _QUANTITIES,
    "preemptionPolicy": _PLAIN,
    "priority": _PLAIN,
    "priorityClassName": _NAME,
    "resourceClaims": ListOf({"name": _NAME, "resourceClaimName": _NAME, "resourceClaimTemplateName": _NAME}),
    "resources": _RESOURCES,
    "restartPolicy": _PLAIN,
    "schedulerName": _PLAIN,
    "schedulingGates": ListOf({"name": _PLAIN}),
    "schedulingGroup": {"podGroupName": _NAME},
    "tolerations": ListOf(
        {"key": _PLAIN, "operator": _PLAIN, "value": _NAME, "effect": _PLAIN, "tolerationSeconds": _PLAIN}
    ),
    "topologySpreadConstraints": ListOf(
        {
            "maxSkew": _PLAIN,
            "minDomains": _PLAIN,
            "topologyKey": _PLAIN,
            "whenUnsatisfiable": _PLAIN,
            "labelSelector": _SELECTOR,
            "matchLabelKeys": ListOf(_PLAIN),
            "nodeAffinityPolicy": _PLAIN,
            "nodeTaintsPolicy": _PLAIN,
        }
    ),
    "volumes": ListOf(_VOLUME, has_more=True),
}
_CONTAINER_STATUS: Final = ListOf(
    {"name": _NAME, "resources": _RESOURCES, "allocatedResources": _QUANTITIES}, has_more=True
)
_CONTAINER_STATUSES: Final = ("containerStatuses", "initContainerStatuses")
_POD_STATUS: Final[Shape] = {
    "phase": _PLAIN,
    "startTime": _PLAIN,
    "nominatedNodeName": _NAME,
    "conditions": ListOf(
        {"type": _PLAIN, "status": _PLAIN, "reason": _PLAIN}, types=frozenset(("DisruptionTarget", "PodResizePending"))
    ),
    **dict.fromkeys(_CONTAINER_STATUSES, _CONTAINER_STATUS),
    "allocatedResources": _QUANTITIES,
    "resources": _RESOURCES,
}
_TEMPLATE: Final[Shape] = {"metadata": {"labels": _LABELS, "annotations": Annotations()}, "spec": _POD_SPEC}


def _metadata(annotations: Annotations | None = None, *, name: Sort = _NAME) -> Shape:
    return {
        "name": name,
        "namespace": _NAME,
        "uid": Sort.UID,
        "labels": _LABELS,
        "annotations": annotations or Annotations(),
        "creationTimestamp": _PLAIN,
        "deletionTimestamp": _PLAIN,
        "ownerReferences": ListOf(
            {"apiVersion": _PLAIN, "kind": _PLAIN, "name": _NAME, "uid": Sort.UID, "controller": _PLAIN}
        ),
    }


def _object(metadata: Shape | None = None, **fields: Shape) -> dict[str, Shape]:
    return {"apiVersion": _PLAIN, "kind": _PLAIN, "metadata": metadata or _metadata(), **fields}


_REPLICAS: Final[dict[str, Shape]] = {"replicas": _PLAIN, "selector": _SELECTOR, "template": _TEMPLATE}
_VOLUME_CLAIM: Final = _object(
    _metadata(_CLAIM_ANNOTATIONS),
    spec=_CLAIM_SPEC,
    status={"phase": _PLAIN, "capacity": _QUANTITIES, "accessModes": ListOf(_PLAIN)},
)

FIELDS: Final[Mapping[str, dict[str, Shape]]] = {
    "Node": _object(
        spec={
            "unschedulable": _PLAIN,
            "taints": ListOf({"key": _PLAIN, "value": _NAME, "effect": _PLAIN, "timeAdded": _PLAIN}),
        },
        status={
            "allocatable": _QUANTITIES,
            "capacity": _QUANTITIES,
            "conditions": ListOf({"type": _PLAIN, "status": _PLAIN}),
            "declaredFeatures": ListOf(_PLAIN),
            "images": ListOf({"names": ListOf(Sort.IMAGE), "sizeBytes": _PLAIN}),
            "nodeInfo": {"architecture": _PLAIN, "operatingSystem": _PLAIN, "kubeletVersion": _PLAIN},
        },
    ),
    "Pod": _object(spec=_POD_SPEC, status=_POD_STATUS),
    "Namespace": _object(),
    "Service": _object(spec={"selector": _LABELS}),
    "ReplicationController": _object(spec={**_REPLICAS, "selector": _LABELS}),
    "ReplicaSet": _object(spec=_REPLICAS),
    "Deployment": _object(spec=_REPLICAS),
    "StatefulSet": _object(
        spec={**_REPLICAS, "ordinals": {"start": _PLAIN}, "volumeClaimTemplates": ListOf(_VOLUME_CLAIM)}
    ),
    "DaemonSet": _object(spec={"selector": _SELECTOR, "template": _TEMPLATE}),
    "Job": _object(
        spec={
            "completions": _PLAIN,
            "completionMode": _PLAIN,
            "parallelism": _PLAIN,
            "selector": _SELECTOR,
            "suspend": _PLAIN,
            "template": _TEMPLATE,
        },
        status={
            "conditions": ListOf(
                {"type": _PLAIN, "status": _PLAIN}, types=frozenset(("Complete", "Failed", "Suspended"))
            ),
            "succeeded": _PLAIN,
        },
    ),
    "PodDisruptionBudget": _object(
        spec={
            "maxUnavailable": _PLAIN,
            "minAvailable": _PLAIN,
            "selector": _SELECTOR,
            "unhealthyPodEvictionPolicy": _PLAIN,
        },
        status={
            "currentHealthy": _PLAIN,
            "desiredHealthy": _PLAIN,
            "disruptedPods": MapOf(_PLAIN, key=_NAME),
            "disruptionsAllowed": _PLAIN,
            "expectedPods": _PLAIN,
        },
    ),
    "PriorityClass": _object(value=_PLAIN, globalDefault=_PLAIN, preemptionPolicy=_PLAIN),
    "PersistentVolume": _object(
        _metadata(_CLAIM_ANNOTATIONS),
        spec={
            "accessModes": ListOf(_PLAIN),
            "capacity": _QUANTITIES,
            "claimRef": {"kind": _PLAIN, "namespace": _NAME, "name": _NAME, "uid": Sort.UID},
            "csi": {"driver": _PLAIN, "volumeHandle": Sort.HANDLE, "readOnly": _PLAIN},
            "nodeAffinity": {"required": _NODE_TERMS},
            "persistentVolumeReclaimPolicy": _PLAIN,
            "storageClassName": _NAME,
            "volumeAttributesClassName": _NAME,
            "volumeMode": _PLAIN,
            **_IN_TREE,
        },
        status={"phase": _PLAIN},
    ),
    "PersistentVolumeClaim": _VOLUME_CLAIM,
    "StorageClass": _object(
        _metadata(Annotations(dict.fromkeys(DEFAULT_CLASS_ANNOTATIONS, _PLAIN))),
        provisioner=_PLAIN,
        reclaimPolicy=_PLAIN,
        volumeBindingMode=_PLAIN,
        allowedTopologies=ListOf({"matchLabelExpressions": ListOf({"key": _PLAIN, "values": ListOf(_NAME)})}),
    ),
    "CSINode": _object(
        _metadata(Annotations({MIGRATED_PLUGINS: _PLAIN})),
        spec={"drivers": ListOf({"name": _PLAIN, "allocatable": {"count": _PLAIN}, "topologyKeys": ListOf(_PLAIN)})},
    ),
    "CSIDriver": _object(_metadata(name=_PLAIN), spec={"storageCapacity": _PLAIN, "attachRequired": _PLAIN}),
    "CSIStorageCapacity": _object(
        storageClassName=_NAME, nodeTopology=_SELECTOR, capacity=_PLAIN, maximumVolumeSize=_PLAIN
    ),
    "VolumeAttachment": _object(
        spec={"attacher": _PLAIN, "nodeName": _NAME, "source": {"persistentVolumeName": _NAME}},
        status={"attached": _PLAIN},
    ),
}


class KeptFields:
    """The fields of a snapshot, with more annotations by name or pattern such as `example.com/*`."""

    def __init__(self, annotations: Sequence[str] = ()) -> None:
        self._annotations = (_OWN_ANNOTATIONS, *annotations)

    def of(self, manifest: Mapping[str, Any], rename: Rename | None = None) -> dict[str, Any]:
        """The fields of a valid object, with texts that are not PLAIN replaced by `rename`."""
        found: dict[str, Any] = self._rewritten(FIELDS[manifest["kind"]], manifest, rename)
        if found["kind"] == "Pod" and _is_settled(found):
            found["status"] = {name: item for name, item in found["status"].items() if name not in _CONTAINER_STATUSES}
        return found

    def _rewritten(self, shape: Shape, value: Any, rename: Rename | None) -> Any:
        if isinstance(shape, Sort):
            return rename(shape, value) if rename and shape is not _PLAIN and isinstance(value, str) else value
        if isinstance(shape, dict):
            return {
                name: item if shape[name] is _PLAIN else self._rewritten(shape[name], item, rename)
                for name, item in value.items()
                if item is not None and name in shape
            }
        if isinstance(shape, ListOf):
            return self._items(shape, value, rename)
        if isinstance(shape, MapOf):
            if rename is None:
                return value
            return {
                self._rewritten(shape.key, key, rename): self._rewritten(shape.value, item, rename)
                for key, item in value.items()
            }
        return self._annotations_of(shape, value, rename)

    def _items(self, shape: ListOf, value: Sequence[Any], rename: Rename | None) -> Sequence[Any]:
        part = shape.item
        if part is _PLAIN or (rename is None and isinstance(part, Sort)):
            return value
        items = [self._rewritten(part, item, rename) for item in value if _is_kept(shape, item)]
        return [item for item in items if len(item) > 1] if shape.has_more else items

    def _annotations_of(self, shape: Annotations, value: Mapping[str, str], rename: Rename | None) -> dict[str, str]:
        known = {
            name: self._rewritten(sort, value[name], rename) for name, sort in shape.known.items() if name in value
        }
        chosen = {
            name: text
            for name, text in value.items()
            if name not in known and any(fnmatchcase(name, pattern) for pattern in self._annotations)
        }
        return known | chosen


def _is_kept(shape: ListOf, item: Any) -> bool:
    return not shape.types or item.get("type") in shape.types


def _is_settled(pod: Mapping[str, Any]) -> bool:
    """Whether containers have what they request, as without a resize in progress: their statuses add nothing."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    statuses = [item for name in _CONTAINER_STATUSES for item in status.get(name) or ()]
    if not statuses:
        return any(name in status for name in _CONTAINER_STATUSES)
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    asked = {item.get("name"): _requests(item) for item in containers}
    return all(
        asked.get(item.get("name")) == _requests(item) == (item.get("allocatedResources") or _requests(item))
        for item in statuses
    )


def _requests(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return (item.get("resources") or {}).get("requests") or {}
