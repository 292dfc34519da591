"""Delayed volume binding: the node of the pod decides, and the pod waits for its claim.

There is no controller manager: the tests play the controller that binds claims, and the provisioner.
"""

from typing import Final

import pytest

from tests.e2e.kubewasp import SOON, events_of, is_gone, ours, wait_node, wait_unschedulable
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import StartKubewasp
from tools.testbed.nodes import FakeNodes
from tools.testbed.waiting import wait_until

STORAGE: Final = "storage.k8s.io/v1"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
SIZE: Final = {"storage": "1Gi"}


@pytest.fixture
def storage_class(cluster: Cluster) -> str:
    """Storage class of existing volumes, bound with the first pod."""
    return make_class(cluster, "static", provisioner="kubernetes.io/no-provisioner")


def make_class(cluster: Cluster, name: str, *, provisioner: str) -> str:
    manifest = {
        "apiVersion": STORAGE,
        "kind": "StorageClass",
        "metadata": {"name": f"{cluster.namespace}-{name}"},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    return str(cluster.create(manifest)["metadata"]["name"])


def local_volume(name: str, storage_class: str, node: str) -> Object:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": SIZE,
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "local": {"path": "/data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
        },
    }


def make_available(cluster: Cluster, volume: Object) -> str:
    """Creates a volume and does what the controller does for a new one."""
    name = str(cluster.create(volume)["metadata"]["name"])
    cluster.client.patch("PersistentVolume", name, {"status": {"phase": "Available"}}, sub="status")
    return name


def claim(name: str, storage_class: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class, "resources": {"requests": SIZE}},
    }


def using(name: str, claim_name: str) -> Object:
    return ours(name, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}])


def promised_volume(cluster: Cluster, claim_name: str) -> Object:
    """The volume that the scheduler has promised to a claim, as soon as it has."""

    def found() -> Object:
        volumes = cluster.list_all("PersistentVolume")
        here = (cluster.namespace, claim_name)
        return next((one for one in volumes if _claimed_by(one) == here), {})

    return wait_until(found, SOON, f"a volume for {claim_name}", cluster.describe)


def _claimed_by(volume: Object) -> tuple[str, str]:
    reference = volume["spec"].get("claimRef", {})
    return reference.get("namespace", ""), reference.get("name", "")


def bind_claim(cluster: Cluster, name: str, volume: str) -> None:
    """Step of the controller for a volume with a claimRef."""
    done = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
    cluster.patch("PersistentVolumeClaim", name, {"metadata": {"annotations": done}, "spec": {"volumeName": volume}})
    cluster.patch("PersistentVolumeClaim", name, {"status": {"phase": "Bound", "capacity": SIZE}}, sub="status")
    cluster.client.patch("PersistentVolume", volume, {"status": {"phase": "Bound"}}, sub="status")


def test_a_pod_goes_where_a_volume_is_once_its_claim_is_bound(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, storage_class: str
) -> None:
    nodes = fake_nodes.create(5)
    volume = make_available(cluster, local_volume(f"{cluster.namespace}-local", storage_class, nodes[3]))
    cluster.create(claim("data", storage_class))
    start_kubewasp()
    cluster.create(using("database", "data"))
    promised = promised_volume(cluster, "data")
    assert promised["metadata"]["name"] == volume
    assert promised["spec"]["claimRef"]["uid"] == cluster.get("PersistentVolumeClaim", "data")["metadata"]["uid"]
    cluster.create(ours("other"))
    wait_node(cluster, "other")
    waiting = cluster.get("Pod", "database")
    assert "nodeName" not in waiting["spec"]
    assert waiting["status"]["nominatedNodeName"] == nodes[3]
    bind_claim(cluster, "data", volume)
    assert wait_node(cluster, "database") == nodes[3]


def test_a_volume_is_made_where_the_scheduler_wants_it(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    fake_nodes.create(3)
    storage_class = make_class(cluster, "made", provisioner="example.com/provisioner")
    cluster.create(claim("data", storage_class))
    start_kubewasp()
    cluster.create(using("database", "data"))

    def selected() -> str:
        return str(
            cluster.get("PersistentVolumeClaim", "data")["metadata"].get("annotations", {}).get(SELECTED_NODE, "")
        )

    node = wait_until(selected, SOON, "a node to be selected", cluster.describe)
    made = local_volume(f"{cluster.namespace}-made", storage_class, node)
    uid = cluster.get("PersistentVolumeClaim", "data")["metadata"]["uid"]
    made["spec"]["claimRef"] = {
        "kind": "PersistentVolumeClaim",
        "namespace": cluster.namespace,
        "name": "data",
        "uid": uid,
    }
    cluster.create(made)
    bind_claim(cluster, "data", made["metadata"]["name"])
    assert wait_node(cluster, "database") == node


def test_two_claims_do_not_get_the_same_volume(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, storage_class: str
) -> None:
    first, second = fake_nodes.create(2)
    for node in (first, second):
        make_available(cluster, local_volume(f"{node}-local", storage_class, node))
    cluster.create_all(claim(name, storage_class) for name in ("one", "two"))
    start_kubewasp()
    cluster.create_all(using(f"pod-{name}", name) for name in ("one", "two"))
    for name in ("one", "two"):
        bind_claim(cluster, name, promised_volume(cluster, name)["metadata"]["name"])
    assert set(cluster.wait_bound(SOON).values()) == {first, second}


def test_a_pod_waits_for_its_claim_and_then_for_a_volume(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, storage_class: str
) -> None:
    (node,) = fake_nodes.create(1)
    start_kubewasp()
    cluster.create(using("database", "data"))
    wait_unschedulable(cluster, "database", 'persistentvolumeclaim "data" not found')
    cluster.create(claim("data", storage_class))
    wait_unschedulable(cluster, "database", "node(s) didn't find available persistent volumes to bind")
    volume = make_available(cluster, local_volume(f"{cluster.namespace}-local", storage_class, node))
    promised_volume(cluster, "data")
    bind_claim(cluster, "data", volume)
    assert wait_node(cluster, "database") == node


def test_a_pod_that_is_deleted_while_its_volume_is_bound_is_forgotten(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, storage_class: str
) -> None:
    (node,) = fake_nodes.create(1, capacity={"cpu": "1"})
    make_available(cluster, local_volume(f"{cluster.namespace}-local", storage_class, node))
    cluster.create(claim("data", storage_class))
    start_kubewasp()
    cluster.create(using("leaving", "data"))
    promised_volume(cluster, "data")
    cluster.delete("Pod", "leaving")
    wait_until(lambda: is_gone(cluster, "leaving"), SOON, "the pod to be gone")
    cluster.create(ours("big", cpu="1"))
    assert wait_node(cluster, "big") == node  # the room of the one that left is free again
    assert events_of(cluster, "leaving", "FailedScheduling") == []
