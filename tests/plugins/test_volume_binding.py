from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.plugins.volume_binding import VolumeBinding
from kubewasp.simulation.volume_controller import VolumeController
from kubewasp.state.object_kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, STORAGE_CLASS
from tests.plugins.building import FakeHandle, filtered, make_node, make_pod, make_table
from tests.plugins.storage_building import (
    BindingClient,
    capacity,
    claim,
    claiming,
    csi_driver,
    csi_node,
    hint,
    parsed,
    pre_filtered,
    registered,
    storage_class,
    topology,
    volume,
)

if TYPE_CHECKING:
    from kubewasp.k8s.pods import Pod

ARGS = {"bindTimeoutSeconds": 600}
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
LOCAL = storage_class("local")
DYNAMIC = storage_class("fast", "disk.example.com")
WANTED = claim("c", storage_class="local", uid="uid-c")


def unresolvable(*reasons: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)


def cluster(*objects: dict[str, Any], nodes: int = 2) -> FakeHandle:
    """Nodes a, b, c … each with its own host name and zone."""
    names = "abcdefgh"[:nodes]
    return FakeHandle(make_table([make_node(name, {HOST: name, ZONE: name}) for name in names]), objects)


def rejected(pod: Pod, *objects: dict[str, Any]) -> Status:
    handle = cluster(*objects)
    return pre_filtered(VolumeBinding(ARGS, handle), pod, handle.table)[0]


def judged(pod: Pod, *objects: dict[str, Any], nodes: int = 2) -> dict[str, Status]:
    handle = cluster(*objects, nodes=nodes)
    plugin = VolumeBinding(ARGS, handle)
    status, state = pre_filtered(plugin, pod, handle.table)
    assert status == SUCCESS
    return filtered(plugin, state, pod, handle.table)


def chosen(pod: Pod, *objects: dict[str, Any], node: str = "a") -> dict[str, str]:
    """Which claims get which volumes on a node; those that are to be provisioned get none."""
    handle = cluster(*objects)
    plugin = VolumeBinding(ARGS, handle)
    status, state = pre_filtered(plugin, pod, handle.table)
    assert status == SUCCESS
    assert filtered(plugin, state, pod, handle.table)[node] == SUCCESS
    assert plugin.reserve(state, pod, node) == SUCCESS
    plugin.pre_bind(state, pod, node)
    found = {}
    for _, manifest in handle.client.calls:
        if manifest["kind"] == "PersistentVolume":
            found[manifest["spec"]["claimRef"]["name"]] = manifest["metadata"]["name"]
        else:
            found[manifest["metadata"]["name"]] = ""
    return found


# ---------------------------------------------------------------------- PreFilter


def test_pods_without_claims_skip() -> None:
    assert rejected(make_pod()).code == Code.SKIP
    assert rejected(claiming(inline=[{"nfs": {"path": "/"}}])).code == Code.SKIP


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        ([], 'persistentvolumeclaim "c" not found'),
        ([claim("c", namespace="other")], 'persistentvolumeclaim "c" not found'),
        (
            [claim("c", volume="v", phase="Lost")],
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
        ),
        ([claim("c", deleting=True)], 'persistentvolumeclaim "c" is being deleted'),
        ([claim("c")], "pod has unbound immediate PersistentVolumeClaims"),
        ([claim("c", storage_class="unknown")], "pod has unbound immediate PersistentVolumeClaims"),
        (
            [claim("c", storage_class="s"), storage_class("s", delayed=False)],
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        (
            [claim("c", storage_class="local", volume="v", bound=False), LOCAL],
            "pod has unbound immediate PersistentVolumeClaims",
        ),
    ],
    ids=["missing", "elsewhere", "lost", "deleting", "no class", "unknown class", "immediate", "pre-bound"],
)
def test_claims_that_will_not_do_reject_the_pod(objects: list[dict[str, Any]], text: str) -> None:
    assert rejected(claiming("c"), *objects) == unresolvable(text)


def test_an_ephemeral_volume_waits_for_its_claim() -> None:
    text = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"'
    assert rejected(claiming(ephemeral=["v"], name="p")) == unresolvable(text)


def test_the_claim_of_an_ephemeral_volume_must_be_the_pods_own() -> None:
    pod = claiming(ephemeral=["v"], name="p")
    text = "PVC default/p-v was not created for pod default/p (pod is not owner)"
    assert rejected(pod, claim("p-v", volume="v")) == unresolvable(text)
    assert rejected(pod, claim("p-v", volume="v", owner="other")) == unresolvable(text)
    assert rejected(pod, claim("p-v", volume="v", owner="p")) == SUCCESS


def test_the_first_problem_is_told() -> None:
    text = 'persistentvolumeclaim "c" is being deleted'
    assert rejected(claiming("c", "gone"), claim("c", deleting=True)) == unresolvable(text)


def test_a_class_without_a_binding_mode_is_an_error() -> None:
    handle = cluster(claim("c", storage_class="s"))
    handle.store.put_parsed(STORAGE_CLASS, ("", "s"), replace(parsed(storage_class("s")), binding_mode=""))
    status, _ = pre_filtered(VolumeBinding(ARGS, handle), claiming("c"), handle.table)
    assert status == Status(Code.ERROR, 'VolumeBindingMode not set for StorageClass "s"')


def test_scoring_is_skipped() -> None:
    handle = cluster()
    rows = handle.table.order()
    plugin = VolumeBinding(ARGS, handle)
    assert plugin.pre_score(CycleState(), make_pod(), handle.table, rows).code == Code.SKIP
    assert np.array_equal(plugin.score(CycleState(), make_pod(), handle.table, rows), np.zeros(2))


# ---------------------------------------------------------------------- Filter: bound claims


def test_a_bound_volume_keeps_the_pod_where_it_is_reached() -> None:
    objects = [claim("c", volume="v"), volume("v", affinity={HOST: ["b"]})]
    assert judged(claiming("c"), *objects) == {"a": unresolvable(AFFINITY), "b": SUCCESS}


def test_a_bound_volume_without_affinity_is_reached_from_everywhere() -> None:
    assert judged(claiming("c"), claim("c", volume="v"), volume("v")) == {"a": SUCCESS, "b": SUCCESS}


@pytest.mark.parametrize(
    ("terms", "reached"),
    [
        ([], ""),
        ([{}], ""),
        ([{"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["a"]}]}], "b"),
        ([{"matchExpressions": [{"key": ZONE, "operator": "Exists"}]}], "ab"),
        ([{"matchExpressions": [{"key": ZONE, "operator": "DoesNotExist"}]}], ""),
        ([{"matchExpressions": [{"key": ZONE, "operator": "In"}]}], ""),
        (
            [
                {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]},
                {"matchExpressions": [{"key": HOST, "operator": "In", "values": ["b", "x"]}]},
            ],
            "ab",
        ),
        ([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}], ""),
    ],
)
def test_terms_of_a_volumes_affinity_are_those_of_node_selectors(terms: list[dict[str, Any]], reached: str) -> None:
    affinity = {"required": {"nodeSelectorTerms": terms}}
    verdicts = judged(claiming("c"), claim("c", volume="v"), volume("v", nodeAffinity=affinity))
    assert [name for name, status in verdicts.items() if status == SUCCESS] == list(reached)


def test_a_bound_claim_whose_volume_is_missing_fits_nowhere() -> None:
    assert judged(claiming("c"), claim("c", volume="gone"), nodes=1) == {"a": unresolvable(MISSING)}


def test_the_first_bound_claim_that_fails_decides() -> None:
    objects = [claim("c", volume="v"), volume("v", affinity={HOST: ["b"]}), claim("d", volume="gone")]
    assert judged(claiming("c", "d"), *objects) == {"a": unresolvable(AFFINITY), "b": unresolvable(MISSING)}
    assert judged(claiming("d", "c"), *objects) == {"a": unresolvable(MISSING), "b": unresolvable(MISSING)}


def test_a_migrated_in_tree_volume_is_reached_by_the_zones_of_its_driver() -> None:
    nodes = [make_node(name, {ZONE: "a", "topology.ebs.csi.aws.com/zone": zone}) for name, zone in ("aa", "bx", "cx")]
    disk = volume("v", affinity={ZONE: ["a"]}, awsElasticBlockStore={"volumeID": "vol-1"})
    migrated = "kubernetes.io/aws-ebs,kubernetes.io/gce-pd"
    objects = [disk, claim("c", volume="v"), csi_node("a", migrated=migrated), csi_node("b", migrated=migrated)]
    handle = FakeHandle(make_table(nodes), objects)
    plugin, pod = VolumeBinding(ARGS, handle), claiming("c")
    _, state = pre_filtered(plugin, pod, handle.table)
    assert filtered(plugin, state, pod, handle.table) == {"a": SUCCESS, "b": unresolvable(AFFINITY), "c": SUCCESS}


# ---------------------------------------------------------------------- Filter: existing volumes


def local(name: str, node: str = "a", size: str = "10Gi", **fields: Any) -> dict[str, Any]:
    return volume(name, size, storage_class="local", affinity={HOST: [node]}, **fields)


def test_a_delayed_claim_goes_where_a_volume_is() -> None:
    assert judged(claiming("c"), LOCAL, WANTED, local("v", "b")) == {"a": unresolvable(NO_VOLUME), "b": SUCCESS}


@pytest.mark.parametrize(
    "unsuitable",
    [
        local("v", size="1Gi"),
        local("v", claim="other"),
        local("v", claim="other/c"),
        local("v", claim="c", claim_uid="of-an-older-claim"),
        local("v", volumeMode="Block"),
        local("v", volumeAttributesClassName="gold"),
        local("v", deleting=True),
        local("v", phase="Released"),
        local("v", phase=""),
        local("v", modes=["ReadOnlyMany"]),
        volume("v", storage_class="another"),
        volume("v", storage_class=""),
    ],
    ids=lambda manifest: str(manifest["spec"]) + str(manifest["status"]),
)
def test_a_volume_that_does_not_suit_the_claim_is_not_taken(unsuitable: dict[str, Any]) -> None:
    assert judged(claiming("c"), LOCAL, WANTED, unsuitable, nodes=1) == {"a": unresolvable(NO_VOLUME)}


def test_all_access_modes_of_the_claim_must_be_offered() -> None:
    wanted = claim("c", storage_class="local", modes=["ReadWriteOnce", "ReadOnlyMany"])
    some, all_of_them = local("v"), local("v", modes=["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"])
    assert judged(claiming("c"), LOCAL, wanted, some, nodes=1) == {"a": unresolvable(NO_VOLUME)}
    assert judged(claiming("c"), LOCAL, wanted, all_of_them, nodes=1) == {"a": SUCCESS}


def test_the_selector_of_the_claim_must_match_the_labels_of_the_volume() -> None:
    wanted = claim("c", storage_class="local", selector={"matchLabels": {"tier": "gold"}})
    objects = [LOCAL, wanted, local("v"), local("w", size="50Gi", labels={"tier": "gold"})]
    assert chosen(claiming("c"), *objects) == {"c": "w"}


def test_a_selector_that_cannot_be_parsed_is_an_error() -> None:
    wanted = claim("c", storage_class="local", selector={"matchExpressions": [{"key": "k", "operator": "In"}]})
    text = "error creating internal label selector for claim: default/c: k: In needs at least one value"
    assert judged(claiming("c"), LOCAL, wanted, nodes=1) == {"a": Status(Code.ERROR, text)}


def test_modes_and_attributes_of_volume_and_claim_must_be_the_same() -> None:
    wanted = claim("c", storage_class="local", volumeMode="Block", volumeAttributesClassName="gold")
    objects = [LOCAL, wanted, local("v"), local("w", volumeMode="Block", volumeAttributesClassName="gold")]
    assert chosen(claiming("c"), *objects) == {"c": "w"}


def test_the_smallest_volume_is_taken_and_the_first_of_equals() -> None:
    sizes = [
        local("big", size="100Gi"),
        local("first", size="6Gi"),
        local("second", size="6Gi"),
        local("x", "b", "5Gi"),
    ]
    assert chosen(claiming("c"), LOCAL, WANTED, *sizes) == {"c": "first"}


def test_the_smallest_volume_is_found_among_all_sorts_of_affinity() -> None:
    everywhere = volume("everywhere", "8Gi", storage_class="local")
    two_terms = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": HOST, "operator": "Exists"}]}] * 2}}
    complicated = volume("complicated", "7Gi", storage_class="local", nodeAffinity=two_terms)
    objects = [LOCAL, WANTED, local("on-b", "b", "6Gi"), everywhere]
    assert chosen(claiming("c"), *objects, node="a") == {"c": "everywhere"}
    assert chosen(claiming("c"), *objects, node="b") == {"c": "on-b"}
    assert chosen(claiming("c"), *objects, complicated, node="a") == {"c": "complicated"}


def test_a_volume_meant_for_the_claim_is_taken_before_a_smaller_one() -> None:
    meant = local("meant", size="100Gi", claim="c", phase="Bound", modes=[], labels={})
    assert chosen(claiming("c"), LOCAL, WANTED, local("small"), meant) == {"c": "meant"}


def test_a_volume_meant_for_the_claim_elsewhere_leaves_no_other() -> None:
    verdicts = judged(claiming("c"), LOCAL, WANTED, local("small"), local("meant", "b", claim="c"))
    assert verdicts == {"a": unresolvable(NO_VOLUME), "b": SUCCESS}


def test_claims_are_served_from_the_smallest_and_get_different_volumes() -> None:
    claims = [claim(name, size, storage_class="local") for name, size in (("large", "9Gi"), ("small", "1Gi"))]
    objects = [LOCAL, *claims, local("v10"), local("v2", size="2Gi")]
    assert chosen(claiming("large", "small"), *objects) == {"small": "v2", "large": "v10"}


def test_two_claims_need_two_volumes_on_the_same_node() -> None:
    claims = [claim(name, storage_class="local") for name in ("c", "d")]
    objects = [LOCAL, *claims, local("v"), local("w", "b"), local("x", "b")]
    assert judged(claiming("c", "d"), *objects) == {"a": unresolvable(NO_VOLUME), "b": SUCCESS}
    assert chosen(claiming("c", "d"), *objects, node="b") == {"c": "w", "d": "x"}


def test_reasons_stand_in_their_order() -> None:
    objects = [claim("d", volume="v"), volume("v", affinity={HOST: ["b"]}), LOCAL, WANTED]
    assert judged(claiming("c", "d"), *objects) == {
        "a": unresolvable(AFFINITY, NO_VOLUME),
        "b": unresolvable(NO_VOLUME),
    }
    space = [DYNAMIC, claim("e", storage_class="fast"), csi_driver("disk.example.com"), claim("m", volume="gone")]
    assert judged(claiming("e", "m"), *space, nodes=1) == {"a": unresolvable(NO_SPACE, MISSING)}


# ---------------------------------------------------------------------- Filter: provisioning


def test_a_claim_without_a_volume_is_provisioned() -> None:
    assert chosen(claiming("c"), DYNAMIC, claim("c", storage_class="fast")) == {"c": ""}


@pytest.mark.parametrize("provisioner", ["", "kubernetes.io/no-provisioner"])
def test_a_class_without_a_provisioner_makes_no_volumes(provisioner: str) -> None:
    objects = [storage_class("s", provisioner), claim("c", storage_class="s")]
    assert judged(claiming("c"), *objects, nodes=1) == {"a": unresolvable(NO_VOLUME)}


@pytest.mark.parametrize(
    ("terms", "allowed"),
    [
        ([], "abc"),
        (topology({ZONE: ["a", "b"]}), "ab"),
        (topology({ZONE: ["a"]}, {ZONE: ["c"]}), "ac"),
        (topology({ZONE: ["a", "b"], HOST: ["b"]}), "b"),
        (topology({}), ""),
        (topology({ZONE: []}), ""),
        (topology({}, {ZONE: ["c"]}), "c"),
    ],
)
def test_volumes_are_provisioned_where_the_class_allows_it(terms: list[dict[str, Any]], allowed: str) -> None:
    objects = [storage_class("s", "p", allowedTopologies=terms), claim("c", storage_class="s")]
    verdicts = judged(claiming("c"), *objects, nodes=3)
    assert verdicts == {name: SUCCESS if name in allowed else unresolvable(NO_VOLUME) for name in "abc"}


def test_a_claim_with_a_selected_node_is_provisioned_there_only() -> None:
    wanted = claim("c", storage_class="fast", selected_node="b")
    existing = volume("v", storage_class="fast")
    assert judged(claiming("c"), DYNAMIC, wanted, existing) == {"a": unresolvable(NO_VOLUME), "b": SUCCESS}
    assert chosen(claiming("c"), DYNAMIC, wanted, existing, node="b") == {"c": ""}


def test_a_selected_node_that_is_gone_is_no_node() -> None:
    wanted = claim("c", storage_class="fast", selected_node="gone")
    assert judged(claiming("c"), DYNAMIC, wanted, nodes=1) == {"a": unresolvable(NO_VOLUME)}


def test_claims_without_a_matching_volume_are_provisioned_beside_those_with_one() -> None:
    claims = [claim("c", "1Gi", storage_class="fast"), claim("d", "50Gi", storage_class="fast")]
    assert chosen(claiming("c", "d"), DYNAMIC, *claims, volume("v", storage_class="fast")) == {"c": "v", "d": ""}


ZONED = [DYNAMIC, csi_driver("disk.example.com"), claim("c", storage_class="fast")]


@pytest.mark.parametrize(
    ("capacities", "enough"),
    [
        ([], ""),
        ([capacity("x", "fast", {ZONE: "a"})], "a"),
        ([capacity("x", "fast", {ZONE: "a"}, "5Gi"), capacity("y", "fast", {ZONE: "b"}, "4Gi")], "a"),
        ([capacity("x", "fast", {ZONE: "a"}, "100Gi", "1Gi")], ""),
        ([capacity("x", "fast", {ZONE: "a"}, "1Gi", "100Gi")], "a"),
        ([capacity("x", "fast", {ZONE: "a"}, None)], ""),
        ([capacity("x", "fast", {})], "ab"),
        ([capacity("x", "fast", None)], ""),
        ([capacity("x", "another", {ZONE: "a"})], ""),
    ],
)
def test_free_storage_is_checked_by_class_and_topology(capacities: list[dict[str, Any]], enough: str) -> None:
    verdicts = judged(claiming("c"), *ZONED, *capacities)
    assert verdicts == {name: SUCCESS if name in enough else unresolvable(NO_SPACE) for name in "ab"}


@pytest.mark.parametrize(
    "objects",
    [
        [DYNAMIC, claim("c", storage_class="fast")],
        [DYNAMIC, claim("c", storage_class="fast"), csi_driver("disk.example.com", capacity=False)],
        [DYNAMIC, claim("c", None, storage_class="fast"), csi_driver("disk.example.com")],
    ],
    ids=["no driver", "driver does not publish it", "no size"],
)
def test_free_storage_is_not_checked_unless_the_driver_wants_it(objects: list[dict[str, Any]]) -> None:
    assert judged(claiming("c"), *objects, nodes=1) == {"a": SUCCESS}


def test_the_first_claim_that_cannot_be_provisioned_decides() -> None:
    claims = [claim("big", "50Gi", storage_class="fast"), claim("static", "60Gi", storage_class="local")]
    objects = [*ZONED, LOCAL, *claims, capacity("x", "fast", {ZONE: "a"})]
    assert judged(claiming("big", "static"), *objects, nodes=1) == {"a": unresolvable(NO_SPACE)}


# ---------------------------------------------------------------------- Reserve, PreBind


class Scheduling:
    """A plugin in a simulated cluster, through which pods go one by one."""

    def __init__(self, *objects: dict[str, Any], binds: bool = True) -> None:
        self.handle = cluster(*objects)
        self.plugin = VolumeBinding(ARGS, self.handle)
        self.states: dict[str, CycleState] = {}
        if binds:
            self.handle.client = BindingClient(self.handle.store, VolumeController(self.handle.store))

    def feasible(self, pod: Pod) -> list[str]:
        status, state = pre_filtered(self.plugin, pod, self.handle.table)
        assert status == SUCCESS
        self.states[pod.uid] = state
        verdicts = filtered(self.plugin, state, pod, self.handle.table)
        return [name for name, verdict in verdicts.items() if verdict == SUCCESS]

    def reserve(self, pod: Pod, node: str) -> Status:
        assert node in self.feasible(pod)
        return self.plugin.reserve(self.states[pod.uid], pod, node)

    def unreserve(self, pod: Pod, node: str) -> None:
        self.plugin.unreserve(self.states[pod.uid], pod, node)

    def pre_bind(self, pod: Pod, node: str) -> Status:
        return self.plugin.pre_bind(self.states[pod.uid], pod, node)

    def claim(self, name: str) -> Any:
        return self.handle.store.get(PERSISTENT_VOLUME_CLAIM, name, "default")

    def volume(self, name: str) -> Any:
        return self.handle.store.get(PERSISTENT_VOLUME, name)

    def written(self) -> list[dict[str, Any]]:
        return [call[1] for call in self.handle.client.calls]


def test_a_static_volume_is_bound_before_the_pod() -> None:
    run, pod = Scheduling(LOCAL, WANTED, local("v")), claiming("c")
    assert run.reserve(pod, "a") == SUCCESS
    assert run.written() == []
    assert run.pre_bind(pod, "a") == SUCCESS
    [manifest] = run.written()
    assert manifest["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert manifest["spec"]["claimRef"] == {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": "default",
        "name": "c",
        "uid": "uid-c",
    }
    assert run.claim("c").is_bound
    assert run.claim("c").volume == "v"
    assert run.volume("v").phase == run.claim("c").phase == "Bound"


def test_a_volume_is_provisioned_for_the_selected_node() -> None:
    run, pod = Scheduling(DYNAMIC, claim("c", storage_class="fast")), claiming("c")
    assert run.reserve(pod, "b") == SUCCESS
    assert run.pre_bind(pod, "b") == SUCCESS
    [manifest] = run.written()
    assert manifest["metadata"]["annotations"] == {"volume.kubernetes.io/selected-node": "b"}
    assert run.claim("c").is_bound
    assert run.volume(run.claim("c").volume).claim.name == "c"


def test_two_pods_do_not_get_the_same_volume() -> None:
    other = claim("d", storage_class="local")
    run = Scheduling(LOCAL, WANTED, other, local("v"), local("w", "b"))
    first, second = claiming("c"), claiming("d")
    assert run.feasible(second) == ["a", "b"]
    assert run.reserve(first, "a") == SUCCESS
    assert run.feasible(second) == ["b"]
    assert run.pre_bind(first, "a") == SUCCESS
    assert run.feasible(second) == ["b"]
    assert run.reserve(second, "b") == SUCCESS
    assert run.pre_bind(second, "b") == SUCCESS
    assert (run.claim("c").volume, run.claim("d").volume) == ("v", "w")


def test_a_volume_is_free_again_when_the_pod_gives_it_back() -> None:
    run = Scheduling(LOCAL, WANTED, claim("d", storage_class="local"), local("v"))
    first, second = claiming("c"), claiming("d")
    assert run.reserve(first, "a") == SUCCESS
    assert run.feasible(second) == []
    run.unreserve(first, "a")
    assert run.feasible(second) == ["a"]
    assert run.written() == []


def test_a_claim_that_is_on_its_way_keeps_a_second_pod_on_that_node() -> None:
    run = Scheduling(DYNAMIC, claim("c", storage_class="fast"))
    first, second = claiming("c"), claiming("c")
    assert run.reserve(first, "b") == SUCCESS
    assert run.feasible(second) == ["b"]
    assert run.reserve(second, "b") == SUCCESS
    assert run.feasible(claiming("c")) == ["b"]
    run.unreserve(first, "b")
    assert run.feasible(claiming("c")) == ["a", "b"]


def test_two_pods_may_share_a_claim_on_its_way_to_a_static_volume() -> None:
    run = Scheduling(LOCAL, WANTED, local("v"), local("w", "b"))
    first, second = claiming("c"), claiming("c")
    assert run.reserve(first, "a") == SUCCESS
    assert run.reserve(second, "a") == SUCCESS
    assert run.pre_bind(second, "a") == SUCCESS
    assert run.pre_bind(first, "a") == SUCCESS
    assert run.claim("c").volume == "v"


def test_what_the_cluster_says_later_counts_more_than_a_promise() -> None:
    run = Scheduling(LOCAL, WANTED, claim("d", storage_class="local"), local("v"))
    assert run.reserve(claiming("c"), "a") == SUCCESS
    run.handle.store.put(local("v"))
    assert run.feasible(claiming("d")) == [], "the same state again is no news"
    run.handle.store.put(local("v", labels={"new": "label"}))
    assert run.feasible(claiming("d")) == ["a"]


def test_pods_whose_claims_are_bound_have_nothing_to_bind() -> None:
    run, pod = Scheduling(claim("c", volume="v"), volume("v")), claiming("c")
    assert run.reserve(pod, "a") == SUCCESS
    assert run.pre_bind(pod, "a") == SUCCESS
    assert run.written() == []


def test_pods_that_were_skipped_have_nothing_to_bind() -> None:
    plugin, state = VolumeBinding(ARGS, cluster()), CycleState()
    assert plugin.reserve(state, make_pod(), "a") == SUCCESS
    assert plugin.pre_bind(state, make_pod(), "a") == SUCCESS
    plugin.unreserve(state, make_pod(), "a")


def test_a_node_that_does_not_reach_the_volume_any_more_is_rejected_at_reserve() -> None:
    run, pod = Scheduling(LOCAL, WANTED, local("v")), claiming("c")
    assert run.feasible(pod) == ["a"]
    run.handle.table.put_node(make_node("a", {HOST: "renamed"}))
    assert run.plugin.reserve(run.states[pod.uid], pod, "a") == unresolvable(NO_VOLUME)


def test_an_error_of_the_api_server_is_told() -> None:
    run, pod = Scheduling(LOCAL, WANTED, local("v")), claiming("c")
    run.handle.client.errors["update"] = "the object has been modified"
    assert run.reserve(pod, "a") == SUCCESS
    assert run.pre_bind(pod, "a") == Status(Code.ERROR, "the object has been modified")


@pytest.mark.parametrize(
    "objects", [(LOCAL, WANTED, local("v")), (DYNAMIC, claim("c", storage_class="fast"))], ids=["static", "provisioned"]
)
def test_binding_waits_for_the_controller_until_the_time_is_over(objects: tuple[dict[str, Any], ...]) -> None:
    run, pod = Scheduling(*objects, binds=False), claiming("c")
    waits = Status(Code.WAIT, 'binding volumes: persistentvolumeclaim "c" is not bound yet')
    assert run.reserve(pod, "a") == SUCCESS
    assert run.pre_bind(pod, "a") == waits
    run.handle.clock.time = 599
    run.handle.store.put(run.written()[0])
    assert run.pre_bind(pod, "a") == waits
    run.handle.clock.time = 600
    assert run.pre_bind(pod, "a") == Status(Code.ERROR, "binding volumes: context deadline exceeded")
    assert len(run.written()) == 1


def test_binding_goes_on_when_the_controller_has_done_its_work() -> None:
    run, pod = Scheduling(LOCAL, WANTED, local("v"), binds=False), claiming("c")
    assert run.reserve(pod, "a") == SUCCESS
    assert run.pre_bind(pod, "a").code == Code.WAIT
    controller = VolumeController(run.handle.store)
    run.handle.store.put(run.written()[0])
    controller.sync()
    assert run.pre_bind(pod, "a") == SUCCESS


@pytest.mark.parametrize(
    ("later", "text"),
    [
        (local("v", labels={"reset": ""}), 'ClaimRef got reset for pv "v"'),
        (local("v", "b", claim="c"), 'pv "v" node affinity doesn\'t match node "a": no matching NodeSelectorTerms'),
    ],
)
def test_a_static_volume_that_changes_meanwhile_is_an_error(later: dict[str, Any], text: str) -> None:
    run, pod = Scheduling(LOCAL, WANTED, local("v"), binds=False), claiming("c")
    assert run.reserve(pod, "a") == SUCCESS
    assert run.pre_bind(pod, "a").code == Code.WAIT
    run.handle.store.put(later)
    assert run.pre_bind(pod, "a") == Status(Code.ERROR, f"binding volumes: {text}")


def test_a_provisioner_that_gives_up_takes_the_selected_node_away() -> None:
    run, pod = Scheduling(DYNAMIC, claim("c", storage_class="fast"), binds=False), claiming("c")
    assert run.reserve(pod, "a") == SUCCESS
    assert run.pre_bind(pod, "a").code == Code.WAIT
    run.handle.store.put(claim("c", storage_class="fast", uid="new"))
    assert run.pre_bind(pod, "a") == Status(Code.ERROR, 'binding volumes: provisioning failed for PVC "c"')


def test_objects_that_disappear_are_an_error() -> None:
    run, pod = Scheduling(DYNAMIC, claim("c", storage_class="fast"), binds=False), claiming("c")
    assert run.reserve(pod, "a") == SUCCESS
    run.handle.store.delete("PersistentVolumeClaim", "default", "c")
    text = 'binding volumes: failed to check binding: could not find v1.PersistentVolumeClaim "default/c"'
    assert run.pre_bind(pod, "a") == Status(Code.ERROR, text)


def test_a_node_that_disappears_is_an_error() -> None:
    run, pod = Scheduling(LOCAL, WANTED, local("v")), claiming("c")
    assert run.reserve(pod, "a") == SUCCESS
    run.handle.table.remove_node("a")
    text = 'binding volumes: failed to get node "a": node "a" not found'
    assert run.pre_bind(pod, "a") == Status(Code.ERROR, text)


# ---------------------------------------------------------------------- events


def test_it_listens_to_all_objects_of_storage() -> None:
    assert registered(VolumeBinding(ARGS, FakeHandle())) == {
        "StorageClass": Action.ADD | Action.UPDATE,
        "PersistentVolumeClaim": Action.ADD | Action.UPDATE,
        "PersistentVolume": Action.ADD | Action.UPDATE,
        "Node": Action.ADD | Action.UPDATE_NODE_LABEL,
        "CSINode": Action.ADD | Action.UPDATE,
        "CSIDriver": Action.UPDATE,
        "CSIStorageCapacity": Action.ADD | Action.UPDATE,
    }


@pytest.mark.parametrize(
    ("resource", "old", "new", "worth_it"),
    [
        ("StorageClass", None, LOCAL, True),
        ("StorageClass", LOCAL, storage_class("local", allowedTopologies=topology({ZONE: ["a"]})), True),
        ("StorageClass", LOCAL, storage_class("local", "another"), False),
        ("PersistentVolumeClaim", None, claim("c"), True),
        ("PersistentVolumeClaim", claim("c"), claim("c", volume="v"), True),
        ("PersistentVolumeClaim", None, claim("p-v"), True),
        ("PersistentVolumeClaim", None, claim("d"), False),
        ("PersistentVolumeClaim", None, claim("c", namespace="other"), False),
        ("PersistentVolume", None, volume("v"), True),
        ("PersistentVolume", volume("v"), volume("v"), True),
        ("CSINode", None, csi_node("n"), True),
        ("CSINode", csi_node("n"), csi_node("n", migrated="kubernetes.io/aws-ebs"), True),
        ("CSINode", csi_node("n"), csi_node("n", {"d": 1}), False),
        ("CSIDriver", csi_driver("mine"), csi_driver("mine", capacity=False), True),
        ("CSIDriver", csi_driver("mine", capacity=False), csi_driver("mine"), False),
        ("CSIDriver", csi_driver("other"), csi_driver("other", capacity=False), False),
        ("CSIStorageCapacity", None, capacity("x", "s", {}), True),
        ("CSIStorageCapacity", capacity("x", "s", {}, "1Gi"), capacity("x", "s", {}, "2Gi"), True),
        ("CSIStorageCapacity", capacity("x", "s", {}, None), capacity("x", "s", {}, "1Gi"), True),
        ("CSIStorageCapacity", capacity("x", "s", {}, "1Gi"), capacity("x", "s", {}, "1Gi", "2Gi"), True),
        ("CSIStorageCapacity", capacity("x", "s", {}, "2Gi"), capacity("x", "s", {}, "1Gi"), False),
        ("CSIStorageCapacity", capacity("x", "s", {}, "2Gi"), capacity("x", "s", {}, None), False),
    ],
)
def test_what_is_worth_another_try(resource: str, old: Any, new: Any, worth_it: bool) -> None:
    pod = claiming("c", ephemeral=["v"], inline=[{"csi": {"driver": "mine"}}], name="p")
    action = Action.ADD if old is None else Action.UPDATE
    before = None if old is None else parsed(old)
    assert hint(VolumeBinding(ARGS, FakeHandle()), resource, action, pod, old=before, new=parsed(new)) is worth_it


def test_nodes_are_always_worth_another_try() -> None:
    plugin = VolumeBinding(ARGS, FakeHandle())
    assert hint(plugin, "Node", Action.ADD, claiming("c"), new=make_node("n"))
    assert hint(
        plugin, "Node", Action.UPDATE_NODE_LABEL, claiming("c"), old=make_node("n"), new=make_node("n", {"k": "v"})
    )
