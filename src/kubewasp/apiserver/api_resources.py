"""API resources of a scheduler: paths, kinds, and the RBAC form of a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_NAMESPACE_SUBRESOURCES: Final = frozenset(("status", "finalize"))


@dataclass(frozen=True, slots=True)
class Resource:
    """Resource of the API server. `name` is the plural, as in paths and RBAC rules."""

    name: str
    kind: str
    api_version: str
    namespaced: bool

    @property
    def group(self) -> str:
        """API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def root(self) -> str:
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.api_version}"

    @property
    def path(self) -> str:
        """Path of the collection in all namespaces."""
        return f"{self.root}/{self.name}"

    def path_in(self, namespace: str) -> str:
        """Path of the collection in a namespace. Cluster-scoped resources ignore the namespace."""
        if not self.namespaced:
            return self.path
        return f"{self.root}/namespaces/{quote(namespace, safe='')}/{self.name}"

    def path_of(self, namespace: str, name: str, subresource: str = "") -> str:
        """Path of an object, or of a subresource such as `status`."""
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
    Resource("deployments", "Deployment", "apps/v1", namespaced=True),
    Resource("daemonsets", "DaemonSet", "apps/v1", namespaced=True),
    Resource("jobs", "Job", "batch/v1", namespaced=True),
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
# By plural name, such as "pods".
RESOURCES: Final[Mapping[str, Resource]] = {resource.name: resource for resource in _ALL}


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """Request in RBAC terms. `resource` is `pods` or, with a subresource, `pods/binding`."""

    verb: str
    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        place = "/".join(part for part in (self.namespace, self.name) if part)
        return f"{self.verb} {self.resource} {place}".rstrip()


def request_info(method: str, path: str, query: Mapping[str, str] | None = None) -> RequestInfo:
    """Parses a path such as `/api/v1/namespaces/NS/pods/NAME/binding`. Any other path becomes the resource itself."""
    root, *parts = path.strip("/").split("/")
    if root == "apis" and len(parts) > 2:
        group, version, *parts = parts
    elif root == "api" and len(parts) > 1:
        group, (version, *parts) = "", parts
    else:
        return RequestInfo(method.lower(), "", "", path)
    namespace = ""
    if len(parts) > 2 and parts[0] == "namespaces" and parts[2] not in _NAMESPACE_SUBRESOURCES:
        _, namespace, *parts = parts
    resource, name, subresource = (*parts, "", "")[:3]
    verb = _verb(method, name, query or {})
    return RequestInfo(verb, group, version, f"{resource}/{subresource}".rstrip("/"), namespace, name)


def _verb(method: str, name: str, query: Mapping[str, str]) -> str:
    if method == "GET":
        if query.get("watch"):
            return "watch"
        return "get" if name else "list"
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    return _VERBS.get(method, method.lower())
