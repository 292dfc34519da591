import pytest

from kubewasp.k8s.errors import ManifestError
from kubewasp.k8s.kinds import api_versions, message_name, message_of_kind


@pytest.mark.parametrize(
    ("api_version", "kind", "name"),
    [
        ("v1", "Pod", "core.v1.Pod"),
        ("v1", "NodeList", "core.v1.NodeList"),
        ("v1", "Event", "core.v1.Event"),
        ("events.k8s.io/v1", "Event", "events.v1.Event"),
        ("storage.k8s.io/v1", "CSINode", "storage.v1.CSINode"),
        ("policy/v1", "PodDisruptionBudget", "policy.v1.PodDisruptionBudget"),
        ("coordination.k8s.io/v1", "Lease", "coordination.v1.Lease"),
        ("scheduling.k8s.io/v1", "PriorityClass", "scheduling.v1.PriorityClass"),
        ("v1", "Status", "apis.meta.v1.Status"),
        ("v1", "DeleteOptions", "apis.meta.v1.DeleteOptions"),
        ("apps/v1", "ReplicaSet", "apps.v1.ReplicaSet"),
        ("apps/v1", "Deployment", "apps.v1.Deployment"),
        ("batch/v1", "Job", "batch.v1.Job"),
        ("apps/v1", "StatefulSetList", "apps.v1.StatefulSetList"),
    ],
)
def test_api_version_and_kind_name_a_message(api_version: str, kind: str, name: str) -> None:
    assert message_name(api_version, kind) == name


def test_kind_of_another_group_is_refused() -> None:
    with pytest.raises(ManifestError, match='unknown kind "Pod" in apiVersion "apps/v1"'):
        message_name("apps/v1", "Pod")


def test_kind_alone_means_the_core_group_first() -> None:
    assert message_of_kind("Event") == "core.v1.Event"
    assert message_of_kind("events.v1.Event") == "events.v1.Event"
    assert api_versions("Event") == ("v1", "events.k8s.io/v1")


def test_unknown_kind_is_refused() -> None:
    with pytest.raises(ManifestError, match='unknown kind "Deploymnet"'):
        message_of_kind("Deploymnet")
    assert api_versions("Deploymnet") == ()
