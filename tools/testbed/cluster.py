"""A test's view of the cluster: its own namespace, objects to create and remove, waits for pods.

There is no controller manager and no kubelet: objects of a deleted namespace stay, and pods do not run.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tools.testbed.client import MERGE_PATCH, ApiError, Client, Object
from tools.testbed.waiting import wait_until

RBAC: Final = "rbac.authorization.k8s.io/v1"
_SHOWN_PODS: Final = 10
_serial = itertools.count(1)


def pod(
    name: str,
    *,
    cpu: str = "100m",
    memory: str = "64Mi",
    labels: Mapping[str, str] | None = None,
    scheduler: str = "default-scheduler",
    **spec: Any,
) -> Object:
    """A pod manifest; `spec` takes more fields. It ends at once when it is deleted: there is no kubelet to end it."""
    container = {"name": "main", "image": "image", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [container],
            **spec,
        },
    }


class Cluster:
    """A namespace on the API server. `remove` deletes all objects created through it."""

    def __init__(self, client: Client, name: str = "test") -> None:
        self.client = client
        self.namespace = client.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": f"{name}-"}}
        )["metadata"]["name"]
        self._kinds_inside = {("v1", "Pod"), ("v1", "Event")}
        self._made_outside: dict[tuple[str, str, str], None] = {}  # in order

    def create(self, manifest: Object) -> Object:
        """Objects that belong to a namespace are made in this one."""
        created = self.client.create(self._placed(manifest))
        self._note(created)
        return created

    def create_all(self, manifests: Iterable[Object]) -> None:
        """Creates many objects in parallel, in any order."""
        self.client.each(self.create, manifests)

    def get(self, kind: str, name: str, *, version: str = "v1", sub: str = "") -> Object:
        return self.client.get(kind, name, version=version, namespace=self.namespace, sub=sub)

    def list_all(self, kind: str, *, version: str = "v1", **query: Any) -> list[Object]:
        """`query`: labelSelector, fieldSelector. What has no namespace is listed wherever it was made."""
        return self.client.list_all(kind, version=version, namespace=self.namespace, **query)

    def patch(
        self, kind: str, name: str, patch: Any, *, version: str = "v1", sub: str = "", patch_type: str = MERGE_PATCH
    ) -> Object:
        return self.client.patch(
            kind, name, patch, version=version, namespace=self.namespace, sub=sub, patch_type=patch_type
        )

    def delete(self, kind: str, name: str, *, version: str = "v1", grace_seconds: int | None = None) -> None:
        self.client.delete(kind, name, version=version, namespace=self.namespace, grace_seconds=grace_seconds)

    def allow(self, user: str, rules: Sequence[Mapping[str, Sequence[str]]]) -> None:
        """Gives a user rights in the whole cluster; a rule has apiGroups, resources and verbs."""
        name = f"{self.namespace}-{next(_serial)}"
        role = {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": list(rules)}
        self.create(role)
        self.create(
            {
                "apiVersion": RBAC,
                "kind": "ClusterRoleBinding",
                "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
            }
        )

    def unbound(self, **query: Any) -> list[Object]:
        """The pods without a node."""
        return self.list_all("Pod", fieldSelector="spec.nodeName=", **query)

    def placements(self) -> dict[str, str]:
        """The node of each pod that has one."""
        return {
            found["metadata"]["name"]: found["spec"]["nodeName"]
            for found in self.list_all("Pod")
            if "nodeName" in found["spec"]
        }

    def wait_bound(self, timeout: float = 30.0) -> dict[str, str]:
        """Waits until all pods of the namespace have a node; returns the nodes."""
        wait_until(lambda: not self.unbound(limit=1), timeout, "all pods to be bound", self.describe)
        return self.placements()

    def finish_deletions(self) -> int:
        """Acts as the kubelet for pods under graceful deletion: reports their end."""
        ending = [found for found in self.list_all("Pod") if "deletionTimestamp" in found["metadata"]]
        for found in ending:
            self._gone("Pod", found["metadata"]["name"])
        return len(ending)

    def describe(self) -> str:
        """Unbound pods with their reasons."""
        waiting = self.unbound()
        lines = [f"{len(self.list_all('Pod')):,} pods in {self.namespace}, {len(waiting):,} not bound"]
        for found in waiting[:_SHOWN_PODS]:
            conditions = found["status"].get("conditions", [])
            why = "; ".join(
                f"{one.get('reason')}: {one.get('message')}" for one in conditions if one["status"] != "True"
            )
            lines.append(f"  {found['metadata']['name']}: {why or 'not tried yet'}")
        return "\n".join(lines)

    def remove(self) -> None:
        """Acts as the namespace controller, and removes objects created outside of the namespace."""
        for version, kind in self._kinds_inside:
            self.client.delete_all(kind, version=version, namespace=self.namespace)
        self.client.each(lambda made: self._gone(made[1], made[2], made[0]), reversed(self._made_outside))
        self._made_outside.clear()
        self._gone("Namespace", self.namespace)
        try:
            namespace = self.client.get("Namespace", self.namespace)
            namespace["spec"]["finalizers"] = []
            self.client.replace(namespace, sub="finalize")
        except ApiError as error:
            if error.status != 404:
                raise

    def _placed(self, manifest: Object) -> Object:
        if not self.client.namespaced(manifest["kind"], manifest["apiVersion"]):
            return manifest
        return {**manifest, "metadata": {**manifest["metadata"], "namespace": self.namespace}}

    def _note(self, created: Object) -> None:
        kind = (created["apiVersion"], created["kind"])
        if "namespace" in created["metadata"]:
            self._kinds_inside.add(kind)
        else:
            self._made_outside[*kind, created["metadata"]["name"]] = None

    def _gone(self, kind: str, name: str, version: str = "v1") -> None:
        try:
            self.delete(kind, name, version=version, grace_seconds=0)
        except ApiError as error:
            if error.status not in {404, 409}:
                raise
