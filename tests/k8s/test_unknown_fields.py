from typing import Any

import pytest

from kubewasp.k8s.unknown_fields import MAX_FIELDS, place, unknown_fields
from kubewasp.k8s.wire_table import messages


def found(message: str, value: Any) -> list[str]:
    return [str(field) for field in unknown_fields(message, value)]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"nodeSelecter": {}}, 'spec.nodeSelecter: unknown field; did you mean "nodeSelector"?'),
        ({"nodeselector": {}}, 'spec.nodeselector: unknown field; did you mean "nodeSelector"?'),
        ({"containres": []}, 'spec.containres: unknown field; did you mean "containers"?'),
        (
            {"containers": [{}, {"resources": {"request": {}}}]},
            'spec.containers[1].resources.request: unknown field; did you mean "requests"?',
        ),
        (
            {"affinity": {"nodeAffinity": {"requiredDuringScheduling": {}}}},
            "spec.affinity.nodeAffinity.requiredDuringScheduling: unknown field; "
            'did you mean "requiredDuringSchedulingIgnoredDuringExecution"?',
        ),
        ({"containers": [{"colour": "red"}]}, "spec.containers[0].colour: unknown field"),
        (
            {"volumes": [{"name": "a", "persistentVolumeClaim": {"claim": "x"}}]},
            'spec.volumes[0].persistentVolumeClaim.claim: unknown field; did you mean "claimName"?',
        ),
    ],
)
def test_a_mistyped_field_is_named_with_its_path_and_the_likely_name(spec: Any, expected: str) -> None:
    assert found("core.v1.Pod", {"apiVersion": "v1", "kind": "Pod", "spec": spec}) == [expected]


def test_a_field_in_the_wrong_object_is_named_where_it_belongs() -> None:
    pod = {"labels": {}, "spec": {"containers": [{"tolerations": [], "nodename": "", "limits": {}}]}}
    assert found("core.v1.Pod", pod) == [
        'labels: unknown field; did you mean "metadata.labels"?',
        'spec.containers[0].tolerations: unknown field; did you mean "spec.tolerations"?',
        'spec.containers[0].nodename: unknown field; did you mean "spec.nodeName"?',
        'spec.containers[0].limits: unknown field; did you mean "spec.containers[0].resources.limits"?',
    ]


def test_templates_of_workloads_and_claims_are_examined() -> None:
    template = {"containers": [], "spec": {"hostnetwork": True}}
    assert found("apps.v1.Deployment", {"spec": {"revisionHistoryLimit": 3, "template": template}}) == [
        'spec.template.containers: unknown field; did you mean "spec.template.spec.containers"?',
        'spec.template.spec.hostnetwork: unknown field; did you mean "hostNetwork"?',
    ]
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {"accessMode": []}}
    assert found("apps.v1.StatefulSet", {"spec": {"volumeClaimTemplates": [claim]}}) == [
        'spec.volumeClaimTemplates[0].spec.accessMode: unknown field; did you mean "accessModes"?'
    ]


def test_fields_of_inlined_messages_belong_to_the_object() -> None:
    probe = {"httpGet": {"port": 80}, "periodSeconds": 5}
    volume = {"name": "a", "emptyDir": {"sizeLimit": "1Gi"}}
    spec = {"containers": [{"livenessProbe": probe, "securityContext": {"runAsUser": 1}}], "volumes": [volume]}
    assert found("core.v1.Pod", {"spec": spec}) == []


def test_keys_of_maps_are_free() -> None:
    node = {
        "metadata": {
            "labels": {"any": "x"},
            "annotations": {"thing": "y"},
            "managedFields": [{"fieldsV1": {"f:x": {}}}],
        },
        "status": {"allocatable": {"example.com/gpu": 1}},
    }
    assert found("core.v1.Node", node) == []


@pytest.mark.parametrize("value", [None, 3, "text", [], {"spec": 3}, {"spec": {"containers": {}}}, {"spec": [1]}])
def test_values_of_another_type_are_left_to_the_codec(value: Any) -> None:
    assert found("core.v1.Pod", value) == []


def test_any_key_is_printable_and_the_number_of_fields_is_bounded() -> None:
    assert found("core.v1.Pod", {"spec": {"a\x1bb": 1, 5: 2}}) == [
        'spec."a\\x1bb": unknown field',
        'spec."5": unknown field',
    ]
    assert len(unknown_fields("core.v1.Pod", {f"x{number}": 1 for number in range(10_000)})) == MAX_FIELDS


def test_all_fields_of_all_messages_are_known() -> None:
    for name, fields in messages().items():
        assert found(name, {field.name: None for field in fields if field.in_json and not field.inline}) == []


def test_the_place_of_a_field_is_the_same_in_all_items() -> None:
    assert place("spec.containers[12].ports[0].prot") == "spec.containers[].ports[].prot"
    assert place('status.x["a[1]"].y') == "status.x[].y"
