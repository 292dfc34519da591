"""A drawn cluster on the API server: created, listed, restored after a preemption, removed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.e2e.parity.dice import TEAMS
from tests.e2e.parity.drawn import Drawn, everywhere
from tools.testbed.client import Client, Object
from tools.testbed.cluster import Cluster

EVENTS: Final = "events.k8s.io/v1"
_MARK: Final = "parity"
# Made in this order, all of one kind at once; removed in the opposite order.
_KINDS: Final = (
    ("StorageClass", "storage.k8s.io/v1"),
    ("CSIDriver", "storage.k8s.io/v1"),
    ("CSIStorageCapacity", "storage.k8s.io/v1"),
    ("PersistentVolumeClaim", "v1"),
    ("PersistentVolume", "v1"),
    ("Node", "v1"),
    ("CSINode", "storage.k8s.io/v1"),
    ("VolumeAttachment", "storage.k8s.io/v1"),
    ("PodDisruptionBudget", "policy/v1"),
    ("Pod", "v1"),
)
# What schedulers look at.
VERSIONS: Final = {
    "Namespace": "v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "Service": "v1",
    "ReplicationController": "v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    **dict(_KINDS),
}


@dataclass(slots=True)
class World:
    """Namespaces that many clusters use, one after the other."""

    client: Client
    homes: list[Cluster]
    _running: dict[tuple[str, str], Object] = field(default_factory=dict)

    @property
    def namespaces(self) -> list[str]:
        return [home.namespace for home in self.homes]

    def make(self, drawn: Drawn) -> None:
        for kind, _ in _KINDS:
            self._make_all([made for made in drawn.objects if made["kind"] == kind])

    def is_running(self, key: tuple[str, str]) -> bool:
        """Whether it is a pod that the cluster had from the beginning."""
        return key in self._running

    def restore(self, keys: Iterable[tuple[str, str]]) -> None:
        """Pods that had to make way are there again."""
        self._make_all([self._running[key] for key in keys])

    def listed(self) -> dict[str, list[Object]]:
        """All objects that schedulers look at, as the API server has them."""
        return {
            kind: [
                {**found, "apiVersion": version, "kind": kind} for found in self.client.list_all(kind, version=version)
            ]
            for kind, version in VERSIONS.items()
        }

    def events(self) -> list[Object]:
        return [event for home in self.homes for event in home.list_all("Event", version=EVENTS)]

    def forget_events(self) -> None:
        for namespace in self.namespaces:
            self.client.delete_all("Event", namespace=namespace)

    def clear(self) -> None:
        """Nothing of the cluster is left."""
        for kind, version in reversed(_KINDS):
            places = self.namespaces if self.client.namespaced(kind, version) else [""]
            for place in places:
                self.client.delete_all(kind, version=version, namespace=place, labelSelector=_MARK)
        self.forget_events()
        self._running.clear()

    def _make_all(self, manifests: Sequence[Object]) -> None:
        self.client.each(self._make, manifests)

    def _make(self, manifest: Object) -> None:
        metadata = {**manifest["metadata"], "labels": {**manifest["metadata"].get("labels", {}), _MARK: "yes"}}
        made = {**manifest, "metadata": metadata}
        kind, name, namespace = made["kind"], metadata["name"], metadata.get("namespace", "")
        if kind == "PersistentVolume" and "claimRef" in made["spec"]:
            self._point_at_claim(made)
        self.client.create(made)
        if kind == "Pod":
            self._running[namespace, name] = manifest
        if "status" in made and kind != "Node":
            version, status = VERSIONS[kind], {"status": made["status"]}
            self.client.patch(kind, name, status, version=version, namespace=namespace, sub="status")
        if kind == "Pod" and made["spec"]["terminationGracePeriodSeconds"]:
            self.client.delete(kind, name, namespace=namespace)

    def _point_at_claim(self, volume: Object) -> None:
        """Claims are made before volumes; only a volume that names its claim's uid is bound to it."""
        claim = volume["spec"]["claimRef"]
        found = self.client.get("PersistentVolumeClaim", claim["name"], namespace=claim["namespace"])
        volume["spec"] = {**volume["spec"], "claimRef": {**claim, "uid": found["metadata"]["uid"]}}


def found_world(client: Client) -> World:
    """Three namespaces of three teams, and what all clusters have."""
    homes = [Cluster(client, "parity") for _ in TEAMS]
    for home, team in zip(homes, TEAMS, strict=True):
        client.patch("Namespace", home.namespace, {"metadata": {"labels": {"team": team}}})
    for manifest in everywhere():
        homes[0].create(manifest)
    return World(client, homes)
