"""Manifests of examples/images on a real API server: strict fields, RuntimeClass, image volumes."""

import json
from typing import Any

import pytest
import yaml

from tests.guests.build import ROOT
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import StartKubewasp
from tools.testbed.nodes import FakeNodes

FOLDER = ROOT / "examples" / "images" / "kubernetes"


def manifests(name: str, namespace: str) -> list[dict[str, Any]]:
    found = list(yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8")))
    for manifest in found:
        if manifest["kind"] == "Pod":
            manifest["metadata"]["namespace"] = namespace
    return found


def post(cluster: Cluster, manifest: dict[str, Any], **query: str) -> dict[str, Any]:
    """The object as the API server has stored it."""
    path = cluster.client.path(manifest["kind"], manifest["apiVersion"], manifest["metadata"].get("namespace", ""))
    found: dict[str, Any] = json.loads(
        cluster.client.request("POST", path, manifest, query={"fieldValidation": "Strict", **query})
    )
    return found


def test_the_image_volume_is_accepted_and_kept(cluster: Cluster) -> None:
    (pod,) = manifests("image-volume.yaml", cluster.namespace)
    stored = post(cluster, pod, dryRun="All")
    assert stored["spec"]["volumes"][0]["image"] == {
        "reference": "registry.example.com/team/greet:v1",
        "pullPolicy": "IfNotPresent",
    }


@pytest.fixture
def runtime_class(cluster: Cluster) -> dict[str, Any]:
    runtime, _ = manifests("runtime-class.yaml", cluster.namespace)
    return cluster.create(runtime)


def test_a_pod_of_the_runtime_class_is_placed_on_a_node_with_the_runtime(
    cluster: Cluster, fake_nodes: FakeNodes, runtime_class: dict[str, Any], start_kubewasp: StartKubewasp
) -> None:
    labels = runtime_class["scheduling"]["nodeSelector"]
    fake_nodes.create(4, labels=lambda number: labels if number == 2 else {})
    _, pod = manifests("runtime-class.yaml", cluster.namespace)
    pod["spec"] |= {"schedulerName": "kubewasp", "terminationGracePeriodSeconds": 0}
    stored = cluster.create(pod)
    assert stored["spec"]["nodeSelector"] == labels
    start_kubewasp()
    (node,) = cluster.wait_bound().values()
    assert node == f"{cluster.namespace}-node-2"
