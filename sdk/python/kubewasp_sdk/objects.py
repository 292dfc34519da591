"""Pods and nodes: attributes for common fields, `raw` for the whole object. HOT PATH.

An object keeps its JSON text and parses it on first use. Results are stored in the object's `__dict__`, which Python
searches before the `lazy` descriptor.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

from kubewasp_sdk import resources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Self

    from kubewasp_sdk.resources import Resources

Value = TypeVar("Value")


# Fields of a pod by the attributes that are made of them. Attributes made of other attributes have none of their own.
_FIELDS = {
    "raw": "object",
    "spec": "spec",
    "status": "status",
    "nominated_node_name": "status",
    "requests": "requests",
    "non_zero_requests": "requests",
    "name": "metadata.name",
    "namespace": "metadata.namespace",
    "uid": "metadata.uid",
    "labels": "metadata.labels",
    "annotations": "metadata.annotations",
    "created_at": "metadata.creationTimestamp",
    "owner": "metadata.ownerReferences",
    "priority": "spec.priority",
    "priority_class": "spec.priorityClassName",
    "scheduler_name": "spec.schedulerName",
    "node_name": "spec.nodeName",
    "node_selector": "spec.nodeSelector",
    "tolerations": "spec.tolerations",
    "containers": "spec.containers",
    "init_containers": "spec.initContainers",
    "scheduling_gates": "spec.schedulingGates",
}


class lazy(Generic[Value]):  # noqa: N801 - used like property
    """An attribute that is computed on first access and then stored."""

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self._field = _FIELDS.get(self._name, "")
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> Self | Value:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        if self._field and "reads" in instance.__dict__:
            instance.__dict__["reads"].add(self._field)
        return value


class Taint(NamedTuple):
    """A taint of a node."""

    key: str
    value: str
    effect: str


class Toleration(NamedTuple):
    """A toleration of a pod."""

    key: str
    operator: str
    value: str
    effect: str
    seconds: int | None

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        return self.operator == "Exists" or (self.operator in ("", "Equal") and self.value == taint.value)


class Container(NamedTuple):
    """A container of a pod, with requests and limits as numbers."""

    name: str
    image: str
    requests: Resources
    limits: Resources
    raw: Mapping[str, Any]


class Owner(NamedTuple):
    """Controller of a pod, such as a ReplicaSet or a Job."""

    kind: str
    name: str
    uid: str
    api_version: str


class KubernetesObject:
    """Base of pods and nodes. `pod["spec"]` is short for `pod.raw["spec"]`."""

    kind = ""

    def __init__(self, text: str) -> None:
        self._text = text

    @lazy
    def raw(self) -> dict[str, Any]:
        """The whole object in the JSON form of Kubernetes (camelCase)."""
        return self._object

    @lazy
    def _object(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self._text)
        return parsed

    def __getitem__(self, key: str) -> Any:
        return self.raw[key]

    def get(self, key: str, default: Any = None) -> Any:
        return self.raw.get(key, default)

    @lazy
    def _metadata(self) -> Mapping[str, Any]:
        return self._object.get("metadata") or {}

    @lazy
    def name(self) -> str:
        return str(self._metadata.get("name") or "")

    @lazy
    def uid(self) -> str:
        return str(self._metadata.get("uid") or "")

    @lazy
    def labels(self) -> Mapping[str, str]:
        return self._metadata.get("labels") or {}

    @lazy
    def annotations(self) -> Mapping[str, str]:
        return self._metadata.get("annotations") or {}

    @lazy
    def created_at(self) -> datetime | None:
        """Creation time, in UTC."""
        written = self._metadata.get("creationTimestamp")
        return datetime.fromisoformat(written) if written else None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class Pod(KubernetesObject):
    """A pod. That of a pure plugin's cycle notes the fields that are read."""

    kind = "Pod"

    def __init__(self, text: str, *, noted: bool = False) -> None:
        super().__init__(text)
        if noted:
            self.reads: set[str] = set()

    @lazy
    def namespace(self) -> str:
        return str(self._metadata.get("namespace") or "default")

    @lazy
    def spec(self) -> Mapping[str, Any]:
        """`raw["spec"]`."""
        return self._spec

    @lazy
    def status(self) -> Mapping[str, Any]:
        """`raw["status"]`."""
        return self._status

    @lazy
    def _spec(self) -> Mapping[str, Any]:
        return self._object.get("spec") or {}

    @lazy
    def _status(self) -> Mapping[str, Any]:
        return self._object.get("status") or {}

    @lazy
    def requests(self) -> Resources:
        """Total requests: `pod.requests.cpu` in milli-CPU, `pod.requests["nvidia.com/gpu"]` in units."""
        return resources.pod_requests(self._spec)

    @lazy
    def non_zero_requests(self) -> Resources:
        """Requested CPU and memory, with a small default for containers without requests."""
        return resources.pod_non_zero_requests(self._spec)

    @lazy
    def priority(self) -> int:
        return int(self._spec.get("priority") or 0)

    @lazy
    def priority_class(self) -> str:
        return str(self._spec.get("priorityClassName") or "")

    @lazy
    def scheduler_name(self) -> str:
        return str(self._spec.get("schedulerName") or "default-scheduler")

    @lazy
    def node_name(self) -> str:
        """Node of the pod; empty for a pending pod."""
        return str(self._spec.get("nodeName") or "")

    @lazy
    def nominated_node_name(self) -> str:
        return str(self._status.get("nominatedNodeName") or "")

    @lazy
    def node_selector(self) -> Mapping[str, str]:
        return self._spec.get("nodeSelector") or {}

    @lazy
    def tolerations(self) -> tuple[Toleration, ...]:
        return tuple(
            Toleration(
                item.get("key") or "",
                item.get("operator") or "Equal",
                item.get("value") or "",
                item.get("effect") or "",
                item.get("tolerationSeconds"),
            )
            for item in self._spec.get("tolerations") or ()
        )

    def tolerates(self, taints: Taint | Iterable[Taint]) -> bool:
        """Whether the pod tolerates a taint, or all taints of an iterable."""
        wanted = (taints,) if isinstance(taints, Taint) else taints
        return all(any(item.tolerates(taint) for item in self.tolerations) for taint in wanted)

    @lazy
    def containers(self) -> tuple[Container, ...]:
        return _containers(self._spec.get("containers"))

    @lazy
    def init_containers(self) -> tuple[Container, ...]:
        return _containers(self._spec.get("initContainers"))

    @lazy
    def images(self) -> tuple[str, ...]:
        """Images of all containers, init containers first."""
        return tuple(container.image for container in (*self.init_containers, *self.containers))

    @lazy
    def scheduling_gates(self) -> tuple[str, ...]:
        return tuple(gate.get("name") or "" for gate in self._spec.get("schedulingGates") or ())

    @lazy
    def owner(self) -> Owner | None:
        """Controller of the pod, if any."""
        for item in self._metadata.get("ownerReferences") or ():
            if item.get("controller"):
                kind, name, uid, version = (str(item.get(key) or "") for key in ("kind", "name", "uid", "apiVersion"))
                return Owner(kind, name, uid, version)
        return None


class Node(KubernetesObject):
    """A node. Labels and images have JSON texts of their own: reading labels does not parse the rest."""

    kind = "Node"

    def __init__(self, text: str, *, labels: str = "", images: str = "") -> None:
        super().__init__(text)
        self._labels_text = labels
        self._images_text = images

    @lazy
    def _object(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self._text)
        if self._labels_text:
            parsed.setdefault("metadata", {})["labels"] = self.labels
        if self._images_text:
            parsed.setdefault("status", {})["images"] = json.loads(self._images_text)
        return parsed

    @lazy
    def labels(self) -> Mapping[str, str]:
        if self._labels_text:
            found: Mapping[str, str] = json.loads(self._labels_text)
            return found
        return self._metadata.get("labels") or {}

    @lazy
    def annotations(self) -> Mapping[str, str]:
        return self._parts[0]

    @lazy
    def taints(self) -> tuple[Taint, ...]:
        return self._parts[1]

    @lazy
    def unschedulable(self) -> bool:
        """Whether the node is cordoned."""
        return self._parts[2]

    @lazy
    def conditions(self) -> Mapping[str, str]:
        """Status by condition type, such as `{"Ready": "True"}`."""
        return self._parts[3]

    @lazy
    def images(self) -> Mapping[str, int]:
        """Sizes in bytes of the images on the node, by all their names."""
        listed = (
            json.loads(self._images_text) if self._images_text else (self._object.get("status") or {}).get("images")
        )
        return {name: item.get("sizeBytes") or 0 for item in listed or () for name in item.get("names") or ()}

    @property
    def zone(self) -> str:
        return self.labels.get("topology.kubernetes.io/zone", "")

    @property
    def region(self) -> str:
        return self.labels.get("topology.kubernetes.io/region", "")

    @lazy
    def _parts(self) -> tuple[Mapping[str, str], tuple[Taint, ...], bool, Mapping[str, str]]:
        """Parses all small fields at once, without `raw`: 5,000 parsed nodes would take too much memory."""
        whole: Mapping[str, Any] = self.__dict__.get("_object") or json.loads(self._text)
        metadata, spec, status = (whole.get(part) or {} for part in ("metadata", "spec", "status"))
        taints = tuple(
            Taint(item.get("key") or "", item.get("value") or "", item.get("effect") or "")
            for item in spec.get("taints") or ()
        )
        conditions = {item.get("type") or "": item.get("status") or "" for item in status.get("conditions") or ()}
        return metadata.get("annotations") or {}, taints, bool(spec.get("unschedulable")), conditions


def _containers(listed: Iterable[Mapping[str, Any]] | None) -> tuple[Container, ...]:
    return tuple(
        Container(
            item.get("name") or "",
            item.get("image") or "",
            resources.from_quantities((item.get("resources") or {}).get("requests")),
            resources.from_quantities((item.get("resources") or {}).get("limits")),
            item,
        )
        for item in listed or ()
    )
