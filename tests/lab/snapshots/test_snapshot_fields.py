"""Fields of a snapshot: those that scheduling reads, and no other."""

from collections.abc import Iterator
from typing import Any

import pytest

from kubewasp.k8s import pods
from kubewasp.k8s.kinds import message_of_kind
from kubewasp.k8s.resources import pod_resources
from kubewasp.k8s.wire_table import messages
from kubewasp.lab.snapshots.snapshot_fields import FIELDS, Annotations, KeptFields, ListOf, MapOf, Shape, Sort
from kubewasp.simulation.workloads import WORKLOADS
from kubewasp.state.object_kinds import KINDS
from tests.simulation.simulating import Object, node, pod


def unknown(shape: Shape, message: str, path: str) -> Iterator[str]:
    """Fields of a shape that its message has not, or has in another form."""
    if not isinstance(shape, dict):
        return
    fields = {field.name: field for field in messages()[message]}
    inlined = [field for field in fields.values() if field.inline]
    for name, part in shape.items():
        if name in ("apiVersion", "kind") and name not in fields:
            continue
        place = f"{path}.{name}"
        field = fields.get(name) or next(
            (other for outer in inlined for other in messages()[outer.type] if other.name == name), None
        )
        is_list, is_map = isinstance(part, ListOf), isinstance(part, MapOf | Annotations)
        if field is None or (is_list, is_map) != (field.repeated, field.is_map):
            yield place
        else:
            yield from unknown(part.item if isinstance(part, ListOf) else part, field.type, place)


@pytest.mark.parametrize("kind", FIELDS)
def test_every_field_is_one_of_the_api(kind: str) -> None:
    assert list(unknown(FIELDS[kind], message_of_kind(kind), kind)) == []


def test_every_kind_that_a_simulation_reads_is_kept() -> None:
    assert FIELDS.keys() == {"Node", "Pod", *WORKLOADS, *KINDS}


def test_every_field_of_a_pod_that_scheduling_reads_is_kept() -> None:
    spec: Any = FIELDS["Pod"]["spec"]
    assert set(pods._SPEC) <= spec.keys()
    assert set(pods._CONTAINER) <= spec["containers"].item.keys()


def test_environment_commands_secrets_and_other_annotations_are_left_out() -> None:
    body = pod("web", on="a", labels={"app": "web"})
    body["metadata"] |= {
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "s3cret",
            "kubewasp.dev/gpus": "0,1",
            "example.com/gpus": "2",
            "vault.example.com/token": "s3cret",
        },
        "managedFields": [{"manager": "s3cret"}],
        "resourceVersion": "s3cret",
    }
    body["spec"] |= {
        "serviceAccountName": "s3cret",
        "imagePullSecrets": [{"name": "s3cret"}],
        "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["s3cret"]}],
        "volumes": [
            {"name": "s3cret", "secret": {"secretName": "s3cret"}},
            {"name": "s3cret", "nfs": {"server": "s3cret", "path": "/"}},
            {"name": "in", "csi": {"driver": "d", "volumeAttributes": {"token": "s3cret"}}},
            {"name": "disk", "persistentVolumeClaim": {"claimName": "data"}},
        ],
    }
    body["spec"]["containers"][0] |= {
        "command": ["s3cret"],
        "args": ["s3cret"],
        "env": [{"name": "s3cret", "value": "s3cret"}],
        "envFrom": [{"secretRef": {"name": "s3cret"}}],
        "volumeMounts": [{"name": "s3cret", "mountPath": "/"}],
        "livenessProbe": {"exec": {"command": ["s3cret"]}},
    }
    body["status"] = {
        "phase": "Running",
        "podIP": "10.0.0.7",
        "message": "s3cret",
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "DisruptionTarget", "status": "False"}],
        "containerStatuses": [{"name": "main", "image": "s3cret"}],
    }
    kept = KeptFields().of(body)
    assert "s3cret" not in str(kept)
    assert kept["metadata"]["annotations"] == {"kubewasp.dev/gpus": "0,1"}
    assert kept["spec"]["volumes"] == [
        {"name": "in", "csi": {"driver": "d"}},
        {"name": "disk", "persistentVolumeClaim": {"claimName": "data"}},
    ]
    assert kept["status"] == {"phase": "Running", "conditions": [{"type": "DisruptionTarget", "status": "False"}]}
    chosen = KeptFields(["example.com/*"]).of(body)["metadata"]["annotations"]
    assert chosen == {"kubewasp.dev/gpus": "0,1", "example.com/gpus": "2"}


def test_addresses_and_providers_of_nodes_are_left_out() -> None:
    body = node("a")
    body["spec"] |= {"providerID": "aws:///i-1", "podCIDR": "10.0.0.0/24"}
    body["status"] |= {
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        "nodeInfo": {"machineID": "m", "architecture": "amd64"},
        "conditions": [{"type": "Ready", "status": "True", "message": "m", "lastHeartbeatTime": "t"}],
    }
    kept = KeptFields().of(body)
    assert kept["spec"] == {"taints": []}
    assert kept["status"] == {
        "allocatable": body["status"]["allocatable"],
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {"architecture": "amd64"},
    }


@pytest.mark.parametrize("selector", [None, {}, {"matchLabels": {}}])
def test_an_empty_selector_stays_another_one_than_none(selector: Object | None) -> None:
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    body = {**budget, "spec": {"minAvailable": 1} | ({} if selector is None else {"selector": selector})}
    assert KeptFields().of(body) == body


def test_a_plain_field_is_never_renamed() -> None:
    body = pod("web", schedulerName="mine", tolerations=[{"key": "k", "operator": "Equal", "value": "v"}])
    kept = KeptFields().of(body, lambda sort, text: f"{sort.name} {text}")
    assert kept["spec"]["schedulerName"] == "mine"
    assert kept["spec"]["tolerations"] == [{"key": "k", "operator": "Equal", "value": "NAME v"}]
    assert kept["spec"]["containers"][0]["image"] == "IMAGE image"
    assert {sort.name for sort in Sort} == {"PLAIN", "NAME", "UID", "IMAGE", "ADDRESS", "HANDLE"}


@pytest.mark.parametrize(
    ("asked", "has", "allocated", "is_kept"),
    [
        ({"cpu": "1"}, {"cpu": "1"}, None, False),
        ({"cpu": "1"}, {"cpu": "1"}, {"cpu": "1"}, False),
        ({"cpu": "1"}, {"cpu": "2"}, None, True),
        ({"cpu": "2"}, {"cpu": "1"}, {"cpu": "1"}, True),
        ({"cpu": "1"}, {"cpu": "1"}, {"cpu": "2"}, True),
        ({}, {}, None, False),
        ({}, {"cpu": "1"}, None, True),
    ],
)
def test_statuses_of_containers_are_kept_while_a_resize_is_in_progress(
    asked: Object, has: Object, allocated: Object | None, is_kept: bool
) -> None:
    body = pod("web", on="a")
    body["spec"]["containers"][0]["resources"] = {"requests": asked}
    status: Object = {"name": "main", "resources": {"requests": has}}
    body["status"] = {
        "phase": "Running",
        "containerStatuses": [status | ({"allocatedResources": allocated} if allocated else {})],
    }
    kept = KeptFields().of(body)
    assert ("containerStatuses" in kept["status"]) == is_kept
    assert pod_resources(kept["spec"], kept["status"]) == pod_resources(body["spec"], body["status"])
