"""What pods share: specs that differ only in what scheduling does not read, labels, terms of affinity."""

from typing import Any

import pytest

from kubewasp.k8s.pods import Pod, PodParser


def pod(name: str, *, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace, "labels": {"app": "web"}}, "spec": spec}


def token(name: str) -> dict[str, Any]:
    """What every pod of a cluster has: a token in a volume with a name of its own."""
    return {
        "volumes": [{"name": name, "projected": {"sources": []}}, {"name": "data", "emptyDir": {}}],
        "containers": [{"name": "main", "image": "i", "volumeMounts": [{"name": name, "mountPath": "/token"}]}],
    }


def parsed(*manifests: dict[str, Any]) -> list[Pod]:
    parser = PodParser()
    return [parser.parse(manifest) for manifest in manifests]


def test_pods_of_a_template_share_spec_and_labels_whatever_their_tokens_are_called() -> None:
    one, other = parsed(
        pod("one", hostname="one", nodeName="n1", **token("kube-api-access-1")),
        pod("other", hostname="other", **token("kube-api-access-2")),
    )
    assert one.spec is other.spec
    assert one.labels is other.labels


@pytest.mark.parametrize(
    "difference",
    [
        {"nodeSelector": {"disk": "ssd"}},
        {"priority": 7},
        {"containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
        {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]},
    ],
)
def test_specs_that_scheduling_tells_apart_are_not_shared(difference: dict[str, Any]) -> None:
    one, other = parsed(pod("one", **token("t")), pod("other", **{**token("t"), **difference}))
    assert one.spec is not other.spec


def test_volumes_that_scheduling_looks_at_are_kept() -> None:
    volumes = [{"name": "token", "projected": {}}, {"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
    (found,) = parsed(pod("one", volumes=volumes))
    assert [(volume.name, volume.claim) for volume in found.spec.volumes] == [("data", "c")]


def test_equal_terms_of_affinity_are_shared_between_specs() -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    one, other, elsewhere, plain = parsed(
        pod("one", affinity=affinity),
        pod("other", affinity=affinity, priority=7),
        pod("elsewhere", affinity=affinity, namespace="elsewhere"),
        pod("plain", affinity={"podAffinity": {}}),
    )
    assert one.spec is not other.spec
    assert one.spec.pod_affinity is other.spec.pod_affinity
    assert one.spec.pod_affinity is not elsewhere.spec.pod_affinity
    assert plain.spec.pod_affinity is None
