"""Object store: typed lookups, generations and listeners."""

from typing import Any

import pytest

from kubewasp.state.object_kinds import CLUSTER_SCOPED, KINDS, NAMESPACE, PRIORITY_CLASS, REPLICA_SET, SERVICE
from kubewasp.state.object_store import ObjectStore


def manifest(kind: str, name: str = "a", namespace: str | None = "ns", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "namespace": namespace}, **more}


def test_an_object_is_found_by_kind_namespace_and_name() -> None:
    store = ObjectStore()
    found = store.put(manifest("Service", spec={"selector": {"x": "y"}}))
    assert store.get(SERVICE, "a", "ns") is found
    assert store.get(SERVICE, "a", "other") is None
    assert store.get(REPLICA_SET, "a", "ns") is None
    assert list(store.all(SERVICE)) == [found]
    assert list(store.all(SERVICE)) == [found]


def test_kinds_without_a_namespace_are_found_without_it() -> None:
    store = ObjectStore()
    found = store.put(manifest("PriorityClass", value=3))
    assert store.get(PRIORITY_CLASS, "a") is found
    store.delete("PriorityClass", "whatever", "a")
    assert store.get(PRIORITY_CLASS, "a") is None


def test_without_a_namespace_an_object_lies_in_the_default_one() -> None:
    store = ObjectStore()
    found = store.put(manifest("Service", namespace=None))
    assert store.get(SERVICE, "a", "default") is found


def test_listeners_hear_of_every_change_with_before_and_after() -> None:
    store, heard = ObjectStore(), []
    store.subscribe(lambda *change: heard.append(change))
    first = store.put(manifest("Service"))
    second = store.put(manifest("Service"))
    store.delete("Service", "ns", "a")
    store.delete("Service", "ns", "a")
    assert heard == [("Service", None, first), ("Service", first, second), ("Service", second, None)]


def test_a_listener_finds_the_new_state_in_the_store() -> None:
    store, seen = ObjectStore(), []
    store.subscribe(lambda kind, _before, _after: seen.append(store.get(KINDS[kind], "a", "ns")))
    found = store.put(manifest("Service"))
    store.delete("Service", "ns", "a")
    assert seen == [found, None]


def test_the_generation_of_a_kind_moves_with_its_changes_only() -> None:
    store = ObjectStore()
    store.put(manifest("Service"))
    store.delete("Service", "ns", "missing")
    store.put(manifest("ReplicaSet"))
    assert [store.generation(kind) for kind in (SERVICE, REPLICA_SET, NAMESPACE)] == [1, 1, 0]
    store.delete("Service", "ns", "a")
    assert store.generation(SERVICE) == 2


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_can_be_put_and_taken(kind: str) -> None:
    store = ObjectStore()
    spec = {"source": {}} if kind == "VolumeAttachment" else {}
    found = store.put(manifest(kind, spec=spec))
    place = "" if kind in CLUSTER_SCOPED else "ns"
    assert store.get(KINDS[kind], "a", place) is found
    assert store.has(kind, "a", place)


def test_an_unknown_kind_has_no_objects() -> None:
    store = ObjectStore()
    store.delete("Deployment", "ns", "a")
    assert not store.has("Deployment", "a", "ns")
