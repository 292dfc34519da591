"""Deployment objects and roles on a real API server: strict fields, and the rights of tests/deploy/rbac.py."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.manifests import BASE, ONLY_SCHEDULER, cluster_rules, lease_rules, one
from tests.deploy.rbac import allows
from tests.e2e.deploy.tools import Manifest, helm_template, kustomize
from tools.testbed.client import ApiError
from tools.testbed.cluster import Cluster
from tools.testbed.waiting import wait_until

STRICT = {"dryRun": "All", "fieldValidation": "Strict"}
CALLS = [
    (verb, group, resource, name)
    for group, resource, name in (
        ("", "pods", ""),
        ("", "pods/binding", ""),
        ("", "pods/status", ""),
        ("", "pods/exec", ""),
        ("", "nodes", ""),
        ("", "secrets", ""),
        ("", "configmaps", ""),
        ("", "persistentvolumes", ""),
        ("", "events", ""),
        ("events.k8s.io", "events", ""),
        ("storage.k8s.io", "csinodes", ""),
        ("coordination.k8s.io", "leases", "kubewasp"),
        ("coordination.k8s.io", "leases", "kube-scheduler"),
        ("coordination.k8s.io", "leases", ""),
    )
    for verb in ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
]


def moved(manifests: list[Manifest], namespace: str) -> list[Manifest]:
    """The same objects for the namespace of a test."""
    moved_ones: list[Manifest] = yaml.safe_load(yaml.safe_dump(manifests).replace("kubewasp-system", namespace))
    return [item for item in moved_ones if item["kind"] != "Namespace"]


def post(cluster: Cluster, manifest: Manifest, **query: str) -> Any:
    path = cluster.client.path(manifest["kind"], manifest["apiVersion"], manifest["metadata"].get("namespace", ""))
    return json.loads(cluster.client.request("POST", path, manifest, query=query))


@pytest.mark.parametrize("source", [BASE, ONLY_SCHEDULER, None], ids=["base", "only-scheduler", "chart"])
def test_every_object_is_accepted_as_it_is(cluster: Cluster, source: Path | None) -> None:
    manifests = moved(kustomize(source) if source else helm_template(), cluster.namespace)
    assert len(manifests) == 10
    for manifest in manifests:
        post(cluster, manifest, **STRICT)


def test_an_unknown_field_would_be_refused(cluster: Cluster) -> None:
    deployment = one(moved(kustomize(BASE), cluster.namespace), "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["readinesProbe"] = {}
    with pytest.raises(ApiError, match="readinesProbe"):
        post(cluster, deployment, **STRICT)


def test_the_pod_is_admitted_to_a_restricted_namespace(cluster: Cluster) -> None:
    """The label of our Namespace; a pod with more rights is refused there."""
    labels = one(kustomize(BASE), "Namespace")["metadata"]["labels"]
    cluster.client.patch("Namespace", cluster.namespace, {"metadata": {"labels": labels}})
    template = one(kustomize(BASE), "Deployment")["spec"]["template"]
    metadata = {"name": "kubewasp", "namespace": cluster.namespace}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
    assert post(cluster, pod, **STRICT)["spec"]["priority"] == 2_000_000_000
    del pod["spec"]["containers"][0]["securityContext"]["capabilities"]
    with pytest.raises(ApiError, match="unrestricted capabilities"):
        post(cluster, pod, **STRICT)


def test_the_account_may_do_what_the_rules_say(cluster: Cluster) -> None:
    for manifest in moved(kustomize(BASE), cluster.namespace):
        if manifest["apiVersion"].startswith("rbac."):
            cluster.create(manifest)
    wait_until(lambda: allowed(cluster, "list", "", "pods", ""), 10, "the cluster role to be known")
    wait_until(lambda: allowed(cluster, "get", "coordination.k8s.io", "leases", "kubewasp"), 10, "the role to be known")
    rules = [*cluster_rules(), *lease_rules()]
    judged = {call: allowed(cluster, *call) for call in CALLS}
    assert judged == {call: allows(rules, *call) for call in CALLS}
    assert 0 < sum(judged.values()) < len(judged) / 2


def allowed(cluster: Cluster, verb: str, group: str, resource: str, name: str) -> bool:
    resource, _, subresource = resource.partition("/")
    attributes = {
        "verb": verb,
        "group": group,
        "resource": resource,
        "subresource": subresource,
        "name": name,
        "namespace": cluster.namespace,
    }
    account = f"system:serviceaccount:{cluster.namespace}:kubewasp"
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {},
        "spec": {"user": account, "resourceAttributes": attributes},
    }
    return bool(post(cluster, review)["status"]["allowed"])
