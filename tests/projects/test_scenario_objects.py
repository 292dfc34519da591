from typing import Any

import pytest

from kubewasp.framework.config.fields import Problems
from kubewasp.framework.config.model import ConfigError
from kubewasp.projects.scenario_objects import expand


def expanded(item: dict[str, Any], kind: str = "Node") -> dict[str, Any]:
    problems = Problems()
    found = expand(item, kind, "here", problems)
    problems.raise_if_any("")
    return found


def test_a_node_in_short() -> None:
    item = {
        "name": "a",
        "labels": {"disk": "ssd"},
        "annotations": {"who": "me"},
        "allocatable": {"cpu": 8, "example.com/gpu": 2},
        "taints": ["gpu=yes:NoSchedule", "old:NoExecute", {"key": "k", "effect": "NoSchedule"}],
        "spec": {"unschedulable": True},
        "status": {"images": []},
    }
    assert expanded(item) == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "a",
            "labels": {"kubernetes.io/hostname": "a", "disk": "ssd"},
            "annotations": {"who": "me"},
        },
        "spec": {
            "taints": [
                {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
                {"key": "old", "value": "", "effect": "NoExecute"},
                {"key": "k", "effect": "NoSchedule"},
            ],
            "unschedulable": True,
        },
        "status": {"allocatable": {"cpu": 8, "memory": "16Gi", "pods": "110", "example.com/gpu": 2}, "images": []},
    }


def test_a_pod_in_short() -> None:
    item = {
        "name": "web",
        "namespace": "team",
        "labels": {"app": "web"},
        "requests": {"cpu": "500m"},
        "image": "nginx",
        "node": "a",
        "spec": {"priority": 5},
    }
    assert expanded(item, "Pod") == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "labels": {"app": "web"}, "namespace": "team"},
        "spec": {
            "containers": [{"name": "main", "image": "nginx", "resources": {"requests": {"cpu": "500m"}}}],
            "nodeName": "a",
            "priority": 5,
        },
    }
    assert expanded({"kind": "Pod", "name": "web"})["kind"] == "Pod"


def test_a_manifest_stays_as_it_is() -> None:
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "anything": 1}
    assert expanded(manifest) == manifest


def test_a_manifest_need_not_say_what_is_plain() -> None:
    found = expanded({"metadata": {"name": "a"}}, "Pod")
    assert found == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("item", "error"),
    [
        ({"name": "a", "cpu": 5}, "here.cpu: unknown field"),
        ({"name": 5}, "here.name: expected a string, got 5"),
        ({"name": "a", "labels": []}, "here.labels: expected an object, got a list"),
        ({"name": "a", "taints": "x"}, 'here.taints: expected a list, got "x"'),
        ({"name": "a", "taints": ["x"]}, 'here.taints[0]: expected a taint such as dedicated=gpu:NoSchedule, got "x"'),
        (
            {"name": "a", "kind": "Job"},
            "here: short forms exist for Node and Pod only; write the Job as a whole manifest",
        ),
    ],
)
def test_what_makes_no_sense_is_told(item: dict[str, Any], error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        expanded(item)
    assert str(caught.value) == error
