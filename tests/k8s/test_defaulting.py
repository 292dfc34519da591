from typing import Any

import pytest

from kubewasp.k8s.defaulting import default_pod
from kubewasp.k8s.errors import ManifestError
from kubewasp.k8s.objects import PriorityClass

CLASSES = {
    "": PriorityClass("usual", 7, True, "PreemptLowerPriority"),
    "polite": PriorityClass("polite", 9, False, "Never"),
}


def stored(spec: Any = None, metadata: Any = None, *, classes: Any = None, **more: Any) -> dict[str, Any]:
    manifest = {"metadata": {"name": "web", **(metadata or {})}, "spec": spec or {}, **more}
    return default_pod(manifest, uid="uid-1", priority_class=(classes or {}).get)


def container(**fields: Any) -> dict[str, Any]:
    return {"name": "main", **fields}


def test_namespace_scheduler_phase_and_uid_are_filled_in() -> None:
    found = stored({"schedulerName": None}, {"namespace": None})
    assert found["metadata"] == {"name": "web", "namespace": "default", "uid": "uid-1"}
    assert found["spec"]["schedulerName"] == "default-scheduler"
    assert found["status"] == {"phase": "Pending"}


def test_what_is_given_stays() -> None:
    found = stored({"schedulerName": "mine"}, {"namespace": "shop"}, status={"phase": "Running"})
    assert (found["metadata"]["namespace"], found["spec"]["schedulerName"]) == ("shop", "mine")
    assert found["status"] == {"phase": "Running"}


def test_the_manifest_is_left_alone() -> None:
    spec = {"containers": [container(resources={"limits": {"cpu": "1"}})]}
    manifest = {"metadata": {"name": "web"}, "spec": spec}
    default_pod(manifest, uid="uid-1", priority_class={}.get)
    assert manifest == {
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "1"}}}]},
    }


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_limits_are_requests_where_there_are_none(kind: str) -> None:
    limits = {"cpu": "2", "memory": "1Gi"}
    found = stored({kind: [container(resources={"limits": limits, "requests": {"cpu": "1"}}), container()]})
    assert found["spec"][kind][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert "resources" not in found["spec"][kind][1]


def test_limits_of_the_pod_are_requests_of_the_pod() -> None:
    limits = {"cpu": "2", "memory": "1Gi", "example.com/gpu": "1"}
    spec = {"resources": {"limits": limits}, "containers": [container(resources={"requests": {"cpu": "1"}})]}
    assert stored(spec)["spec"]["resources"] == {"limits": limits, "requests": {"memory": "1Gi"}}
    given = {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}
    assert stored({"resources": given})["spec"]["resources"] == given


def test_ports_on_the_network_of_the_node_are_ports_of_the_node() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81}]
    found = stored({"hostNetwork": True, "containers": [container(ports=ports)]})
    assert [port["hostPort"] for port in found["spec"]["containers"][0]["ports"]] == [80, 81]
    found = stored({"containers": [container(ports=ports)]})
    assert "hostPort" not in found["spec"]["containers"][0]["ports"][0]


@pytest.mark.parametrize(
    ("spec", "priority"),
    [
        ({}, 7),
        ({"priorityClassName": "polite"}, 9),
        ({"priority": 3}, 3),
        ({"priorityClassName": "system-node-critical"}, 2_000_001_000),
        ({"priorityClassName": "system-cluster-critical"}, 2_000_000_000),
    ],
)
def test_priority_comes_from_the_class(spec: Any, priority: int) -> None:
    assert stored(spec, classes=CLASSES)["spec"]["priority"] == priority


def test_without_classes_the_priority_is_zero() -> None:
    assert stored()["spec"]["priority"] == 0


def test_the_class_says_whether_to_preempt() -> None:
    assert stored({"priorityClassName": "polite"}, classes=CLASSES)["spec"]["preemptionPolicy"] == "Never"
    spec = {"priorityClassName": "polite", "preemptionPolicy": "PreemptLowerPriority"}
    assert stored(spec, classes=CLASSES)["spec"]["preemptionPolicy"] == "PreemptLowerPriority"
    assert stored({}, classes=CLASSES)["spec"]["priorityClassName"] == "usual"


def test_an_unknown_class_is_an_error() -> None:
    with pytest.raises(ManifestError) as caught:
        stored({"priorityClassName": "vip"}, classes=CLASSES)
    assert str(caught.value) == "spec.priorityClassName: no PriorityClass with name vip was found"


def test_failing_nodes_are_tolerated_for_five_minutes() -> None:
    expected = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]
    assert stored()["spec"]["tolerations"] == expected
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    assert stored({"tolerations": [own]})["spec"]["tolerations"] == [own, expected[1]]
    everything = {"operator": "Exists"}
    assert stored({"tolerations": [everything]})["spec"]["tolerations"] == [everything]
    other = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}
    assert len(stored({"tolerations": [other]})["spec"]["tolerations"]) == 3


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
def test_label_keys_become_part_of_the_selector(kind: str) -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["version", "absent"],
        "mismatchLabelKeys": ["tenant"],
    }
    rules = {
        "requiredDuringSchedulingIgnoredDuringExecution": [term],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}],
    }
    found = stored({"affinity": {kind: rules}}, {"labels": {"version": "2", "tenant": "a"}})["spec"]["affinity"][kind]
    expected = [
        {"key": "version", "operator": "In", "values": ["2"]},
        {"key": "tenant", "operator": "NotIn", "values": ["a"]},
    ]
    [required] = found["requiredDuringSchedulingIgnoredDuringExecution"]
    [preferred] = found["preferredDuringSchedulingIgnoredDuringExecution"]
    assert required["labelSelector"] == {"matchLabels": {"app": "web"}, "matchExpressions": expected}
    assert preferred["podAffinityTerm"]["labelSelector"] == required["labelSelector"]


def test_label_keys_are_merged_once_and_not_without_a_selector() -> None:
    term = {"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["version"]}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    once = stored({"affinity": affinity}, {"labels": {"version": "2"}})["spec"]["affinity"]
    assert stored({"affinity": once}, {"labels": {"version": "2"}})["spec"]["affinity"] == once
    bare = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"matchLabelKeys": ["version"]}]}}
    assert stored({"affinity": bare}, {"labels": {"version": "2"}})["spec"]["affinity"] == bare
