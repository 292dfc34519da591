"""Warnings about unknown fields and kinds: text, count, and `strict`."""

from pathlib import Path
from typing import Any

import pytest

from kubewasp.k8s import manifests
from kubewasp.k8s.errors import ManifestError
from kubewasp.simulation import loading
from kubewasp.simulation.manifest_warnings import ManifestWarnings
from tests.guests.build import ROOT
from tests.simulation.simulating import Object, added, node, pod, workload


def with_field(body: Object, field: str, value: Any = None) -> Object:
    return {**body, "spec": {**body["spec"], field: value or {}}}


def examined(*objects: Object) -> ManifestWarnings:
    return added(*objects).mistakes


def test_a_warning_names_file_object_field_and_the_likely_name(tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeSelecter: {a: b}}}")
    assert loading.read([path]).warnings == [
        f'{path}: Pod default/web: spec.nodeSelecter: unknown field; did you mean "nodeSelector"?'
    ]


def test_objects_without_namespace_are_named_alone() -> None:
    body = with_field(node("n1"), "taint")
    assert examined(body).texts() == ['object 0: Node n1: spec.taint: unknown field; did you mean "taints"?']


def test_the_same_mistake_in_several_objects_is_one_warning_with_a_count() -> None:
    first = with_field(pod("a"), "toleration")
    assert examined(first, with_field(pod("b"), "toleration")).texts() == [
        'object 0: Pod default/a: spec.toleration: unknown field; did you mean "tolerations"? (and in 1 more object)'
    ]
    many = [with_field(pod(f"p{number}"), "toleration") for number in range(50)]
    [text] = examined(first, *many, with_field(node("n"), "other")).texts()[:1]
    assert text.endswith("(and in 50 more objects)")


def test_the_same_mistake_in_two_containers_counts_once() -> None:
    container = {"name": "a", "resource": {}}
    assert examined(pod("a", containers=[container, container])).texts() == [
        'object 0: Pod default/a: spec.containers[0].resource: unknown field; did you mean "resources"?'
    ]


def test_a_mistyped_value_is_a_warning() -> None:
    mistyped = [pod(name, tolerations=[{"operator": "exists"}, {"operator": "exists"}]) for name in ("a", "b")]
    assert examined(*mistyped).texts() == [
        'object 0: Pod default/a: spec.tolerations[0].operator: unsupported value "exists"; did you mean "Exists"? '
        "(and in 1 more object)"
    ]


def test_different_mistakes_are_bounded() -> None:
    texts = examined(with_field(pod("a"), "x"), *(with_field(pod(f"p{n}"), f"field{n}") for n in range(60))).texts()
    assert len(texts) == 51
    assert texts[-1] == "11 more mistakes in manifests"


def test_a_mistyped_kind_is_a_warning_with_the_likely_kind() -> None:
    found = added({"apiVersion": "apps/v1", "kind": "Deploymnet", "metadata": {"name": "x"}})
    assert found.warnings == ['object 0: kind: unknown kind "Deploymnet", ignored; did you mean "Deployment"?']


@pytest.mark.parametrize(
    ("version", "kind"), [("example.com/v1", "Pods"), ("batch/v1", "CronJob"), ("v1", "PodTemplate"), ("v1", "Secret")]
)
def test_other_real_kinds_and_custom_resources_are_no_mistakes(version: str, kind: str) -> None:
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": {"anything": 1}}
    assert examined(body).texts() == []


def test_fields_of_other_versions_are_unknown_to_kubewasp_and_no_mistakes() -> None:
    old = {**with_field(workload("Deployment", "web"), "rollbackTo"), "apiVersion": "apps/v1beta1"}
    assert examined(old).texts() == []
    assert len(examined({**old, "apiVersion": "apps/v1"}).texts()) == 1


@pytest.mark.parametrize("kind", ["Pod", "Deployment"])
def test_fractions_of_a_byte_are_warned_of_with_the_text_of_the_api_server(kind: str) -> None:
    containers = [{"name": "a", "resources": {"requests": {"memory": "100m", "cpu": "100m"}}}]
    body = (
        pod("web", containers=containers)
        if kind == "Pod"
        else workload(kind, "web", template={"containers": containers})
    )
    path = "spec" if kind == "Pod" else "spec.template.spec"
    assert examined(body).texts() == [
        f"object 0: {kind} default/web: {path}.containers[0].resources.requests[memory]: "
        'fractional byte value "100m" is invalid, must be an integer'
    ]


def test_strict_makes_one_error_of_all_mistakes() -> None:
    found = examined(with_field(pod("a"), "toleration"), with_field(node("n"), "taint"))
    with pytest.raises(ManifestError) as caught:
        found.raise_if_any()
    assert str(caught.value).splitlines() == found.texts()
    examined(pod("a"), node("n")).raise_if_any()


def test_no_manifest_of_the_repository_has_a_mistake() -> None:
    found = ManifestWarnings()
    files = [path for folder in ("examples", "deploy") for path in (ROOT / folder).rglob("*.yaml")]
    for path in files:
        if {"templates", "components"}.isdisjoint(path.parts):  # those of charts, and patches
            for manifest in manifests.load(path):
                found.examine(manifest)
    assert len(files) > 10
    assert found.texts() == []
