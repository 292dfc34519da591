from __future__ import annotations

from typing import Any

import pytest

from kubewasp.k8s.storage import bound_to, with_selected_node
from kubewasp.simulation.volume_controller import VolumeController
from kubewasp.state.object_kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM
from kubewasp.state.object_store import ObjectStore
from tests.plugins.building import make_pod
from tests.plugins.storage_building import claim, claiming, csi_node, storage_class, topology, volume

ZONE = "topology.kubernetes.io/zone"
DEFAULT = {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}


class Cluster:
    """A store whose volumes are looked after."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        self.store = ObjectStore()
        for manifest in objects:
            self.store.put(manifest)
        self.controller = VolumeController(self.store, {"n": {ZONE: "a", "rack": "1"}}.__getitem__)
        self.controller.sync()

    def put(self, manifest: Any) -> None:
        self.store.put(manifest)
        self.controller.sync()

    def delete(self, kind: str, name: str) -> None:
        self.store.delete(kind, "default", name)
        self.controller.sync()

    def claim(self, name: str = "c") -> Any:
        return self.store.get(PERSISTENT_VOLUME_CLAIM, name, "default")

    def volume(self, name: str = "v") -> Any:
        return self.store.get(PERSISTENT_VOLUME, name)


IMMEDIATE = storage_class("s", delayed=False)
WANTED = claim("c", storage_class="s")


def test_a_volume_that_nobody_claims_is_available() -> None:
    assert Cluster(volume("v", phase="")).volume().phase == "Available"


def test_an_immediate_claim_is_bound_to_a_volume_both_ways() -> None:
    cluster = Cluster(IMMEDIATE, claim("c", storage_class="s", uid="1"), volume("v", storage_class="s", phase=""))
    bound, owned = cluster.claim(), cluster.volume()
    assert (bound.is_bound, bound.phase, bound.volume) == (True, "Bound", "v")
    assert (owned.phase, owned.claim.name, owned.claim.uid) == ("Bound", "c", "1")
    assert bound.manifest["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    assert owned.manifest["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert bound.manifest["status"]["capacity"] == {"storage": "10Gi"}


def test_a_claim_without_a_class_gets_a_volume_without_one() -> None:
    cluster = Cluster(claim("c", storage_class=""), volume("v", storage_class="s"), volume("w"))
    assert cluster.claim().volume == "w"


def test_the_smallest_volume_with_the_fewest_modes_is_taken() -> None:
    volumes = [
        volume("many", "5Gi", storage_class="s", modes=["ReadWriteOnce", "ReadOnlyMany"]),
        volume("large", "20Gi", storage_class="s"),
        volume("right", "8Gi", storage_class="s"),
        volume("small", "1Gi", storage_class="s"),
    ]
    assert Cluster(IMMEDIATE, WANTED, *volumes).claim().volume == "right"


@pytest.mark.parametrize(
    "unsuitable",
    [
        volume("v", "1Gi", storage_class="s"),
        volume("v", storage_class="other"),
        volume("v", storage_class="s", modes=["ReadOnlyMany"]),
        volume("v", storage_class="s", volumeMode="Block"),
        volume("v", storage_class="s", claim="other"),
        volume("v", storage_class="s", deleting=True),
        volume("v", storage_class="s", phase="Released", claim="gone"),
    ],
)
def test_a_claim_without_a_suitable_volume_is_pending(unsuitable: dict[str, Any]) -> None:
    cluster = Cluster(IMMEDIATE, WANTED, unsuitable)
    assert (cluster.claim().phase, cluster.claim().volume) == ("Pending", "")


def test_a_pending_claim_gets_a_volume_that_comes_later() -> None:
    cluster = Cluster(IMMEDIATE, WANTED)
    cluster.put(volume("v", storage_class="s", phase=""))
    assert cluster.claim().volume == "v"


def test_a_claim_gets_what_comes_later_whatever_comes_first() -> None:
    cluster = Cluster(WANTED)
    cluster.put(storage_class("s", "disk.example.com", delayed=False))
    assert cluster.claim().volume == "pvc-default-c"


def test_volumes_are_made_for_immediate_claims_of_a_class_with_a_provisioner() -> None:
    made = storage_class("s", "disk.example.com", delayed=False, allowedTopologies=topology({ZONE: ["a"]}))
    cluster = Cluster(made, claim("c", storage_class="s", uid="1"))
    owned = cluster.volume("pvc-1")
    assert cluster.claim().volume == owned.name
    assert (owned.phase, owned.storage_class, owned.source) == ("Bound", "s", "csi")
    assert owned.details == {"driver": "disk.example.com", "volumeHandle": "pvc-1"}
    assert owned.capacity == cluster.claim().request
    assert owned.affinity is not None
    assert owned.affinity[0].matches("", {ZONE: "a"})
    assert not owned.affinity[0].matches("", {ZONE: "b"})


def test_a_claim_that_waits_for_its_consumer_is_pending() -> None:
    cluster = Cluster(storage_class("s", "disk.example.com"), WANTED, volume("v", storage_class="s"))
    assert (cluster.claim().phase, cluster.claim().volume) == ("Pending", "")


@pytest.mark.parametrize(
    ("objects", "labels"),
    [
        ([], None),
        ([csi_node("n")], None),
        (
            [
                {
                    "kind": "CSINode",
                    "metadata": {"name": "n"},
                    "spec": {"drivers": [{"name": "disk.example.com", "topologyKeys": ["rack"]}]},
                }
            ],
            {"rack": "1"},
        ),
    ],
    ids=["no CSINode", "no driver", "topology of the driver"],
)
def test_a_volume_is_made_when_a_node_is_selected(objects: list[dict[str, Any]], labels: dict[str, str] | None) -> None:
    cluster = Cluster(storage_class("s", "disk.example.com"), WANTED, *objects)
    cluster.put(with_selected_node(cluster.claim(), "n").manifest)
    assert cluster.claim().is_bound
    affinity = cluster.volume("pvc-default-c").affinity
    assert (affinity is None) == (labels is None)
    if labels is not None:
        assert affinity[0].matches("", labels)
        assert not affinity[0].matches("", {})


def test_the_topology_of_a_class_is_that_of_the_selected_node() -> None:
    allowed = storage_class("s", "disk.example.com", allowedTopologies=topology({ZONE: ["a", "b"]}))
    cluster = Cluster(allowed, WANTED)
    cluster.put(with_selected_node(cluster.claim(), "n").manifest)
    [term] = cluster.volume("pvc-default-c").affinity
    assert term.matches("", {ZONE: "a"})
    assert not term.matches("", {ZONE: "b"})


def test_a_volume_that_the_scheduler_gave_to_a_claim_is_bound_both_ways() -> None:
    cluster = Cluster(storage_class("s"), WANTED, volume("v", storage_class="s"))
    cluster.put(bound_to(cluster.volume(), cluster.claim()).manifest)
    assert cluster.claim().is_bound
    assert cluster.volume().phase == cluster.claim().phase == "Bound"


def test_a_volume_and_a_claim_that_name_each_other_are_bound() -> None:
    cluster = Cluster(claim("c", volume="v", bound=False, storage_class=""), volume("v", claim="c", phase=""))
    assert cluster.claim().is_bound
    assert cluster.volume().phase == "Bound"
    assert "pv.kubernetes.io/bound-by-controller" not in cluster.claim().manifest["metadata"]["annotations"]


def test_a_claim_gets_the_volume_it_names_unless_it_is_anothers() -> None:
    named = claim("c", volume="v", bound=False, storage_class="")
    assert Cluster(named, volume("v")).claim().is_bound
    assert Cluster(named, volume("v", claim="other")).claim().phase == "Pending"
    assert Cluster(named, volume("v", "1Gi")).claim().phase == "Pending"
    assert Cluster(named).claim().phase == "Pending"


def test_a_bound_claim_whose_volume_is_gone_is_lost_until_it_is_back() -> None:
    cluster = Cluster(IMMEDIATE, WANTED, volume("v", storage_class="s"))
    cluster.delete("PersistentVolume", "v")
    assert cluster.claim().phase == "Lost"
    cluster.put(volume("v", storage_class="s"))
    assert cluster.claim().phase == cluster.volume().phase == "Bound"


def test_a_volume_whose_claim_is_gone_is_released_or_deleted() -> None:
    cluster = Cluster(IMMEDIATE, WANTED, volume("v", storage_class="s"))
    cluster.delete("PersistentVolumeClaim", "c")
    assert cluster.volume().phase == "Released"
    made = Cluster(storage_class("s", "disk.example.com", delayed=False), WANTED)
    made.delete("PersistentVolumeClaim", "c")
    assert made.volume("pvc-default-c") is None


@pytest.mark.parametrize("phase", ["Bound", ""])
def test_a_bound_volume_that_comes_before_its_claim_waits_for_it(phase: str) -> None:
    policy = {"persistentVolumeReclaimPolicy": "Delete"}
    cluster = Cluster(volume("v", claim="c", claim_uid="1", phase=phase, **policy))
    assert cluster.volume().phase == (phase or "Available")
    cluster.put(claim("c", volume="v", uid="1", storage_class=""))
    assert cluster.claim().phase == cluster.volume().phase == "Bound"


def test_a_claim_that_names_no_class_gets_the_default_one() -> None:
    default = {**storage_class("", "disk.example.com", delayed=False), "metadata": DEFAULT}
    cluster = Cluster(claim("c"), claim("d", storage_class=""))
    cluster.put(default)
    assert cluster.claim().storage_class == "standard"
    assert cluster.claim().is_bound
    assert cluster.claim("d").phase == "Pending"


def test_claims_of_ephemeral_volumes_are_the_pods_own() -> None:
    cluster = Cluster(storage_class("s", "disk.example.com"))
    template = {"metadata": {"labels": {"k": "v"}}, "spec": {"storageClassName": "s", "accessModes": ["ReadWriteOnce"]}}
    pod = make_pod("p", volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}])
    cluster.controller.create_claims_of(pod)
    made = cluster.claim("p-v")
    assert made.is_controlled_by(pod)
    assert (made.storage_class, made.phase) == ("s", "Pending")
    cluster.controller.create_claims_of(pod)
    cluster.controller.create_claims_of(claiming("c"))
    assert [item.name for item in cluster.store.all(PERSISTENT_VOLUME_CLAIM)] == ["p-v"]


def test_what_is_settled_is_not_written_again() -> None:
    cluster = Cluster(IMMEDIATE, WANTED, volume("v", storage_class="s"))
    generation = cluster.store.generation(PERSISTENT_VOLUME), cluster.store.generation(PERSISTENT_VOLUME_CLAIM)
    cluster.controller.sync()
    VolumeController(cluster.store).sync()
    assert generation == (
        cluster.store.generation(PERSISTENT_VOLUME),
        cluster.store.generation(PERSISTENT_VOLUME_CLAIM),
    )


def test_claims_compete_in_the_order_they_came() -> None:
    claims = [claim(name, storage_class="s") for name in ("first", "second")]
    cluster = Cluster(IMMEDIATE, *claims)
    cluster.put(volume("v", storage_class="s"))
    assert (cluster.claim("first").volume, cluster.claim("second").volume) == ("v", "")
