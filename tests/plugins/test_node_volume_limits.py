from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.plugins.node_volume_limits import NodeVolumeLimits
from tests.plugins.building import FakeHandle, filtered, make_node, make_pod, make_table
from tests.plugins.storage_building import (
    attachment,
    claim,
    claiming,
    csi,
    csi_node,
    hint,
    parsed,
    pre_filtered,
    registered,
    storage_class,
    volume,
)

if TYPE_CHECKING:
    from kubewasp.k8s.pods import Pod

DRIVER = "disk.example.com"
TOO_MANY = Status(Code.UNSCHEDULABLE, "node(s) exceed max volume count")
EBS = {"awsElasticBlockStore": {"volumeID": "vol-1"}}


def bound(*names: str, driver: str = DRIVER) -> list[dict[str, Any]]:
    """For each name a claim, and the volume of a driver that it is bound to."""
    volumes = [volume(f"pv-{name}", **csi(driver, f"handle-{name}")) for name in names]
    return [*volumes, *(claim(name, volume=f"pv-{name}") for name in names)]


def judged(pod: Pod, objects: list[dict[str, Any]], existing: list[Pod] | None = None) -> Status:
    """Filter status of the only node."""
    table = make_table([make_node("n")], existing or [])
    plugin = NodeVolumeLimits({}, FakeHandle(table, objects))
    status, state = pre_filtered(plugin, pod, table)
    assert status == SUCCESS
    return filtered(plugin, state, pod, table)["n"]


@pytest.mark.parametrize(
    "pod",
    [make_pod(), claiming(inline=[{"nfs": {"path": "/"}}]), claiming(inline=[{"csi": {"driver": DRIVER}}])],
    ids=["no volume", "nfs", "inline csi"],
)
def test_pods_that_need_nothing_attached_skip(pod: Pod) -> None:
    handle = FakeHandle(make_table([make_node("n")]))
    assert pre_filtered(NodeVolumeLimits({}, handle), pod, handle.table)[0].code == Code.SKIP


@pytest.mark.parametrize(
    "pod", [claiming("c"), claiming(ephemeral=["v"]), claiming(inline=[EBS])], ids=["claim", "ephemeral", "in-tree"]
)
def test_pods_with_volumes_to_attach_do_not_skip(pod: Pod) -> None:
    handle = FakeHandle(make_table([make_node("n")]))
    assert pre_filtered(NodeVolumeLimits({}, handle), pod, handle.table)[0] == SUCCESS


@pytest.mark.parametrize(("limit", "expected"), [(3, SUCCESS), (2, TOO_MANY), (1, TOO_MANY)])
def test_what_is_attached_and_what_is_new_may_not_exceed_the_limit(limit: int, expected: Status) -> None:
    objects = [*bound("a", "b", "c"), csi_node("n", {DRIVER: limit})]
    assert judged(claiming("c"), objects, [claiming("a", "b", node="n")]) == expected


def test_a_limit_of_zero_takes_none() -> None:
    assert judged(claiming("c"), [*bound("c"), csi_node("n", {DRIVER: 0})]) == TOO_MANY


@pytest.mark.parametrize(
    "csi_nodes",
    [[], [csi_node("n")], [csi_node("n", {DRIVER: None})], [csi_node("n", {"other": 1})], [csi_node("m", {DRIVER: 0})]],
    ids=["no CSINode", "no driver", "no count", "another driver", "another node"],
)
def test_without_a_limit_any_number_fits(csi_nodes: list[dict[str, Any]]) -> None:
    assert judged(claiming("a", "b"), [*bound("a", "b"), *csi_nodes]) == SUCCESS


def test_each_driver_has_its_own_limit() -> None:
    objects = [*bound("a", "b"), *bound("x", driver="other"), csi_node("n", {DRIVER: 2, "other": 1})]
    existing = [claiming("a", "b", node="n")]
    assert judged(claiming("x"), objects, existing) == SUCCESS
    assert judged(claiming("x", "y"), [*objects, *bound("y", driver="other")], existing) == TOO_MANY


def test_a_volume_that_several_pods_use_counts_once() -> None:
    objects = [*bound("a", "b"), csi_node("n", {DRIVER: 2})]
    existing = [claiming("a", node="n"), claiming("a", node="n"), claiming("a", node="n")]
    assert judged(claiming("b"), objects, existing) == SUCCESS


def test_a_volume_that_is_attached_already_is_not_new() -> None:
    objects = [*bound("a", "b"), csi_node("n", {DRIVER: 2})]
    assert judged(claiming("a"), objects, [claiming("a", "b", node="n")]) == SUCCESS


def test_attachments_count_unless_a_pod_uses_the_volume_anyway() -> None:
    objects = [*bound("a", "b", "c"), csi_node("n", {DRIVER: 2})]
    existing = [claiming("a", node="n")]
    assert judged(claiming("c"), [*objects, attachment("x", "n", "pv-a")], existing) == SUCCESS
    assert judged(claiming("c"), [*objects, attachment("x", "n", "pv-b")], existing) == TOO_MANY
    assert judged(claiming("c"), [*objects, attachment("x", "other", "pv-b")], existing) == SUCCESS


def test_a_volume_that_is_attached_already_counts_twice_unless_a_pod_here_uses_it() -> None:
    """As in kube-scheduler."""
    objects = [*bound("a", "b"), csi_node("n", {DRIVER: 2}), attachment("x", "n", "pv-b")]
    user_of_a, user_of_b = claiming("a", node="n"), claiming("b", node="n")
    assert judged(claiming("b"), objects, [user_of_a]) == TOO_MANY
    assert judged(claiming("b"), objects, [user_of_a, user_of_b]) == SUCCESS
    assert judged(claiming("b"), objects, []) == SUCCESS


def test_attachments_of_volumes_that_are_unknown_or_not_csi_do_not_count() -> None:
    objects = [*bound("c"), csi_node("n", {DRIVER: 1}), volume("nfs", nfs={"path": "/"})]
    gone = [attachment("x", "n", "gone"), attachment("y", "n", "nfs")]
    assert judged(claiming("c"), [*objects, *gone]) == SUCCESS


@pytest.mark.parametrize(
    "unbound",
    [claim("c", storage_class="s"), claim("c", storage_class="s", volume="missing")],
    ids=["unbound", "volume is missing"],
)
def test_a_claim_without_a_volume_counts_for_the_provisioner_of_its_class(unbound: dict[str, Any]) -> None:
    objects = [unbound, storage_class("s", DRIVER), csi_node("n", {DRIVER: 1}), *bound("a")]
    assert judged(claiming("c"), objects) == SUCCESS
    assert judged(claiming("c"), objects, [claiming("a", node="n")]) == TOO_MANY
    assert judged(claiming("c"), objects, [claiming("c", node="n")]) == SUCCESS


@pytest.mark.parametrize("uncounted", [claim("c"), claim("c", storage_class="missing")], ids=["no class", "unknown"])
def test_a_claim_without_a_volume_and_a_class_does_not_count(uncounted: dict[str, Any]) -> None:
    objects = [uncounted, csi_node("n", {DRIVER: 0, "": 0})]
    assert judged(claiming("c"), objects) == SUCCESS


def test_a_missing_claim_rejects_the_pod() -> None:
    text = 'looking up PVC default/c: persistentvolumeclaim "c" not found'
    assert judged(claiming("c"), []) == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text)


def test_a_missing_claim_of_another_pod_does_not_count() -> None:
    objects = [*bound("c"), csi_node("n", {DRIVER: 1})]
    assert judged(claiming("c"), objects, [claiming("gone", node="n")]) == SUCCESS


def test_the_claim_of_an_ephemeral_volume_counts() -> None:
    pod = claiming(ephemeral=["v"], name="p")
    objects = [claim("p-v", storage_class="s", owner="p"), storage_class("s", DRIVER), csi_node("n", {DRIVER: 0})]
    assert judged(pod, objects) == TOO_MANY


def test_the_claim_of_an_ephemeral_volume_must_be_the_pods_own() -> None:
    pod = claiming(ephemeral=["v"], name="p")
    text = "PVC default/p-v was not created for pod default/p (pod is not owner)"
    assert judged(pod, [claim("p-v", owner="q")]) == Status(Code.ERROR, text)


@pytest.mark.parametrize(
    ("source", "driver"),
    [
        ({"awsElasticBlockStore": {"volumeID": "v"}}, "ebs.csi.aws.com"),
        ({"gcePersistentDisk": {"pdName": "v"}}, "pd.csi.storage.gke.io"),
        ({"azureDisk": {"diskName": "v", "diskURI": "/v"}}, "disk.csi.azure.com"),
        ({"cinder": {"volumeID": "v"}}, "cinder.csi.openstack.org"),
        ({"portworxVolume": {"volumeID": "v"}}, "pxd.portworx.com"),
    ],
)
def test_in_tree_volumes_count_for_the_driver_that_does_their_work(source: dict[str, Any], driver: str) -> None:
    objects = [volume("pv", **source), claim("c", volume="pv"), csi_node("n", {driver: 0})]
    assert judged(claiming("c"), objects) == TOO_MANY
    assert judged(claiming(inline=[source]), objects) == TOO_MANY


@pytest.mark.parametrize("source", [{"azureFile": {"shareName": "v"}}, {"vsphereVolume": {"volumePath": "v"}}])
def test_in_tree_volumes_that_are_not_migrated_do_not_count(source: dict[str, Any]) -> None:
    limits = {"file.csi.azure.com": 0, "csi.vsphere.vmware.com": 0}
    objects = [volume("pv", **source), claim("c", volume="pv"), csi_node("n", limits)]
    assert judged(claiming("c", inline=[source]), objects) == SUCCESS


def test_a_class_with_an_in_tree_provisioner_counts_for_its_driver() -> None:
    objects = [claim("c", storage_class="s"), storage_class("s", "kubernetes.io/aws-ebs")]
    assert judged(claiming("c"), [*objects, csi_node("n", {"ebs.csi.aws.com": 0})]) == TOO_MANY


def test_a_new_limit_is_seen() -> None:
    handle = FakeHandle(make_table([make_node("n")]), [*bound("c"), csi_node("n", {DRIVER: 0})])
    plugin, pod = NodeVolumeLimits({}, handle), claiming("c")
    _, state = pre_filtered(plugin, pod, handle.table)
    assert filtered(plugin, state, pod, handle.table) == {"n": TOO_MANY}
    handle.store.put(csi_node("n", {DRIVER: 1}))
    handle.table.put_node(make_node("m"))
    assert filtered(plugin, state, pod, handle.table) == {"n": SUCCESS, "m": SUCCESS}


def test_the_limits_of_a_node_that_comes_later_are_seen() -> None:
    handle = FakeHandle(make_table([make_node("n")]), [*bound("c"), csi_node("m", {DRIVER: 0})])
    plugin, pod = NodeVolumeLimits({}, handle), claiming("c")
    _, state = pre_filtered(plugin, pod, handle.table)
    assert filtered(plugin, state, pod, handle.table) == {"n": SUCCESS}
    handle.table.put_node(make_node("m"))
    assert filtered(plugin, state, pod, handle.table) == {"n": SUCCESS, "m": TOO_MANY}


def test_it_listens_to_csi_nodes_pods_claims_and_attachments() -> None:
    assert registered(NodeVolumeLimits({}, FakeHandle())) == {
        "CSINode": Action.ADD | Action.UPDATE,
        "Pod": Action.DELETE,
        "PersistentVolumeClaim": Action.ADD,
        "VolumeAttachment": Action.DELETE,
    }


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        (None, {DRIVER: 1}, True),
        ({DRIVER: 1}, {DRIVER: 2}, True),
        ({DRIVER: 2}, {DRIVER: 2, "other": 1}, True),
        ({DRIVER: 2}, {DRIVER: 2}, False),
        ({DRIVER: 2}, {DRIVER: 1}, False),
        ({DRIVER: 2}, {DRIVER: None}, False),
    ],
)
def test_a_csi_node_helps_if_a_limit_grew(old: Any, new: Any, worth_it: bool) -> None:
    plugin, after = NodeVolumeLimits({}, FakeHandle()), parsed(csi_node("n", new))
    if old is None:
        assert hint(plugin, "CSINode", Action.ADD, claiming("c"), new=after) is worth_it
    else:
        assert (
            hint(plugin, "CSINode", Action.UPDATE, claiming("c"), old=parsed(csi_node("n", old)), new=after) is worth_it
        )


@pytest.mark.parametrize(
    ("deleted", "worth_it"),
    [
        (claiming("c", node="n"), True),
        (claiming("c", status={"nominatedNodeName": "n"}), True),
        (claiming(ephemeral=["v"], node="n"), True),
        (claiming(inline=[EBS], node="n"), True),
        (claiming("c"), False),
        (make_pod(node="n"), False),
        (claiming(inline=[{"nfs": {"path": "/"}}], node="n"), False),
    ],
)
def test_a_deleted_pod_helps_if_it_had_volumes_on_a_node(deleted: Pod, worth_it: bool) -> None:
    assert hint(NodeVolumeLimits({}, FakeHandle()), "Pod", Action.DELETE, claiming("c"), old=deleted) is worth_it


@pytest.mark.parametrize(
    ("added", "worth_it"),
    [(claim("c"), True), (claim("p-v"), True), (claim("x"), False), (claim("c", namespace="other"), False)],
)
def test_a_new_claim_helps_if_the_pod_uses_it(added: dict[str, Any], worth_it: bool) -> None:
    plugin, pod = NodeVolumeLimits({}, FakeHandle()), claiming("c", ephemeral=["v"], name="p")
    assert hint(plugin, "PersistentVolumeClaim", Action.ADD, pod, new=parsed(added)) is worth_it


@pytest.mark.parametrize(
    ("pod", "worth_it"),
    [
        (claiming("c"), True),
        (claiming(inline=[EBS]), True),
        (claiming(inline=[{"cinder": {"volumeID": "v"}}]), False),
        (claiming(ephemeral=["v"]), False),
    ],
)
def test_a_detached_volume_helps_pods_with_claims_and_inline_volumes_of_the_driver(pod: Pod, worth_it: bool) -> None:
    detached = parsed(attachment("x", "n", "v", "ebs.csi.aws.com"))
    assert hint(NodeVolumeLimits({}, FakeHandle()), "VolumeAttachment", Action.DELETE, pod, old=detached) is worth_it
