from __future__ import annotations

from typing import Any

import pytest

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.plugins.volume_restrictions import VolumeRestrictions
from tests.plugins.building import FakeHandle, filtered, make_node, make_pod, make_table
from tests.plugins.storage_building import claim, claiming, hint, parsed, pre_filtered, registered

DISK = Status(Code.UNSCHEDULABLE, "node(s) had no available disk")
IN_USE = Status(
    Code.UNSCHEDULABLE,
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
)


def gce(name: str, *, read_only: bool = False) -> dict[str, Any]:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def ebs(name: str, *, read_only: bool = False) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}}


def iscsi(iqn: str, *, read_only: bool = False) -> dict[str, Any]:
    return {"iscsi": {"iqn": iqn, "lun": 0, "targetPortal": "p", "readOnly": read_only}}


def rbd(image: str, monitors: str = "ab", pool: str | None = None, *, read_only: bool = False) -> dict[str, Any]:
    source: dict[str, Any] = {"monitors": list(monitors), "image": image, "readOnly": read_only}
    return {"rbd": source if pool is None else {**source, "pool": pool}}


def judged(incoming: dict[str, Any], existing: dict[str, Any]) -> dict[str, Status]:
    """What is said of a node with the existing volume, and of one without."""
    table = make_table([make_node("with"), make_node("without")], [claiming(inline=[existing], node="with")])
    plugin = VolumeRestrictions({}, FakeHandle(table))
    pod = claiming(inline=[incoming])
    status, state = pre_filtered(plugin, pod, table)
    assert status == SUCCESS
    return filtered(plugin, state, pod, table)


@pytest.mark.parametrize(
    ("incoming", "existing"),
    [
        (gce("d"), gce("d")),
        (gce("d", read_only=True), gce("d")),
        (gce("d"), gce("d", read_only=True)),
        (ebs("d"), ebs("d")),
        (ebs("d", read_only=True), ebs("d", read_only=True)),
        (iscsi("q"), iscsi("q", read_only=True)),
        (rbd("i", "ab"), rbd("i", "bc")),
        (rbd("i", pool="rbd"), rbd("i")),
    ],
)
def test_a_disk_that_another_pod_on_the_node_uses_is_not_available(
    incoming: dict[str, Any], existing: dict[str, Any]
) -> None:
    assert judged(incoming, existing) == {"with": DISK, "without": SUCCESS}


@pytest.mark.parametrize(
    ("incoming", "existing"),
    [
        (gce("d"), gce("e")),
        (gce("d", read_only=True), gce("d", read_only=True)),
        (gce("d"), ebs("d")),
        (ebs("d"), ebs("e")),
        (iscsi("q", read_only=True), iscsi("q", read_only=True)),
        (iscsi("q"), iscsi("r")),
        (rbd("i", "ab"), rbd("i", "cd")),
        (rbd("i"), rbd("j")),
        (rbd("i", pool="p"), rbd("i")),
        (rbd("i", read_only=True), rbd("i", read_only=True)),
    ],
)
def test_other_disks_and_disks_that_all_only_read_are_available(
    incoming: dict[str, Any], existing: dict[str, Any]
) -> None:
    assert judged(incoming, existing) == {"with": SUCCESS, "without": SUCCESS}


def test_a_disk_is_free_again_when_its_pod_is_gone() -> None:
    other = claiming(inline=[gce("d")], node="n")
    table = make_table([make_node("n")], [other])
    plugin, pod = VolumeRestrictions({}, FakeHandle(table)), claiming(inline=[gce("d")])
    _, state = pre_filtered(plugin, pod, table)
    assert filtered(plugin, state, pod, table) == {"n": DISK}
    table.remove_pod(other)
    assert filtered(plugin, state, pod, table) == {"n": SUCCESS}


@pytest.mark.parametrize(
    "pod", [make_pod(), claiming("shared"), claiming("own"), claiming(ephemeral=["v"])], ids=lambda pod: pod.name
)
def test_pods_without_disks_and_without_a_used_claim_skip(pod: Any) -> None:
    handle = FakeHandle(make_table([make_node("n")], [claiming("shared", node="n")]))
    handle.store.put(claim("shared"))
    handle.store.put(claim("own", modes=["ReadWriteOncePod"]))
    assert pre_filtered(VolumeRestrictions({}, handle), pod, handle.table)[0].code == Code.SKIP


def test_a_missing_claim_rejects_the_pod() -> None:
    handle = FakeHandle(make_table([make_node("n")]))
    handle.store.put(claim("c", namespace="other"))
    status, _ = pre_filtered(VolumeRestrictions({}, handle), claiming("c"), handle.table)
    assert status == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, 'persistentvolumeclaim "c" not found')


def test_a_claim_for_one_pod_is_in_use_on_all_nodes() -> None:
    other = claiming("c", node="a")
    handle = FakeHandle(make_table([make_node("a"), make_node("b")], [other]))
    handle.store.put(claim("c", modes=["ReadWriteOncePod"]))
    plugin, pod = VolumeRestrictions({}, handle), claiming("c")
    status, state = pre_filtered(plugin, pod, handle.table)
    assert status == SUCCESS
    assert filtered(plugin, state, pod, handle.table) == {"a": IN_USE, "b": IN_USE}


@pytest.mark.parametrize(("here", "there"), [("default", "other"), ("other", "default")])
def test_a_claim_of_the_same_name_in_another_namespace_is_not_in_use(here: str, there: str) -> None:
    handle = FakeHandle(make_table([make_node("a")], [claiming("c", node="a", namespace=there)]))
    handle.store.put(claim("c", modes=["ReadWriteOncePod"], namespace=here))
    pod = claiming("c", namespace=here)
    assert pre_filtered(VolumeRestrictions({}, handle), pod, handle.table)[0].code == Code.SKIP


def test_a_disk_conflict_is_told_before_a_claim_in_use() -> None:
    pods = [claiming("c", node="a"), claiming(inline=[gce("d")], node="b")]
    handle = FakeHandle(make_table([make_node("a"), make_node("b")], pods))
    handle.store.put(claim("c", modes=["ReadWriteOncePod"]))
    plugin, pod = VolumeRestrictions({}, handle), claiming("c", inline=[gce("d")])
    _, state = pre_filtered(plugin, pod, handle.table)
    assert filtered(plugin, state, pod, handle.table) == {"a": IN_USE, "b": DISK}


def test_removing_the_other_pod_in_a_trial_frees_the_claim_there_only() -> None:
    other = claiming("c", node="a")
    handle = FakeHandle(make_table([make_node("a")], [other]))
    handle.store.put(claim("c", modes=["ReadWriteOncePod"]))
    plugin, pod = VolumeRestrictions({}, handle), claiming("c")
    _, state = pre_filtered(plugin, pod, handle.table)
    trial = state.clone()
    assert plugin.remove_pod(trial, pod, other, 0, handle.table) == SUCCESS
    assert filtered(plugin, trial, pod, handle.table) == {"a": SUCCESS}
    assert filtered(plugin, state, pod, handle.table) == {"a": IN_USE}
    assert plugin.add_pod(trial, pod, other, 0, handle.table) == SUCCESS
    assert filtered(plugin, trial, pod, handle.table) == {"a": IN_USE}


def test_it_listens_to_pods_nodes_and_claims() -> None:
    assert registered(VolumeRestrictions({}, FakeHandle())) == {
        "Pod": Action.DELETE,
        "Node": Action.ADD,
        "PersistentVolumeClaim": Action.ADD,
    }


@pytest.mark.parametrize(
    ("deleted", "worth_it"),
    [
        (claiming(inline=[gce("d")]), True),
        (claiming("c"), True),
        (claiming("c", namespace="other"), False),
        (claiming(inline=[gce("d")], namespace="other"), False),
        (claiming("x", inline=[gce("y")]), False),
        (make_pod(), False),
    ],
)
def test_a_deleted_pod_helps_if_it_had_the_disk_or_the_claim(deleted: Any, worth_it: bool) -> None:
    pod = claiming("c", inline=[gce("d")])
    assert hint(VolumeRestrictions({}, FakeHandle()), "Pod", Action.DELETE, pod, old=deleted) is worth_it


@pytest.mark.parametrize(
    ("added", "worth_it"), [(claim("c"), True), (claim("x"), False), (claim("c", namespace="other"), False)]
)
def test_a_new_claim_helps_if_the_pod_names_it(added: dict[str, Any], worth_it: bool) -> None:
    plugin = VolumeRestrictions({}, FakeHandle())
    assert hint(plugin, "PersistentVolumeClaim", Action.ADD, claiming("c"), new=parsed(added)) is worth_it


def test_a_new_node_helps() -> None:
    assert hint(VolumeRestrictions({}, FakeHandle()), "Node", Action.ADD, claiming("c"), new=make_node("n"))
