"""Recorded objects: without values that may be secrets."""

from typing import Any

from kubewasp.k8s.codec import decode, encode
from kubewasp.live.recording.kept_objects import kept

SECRET = "hunter2"
CONTAINER: dict[str, Any] = {
    "name": "c",
    "image": "app:1",
    "env": [{"name": "PASSWORD", "value": SECRET}, {"name": "HOST", "valueFrom": {"fieldRef": {"fieldPath": "a.b"}}}],
    "resources": {"requests": {"cpu": "1"}},
}


def test_a_pod_has_no_values_of_variables_in_any_container() -> None:
    applied = {"kubectl.kubernetes.io/last-applied-configuration": f'{{"value":"{SECRET}"}}', "team": "a"}
    pod = {
        "metadata": {"name": "web", "annotations": applied, "managedFields": [{"manager": "kubectl"}]},
        "spec": {
            "containers": [CONTAINER],
            "initContainers": [CONTAINER],
            "ephemeralContainers": [{"name": "debug", "env": [{"name": "PASSWORD", "value": SECRET}]}],
            "nodeSelector": {"disk": "ssd"},
        },
    }
    found = kept("Pod", encode("Pod", pod))
    assert SECRET.encode() not in found
    assert decode("Pod", found) == {
        "metadata": {"name": "web", "annotations": {"team": "a"}},
        "spec": {
            "containers": [CONTAINER | {"env": [{"name": "PASSWORD"}, CONTAINER["env"][1]]}],
            "initContainers": [CONTAINER | {"env": [{"name": "PASSWORD"}, CONTAINER["env"][1]]}],
            "ephemeralContainers": [{"name": "debug", "env": [{"name": "PASSWORD"}]}],
            "nodeSelector": {"disk": "ssd"},
        },
    }


def test_a_controller_has_no_pod_template() -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [CONTAINER]}}
    selector = {"matchLabels": {"app": "web"}}
    for kind in ("ReplicaSet", "StatefulSet"):
        manifest = {"metadata": {"name": "web"}, "spec": {"selector": selector, "template": template}}
        found = kept(kind, encode(kind, manifest))
        assert SECRET.encode() not in found
        assert decode(kind, found)["spec"]["selector"] == selector


def test_bytes_that_are_no_object_are_left_out() -> None:
    assert kept("Pod", b"\xff\xff") == b""
