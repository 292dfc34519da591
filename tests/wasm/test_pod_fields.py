"""Keys of pods by sets of fields."""

from typing import Any

from kubewasp.k8s.codec import encode
from kubewasp.k8s.pods import Pod, PodParser, placed_on
from kubewasp.wasm.pod_fields import NO_FIELDS, PodFields, key_of, named, without_names


def pod(name: str = "web", cpu: str = "1", token: str = "abcde", **metadata: Any) -> Pod:
    container = {
        "name": "c",
        "image": "i",
        "resources": {"requests": {"cpu": cpu}},
        "volumeMounts": [{"name": f"kube-api-access-{token}", "mountPath": "/x"}],
    }
    volumes = [{"name": f"kube-api-access-{token}", "emptyDir": {}}]
    manifest = {
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}", "labels": {"app": "web"}, **metadata},
        "spec": {"containers": [container], "volumes": volumes, "priority": 3},
        "status": {"phase": "Pending"},
    }
    return PodParser().parse(manifest, encode("Pod", manifest))


def are_equal(one: Pod, other: Pod, *fields: str) -> bool:
    return key_of(one, named(fields)) == key_of(other, named(fields))


def test_pods_are_equal_in_the_fields_that_count() -> None:
    assert are_equal(pod(), pod("other"), "metadata.labels", "spec.priority")
    assert not are_equal(pod(), pod("other"), "metadata.labels", "metadata.name")
    assert not are_equal(pod(), pod(labels={"app": "db"}), "metadata.labels")
    assert are_equal(pod(), pod(labels={"app": "db"}), "metadata.annotations", "spec")
    assert not are_equal(pod(), pod(cpu="2"), "requests")
    assert are_equal(pod(), pod(cpu="2"), "spec.priority", "status", "metadata")
    assert not are_equal(pod(), pod(cpu="2"), "spec.containers")


def test_the_whole_pod_and_unknown_fields_share_with_no_other() -> None:
    for field in ("object", "metadata.colour", "spec.colour", "colour"):
        assert not are_equal(pod(), pod("other"), field)
        assert named([field]).names == ("the whole pod",)


def test_the_name_of_the_token_volume_does_not_count() -> None:
    assert are_equal(pod(), pod(token="fghij"), "spec")
    assert are_equal(pod(), pod(token="fghij"), "spec.volumes", "spec.containers")


def test_parts_that_follow_are_parts_of_the_same_spec() -> None:
    assert not are_equal(placed_on(pod(), "node-1"), placed_on(pod(), "node-2"), "spec.nodeName")
    assert are_equal(placed_on(pod(), "node-1"), placed_on(pod(), "node-2"), "spec.containers")


def test_without_names_counts_labels_annotations_namespace_and_spec() -> None:
    fields = without_names()
    assert key_of(pod(), fields) == key_of(pod("other", token="fghij"), fields)
    for changed in (pod(labels={}), pod(annotations={"a": "b"}), pod(namespace="x"), pod(cpu="2")):
        assert key_of(pod(), fields) != key_of(changed, fields)


def test_fields_have_names() -> None:
    fields = named(["metadata.labels", "spec.nodeSelector", "requests", "status"])
    assert fields.names == ("metadata.labels", "spec.nodeSelector", "requests", "status")
    assert fields.union(NO_FIELDS) == fields
    assert named(["metadata", "spec"]).names == ("metadata", "spec")
    assert PodFields(metadata=1 << 11) == named(["metadata.labels"])
