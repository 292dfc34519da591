"""Input of a simulation: objects, warnings, and errors."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewasp.k8s.errors import ManifestError
from kubewasp.simulation import loading
from kubewasp.simulation.loading import ClusterInput, read
from kubewasp.simulation.workloads import WORKLOADS
from tests.simulation.simulating import (
    Object,
    added,
    filled,
    node,
    owned_by,
    pending,
    placed,
    pod,
    priority_class,
    settled,
    started,
    workload,
)


def write(path: Path, *documents: Object) -> Path:
    path.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    return path


def counts(found: ClusterInput) -> tuple[int, int, int, int]:
    return len(found.nodes), len(found.pods), len(found.workloads), len(found.others)


def error_of(*objects: Object) -> str:
    with pytest.raises(ManifestError) as caught:
        filled(*objects)
    return str(caught.value)


# ---------------------------------------------------------------------- files


def test_files_folders_lists_and_dumps_are_read(tmp_path: Path) -> None:
    write(tmp_path / "one.yaml", node("a"), pod("web"))
    inner = tmp_path / "more" / "inner"
    inner.mkdir(parents=True)
    items = [node("b"), workload("Deployment", "web")]
    (inner / "dump.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    bare = {key: value for key, value in pod("other").items() if key not in ("kind", "apiVersion")}
    write(inner / "pods.yml", {"apiVersion": "v1", "kind": "PodList", "items": [bare]})
    (inner / "notes.txt").write_text("not: [read")
    assert counts(read([tmp_path])) == (2, 2, 1, 0)
    assert counts(read([tmp_path / "one.yaml", inner / "dump.json"])) == (2, 1, 1, 0)


def test_a_dump_of_a_cluster_doubles_nothing() -> None:
    replica_set = owned_by("Deployment", "web", workload("ReplicaSet", "web-5c9f", 2))
    pods = [owned_by("ReplicaSet", "web-5c9f", pod(f"web-5c9f-{tail}", on="a")) for tail in ("abcde", "fghij")]
    daemon = owned_by("DaemonSet", "agent", pod("agent-x7k2p", on="a"))
    objects = [node("a"), workload("Deployment", "web", 2), replica_set, *pods, workload("DaemonSet", "agent"), daemon]
    cluster = settled({"apiVersion": "v1", "kind": "List", "items": objects})
    assert placed(cluster) == dict.fromkeys(("web-5c9f-abcde", "web-5c9f-fghij", "agent-x7k2p"), "a")
    assert not cluster.objects.bindings


@pytest.mark.parametrize("kind", [kind for kind in WORKLOADS if kind != "DaemonSet"])
def test_workloads_become_pods_that_are_placed(kind: str) -> None:
    cluster = settled(node("a"), node("b"), workload(kind, "web", 4))
    assert sorted(placed(cluster).values()) == ["a", "a", "b", "b"]


def test_a_daemon_set_becomes_a_pod_on_each_node() -> None:
    cordoned = node("c")
    cordoned["spec"]["unschedulable"] = True
    tainted = node("d", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    cluster = settled(node("a"), node("b"), cordoned, tainted, workload("DaemonSet", "agent"))
    assert placed(cluster) == {"agent-a": "a", "agent-b": "b", "agent-c": "c"}


def test_finished_pods_are_left_out() -> None:
    done = {**pod("done", on="a", cpu="4"), "status": {"phase": "Succeeded"}}
    failed = {**pod("failed", on="a", cpu="4"), "status": {"phase": "Failed"}}
    cluster = settled(node("a"), done, failed, pod("web", cpu="4"))
    assert placed(cluster) == {"web": "a"}


def test_bound_pods_come_before_those_that_wait() -> None:
    cluster = settled(pod("web", cpu="3"), pod("bound", cpu="3", on="a"), node("a"))
    assert placed(cluster) == {"bound": "a"}
    assert set(pending(cluster)) == {"web"}


# ---------------------------------------------------------------------- warnings


def test_unknown_kinds_are_listed() -> None:
    widgets = [{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}} for name in "ab"]
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}}
    assert added(*widgets, cron).warnings == ["ignored objects of unsupported kinds: 1 CronJob, 2 Widget"]


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret", "ServiceAccount", "Role", "Ingress", "Event"])
def test_kinds_that_say_nothing_about_scheduling_are_left_out_silently(kind: str) -> None:
    found = added({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}})
    assert (counts(found), found.warnings) == ((0, 0, 0, 0), [])


def test_a_kind_of_another_group_is_another_kind() -> None:
    found = added({"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "x"}, "spec": 1})
    assert counts(found) == (0, 0, 0, 0)
    assert found.warnings == ["ignored objects of unsupported kinds: 1 Service"]


def test_pods_on_nodes_that_are_not_there_are_warned_of() -> None:
    assert added(node("a"), pod("web", on="ghost")).warnings == ["pods bound to nodes outside the input: ghost"]


# ---------------------------------------------------------------------- errors


def changed(body: Object, path: str, value: Any) -> Object:
    body = copy.deepcopy(body)
    *way, last = path.split(".")
    place: Any = body
    for key in way:
        place = place[int(key)] if key.isdigit() else place[key]
    place[int(last) if last.isdigit() else last] = value
    return body


REQUESTS = "spec.containers.0.resources.requests"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            changed(pod("web"), f"{REQUESTS}.cpu", "-1"),
            'spec.containers[0].resources.requests["cpu"]: expected a quantity from 0 to 1e15, got "-1"',
        ),
        (
            changed(pod("web"), f"{REQUESTS}.memory", "1e30"),
            'spec.containers[0].resources.requests["memory"]: expected a quantity from 0 to 1e15, got "1e30"',
        ),
        (
            changed(pod("web"), "spec", {"overhead": {"cpu": "-1m"}}),
            'spec.overhead["cpu"]: expected a quantity from 0 to 1e15, got "-1m"',
        ),
        (
            changed(node("a"), "status.allocatable.cpu", "-4"),
            'status.allocatable["cpu"]: expected a quantity from 0 to 1e15, got "-4"',
        ),
        (
            changed(workload("Deployment", "web"), f"spec.template.{REQUESTS}.cpu", "-1"),
            'spec.template.spec.containers[0].resources.requests["cpu"]: expected a quantity from 0 to 1e15, got "-1"',
        ),
        (
            changed(workload("Deployment", "web"), "spec.replicas", -1),
            "spec.replicas: expected an integer from 0 to 1000000, got -1",
        ),
        (
            changed(workload("Deployment", "web"), "spec.replicas", 10**12),
            "spec.replicas: expected an integer from 0 to 1000000, got 1000000000000",
        ),
        (
            changed(workload("Deployment", "web"), "spec.replicas", "3"),
            'spec.replicas: expected an integer from 0 to 1000000, got "3"',
        ),
        (
            changed(workload("ReplicationController", "web"), "spec.replicas", -1),
            "spec.replicas: expected an integer from 0 to 1000000, got -1",
        ),
        (
            changed(workload("Job", "web"), "spec.parallelism", True),
            "spec.parallelism: expected an integer from 0 to 1000000, got true",
        ),
        (
            changed(workload("Job", "web"), "spec.completions", -1),
            "spec.completions: expected an integer from 0 to 2147483647, got -1",
        ),
        (changed(workload("Deployment", "web"), "spec.template", []), "spec.template: expected an object, got a list"),
        (
            changed(workload("StatefulSet", "web"), "spec.volumeClaimTemplates", [1]),
            "spec.volumeClaimTemplates[0]: expected an object, got 1",
        ),
        (
            changed(workload("Deployment", "web"), "spec.selector", {"matchLabels": {"app": 1}}),
            'spec.selector.matchLabels["app"]: expected a string, got 1',
        ),
        (changed(pod("web"), "spec.containers.0.name", 7), "spec.containers[0].name: expected a string, got 7"),
        (changed(pod("web"), "metadata.name", ""), "metadata.name: a Pod needs a name"),
        (changed(pod("web"), "metadata", None), "metadata.name: a Pod needs a name"),
        (changed(pod("web"), "apiVersion", "v2"), "apiVersion: expected v1 for kind Pod, found v2"),
        (
            changed(workload("Deployment", "web"), "apiVersion", "extensions/v1beta1"),
            'apiVersion: expected apps/v1 for kind Deployment, got "extensions/v1beta1"',
        ),
        (changed(pod("web"), "kind", ""), "kind is missing"),
        (changed(priority_class("high", 1), "value", "many"), 'value: expected an integer, got "many"'),
    ],
)
def test_what_is_wrong_is_told_with_its_place(body: Object, error: str) -> None:
    assert error_of(body) == f"object 0: {error}"


def test_a_claim_cannot_ask_for_less_than_nothing() -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {"resources": {"requests": {"storage": "-1Gi"}}},
    }
    assert error_of(claim).startswith('object 0: spec.resources.requests["storage"]: expected a quantity from 0')


def test_two_of_a_name_are_one_too_many(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a.yaml", pod("web")), write(tmp_path / "b.yaml", pod("web"))
    with pytest.raises(ManifestError) as caught:
        read([first, second])
    place = f"{first}: document 1"
    assert str(caught.value) == (f"{second}: document 1: metadata.name: duplicate Pod default/web, first in {place}")
    assert counts(added(pod("web"), pod("web", namespace="other"), node("web"))) == (1, 2, 0, 0)


def test_two_pods_cannot_have_one_uid() -> None:
    first, second = pod("one"), pod("two")
    first["metadata"]["uid"] = second["metadata"]["uid"] = "same"
    assert error_of(first, second) == "object 1: metadata.uid: pod default/one has the same uid"


def test_an_unknown_priority_class_is_told_with_the_pod() -> None:
    assert error_of(pod("web", priorityClassName="vip")) == (
        "object 0: spec.priorityClassName: no PriorityClass with name vip was found"
    )
    assert error_of(workload("ReplicaSet", "web", 1, template={"priorityClassName": "vip"})) == (
        "pod default/web-0 of ReplicaSet web: spec.priorityClassName: no PriorityClass with name vip was found"
    )


def test_malformed_yaml_is_told_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("kind: Pod\nmetadata: {name: web\nspec: {}\n")
    with pytest.raises(ManifestError) as caught:
        read([path])
    assert str(caught.value).startswith(f"{path}: document 1: line 3")


def test_missing_files_and_empty_folders(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"none\.yaml: cannot be read: No such file or directory"):
        read([tmp_path / "none.yaml"])
    with pytest.raises(ManifestError, match=r"no \.yaml, \.yml, \.json, \.kwsnap file in this folder"):
        read([tmp_path])


# ---------------------------------------------------------------------- anything at all

CSI = {"apiVersion": "storage.k8s.io/v1"}
SAMPLES: list[Object] = [
    node("a", taints=[{"key": "gpu", "value": "x", "effect": "NoSchedule"}], zone="z"),
    pod(
        "web",
        labels={"app": "web"},
        nodeSelector={"disk": "ssd"},
        tolerations=[{"key": "gpu", "operator": "Exists"}],
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}]}]
                }
            },
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["app"]}
                ],
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {}}}
                ],
            },
        },
        topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
        ],
        volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
        hostNetwork=True,
        initContainers=[{"name": "first", "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "1"}}}],
        resources={"limits": {"cpu": "2"}},
        schedulingGates=[{"name": "gate"}],
    ),
    owned_by("ReplicaSet", "rs", pod("owned", on="a")),
    *(workload(kind, kind.lower(), 1) for kind in WORKLOADS),
    workload(
        "StatefulSet",
        "db",
        1,
        ordinals={"start": 1},
        volumeClaimTemplates=[
            {
                "metadata": {"name": "data"},
                "spec": {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["a"]},
            }
        ],
    ),
    {**workload("Job", "job", 1), "status": {"succeeded": 1, "conditions": [{"type": "Complete", "status": "False"}]}},
    priority_class("high", 5, globalDefault=False),
    {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"app": "web"}}},
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": {"a": "b"}}},
    {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "p"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 1},
        "status": {"disruptionsAllowed": 1},
    },
    {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv"},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "csi": {"driver": "d"}},
    },
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}, "selector": {"matchLabels": {"a": "b"}}},
    },
    {**CSI, "kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "p", "allowedTopologies": []},
    {
        **CSI,
        "kind": "CSINode",
        "metadata": {"name": "a"},
        "spec": {"drivers": [{"name": "d", "allocatable": {"count": 1}}]},
    },
    {**CSI, "kind": "CSIDriver", "metadata": {"name": "d"}, "spec": {"storageCapacity": True}},
    {**CSI, "kind": "CSIStorageCapacity", "metadata": {"name": "c"}, "storageClassName": "fast", "capacity": "1Gi"},
    {**CSI, "kind": "VolumeAttachment", "metadata": {"name": "va"}, "spec": {"attacher": "d", "nodeName": "a"}},
]


def paths(value: Any, prefix: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if prefix:
        yield prefix
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*prefix, key))


def with_value(body: Object, path: tuple[Any, ...], value: Any) -> Object:
    body = copy.deepcopy(body)
    place: Any = body
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return body


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda body: f"{body['kind']}-{body['metadata']['name']}")
def test_any_wrong_value_is_refused_or_does_no_harm(sample: Object) -> None:
    """Every part of an object, replaced by things it cannot be: nothing but a ManifestError may come of it."""
    for path in paths(sample):
        for wrong in (None, "", "x", -1, 2**40, True, 1.5, [], ["x"], [None], {}, {"x": "y"}, {"x": None}):
            body = with_value(sample, path, wrong)
            try:
                found = added(body)
            except ManifestError:
                continue
            cluster = started()
            try:
                loading.fill(cluster.objects, found)
                cluster.settle()
            except ManifestError:
                continue
