"""Hooks of kubewasp/v1 in a scheduler: queue, cycle states in preemption, waiting pods."""

import logging
from typing import Any

import pytest

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.config.model import ConfigError
from kubewasp.framework.cycle_state import CycleState
from kubewasp.k8s.codec import encode
from kubewasp.scheduler.composition import set_up
from kubewasp.simulation.embedded_cluster import EmbeddedCluster, SimulatedClock
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.plugin import WasmPlugin
from tests import samples
from tests.guests.build import SOURCES, wat, wat_text
from tests.simulation.simulating import (
    Object,
    config,
    filled,
    node,
    pending,
    placed,
    pod,
    priority_class,
    profile,
    settled,
    steered,
    wasm,
)
from tests.wasm.probing import encoded_pod
from tests.wasm.test_extension import bits, says

NODES = [node("node-1"), node("node-2")]
SORTED = {"queueSort": {"enabled": [{"name": "policy"}], "disabled": [{"name": "*"}]}}
UNSORTED = {"queueSort": {"disabled": [{"name": "policy"}]}}


def plugin(cluster: EmbeddedCluster, name: str = "policy") -> WasmPlugin:
    found = next(iter(cluster.scheduler.frameworks.values())).plugins[name]
    assert isinstance(found, WasmPlugin)
    return found


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Log lines of the guest since the last call."""
    logged = [vars(record) for record in caplog.records if record.name == "kubewasp.guest"]
    lines = [record["guest_line"] for record in logged for _ in range(record.get("count", 1))]
    caplog.clear()
    return lines


def order(cluster: EmbeddedCluster) -> list[str]:
    return [bound.name for _, bound in cluster.objects.bindings.values()]


# ---------------------------------------------------------------------- queuesort


def queue_guest(**globals_: int) -> Object:
    return wasm("policy", steered("queue", **globals_))


def sort(*names: str, **globals_: int) -> EmbeddedCluster:
    pods = (pod(name) for name in names)
    return settled(*NODES, *pods, config=config(profile(queue_guest(**globals_), **SORTED)))


def test_pods_are_scheduled_in_the_order_of_their_keys() -> None:
    assert order(sort("c", "a", "ba", "b", "bb")) == ["a", "b", "ba", "bb", "c"]


def test_keys_are_compared_byte_by_byte() -> None:
    assert order(sort("a-10", "a-9", "a.b", "z")) == ["a-10", "a-9", "a.b", "z"]


@pytest.mark.parametrize("length", [0, 1, 1024])
def test_pods_with_the_same_key_go_in_the_order_they_came(length: int) -> None:
    assert order(sort("c", "a", "b", length=length)) == ["c", "a", "b"]


def test_a_pod_that_the_guest_fails_on_goes_last(caplog: pytest.LogCaptureFixture) -> None:
    assert order(sort("x-1", "c", "x-0", "a")) == ["a", "c", "x-1", "x-0"]
    logged = [vars(record) for record in caplog.records if record.message == "No sort key"]
    assert [(line["plugin"], line["pod"]) for line in logged] == [("policy", "default/x-1"), ("policy", "default/x-0")]


def test_a_key_that_is_too_long_is_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    assert order(sort("c", "a", length=1025)) == ["c", "a"]
    causes = [vars(record)["cause"] for record in caplog.records if record.message == "No sort key"]
    assert "a sort key of 1025 bytes is over the limit of 1024" in causes[0]


def test_a_failure_that_is_ignored_puts_the_pod_last_too() -> None:
    guest = wasm("policy", wat("queue"), failurePolicy="Ignore")
    cluster = settled(*NODES, pod("x"), pod("b"), pod("a"), config=config(profile(guest, **SORTED)))
    assert order(cluster) == ["a", "b", "x"]


QUEUED_AT = """(module
  (import "kubewasp/v1" "queued_at" (func $queued_at (result i64)))
  (import "kubewasp/v1" "result.sort_key" (func $sort_key (param i32 i32)))
  (memory (export "memory") 1)
  (func (export "queuesort") (result i32)
    (i64.store (i32.const 0) (call $queued_at))
    (call $sort_key (i32.const 0) (i32.const 8))
    (i32.const 0)))"""


def test_a_guest_hears_when_the_pod_was_queued() -> None:
    settings = config(profile(wasm("policy", wat_text(QUEUED_AT)), **SORTED))
    cluster = EmbeddedCluster(set_up(settings), clock=SimulatedClock(1_000_000.0))
    cluster.clock.advance_to(5.0)
    place, key, queued_at = plugin(cluster).sort_key(encoded_pod("a"), 2.0)
    assert (place, int.from_bytes(key, "little"), queued_at) == (0, 1_000_002_000_000_000, 2.0)


# ---------------------------------------------------------------------- preenqueue


def test_a_gate_holds_a_pod_until_the_guest_lets_it_go() -> None:
    cluster = settled(NODES[0], pod("web"), config=config(profile(queue_guest(nodes=2), **UNSORTED)))
    assert pending(cluster) == {"web": "too few nodes"}
    queued = next(iter(cluster.scheduler.queue))
    assert (queued.attempts, queued.gated_by) == (0, "policy")
    cluster.apply(NODES[1])
    cluster.settle()
    assert set(placed(cluster)) == {"web"}
    assert queued.gated_by == ""


def test_a_gate_that_does_not_open_is_asked_again_with_every_event() -> None:
    cluster = settled(NODES[0], pod("web"), config=config(profile(queue_guest(nodes=3), **UNSORTED)))
    cluster.apply(NODES[1])
    cluster.settle()
    assert pending(cluster) == {"web": "too few nodes"}
    cluster.apply(node("node-3"))
    cluster.settle()
    assert set(placed(cluster)) == {"web"}


# ---------------------------------------------------------------------- queueinghint


def hinted(wakes: int, *objects: Object) -> EmbeddedCluster:
    """A pod rejected by a guest with this hint for every event."""
    guest = queue_guest(wakes=wakes, status_code=2)
    return settled(*(objects or NODES), pod("web"), config=config(profile(guest, **UNSORTED)))


@pytest.mark.parametrize(("wakes", "attempts"), [(0, 1), (1, 2)])
def test_a_hint_decides_whether_an_event_wakes_a_pod(wakes: int, attempts: int) -> None:
    cluster = hinted(wakes)
    queued = next(iter(cluster.scheduler.queue))
    assert queued.attempts == 1
    cluster.apply(node("node-3"))
    cluster.settle()
    assert queued.attempts == attempts
    assert queued.place == "unschedulable"


def test_a_hint_that_fails_wakes_the_pod() -> None:
    cluster = hinted(2)
    queued = next(iter(cluster.scheduler.queue))
    cluster.apply(node("node-3"))
    assert queued.place == "backoff"
    assert plugin(cluster).guest.stats.broken == 1


def test_a_hint_is_told_the_event_and_the_objects(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    cluster = hinted(0)
    said(caplog)
    sizes = {}

    def size(manifest: Object) -> int:
        return len(encode(manifest["kind"], manifest))

    added, labelled, tainted = node("node-3"), node("node-3", a="b"), node("node-3", a="b", cpu="9")
    for name, manifest in (("added", added), ("labelled", labelled), ("tainted", tainted)):
        sizes[name] = size(manifest)
        cluster.apply(manifest)
        sizes[f"{name}: said"] = said(caplog)
    cluster.delete("Node", "", "node-3")
    assert sizes["added: said"] == [f"1 1 0 {sizes['added']}"]
    assert sizes["labelled: said"] == [f"1 {Action.UPDATE_NODE_LABEL} {sizes['added']} {sizes['labelled']}"]
    assert sizes["tainted: said"] == [f"1 {Action.UPDATE_NODE_ALLOCATABLE} {sizes['labelled']} {sizes['tainted']}"]
    assert said(caplog) == [f"1 2 {sizes['tainted']} 0"]


def test_a_hint_hears_of_pods_and_of_other_kinds(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    cluster = hinted(0, NODES[0])
    said(caplog)
    cluster.apply(pod("other", on="node-1"))
    length = len(cluster.pods["default/other"].encoded)
    assert said(caplog) == [f"0 1 0 {length}"]
    cluster.delete("Pod", "default", "other")
    assert said(caplog) == [f"0 2 {length} 0"]
    cluster.apply(priority_class("any", 1))
    assert said(caplog) == [f"10 {Action.ADD} 0 0"], "a kind that has no number of its own"
    cluster.apply({"kind": "StorageClass", "apiVersion": "storage.k8s.io/v1", "metadata": {"name": "s"}})
    assert said(caplog) == ["6 1 0 0"]
    cluster.apply({"kind": "StorageClass", "apiVersion": "storage.k8s.io/v1", "metadata": {"name": "s", "uid": "2"}})
    assert said(caplog) == [f"6 {Action.UPDATE} 0 0"]


def test_events_that_were_not_asked_for_are_no_question(caplog: pytest.LogCaptureFixture) -> None:
    """Registrations of the guest `enqueue`: new nodes, their labels, and deleted pods."""
    text = (SOURCES / "wat" / "queue.wat").read_text()
    enqueue = """(import "k8s.io/scheduler" "result.cluster_events" (func $cluster_events (param i32 i32)))
      (memory (export "memory") 2)
      (data (i32.const 512) "\\01\\00\\00\\00\\08\\00\\00\\00")
      (func (export "enqueue") (call $cluster_events (i32.const 512) (i32.const 8)))"""
    text = text.replace('(memory (export "memory") 2)', enqueue).replace('"preenqueue"', '"not_preenqueue"')
    text = text.replace("(global $status_code", "(global $no_status_code").replace(
        "(global.get $status_code)", "(i32.const 2)"
    )
    caplog.set_level(logging.INFO)
    guest = wasm("policy", wat_text(text, "queue"))
    cluster = settled(*NODES, pod("web"), config=config(profile(guest, **UNSORTED)))
    said(caplog)
    queued = next(iter(cluster.scheduler.queue))
    cluster.apply(node("node-3"))
    assert (said(caplog), queued.place) == ([], "unschedulable")
    cluster.apply(node("node-3", a="b"))
    assert [line.split()[:2] for line in said(caplog)] == [["1", "8"]]
    assert queued.place == "backoff"


# ---------------------------------------------------------------------- implemented


def test_a_profile_does_not_have_the_points_that_are_not_implemented() -> None:
    exported = "enqueue prefilter filter score unreserve preenqueue queuesort clonestate selectstate dropstate"
    guest = wasm("policy", wat_text(says(bits("filter"), exported=exported)))
    cluster = settled(*NODES, pod("web"), pod("more"), config=config(profile(guest)))
    assert set(placed(cluster)) == {"web", "more"}
    framework = next(iter(cluster.scheduler.frameworks.values()))
    lists = {point: found for point, found in vars(framework).items() if isinstance(found, list) and point[0] != "_"}
    at = [point for point, found in lists.items() if any(_name(item) == "policy" for item in found)]
    assert at == ["filter"]
    assert framework.queue_sort.name != "policy"
    assert plugin(cluster).guest.stats.broken == 0


def _name(item: Any) -> str:
    return str((item[0] if isinstance(item, tuple) else item).name)


def test_a_guest_that_implements_nothing_is_told_with_its_place() -> None:
    guest = wasm("policy", wat_text(says(0, exported="filter")))
    with pytest.raises(ConfigError) as caught:
        settled(*NODES, config=config(profile(guest)))
    assert str(caught.value).startswith('profiles[0]: plugin "policy": wasm: guest says that it implements nothing; ')


# ---------------------------------------------------------------------- cycle states


def preemption(guest: Object, nodes: int = 2) -> EmbeddedCluster:
    """A pod that has to make others go, two on each node; the guest alone turns it down."""
    cluster = filled(
        *(node(f"node-{number}") for number in range(nodes)),
        *(pod(f"low-{number}", on=f"node-{number // 2}", priority=0) for number in range(2 * nodes)),
        pod("high", priority=10),
        config=config(profile(guest)),
    )
    cluster.scheduler.schedule_one()
    return cluster


TRIAL = ["R{0}=51", "R{0}=52", "F{0}=52", "A{0}=51", "F{0}=51", "A{0}=50", "F{0}=50", "R{0}=51"]


def trial(number: str) -> list[str]:
    """Both pods are taken off; one of them may stay."""
    return [line.format(number) for line in TRIAL]


def test_every_trial_starts_from_the_same_state(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    cluster = preemption(wasm("policy", wat("states")), nodes=3)
    lines = said(caplog)
    assert lines == [
        *("P00=50", "F00=50", "F00=50", "F00=50"),
        *("C01=50", "S01=50", *trial("01")),
        *("S00=50", "D01=51", "C02=50", "S02=50", *trial("02")),
        *("S00=50", "D02=51", "C03=50", "S03=50", *trial("03")),
    ]
    assert len(cluster.objects.preemptions) == 1
    assert plugin(cluster).guest.stats.broken == 0, "it traps when a state is asked for that is not there"


def test_a_guest_without_copies_sees_one_trial_after_the_other(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    text = (SOURCES / "wat" / "states.wat").read_text()
    for hook in ("clonestate", "selectstate", "dropstate"):
        text = text.replace(f'(export "{hook}")', f'(export "not_{hook}")')
    preemption(wasm("policy", wat_text(text, "states")))
    lines = said(caplog)
    assert lines[:3] == ["P00=50", "F00=50", "F00=50"]
    assert lines[3:11] == trial("00")
    assert lines[11:13] == ["R00=52", "R00=53"], "where the first trial left off"


def test_the_next_pod_begins_with_an_empty_state(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    cluster = preemption(wasm("policy", wat("states")))
    said(caplog)
    cluster.apply(pod("next", priority=5))
    while (attempt := cluster.scheduler.schedule_one()) is not None and attempt.pod.name != "next":
        said(caplog)
    lines = said(caplog)
    assert lines[:2] == ["P00=50", "F00=50"]
    assert plugin(cluster).guest.stats.created == 1


def test_a_nominated_pod_counts_in_a_trial_only(caplog: pytest.LogCaptureFixture) -> None:
    """Filters are asked twice about a node that a more important pod waits for: as it is, and with that pod on it."""
    caplog.set_level(logging.INFO)
    text = (
        (SOURCES / "wat" / "states.wat")
        .read_text()
        .replace("(i32.gt_u (call $count (global.get $current)) (i32.const 50))", "(i32.const 1)")
    )
    text = text.replace(
        '(func (export "clonestate")',
        """
      (func (export "score") (result i64)
        (call $say (i32.const 88) (global.get $current)) ;; X
        (i64.const 0))
      (func (export "clonestate")""",
    )
    cluster = filled(*NODES, config=config(profile(wasm("policy", wat_text(text, "states")))))
    cluster.apply(pod("waiting", priority=10, schedulingGates=[{"name": "closed"}]))
    cluster.scheduler.nominator.nominate(cluster.pods["default/waiting"], "node-1")
    cluster.apply(pod("web", priority=0))
    cluster.scheduler.schedule_one()
    assert said(caplog) == [
        *("P00=50", "F00=50", "F00=50"),
        *("C01=50", "S01=50", "A01=49", "F01=49"),
        *("S00=50", "X00=50", "X00=50"),
    ]


def test_a_trial_that_comes_before_the_pods_own_state_does_not_change_it(caplog: pytest.LogCaptureFixture) -> None:
    """After a rejection by another plugin's PreFilter, a PostFilter runs all the same."""
    caplog.set_level(logging.INFO)
    cluster = filled(*NODES, pod("low", on="node-1"), config=config(profile(wasm("policy", wat("states")))))
    found, table, victim = plugin(cluster), cluster.scheduler.table, cluster.pods["default/low"]
    state = CycleState()
    for _ in range(2):
        attempt = state.clone()
        assert found.remove_pod(attempt, encoded_pod("web"), victim, 0, table).is_success
        del attempt
    state.close()
    assert [line for line in said(caplog) if line[0] == "R"] == ["R01=51", "R02=51"]


def test_the_current_state_is_not_dropped_while_it_is_current(caplog: pytest.LogCaptureFixture) -> None:
    """The guest traps if it is."""
    caplog.set_level(logging.INFO)
    guest = Guest.load(wat("states"), name="policy")
    with guest.cycle(encoded_pod("web"), samples.nodes(1)) as cycle:
        cycle.prefilter()
        cycle.states.select(cycle.states.clone(0))
        cycle.states.forget(1)
        assert cycle.states.clone(0) == 2
        assert not cycle.failed
    assert said(caplog) == ["P00=50", "C01=50", "S01=50", "S00=50", "D01=50", "C02=50"]


# ---------------------------------------------------------------------- gangs


def gang(**globals_: int) -> Object:
    return wasm("gang", steered("gang", **globals_))


def members(count: int, **more: Any) -> list[Object]:
    return [pod(f"member-{number}", **more) for number in range(count)]


def test_a_gang_is_bound_when_its_last_pod_has_come() -> None:
    cluster = filled(*NODES, *members(2), config=config(profile(gang())))
    cluster.scheduler.schedule_one()
    cluster.scheduler.schedule_one()
    assert placed(cluster) == {}
    assert len(cluster.scheduler.waiting) == 2
    cluster.apply(pod("member-2"))
    cluster.settle()
    assert set(placed(cluster)) == {"member-0", "member-1", "member-2"}
    assert (list(cluster.scheduler.waiting), len(cluster.scheduler.queue), cluster.clock.now()) == ([], 0, 0)
    assert order(cluster)[0] == "member-2", "the last one goes first: those it allows are bound when it has ended"


def test_gangs_of_one_and_of_many() -> None:
    for size in (1, 2, 7):
        cluster = settled(*NODES, *members(2 * size), config=config(profile(gang(size=size))))
        assert len(placed(cluster)) == 2 * size
        assert len(cluster.scheduler.waiting) == 0


def test_a_rejected_gang_goes_back_to_the_queue() -> None:
    cluster = filled(*NODES, *members(3), config=config(profile(gang(decision=2))))
    for _ in range(3):
        cluster.scheduler.schedule_one()
    assert placed(cluster) == {}
    assert not cluster.scheduler.waiting
    assert not cluster.scheduler.table.pod_count.any()
    told = pending(cluster)
    broken_up = "0/1 nodes are available: 1 the gang is broken up."
    assert [told["member-0"], told["member-1"]] == [broken_up] * 2
    assert {queued.pod.name: queued.rejected_by for queued in cluster.scheduler.queue} == dict.fromkeys(
        told, frozenset({"gang"})
    )


def test_a_gang_that_does_not_come_together_is_given_up() -> None:
    cluster = filled(*NODES, *members(2), config=config(profile(gang(timeout=5000))))
    cluster.settle(until=4)
    assert len(cluster.scheduler.waiting) == 2
    cluster.settle()
    assert set(pending(cluster).values()) == {
        "0/1 nodes are available: 1 rejected due to timeout after waiting 5s at plugin gang."
    }
    assert not cluster.scheduler.table.pod_count.any()


def test_a_pod_whose_time_is_up_takes_the_others_with_it() -> None:
    """Unreserve rejects all that wait: those that came later need not wait for their own time to be up."""
    cluster = filled(*NODES, *members(1), config=config(profile(gang(timeout=5000, unreserving=2))))
    cluster.scheduler.schedule_one()
    cluster.clock.advance_to(3)
    cluster.apply(pod("member-1"))
    cluster.scheduler.schedule_one()
    assert len(cluster.scheduler.waiting) == 2
    cluster.clock.advance_to(5)
    cluster.scheduler.tick()
    assert not cluster.scheduler.waiting
    assert pending(cluster) == {
        "member-0": "0/1 nodes are available: 1 rejected due to timeout after waiting 5s at plugin gang.",
        "member-1": "0/1 nodes are available: 1 the gang is broken up.",
    }


def test_a_member_that_is_deleted_takes_the_others_with_it() -> None:
    cluster = filled(*NODES, *members(2), config=config(profile(gang(unreserving=2))))
    cluster.scheduler.schedule_one()
    cluster.scheduler.schedule_one()
    cluster.delete("Pod", "default", "member-0")
    assert not cluster.scheduler.waiting
    assert pending(cluster) == {"member-1": "0/1 nodes are available: 1 the gang is broken up."}
    assert not cluster.scheduler.table.pod_count.any()


def test_a_member_that_is_deleted_leaves_the_others_waiting() -> None:
    cluster = filled(*NODES, *members(2), config=config(profile(gang())))
    cluster.scheduler.schedule_one()
    cluster.scheduler.schedule_one()
    cluster.delete("Pod", "default", "member-0")
    assert list(cluster.scheduler.waiting) == [cluster.pods["default/member-1"].uid]
    for number in (2, 3):
        cluster.apply(pod(f"member-{number}"))
    cluster.settle()
    assert set(placed(cluster)) == {"member-1", "member-2", "member-3"}


def test_postbind_lets_the_others_go() -> None:
    """The guest of another profile, without Permit waits, allows waiting pods when its own pod is bound."""
    text = (SOURCES / "wat" / "gang.wat").read_text()
    text = text.replace('(export "permit")', '(export "not_permit")').replace(
        '"bound") (mut i32) (i32.const 0)', '"bound") (mut i32) (i32.const 1)'
    )
    both = [profile(gang(size=9)), profile(wasm("gang", wat_text(text, "gang")), scheduler="other")]
    cluster = filled(*NODES, *members(2), pod("leader", schedulerName="other"), config=config(*both))
    cluster.settle(until=1)
    assert set(placed(cluster)) == {"member-0", "member-1", "leader"}
    assert not cluster.scheduler.waiting


def test_two_guests_must_both_allow_a_pod() -> None:
    """The second one lets go when there are four, the first when there are three."""
    first, second = wasm("first", steered("gang", size=3)), wasm("second", steered("gang", size=4))
    cluster = filled(*NODES, *members(3), config=config(profile(first, second)))
    for _ in range(3):
        cluster.scheduler.schedule_one()
    assert placed(cluster) == {}
    assert [sorted(waiting.timeouts) for waiting in cluster.scheduler.waiting.all()] == [["second"]] * 3
    cluster.apply(pod("member-3"))
    cluster.settle(until=1)
    assert len(placed(cluster)) == 4
