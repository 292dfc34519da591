"""Pods of one shape: the same objects as from a manifest each."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubewasp.k8s.codec import encode
from kubewasp.simulation.simulator import embedded_cluster

SPEC: dict[str, Any] = {
    "containers": [{"name": "main", "image": "trace", "resources": {"requests": {"cpu": "1", "memory": "2Gi"}}}],
    "nodeSelector": {"pool": "a"},
    "priority": 7,
}
UID = "trace-" + 200 * "7"  # a length of two bytes
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=10)


@given(texts, st.dictionaries(texts, texts, max_size=3), st.dictionaries(texts, texts, max_size=3))
def test_a_pod_of_a_template_is_that_of_its_manifest(
    name: str, labels: dict[str, str], annotations: dict[str, str]
) -> None:
    (one, _), (other, _) = embedded_cluster([], None, [], {}), embedded_cluster([], None, [], {})
    metadata = {"name": name, "namespace": "team", "uid": UID, "labels": labels, "annotations": annotations}
    one.objects.apply({"kind": "Pod", "metadata": metadata, "spec": SPEC})
    made = other.objects.create_pod(other.objects.pod_template("team", labels, SPEC), name, UID, annotations)

    key = f"team/{name}"
    assert other.objects.manifests[key] == one.objects.manifests[key]
    assert made.encoded == one.pods[key].encoded == encode("Pod", other.objects.manifests[key])
    assert (made.key, made.uid, made.labels, made.priority) == (key, UID, labels, 7)
    assert made.resources == one.pods[key].resources
    assert other.scheduler.queue.get(UID) is not None


def test_the_spec_is_parsed_once_for_all_pods_of_a_template() -> None:
    cluster, _ = embedded_cluster([], None, [], {})
    template = cluster.objects.pod_template("default", {}, SPEC)
    pods = [cluster.objects.create_pod(template, name, name, {}) for name in ("a", "b")]
    assert pods[0].spec is pods[1].spec
