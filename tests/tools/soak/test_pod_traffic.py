"""Bookkeeping of the pods of a soak."""

from tools.soak.pod_traffic import LIFE, PENDING_LIFE, PodLedger
from tools.soak.profiles import UNSCHEDULABLE


def test_a_pod_missing_from_the_list_of_unbound_ones_is_bound() -> None:
    ledger = PodLedger()
    for name in ("a", "b"):
        ledger.add(name, "kind", 0.0)
    ledger.seen(ledger.existing, {"b"}, 1.0)
    assert (ledger.bound, ledger.pending) == (1, ["b"])
    ledger.seen(ledger.existing, (), 2.0)
    assert (ledger.bound, ledger.pending) == (2, [])
    assert ledger.created == {"kind": 2}


def test_a_pod_created_after_the_list_began_is_not_bound_yet() -> None:
    ledger = PodLedger()
    known = ledger.existing
    ledger.add("late", "kind", 0.0)
    ledger.seen(known, (), 1.0)
    assert ledger.pending == ["late"]


def test_a_bound_pod_expires_after_its_life_once() -> None:
    ledger = PodLedger()
    ledger.add("a", "kind", 0.0)
    ledger.seen(["a"], (), 5.0)
    assert ledger.expired(5.0 + LIFE - 0.1) == []
    assert ledger.expired(5.0 + LIFE) == ["a"]
    assert ledger.expired(5.0 + LIFE) == []
    assert ledger.bound == 1


def test_a_schedulable_pod_without_a_node_never_expires() -> None:
    ledger = PodLedger()
    ledger.add("a", "kind", 0.0)
    ledger.seen(["a"], {"a"}, 1.0)
    assert ledger.expired(1e6) == []
    assert ledger.pending == ["a"]


def test_an_unschedulable_pod_expires_and_is_not_pending() -> None:
    ledger = PodLedger()
    ledger.add("a", UNSCHEDULABLE, 0.0)
    assert ledger.pending == []
    assert ledger.expired(PENDING_LIFE) == ["a"]
    assert ledger.existing == []


def test_an_unschedulable_pod_with_a_node_is_reported() -> None:
    ledger = PodLedger()
    ledger.add("a", UNSCHEDULABLE, 0.0)
    ledger.seen(["a"], (), 1.0)
    assert ledger.wrongly_bound == ["a"]
