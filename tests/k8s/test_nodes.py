"""Node parsing."""

import pytest

from kubewasp.k8s.nodes import BETA_REGION, BETA_ZONE, REGION, ZONE, parse_node
from kubewasp.k8s.resources import Resources
from kubewasp.k8s.taints import Taint


def test_a_node_is_read() -> None:
    node = parse_node(
        {
            "metadata": {"name": "n", "labels": {"a": "b"}},
            "spec": {"unschedulable": True, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
            "status": {
                "capacity": {"cpu": "99"},
                "allocatable": {"cpu": "4", "memory": "1Ki", "ephemeral-storage": "2Ki", "pods": "7", "e.com/x": "1"},
                "images": [{"names": ["a", "b:1"], "sizeBytes": 5}, {"names": None}, {"sizeBytes": 9}],
                "declaredFeatures": ["F"],
            },
        },
        b"encoded",
    )
    assert (node.name, node.labels, node.encoded) == ("n", {"a": "b"}, b"encoded")
    assert node.is_unschedulable
    assert node.taints == (Taint("k", "v", "NoSchedule"),)
    assert node.allocatable == Resources(4000, 1024, 2048, {"e.com/x": 1})
    assert node.max_pods == 7
    assert node.images == {"a": 5, "b:1": 5}
    assert node.declared_features == {"F"}


def test_an_empty_node_is_read() -> None:
    node = parse_node({"metadata": {"name": "n"}})
    assert (node.taints, node.is_unschedulable, node.max_pods, node.images) == ((), False, 0, {})
    assert node.allocatable == Resources()
    assert node.zone_key == ("", "")


@pytest.mark.parametrize(
    ("labels", "key"),
    [
        ({ZONE: "z", REGION: "r"}, ("r", "z")),
        ({BETA_ZONE: "z", BETA_REGION: "r"}, ("r", "z")),
        ({ZONE: "z", BETA_ZONE: "old"}, ("", "old")),
        ({ZONE: "z", BETA_ZONE: ""}, ("", "")),
        ({REGION: "r"}, ("r", "")),
    ],
)
def test_the_zone_is_that_of_the_older_labels_where_there_are_any(labels: dict[str, str], key: tuple[str, str]) -> None:
    assert parse_node({"metadata": {"name": "n", "labels": labels}}).zone_key == key
