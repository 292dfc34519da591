from __future__ import annotations

from dataclasses import replace

import pytest

from kubewasp.k8s.csi_migration import BY_SOURCE
from kubewasp.k8s.selectors import NodeSelectorTerm, Requirement
from kubewasp.k8s.storage import (
    BOUND_BY_CONTROLLER,
    ClaimReference,
    bound_to,
    parse_capacity,
    parse_claim,
    parse_csi_node,
    parse_storage_class,
    parse_volume,
    with_selected_node,
)
from kubewasp.state.object_kinds import (
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
)
from kubewasp.state.object_store import ObjectStore
from tests.plugins.storage_building import capacity, claim, csi_node, storage_class, topology, volume


def test_the_store_knows_all_kinds_of_storage() -> None:
    store = ObjectStore()
    for manifest in (volume("v"), claim("c"), storage_class("s"), csi_node("n"), capacity("x", "s", {})):
        store.put(manifest)
    assert store.get(PERSISTENT_VOLUME, "v").name == "v"
    assert store.get(PERSISTENT_VOLUME_CLAIM, "c", "default").key == "default/c"
    assert store.get(STORAGE_CLASS, "s").provisions is False
    assert store.get(CSI_NODE, "n").limits == {}
    assert store.get(CSI_STORAGE_CAPACITY, "x", "default").storage_class == "s"


def test_a_class_annotation_comes_before_the_field() -> None:
    manifest = claim("c", storage_class="field")
    manifest["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"] = "annotation"
    assert parse_claim(manifest).storage_class == "annotation"


def test_a_volume_without_a_mode_is_a_file_system() -> None:
    assert parse_volume(volume("v")).volume_mode == parse_claim(claim("c")).volume_mode == "Filesystem"


@pytest.mark.parametrize(
    ("manifest", "is_bound"),
    [(claim("c", volume="v"), True), (claim("c", volume="v", bound=False), False), (claim("c", bound=True), False)],
    ids=["named and completed", "named only", "completed without a name"],
)
def test_a_claim_is_bound_when_it_names_a_volume_and_binding_was_completed(
    manifest: dict[str, object], is_bound: bool
) -> None:
    assert parse_claim(manifest).is_bound is is_bound


@pytest.mark.parametrize(
    ("reference", "matches"),
    [
        (None, False),
        (ClaimReference("default", "c", ""), True),
        (ClaimReference("default", "c", "1"), True),
        (ClaimReference("default", "c", "2"), False),
        (ClaimReference("other", "c", "1"), False),
        (ClaimReference("default", "d", "1"), False),
    ],
)
def test_a_volume_belongs_to_the_claim_it_names(reference: ClaimReference | None, matches: bool) -> None:
    owned = replace(parse_volume(volume("v")), claim=reference)
    assert owned.is_bound_to(parse_claim(claim("c", uid="1"))) is matches


def test_binding_a_volume_names_the_claim_and_who_bound_it() -> None:
    free, wanted = parse_volume(volume("v")), parse_claim(claim("c", uid="1"))
    owned = bound_to(free, wanted)
    assert owned.claim == ClaimReference("default", "c", "1")
    assert owned.manifest["metadata"]["annotations"] == {BOUND_BY_CONTROLLER: "yes"}
    assert free.claim is None
    assert "annotations" not in free.manifest["metadata"]
    assert bound_to(owned, wanted) is owned


def test_a_volume_that_named_the_claim_before_gets_its_uid_but_no_mark() -> None:
    owned = bound_to(parse_volume(volume("v", claim="c")), parse_claim(claim("c", uid="1")))
    assert owned.claim == ClaimReference("default", "c", "1")
    assert BOUND_BY_CONTROLLER not in (owned.manifest["metadata"].get("annotations") or {})


def test_selecting_a_node_leaves_the_claim_it_was_made_from_alone() -> None:
    before = parse_claim(claim("c"))
    assert with_selected_node(before, "n").selected_node == "n"
    assert before.selected_node is None


def test_a_class_without_a_binding_mode_binds_at_once() -> None:
    manifest = storage_class("s")
    del manifest["volumeBindingMode"]
    assert parse_storage_class(manifest).binding_mode == "Immediate"


def test_topologies_of_a_class_are_terms_of_labels() -> None:
    parsed = parse_storage_class(storage_class("s", allowedTopologies=topology({"zone": ["a", "b"]}, {})))
    assert parsed.topologies == (NodeSelectorTerm((Requirement("zone", "In", ("a", "b")),)), NodeSelectorTerm())


def test_a_driver_without_a_count_has_no_limit() -> None:
    assert parse_csi_node(csi_node("n", {"a": 5, "b": None, "c": 0})).limits == {"a": 5, "c": 0}


@pytest.mark.parametrize(
    ("manifest", "limit"),
    [
        (capacity("x", "s", {}, "1Gi"), 2**30),
        (capacity("x", "s", {}, "1Gi", "1Ki"), 1024),
        (capacity("x", "s", {}, None), None),
    ],
    ids=["capacity", "largest volume", "unknown"],
)
def test_the_largest_volume_counts_before_the_capacity(manifest: dict[str, object], limit: int | None) -> None:
    assert parse_capacity(manifest).limit == limit


def test_a_selector_that_cannot_be_parsed_is_kept_as_an_error() -> None:
    manifest = claim("c", selector={"matchExpressions": [{"key": "k", "operator": "In"}]})
    assert parse_claim(manifest).selector_error == "k: In needs at least one value"


@pytest.mark.parametrize(
    ("source", "details", "labels", "handle"),
    [
        ("awsElasticBlockStore", {"volumeID": "vol-1"}, {}, "vol-1"),
        ("awsElasticBlockStore", {"volumeID": "aws://us-east-1a/vol-1"}, {}, "vol-1"),
        ("gcePersistentDisk", {"pdName": "d"}, {}, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
        (
            "gcePersistentDisk",
            {"pdName": "d"},
            {"topology.kubernetes.io/zone": "us-a"},
            "projects/UNSPECIFIED/zones/us-a/disks/d",
        ),
        (
            "gcePersistentDisk",
            {"pdName": "d"},
            {"failure-domain.beta.kubernetes.io/zone": "us-a__us-b"},
            "projects/UNSPECIFIED/regions/us/disks/d",
        ),
        ("azureDisk", {"diskURI": "/disks/d"}, {}, "/disks/d"),
        ("cinder", {"volumeID": "c"}, {}, "c"),
        ("portworxVolume", {"volumeID": "p"}, {}, "p"),
    ],
)
def test_an_in_tree_volume_has_a_handle_at_its_driver(
    source: str, details: dict[str, str], labels: dict[str, str], handle: str
) -> None:
    assert BY_SOURCE[source].handle(details, labels) == handle


_EBS_ZONE = "topology.ebs.csi.aws.com/zone"


@pytest.mark.parametrize(
    ("terms", "labels", "translated"),
    [
        (None, {}, None),
        (None, {"topology.kubernetes.io/zone": "b__a"}, [(_EBS_ZONE, ("a", "b"))]),
        ([("topology.kubernetes.io/zone", ("a",))], {"topology.kubernetes.io/zone": "x"}, [(_EBS_ZONE, ("a",))]),
        (
            [("failure-domain.beta.kubernetes.io/zone", ("a",)), ("failure-domain.beta.kubernetes.io/region", ("r",))],
            {},
            [(_EBS_ZONE, ("a",)), ("topology.kubernetes.io/region", ("r",))],
        ),
    ],
    ids=["nothing", "labels", "affinity before labels", "beta labels"],
)
def test_the_affinity_of_a_migrated_volume_speaks_of_its_drivers_zones(
    terms: list[tuple[str, tuple[str, ...]]] | None,
    labels: dict[str, str],
    translated: list[tuple[str, tuple[str, ...]]] | None,
) -> None:
    def affinity(wanted: list[tuple[str, tuple[str, ...]]] | None) -> tuple[NodeSelectorTerm, ...] | None:
        if wanted is None:
            return None
        return (NodeSelectorTerm(tuple(Requirement(key, "In", values) for key, values in wanted)),)

    assert BY_SOURCE["awsElasticBlockStore"].affinity(affinity(terms), labels) == affinity(translated)
