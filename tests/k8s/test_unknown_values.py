from typing import Any

import pytest

from kubewasp.k8s.unknown_fields import json_fields
from kubewasp.k8s.unknown_values import MAX_VALUES, RESOURCES, WORDS, unknown_values


def found(message: str, value: Any) -> list[str]:
    return [str(item) for item in unknown_values(message, value)]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"tolerations": [{}, {"operator": "exists"}]},
            'spec.tolerations[1].operator: unsupported value "exists"; did you mean "Exists"?',
        ),
        ({"preemptionPolicy": "never"}, 'spec.preemptionPolicy: unsupported value "never"; did you mean "Never"?'),
        (
            {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedul"}]},
            'spec.topologySpreadConstraints[0].whenUnsatisfiable: unsupported value "DoNotSchedul"; '
            'did you mean "DoNotSchedule"?',
        ),
        (
            {"containers": [{"ports": [{"protocol": "HTTP/3"}]}]},
            'spec.containers[0].ports[0].protocol: unsupported value "HTTP/3"; supported values: TCP, UDP, SCTP',
        ),
        (
            {"containers": [{"resources": {"requests": {"cpuu": 1}}}]},
            'spec.containers[0].resources.requests: unknown resource "cpuu"; did you mean "cpu"?',
        ),
        (
            {"initContainers": [{"resources": {"limits": {"gpu": 1}}}]},
            'spec.initContainers[0].resources.limits: unknown resource "gpu"; '
            "cpu, memory, ephemeral-storage, or a name such as example.com/gpu",
        ),
    ],
)
def test_a_mistyped_value_is_named_with_its_path_and_the_likely_one(spec: Any, expected: str) -> None:
    assert found("core.v1.Pod", {"spec": spec}) == [expected]
    template = f"spec.template.{expected}"
    assert found("apps.v1.Deployment", {"spec": {"template": {"spec": spec}}}) == [template]


def test_values_of_nodes_claims_and_classes_are_examined() -> None:
    node = {"spec": {"taints": [{"effect": "NoShedule"}]}, "status": {"allocatable": {"cpus": 4, "pods": 1}}}
    assert found("core.v1.Node", node) == [
        'spec.taints[0].effect: unsupported value "NoShedule"; did you mean "NoSchedule"?',
        'status.allocatable: unknown resource "cpus"; did you mean "cpu"?',
    ]
    assert found("core.v1.PersistentVolumeClaim", {"spec": {"accessModes": ["ReadWriteOnce", "ReadWriteone"]}}) == [
        'spec.accessModes[1]: unsupported value "ReadWriteone"; did you mean "ReadWriteOnce"?'
    ]
    assert found("storage.v1.StorageClass", {"volumeBindingMode": "immediate"}) == [
        'volumeBindingMode: unsupported value "immediate"; did you mean "Immediate"?'
    ]


def test_extended_resources_huge_pages_and_attachable_volumes_are_known() -> None:
    amounts = {"example.com/gpu": 1, "hugepages-2Mi": 1, "memory": 1}
    assert found("core.v1.Pod", {"spec": {"containers": [{"resources": {"limits": amounts}}]}}) == []
    amounts = {**amounts, "attachable-volumes-gce-pd": 1, "ephemeral-storage": 1, "pods": 1}
    assert found("core.v1.Node", {"status": {"capacity": amounts}}) == []


@pytest.mark.parametrize("value", [None, 3, [], {"spec": 3}, {"spec": {"tolerations": {"a": 1}}}, {"spec": [1]}])
def test_values_of_another_type_are_left_to_the_codec(value: Any) -> None:
    assert found("core.v1.Pod", value) == []
    assert found("core.v1.Pod", {"spec": {"restartPolicy": value, "containers": [{"resources": value}]}}) == []


def test_any_value_is_printable_and_their_number_is_bounded() -> None:
    [text] = found("core.v1.Pod", {"spec": {"restartPolicy": "a\x1b" + "x" * 1000}})
    assert '"a\\x1bxx' in text
    assert len(text) < 200
    many = [{"operator": "x"}] * 10_000
    assert len(found("core.v1.Pod", {"spec": {"tolerations": many}})) == MAX_VALUES


def test_the_tables_name_fields_that_exist() -> None:
    for message, fields in [*WORDS.items(), *RESOURCES.items()]:
        assert fields.keys() <= json_fields(message).keys()
        for name in fields:
            assert json_fields(message)[name].is_map == (message in RESOURCES)
