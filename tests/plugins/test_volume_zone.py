from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.plugins.volume_zone import VolumeZone
from kubewasp.state.object_kinds import STORAGE_CLASS
from tests.plugins.building import FakeHandle, filtered, make_node, make_pod, make_table
from tests.plugins.storage_building import (
    claim,
    claiming,
    hint,
    parsed,
    pre_filtered,
    registered,
    storage_class,
    volume,
)

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
CONFLICT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) had no available volume zone")


def fits(volume_labels: dict[str, str], node_labels: dict[str, str]) -> bool:
    """Whether a pod with such a volume fits on such a node."""
    handle = FakeHandle(
        make_table([make_node("n", node_labels)]), [volume("v", labels=volume_labels), claim("c", volume="v")]
    )
    plugin, pod = VolumeZone({}, handle), claiming("c")
    status, state = pre_filtered(plugin, pod, handle.table)
    assert status == SUCCESS
    verdict = filtered(plugin, state, pod, handle.table)["n"]
    assert verdict in (SUCCESS, CONFLICT)
    return verdict == SUCCESS


@pytest.mark.parametrize(
    ("volume_labels", "node_labels", "expected"),
    [
        ({ZONE: "a"}, {ZONE: "a"}, True),
        ({ZONE: "a"}, {ZONE: "b"}, False),
        ({ZONE: "a"}, {}, True),
        ({ZONE: "a"}, {"other": "a"}, True),
        ({ZONE: "a"}, {REGION: "a"}, False),
        ({REGION: "r"}, {REGION: "r"}, True),
        ({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, False),
        ({ZONE: "a__b"}, {ZONE: "b"}, True),
        ({ZONE: "a__b"}, {ZONE: "c"}, False),
        ({BETA_ZONE: "a"}, {BETA_ZONE: "a"}, True),
        ({BETA_ZONE: "a"}, {ZONE: "a"}, True),
        ({BETA_ZONE: "a"}, {ZONE: "b"}, False),
        ({BETA_ZONE: "a"}, {BETA_ZONE: "b", ZONE: "a"}, False),
        ({BETA_REGION: "r"}, {REGION: "r"}, True),
        ({ZONE: "a"}, {BETA_ZONE: "a"}, False),
    ],
)
def test_a_node_must_have_the_zone_of_the_volume(
    volume_labels: dict[str, str], node_labels: dict[str, str], expected: bool
) -> None:
    assert fits(volume_labels, node_labels) is expected


def test_every_volume_of_the_pod_counts() -> None:
    handle = FakeHandle(
        make_table([make_node("a", {ZONE: "a"}), make_node("b", {ZONE: "b"})]),
        [
            volume("v", labels={ZONE: "a__b"}),
            volume("w", labels={ZONE: "b"}),
            claim("c", volume="v"),
            claim("d", volume="w"),
        ],
    )
    plugin, pod = VolumeZone({}, handle), claiming("c", "d")
    _, state = pre_filtered(plugin, pod, handle.table)
    assert filtered(plugin, state, pod, handle.table) == {"a": CONFLICT, "b": SUCCESS}


@pytest.mark.parametrize(
    ("pod", "objects"),
    [
        (make_pod(), []),
        (claiming(ephemeral=["v"]), []),
        (claiming("c"), [claim("c", volume="v"), volume("v", labels={"other": "a"})]),
        (claiming("c"), [claim("c", volume="v"), volume("v", labels={ZONE: "a__"})]),
        (claiming("c"), [claim("c", storage_class="s"), storage_class("s")]),
    ],
    ids=["no volume", "ephemeral", "no zone", "no valid zone", "waits for its first consumer"],
)
def test_pods_whose_volumes_have_no_zone_skip(pod: Any, objects: list[dict[str, Any]]) -> None:
    handle = FakeHandle(make_table([make_node("n")]), objects)
    assert pre_filtered(VolumeZone({}, handle), pod, handle.table)[0].code == Code.SKIP


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        ([], 'persistentvolumeclaim "c" not found'),
        ([claim("c", volume="v")], 'persistentvolume "v" not found'),
        ([claim("c")], "PersistentVolumeClaim had no pv name and storageClass name"),
        ([claim("c", storage_class="s")], 'storageclass.storage.k8s.io "s" not found'),
        ([claim("c", storage_class="s"), storage_class("s", delayed=False)], "PersistentVolume had no name"),
    ],
)
def test_a_claim_without_a_volume_rejects_the_pod(objects: list[dict[str, Any]], text: str) -> None:
    handle = FakeHandle(make_table([make_node("n")]), objects)
    status, _ = pre_filtered(VolumeZone({}, handle), claiming("c"), handle.table)
    assert status == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text)


def test_a_class_without_a_binding_mode_rejects_the_pod() -> None:
    handle = FakeHandle(make_table([make_node("n")]), [claim("c", storage_class="s")])
    handle.store.put_parsed(STORAGE_CLASS, ("", "s"), replace(parsed(storage_class("s")), binding_mode=""))
    status, _ = pre_filtered(VolumeZone({}, handle), claiming("c"), handle.table)
    assert status == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, 'VolumeBindingMode not set for StorageClass "s"')


def test_it_listens_to_classes_nodes_claims_and_volumes() -> None:
    assert registered(VolumeZone({}, FakeHandle())) == {
        "StorageClass": Action.ADD,
        "Node": Action.ADD | Action.UPDATE_NODE_LABEL,
        "PersistentVolumeClaim": Action.ADD | Action.UPDATE,
        "PersistentVolume": Action.ADD | Action.UPDATE,
    }


@pytest.mark.parametrize(
    ("resource", "old", "new", "worth_it"),
    [
        ("StorageClass", None, storage_class("s"), True),
        ("StorageClass", None, storage_class("s", delayed=False), False),
        ("PersistentVolumeClaim", None, claim("c"), True),
        ("PersistentVolumeClaim", claim("c"), claim("c", volume="v"), True),
        ("PersistentVolumeClaim", None, claim("d"), False),
        ("PersistentVolumeClaim", None, claim("c", namespace="other"), False),
        ("PersistentVolume", None, volume("v"), True),
        ("PersistentVolume", volume("v"), volume("v", labels={ZONE: "a"}), True),
        ("PersistentVolume", volume("v", labels={ZONE: "b__a"}), volume("v", labels={ZONE: "a__b"}), False),
        ("PersistentVolume", volume("v"), volume("v", labels={"other": "a"}), False),
    ],
)
def test_what_is_worth_another_try(resource: str, old: Any, new: Any, worth_it: bool) -> None:
    action = Action.ADD if old is None else Action.UPDATE
    before = None if old is None else parsed(old)
    plugin = VolumeZone({}, FakeHandle())
    assert hint(plugin, resource, action, claiming("c"), old=before, new=parsed(new)) is worth_it


def test_a_node_with_other_labels_is_worth_another_try() -> None:
    plugin, before, after = VolumeZone({}, FakeHandle()), make_node("n"), make_node("n", {ZONE: "a"})
    assert hint(plugin, "Node", Action.UPDATE_NODE_LABEL, claiming("c"), old=before, new=after)
