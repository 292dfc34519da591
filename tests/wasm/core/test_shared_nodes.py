"""Nodes in the shared memory, read by guests after any sequence of changes."""

import weakref
from functools import cache
from typing import Any, cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from wasmtime import Global

from kubewasp.k8s.codec import decode, encode
from kubewasp.state.node_objects import Nodes
from kubewasp.wasm.core.callback_host import CallbackHost
from kubewasp.wasm.core.core_engine import core_engine
from kubewasp.wasm.core.shared_nodes import NameIndex
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_cycle import GuestCycle
from kubewasp.wasm.limits import Limits
from tests import samples
from tests.guests import GETTERS, IMPORTS
from tests.guests.build import wat, wat_text
from tests.wasm.fakes import FakeHandle
from tests.wasm.steering import getter, peek, steer
from tests.wasm.strategies import IMAGES, LABELS

POD = encode("Pod", samples.pod("pod-1"))
NAMES = ("node-1", "node-2", "nöde", "x" * 200, "a", "b")
OF_A_NODE = ("node", "currentNodeName", "nodeImageStates")


@cache
def echo() -> Guest:
    return Guest.load(wat("echo"), name="echo")


@cache
def imports() -> Guest:
    return Guest.load(wat("imports"), name="imports")


def read(cycle: GuestCycle, what: str, node: str) -> bytes:
    steer(cycle, which=getter(what))
    cycle.filter([node])
    return cycle.runner.guest_memory.read(1024, peek(cycle, "first_len"), "test")


def look_up(cycle: GuestCycle, function: str, name: str, node: str) -> bytes:
    """Values of a guest's lookup of a node by name, with another current node."""
    encoded = name.encode()
    cycle.runner.guest_memory.write(2048, encoded, "test")
    which = [item for _, item, _ in IMPORTS].index(function)
    steer(cycle, which=which, a=2048, b=len(encoded), c=4096, d=32768)
    assert cycle.filter([node]).codes.tolist() == [0]
    return cycle.runner.guest_memory.read(4096, peek(cycle, "result"), "test")


def oracle(nodes: Nodes) -> CallbackHost:
    host = CallbackHost(echo().module)
    host.pod, host.nodes = POD, nodes
    return host


def oracle_read(host: CallbackHost, what: str, node: str) -> bytes:
    cast(Global, host.exports["which"]).set_value(host._store, GETTERS.index(what))
    host.call("filter", node)
    return host.reason


class MirrorAgainstCallbacks(RuleBasedStateMachine):
    """After every change, all a guest can ask is what a host without any memory answers."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes = Nodes()

    @rule(name=st.sampled_from(NAMES), labels=LABELS, images=IMAGES)
    def put(self, name: str, labels: dict[str, str], images: dict[str, int]) -> None:
        self.nodes.put(samples.node(name, labels=labels, images=images))

    @precondition(lambda self: len(self.nodes))
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        self.nodes.remove(data.draw(st.sampled_from(list(self.nodes))))

    @precondition(lambda self: len(self.nodes))
    @rule(data=st.data())
    def rename(self, data: st.DataObject) -> None:
        """The row goes to another name without anybody looking in between."""
        self.nodes.remove(data.draw(st.sampled_from(list(self.nodes))))
        free = [name for name in NAMES if name not in self.nodes]
        self.nodes.put(samples.node(data.draw(st.sampled_from(free))))

    @rule()
    def add_many(self) -> None:
        """Enough for the index of names to be made anew."""
        for number in range(40):
            self.nodes.put(samples.node(f"many-{number}"))
        for number in range(40):
            self.nodes.remove(f"many-{number}")

    @invariant()
    def every_node_reads_the_same(self) -> None:
        expected = oracle(self.nodes)
        with echo().cycle(POD, self.nodes) as cycle:
            for name in self.nodes:
                for what in OF_A_NODE:
                    assert read(cycle, what, name) == oracle_read(expected, what, name), (what, name)

    @invariant()
    def the_list_has_the_same_nodes(self) -> None:
        """In the order of the rows, which is not that of the nodes once one was removed."""
        with echo().cycle(POD, self.nodes) as cycle:
            steer(cycle, which=getter("nodeList"))
            cycle.prefilter()
            found = cycle.runner.guest_memory.read(1024, peek(cycle, "first_len"), "test")
        expected = oracle_read(oracle(self.nodes), "nodeList", "")
        assert len(found) == len(expected)
        assert _by_name(found) == _by_name(expected)
        if self.nodes.is_dense:
            assert found == expected

    @invariant()
    def every_name_is_found_or_not(self) -> None:
        expected = oracle(self.nodes)
        with imports().cycle(POD, self.nodes) as cycle:
            for node in list(self.nodes)[:1]:
                for name in (*NAMES, "many-0", "", "nowhere"):
                    for what in ("node", "nodeImageStates"):
                        assert look_up(cycle, what, name, node) == expected._of_node(what, name), (what, name)


def _by_name(node_list: bytes) -> dict[str, Any]:
    return {node["metadata"]["name"]: node for node in decode("NodeList", node_list).get("items", [])}


MirrorAgainstCallbacks.TestCase.settings = settings(max_examples=12, stateful_step_count=15)
TestMirrorAgainstCallbacks = MirrorAgainstCallbacks.TestCase


# ---------------------------------------------------------------- what is written


def written(guest: Guest, nodes: Nodes) -> int:
    """Bytes written to the shared memory by one cycle."""
    heap = guest.module.engine.heap
    before = heap.bytes_written
    with guest.cycle(POD, nodes) as cycle:
        cycle.filter()
    return heap.bytes_written - before


@pytest.fixture
def large() -> Nodes:
    return Nodes(samples.node(f"node-{number}", annotations={"a": "x" * 5000}) for number in range(1, 101))


def test_a_cycle_with_unchanged_nodes_writes_the_pod_and_nothing_else(large: Nodes) -> None:
    assert written(echo(), large) > 500_000
    assert written(echo(), large) == len(POD)
    assert written(echo(), large) == len(POD)


def test_two_plugins_share_the_nodes(large: Nodes) -> None:
    guest = Guest.load(wat("filter"))
    written(guest, large)
    assert written(Guest.load(wat("prefilter")), large) == len(POD)


def test_objects_are_written_when_the_first_guest_may_look_at_them(large: Nodes) -> None:
    names_only = Guest.load(wat("pod_node_name"))
    assert len(POD) < written_by_score(names_only, large) < 10_000
    large.put(samples.node("node-50", annotations={"a": "y" * 5000}))
    assert written_by_score(names_only, large) == len(POD)
    assert written(echo(), large) > 500_000
    with echo().cycle(POD, large) as cycle:
        assert read(cycle, "node", "node-50") == large.encoded(49)
    assert written_by_score(names_only, large) == len(POD)


def written_by_score(guest: Guest, nodes: Nodes) -> int:
    heap = guest.module.engine.heap
    before = heap.bytes_written
    with guest.cycle(POD, nodes) as cycle:
        scores = cycle.score()
    assert scores.names == tuple(nodes)
    return heap.bytes_written - before


def test_one_changed_node_writes_that_node_and_a_directory(large: Nodes) -> None:
    guest = echo()
    written(guest, large)
    large.put(samples.node("node-50", annotations={"a": "y" * 5000}))
    directory = 32 + 32 * 100
    record = len(large.encoded(49)) + len("node-50") + 4  # tag and length stand before it
    assert len(POD) + directory + 5000 < written(guest, large) <= len(POD) + directory + record
    assert written(guest, large) == len(POD)


def test_a_node_that_is_put_again_unchanged_writes_nothing(large: Nodes) -> None:
    guest = Guest.load(wat("filter"))
    written(guest, large)
    large.put(samples.node("node-50", annotations={"a": "x" * 5000}))
    assert written(guest, large) == len(POD)


def test_a_removed_node_writes_a_directory(large: Nodes) -> None:
    guest = Guest.load(wat("filter"))
    written(guest, large)
    large.remove("node-50")
    assert written(guest, large) == len(POD) + 32 + 32 * 100


def test_images_are_written_when_the_first_guest_asks_for_them(large: Nodes) -> None:
    large.put(samples.node("node-1", images={"nginx": 5}))
    written(Guest.load(wat("filter")), large)
    with echo().cycle(POD, large) as cycle:
        assert read(cycle, "nodeImageStates", "node-1") == b'{"nginx":{"Size":5,"NumNodes":1}}'


# ---------------------------------------------------------------- when nodes change under a cycle


def test_nodes_added_during_a_cycle_are_seen_by_the_next_hook() -> None:
    cluster = samples.nodes(3)
    with echo().cycle(POD, cluster) as cycle:
        for number in range(4, 200):
            cluster.put(samples.node(f"node-{number}"))
        steer(cycle, which=getter("currentNodeName"))
        verdicts = cycle.filter()
        assert [verdicts.reason(index) for index in range(len(verdicts))] == list(cluster)


def test_a_row_that_went_to_another_node_is_not_taken_for_the_old_one() -> None:
    cluster = samples.nodes(3)
    with echo().cycle(POD, cluster) as cycle:
        cluster.remove("node-2")
        cluster.put(samples.node("node-4"))
        steer(cycle, which=getter("currentNodeName"))
        assert cycle.reserve("node-4").reason == "node-4"


READS_AFTER_ASKING = """
(module
  (import "k8s.io/scheduler" "handle.get_waiting_pod" (func $ask (param i32 i32 i32 i32)))
  (import "k8s.io/scheduler" "currentNodeName" (func $name (param i32 i32) (result i32)))
  (import "k8s.io/api" "node" (func $node (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (global $length (export "length") (mut i32) (i32.const 0))
  (func (export "filter") (result i32)
    (call $ask (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 8))
    (global.set $length
      (call $node (i32.const 0) (call $name (i32.const 0) (i32.const 1024)) (i32.const 1024) (i32.const 60000)))
    (i32.const 0)))
"""


def test_a_call_that_is_under_way_goes_on_with_the_nodes_it_began_with(large: Nodes) -> None:
    """While the guest waits for an answer, all nodes change several times over and others read them."""
    before = large.encoded(0)

    def change_everything(_uid: str) -> None:
        for letter in "abc":
            for name in large:
                large.put(samples.node(name, annotations={"a": letter * 5000}))
            written(echo(), large)

    guest = Guest.load(wat_text(READS_AFTER_ASKING), handle=FakeHandle(on_get=change_everything))
    with guest.cycle(POD, large) as cycle:
        cycle.filter(["node-1"])
        assert cycle.runner.guest_memory.read(1024, peek(cycle, "length"), "test") == before
        guest.handle.on_get = None  # type: ignore[attr-defined]
        cycle.filter(["node-1"])
        assert cycle.runner.guest_memory.read(1024, peek(cycle, "length"), "test") == large.encoded(0)


# ---------------------------------------------------------------- memory


def test_many_changes_do_not_grow_the_shared_memory(large: Nodes) -> None:
    heap = echo().module.engine.heap
    number = 0

    def change() -> None:
        nonlocal number
        number += 1
        filling = "x" * (4000 + number % 7 * 100)
        images = {f"image-{number}": number, "common": 1}
        large.put(samples.node(f"node-{number % 100 + 1}", annotations={"a": filling}, images=images))
        if number % 10 == 0:
            large.remove(f"node-{number % 100 + 1}")
            large.put(samples.node(f"node-{number % 100 + 1}", annotations={"a": filling}))
        written(echo(), large)

    for _ in range(400):
        change()
    end = heap._end
    for _ in range(400):
        change()
    assert heap._end - end < 200_000, "800 changes wrote about 4 MB"


def test_nodes_that_are_gone_leave_their_memory_to_others() -> None:
    heap = echo().module.engine.heap

    def use_some() -> weakref.ref[Nodes]:
        cluster = Nodes(samples.node(f"node-{n}", annotations={"a": "x" * 5000}, images={"i": 1}) for n in range(50))
        written(echo(), cluster)
        return weakref.ref(cluster)

    use_some()
    end = heap._end
    for _ in range(20):
        assert use_some()() is None, "nobody keeps nodes alive"
    assert heap._end == end


def test_the_index_of_names_forgets_old_names() -> None:
    index = NameIndex(core_engine(Limits().stack).heap)
    for number in range(10_000):
        index.add({number % 10: b"name-%d" % number})
    assert index.mask < 256
    index.publish()
    index.release()
