"""The resources that a scheduler reads and writes: where they are, and what they are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object on the API server. `name` is its plural, as it stands in paths and in RBAC rules."""

    name: str
    kind: str
    api_version: str
    namespaced: bool

    @property
    def group(self) -> str:
        """The API group; empty for the core."""
        return self.api_version.rpartition("/")[0]

    @property
    def root(self) -> str:
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.api_version}"

    @property
    def path(self) -> str:
        """Of all objects, in all namespaces."""
        return f"{self.root}/{self.name}"

    def path_in(self, namespace: str) -> str:
        """Of the objects in a namespace; the namespace does not matter if the resource has none."""
        if not self.namespaced:
            return self.path
        return f"{self.root}/namespaces/{quote(namespace, safe='')}/{self.name}"

    def path_of(self, namespace: str, name: str, subresource: str = "") -> str:
        """Of one object, or of a part of it such as `status`."""
        path = f"{self.path_in(namespace)}/{quote(name, safe='')}"
        return f"{path}/{subresource}" if subresource else path


PODS: Final = Resource("pods", "Pod", "v1", namespaced=True)
NODES: Final = Resource("nodes", "Node", "v1", namespaced=False)
LEASES: Final = Resource("leases", "Lease", "coordination.k8s.io/v1", namespaced=True)
EVENTS: Final = Resource("events", "Event", "events.k8s.io/v1", namespaced=True)

_ALL: Final = (
    PODS,
    NODES,
    Resource("namespaces", "Namespace", "v1", namespaced=False),
    Resource("services", "Service", "v1", namespaced=True),
    Resource("replicationcontrollers", "ReplicationController", "v1", namespaced=True),
    Resource("replicasets", "ReplicaSet", "apps/v1", namespaced=True),
    Resource("statefulsets", "StatefulSet", "apps/v1", namespaced=True),
    Resource("poddisruptionbudgets", "PodDisruptionBudget", "policy/v1", namespaced=True),
    Resource("priorityclasses", "PriorityClass", "scheduling.k8s.io/v1", namespaced=False),
    Resource("persistentvolumes", "PersistentVolume", "v1", namespaced=False),
    Resource("persistentvolumeclaims", "PersistentVolumeClaim", "v1", namespaced=True),
    Resource("storageclasses", "StorageClass", "storage.k8s.io/v1", namespaced=False),
    Resource("csinodes", "CSINode", "storage.k8s.io/v1", namespaced=False),
    Resource("csidrivers", "CSIDriver", "storage.k8s.io/v1", namespaced=False),
    Resource("csistoragecapacities", "CSIStorageCapacity", "storage.k8s.io/v1", namespaced=True),
    Resource("volumeattachments", "VolumeAttachment", "storage.k8s.io/v1", namespaced=False),
    LEASES,
    EVENTS,
)
# By plural, e.g. "pods".
RESOURCES: Final[Mapping[str, Resource]] = {resource.name: resource for resource in _ALL}
