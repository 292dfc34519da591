"""Imports of kubewasp/v1 for nodes, pods and scores, one by one."""

import struct

import pytest

from kubewasp.framework.status import Status
from kubewasp.k8s.codec import decode, encode
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.pods import placed_on
from kubewasp.state.node_objects import Nodes
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_cycle import GuestCycle
from kubewasp.wasm.limits import Limits
from tests import samples
from tests.guests import EXTENSION_HOOKS, HOOKS
from tests.guests.build import wat_text
from tests.plugins.building import make_node, make_pod, make_table
from tests.wasm.calls import STATUS_OF
from tests.wasm.fakes import FakeHandle
from tests.wasm.probing import BUFFER, aim, ask, encoded_pod, get, load, node_info, numbers, resource, text
from tests.wasm.steering import peek, steer

CPU, MEMORY, EPHEMERAL, PODS = range(4)
GPU = "example.com/gpu"
MI = 1024 * 1024
# Names that a guest asks for are kept for the life of the engine; this limit has an engine of its own.
APART = {"stack": Limits().stack + 4096}
POD = samples.pod()


def two_nodes() -> NodeTable:
    """node-1 with GPUs and two pods, one of which asks for nothing; node-2 without any."""
    nodes = [
        make_node("node-1", cpu="4", memory="8Gi", pods="20", allocatable={GPU: "8", "ephemeral-storage": "10Gi"}),
        make_node("node-2", cpu="1500m", memory="1Gi", pods="5"),
    ]
    asks = encoded_pod("asks", node="node-1", requests={"cpu": "250m", "memory": "64Mi", GPU: "2"})
    return make_table(nodes, [asks, encoded_pod("modest", node="node-1")])


def pairs(info: list[int], *ids: int) -> list[tuple[int, int]]:
    """Allocatable and requested of those resources."""
    return [(info[4 + 2 * number], info[5 + 2 * number]) for number in ids]


def pod_list(*pods: bytes) -> bytes:
    """A list of pods shorter than 16 KiB each, put together by hand."""
    found = b""
    for pod in pods:
        length = len(pod)
        head = bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])
        found += b"\x12" + head + pod
    return found


# ---------------------------------------------------------------------- numbers of nodes


def test_a_node_is_a_record_of_numbers() -> None:
    with load().cycle(POD, two_nodes()) as cycle:
        gpu = resource(cycle, GPU)
        info = node_info(cycle, 0)
        assert info[2:4] == [250 + 100, 64 * MI + 200 * MI], "a container that asks for nothing counts as a small one"
        assert pairs(info, CPU, MEMORY, EPHEMERAL, PODS, gpu) == [
            (4000, 250),
            (8192 * MI, 64 * MI),
            (10240 * MI, 0),
            (20, 2),
            (8, 2),
        ]
        other = node_info(cycle, 1)
        assert other[2:4] == [0, 0]
        assert pairs(other, CPU, MEMORY, EPHEMERAL, PODS, gpu) == [(1500, 0), (1024 * MI, 0), (0, 0), (5, 0), (0, 0)]


@pytest.mark.parametrize("room", [0, 7, 8, 9, 31, 32, 40])
def test_a_record_is_written_as_far_as_whole_numbers_fit(room: int) -> None:
    with load().cycle(POD, two_nodes()) as cycle:
        whole = get(cycle, "node_info", 0)
        cycle.runner.guest_memory.write(BUFFER, b"\xee" * 100, "test")
        assert ask(cycle, "node_info", 0, BUFFER, room) == len(whole)
        fits = room // 8 * 8
        assert cycle.runner.guest_memory.read(BUFFER, 100, "test") == whole[:fits] + b"\xee" * (100 - fits)


def test_an_empty_row_has_nothing_to_say() -> None:
    table = two_nodes()
    table.remove_node("node-1")
    with load().cycle(POD, table) as cycle:
        assert ask(cycle, "node_rows") == 2
        for what in ("node_name", "node_object", "node_info", "node_pods"):
            assert get(cycle, what, 0) == b"", what
            assert get(cycle, what, 1) != b"" or what == "node_pods"


@pytest.mark.parametrize("row", [2, 16, 10_000, 2**31 - 1, -1, -(2**31)])
@pytest.mark.parametrize("what", ["node_name", "node_object", "node_info", "node_pods"])
def test_rows_that_are_not_there_have_nothing_to_say(what: str, row: int) -> None:
    with load().cycle(POD, two_nodes()) as cycle:
        assert get(cycle, what, row) == b""


def test_names_and_objects_by_row() -> None:
    table = two_nodes()
    with load().cycle(POD, table) as cycle:
        assert [get(cycle, "node_name", row) for row in (0, 1)] == [b"node-1", b"node-2"]
        assert [get(cycle, "node_object", row) for row in (0, 1)] == [table.node(row).encoded for row in (0, 1)]
        cycle.runner.guest_memory.write(BUFFER, b"\xee" * 8, "test")
        assert ask(cycle, "node_name", 0, BUFFER, 5) == 6, "too little room: nothing is written"
        assert cycle.runner.guest_memory.read(BUFFER, 8, "test") == b"\xee" * 8


@pytest.mark.parametrize(
    ("name", "row"), [("node-1", 0), ("node-2", 1), ("node-3", -1), ("node", -1), ("", -1), ("x" * 5000, -1)]
)
def test_rows_by_name(name: str, row: int) -> None:
    with load().cycle(POD, two_nodes()) as cycle:
        for hook in ("prefilter", "filter"):
            assert ask(cycle, "node_row", *text(cycle, name), hook=hook) == row


@pytest.mark.parametrize(
    "hook", ["filter", "score", "addpod", "removepod", "reserve", "unreserve", "permit", "prebind", "bind", "postbind"]
)
def test_the_row_of_the_node_at_hand(hook: str) -> None:
    table = make_table([make_node("other"), make_node("node-1")])
    with load().cycle(POD, table) as cycle:
        assert ask(cycle, "current_node", hook=hook) == 1
        assert ask(cycle, "current_node", hook="prescore") == -1, "and none after it"


@pytest.mark.parametrize("hook", ["enqueue", "prefilter", "postfilter", "prescore"])
def test_hooks_without_a_node_have_no_row(hook: str) -> None:
    with load().cycle(POD, two_nodes()) as cycle:
        assert ask(cycle, "current_node", hook=hook) == -1


def at_hand(cycle: GuestCycle, hook: str) -> tuple[int, int, int, int]:
    """The row, the cycle, and the two generations."""
    cycle.runner.guest_memory.write(BUFFER, b"\xee" * 32, "test")
    row = ask(cycle, "at_hand", BUFFER, hook=hook)
    *known, behind = struct.unpack("<4q", cycle.runner.guest_memory.read(BUFFER, 32, "test"))
    assert behind == -0x1111111111111112, "three numbers are written, and no more"
    return row, *known


@pytest.mark.parametrize(
    "hook", ["filter", "score", "addpod", "removepod", "reserve", "unreserve", "permit", "prebind", "bind", "postbind"]
)
def test_what_is_at_hand_in_one_call(hook: str) -> None:
    table = make_table([make_node("other"), make_node("node-1")])
    with load().cycle(POD, table) as cycle:
        assert at_hand(cycle, hook) == (1, ask(cycle, "cycle"), *node_info(cycle, 1)[:2])
        table.add_pod(encoded_pod("late", node="node-1"))
        assert at_hand(cycle, hook) == (1, ask(cycle, "cycle"), *node_info(cycle, 1)[:2])


@pytest.mark.parametrize("hook", ["enqueue", "prefilter", "postfilter", "prescore"])
def test_without_a_node_there_are_no_generations_at_hand(hook: str) -> None:
    with load().cycle(POD, two_nodes()) as cycle:
        assert at_hand(cycle, hook) == (-1, ask(cycle, "cycle"), 0, 0)


def test_what_is_at_hand_must_fit_into_the_guests_memory() -> None:
    with load().cycle(POD, two_nodes()) as cycle:
        end = cycle.runner.memory_bytes
        assert ask(cycle, "at_hand", end - 24, hook="filter") == 0
        aim(cycle, "at_hand", end - 23, hook="filter")
        assert "at_hand: buffer outside of the guest's memory" in STATUS_OF["filter"](cycle).reason


# ---------------------------------------------------------------------- generations


def test_generations_tell_a_changed_node_from_changed_pods() -> None:
    table = two_nodes()
    with load().cycle(POD, table) as cycle:
        node, all_of_it = node_info(cycle, 0)[:2]
        others = node_info(cycle, 1)[:2]
        assert node_info(cycle, 0)[:2] == [node, all_of_it], "nothing has changed"
        late = encoded_pod("late", node="node-1")
        table.add_pod(late)
        assert node_info(cycle, 0)[0] == node
        with_pod = node_info(cycle, 0)[1]
        assert with_pod != all_of_it
        table.remove_pod(late)
        assert node_info(cycle, 0)[0] == node
        assert node_info(cycle, 0)[1] not in (with_pod, all_of_it)
        table.put_node(make_node("node-1", cpu="2"))
        changed = node_info(cycle, 0)
        assert changed[0] != node
        assert pairs(changed, CPU) == [(2000, 250)]
        assert node_info(cycle, 1)[:2] == others, "the other node has not changed"


def test_a_row_that_another_node_gets_has_another_generation() -> None:
    table = two_nodes()
    with load().cycle(POD, table) as cycle:
        before = node_info(cycle, 0)
        table.remove_node("node-1")
        table.put_node(make_node("node-3"))
        assert get(cycle, "node_name", 0) == b"node-3"
        after = node_info(cycle, 0)
        assert after[0] != before[0]
        assert after[1] != before[1]
        assert pairs(after, PODS) == [(110, 0)]
        assert get(cycle, "node_pods", 0) == b""


def test_another_cluster_has_other_generations() -> None:
    """A guest that keeps what it decoded must not take a node of one cluster for one of the next."""
    guest = load()
    seen: set[int] = set()
    for cluster in (samples.nodes(3), samples.nodes(3), two_nodes(), two_nodes()):
        with guest.cycle(POD, cluster) as cycle:
            found = {number for row in range(2) for number in node_info(cycle, row)[:1]}
        assert not found & seen
        seen |= found


def test_nodes_without_a_table_may_change_between_hooks() -> None:
    nodes = Nodes(samples.node(f"node-{number}") for number in range(1, 17))
    with load().cycle(POD, nodes) as cycle:
        before = node_info(cycle, 0)
        nodes.put({"metadata": {"name": "node-1"}, "status": {"allocatable": {"cpu": "3"}}})
        after = node_info(cycle, 0)
        assert after[0] != before[0]
        assert pairs(after, CPU) == [(3000, 0)]
        for number in range(17, 60):
            nodes.put({"metadata": {"name": f"node-{number}"}, "status": {"allocatable": {"cpu": f"{number}"}}})
        assert pairs(node_info(cycle, 58), CPU) == [(59_000, 0)]
        assert get(cycle, "node_pods", 58) == b""
        nodes.remove("node-1")
        assert get(cycle, "node_info", 0) == b""


# ---------------------------------------------------------------------- resources


def test_resources_have_numbers_that_stay() -> None:
    guest = load()
    with guest.cycle(POD, two_nodes()) as cycle:
        first = {name: resource(cycle, name) for name in ("cpu", "memory", "ephemeral-storage", "pods", GPU, "x.io/y")}
        assert list(first.values())[:4] == [0, 1, 2, 3]
        assert min(first[GPU], first["x.io/y"]) >= 4
        assert first[GPU] != first["x.io/y"]
    with guest.cycle(POD, two_nodes()) as cycle:
        assert {name: resource(cycle, name, hook="reserve") for name in first} == first


def test_a_name_that_no_node_knows_is_zero_everywhere() -> None:
    with load().cycle(POD, two_nodes()) as cycle:
        unknown = resource(cycle, "example.com/nobody-has-it")
        assert [pairs(node_info(cycle, row), unknown) for row in (0, 1)] == [[(0, 0)], [(0, 0)]]
        assert numbers(get(cycle, "pod_requests"))[2 + unknown] == 0


def test_a_name_that_comes_up_with_a_later_node_is_counted_then() -> None:
    name = "example.com/comes-later"
    table = two_nodes()
    with load().cycle(POD, table) as cycle:
        late = resource(cycle, name)
        table.put_node(make_node("node-3", allocatable={name: "7"}))
        table.add_pod(make_pod(node="node-3", requests={name: "5"}))
        assert [pairs(node_info(cycle, row), late) for row in (0, 2)] == [[(0, 0)], [(7, 5)]]


ASKS_LATE = """(module
  (import "kubewasp/v1" "resource" (func $resource (param i32 i32) (result i32)))
  (import "kubewasp/v1" "node_info" (func $node_info (param i32 i32 i32) (result i32)))
  (import "kubewasp/v1" "pod_requests" (func $pod_requests (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "NAME")
  (global $id (export "id") (mut i32) (i32.const -1))
  (global $info (export "info") (mut i32) (i32.const -1))
  (global $requests (export "requests") (mut i32) (i32.const -1))
  (func (export "filter") (result i32)
    (drop (call $node_info (i32.const 0) (i32.const 1024) (i32.const 8192)))
    (drop (call $pod_requests (i32.const 16384) (i32.const 8192)))
    (global.set $id (call $resource (i32.const 0) (i32.const LENGTH)))
    (global.set $info (call $node_info (i32.const 0) (i32.const 1024) (i32.const 8192)))
    (global.set $requests (call $pod_requests (i32.const 16384) (i32.const 8192)))
    (i32.const 0)))"""


def test_a_resource_that_is_looked_up_in_a_hook_can_be_read_at_once() -> None:
    name = "example.com/looked-up-in-a-hook"
    guest = Guest.load(wat_text(ASKS_LATE.replace("NAME", name).replace("LENGTH", str(len(name)))))
    table = make_table([make_node("node-1", allocatable={name: "9"})], [make_pod(node="node-1", requests={name: "4"})])
    with guest.cycle(make_pod(requests={name: "3"}), table) as cycle:
        assert cycle.filter().codes.tolist() == [0]
        number = peek(cycle, "id")
        info = numbers(cycle.runner.guest_memory.read(1024, peek(cycle, "info"), "test"))
        assert pairs(info, number) == [(9, 4)]
        requests = numbers(cycle.runner.guest_memory.read(16384, peek(cycle, "requests"), "test"))
        assert requests[2 + number] == 3


IN_START = """(module
  (import "kubewasp/v1" "resource" (func $resource (param i32 i32) (result i32)))
  (import "kubewasp/v1" "node_rows" (func $node_rows (result i32)))
  (import "kubewasp/v1" "current_node" (func $current_node (result i32)))
  (import "kubewasp/v1" "now" (func $now (result i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "example.com/00")
  (global $last (export "last") (mut i32) (i32.const -1))
  (global $rows (export "rows") (mut i32) (i32.const -1))
  (global $row (export "row") (mut i32) (i32.const 0))
  (global $time (export "time") (mut i64) (i64.const 0))
  (func (export "_initialize")
    (local $i i32)
    (global.set $rows (call $node_rows))
    (global.set $row (call $current_node))
    (global.set $time (call $now))
    (loop $next
      (i32.store8 (i32.const 12) (i32.add (i32.const 48) (i32.div_u (local.get $i) (i32.const 10))))
      (i32.store8 (i32.const 13) (i32.add (i32.const 48) (i32.rem_u (local.get $i) (i32.const 10))))
      (global.set $last (call $resource (i32.const 0) (i32.const 14)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const COUNT)))))
  (func (export "filter") (result i32) (i32.const 0)))"""


def test_the_start_function_may_look_up_resources() -> None:
    guest = Guest.load(wat_text(IN_START.replace("COUNT", "64")), limits=APART, handle=FakeHandle())
    with guest.cycle(POD, two_nodes()) as one, guest.cycle(POD, two_nodes()) as other:
        assert peek(one, "last") == peek(other, "last") >= 4, "every instance has the same numbers"
        assert (peek(one, "rows"), peek(one, "row")) == (0, -1), "there are no nodes yet"
        assert peek(one, "time") == 1_700_000_000_500_000_000


def test_too_many_resources_are_a_load_error_in_the_start_function() -> None:
    with pytest.raises(GuestLoadError, match=r"^wasm: _initialize error: resource: more than 64 names were asked for"):
        Guest.load(wat_text(IN_START.replace("COUNT", "65")), limits=APART)


def test_the_65th_resource_fails_the_hook() -> None:
    guest = load(limits=APART)
    with guest.cycle(POD, two_nodes()) as cycle:
        for number in range(64):
            resource(cycle, f"example.com/{number:02}")
        assert resource(cycle, "example.com/63") >= 4, "names that are known may be asked for again"
        aim(cycle, "resource", *text(cycle, "example.com/64"))
        told = cycle.prefilter().reason
        assert told.startswith("wasm: prefilter error: resource: more than 64 names were asked for (plugin")
    with guest.cycle(POD, two_nodes()) as cycle:
        assert resource(cycle, "example.com/00") >= 4, "the next instance can go on"


def test_new_resources_do_not_make_the_records_longer_in_rows() -> None:
    with load(limits=APART).cycle(POD, two_nodes()) as cycle:
        for number in range(12):
            resource(cycle, f"example.com/one-more-{number}")
            node_info(cycle, 0)
        assert len(cycle.runner.inputs._nodes._records._records) == 16


# ---------------------------------------------------------------------- pods


def test_the_requests_of_the_pod() -> None:
    containers = [
        {"name": "main", "image": "i", "resources": {"requests": {"cpu": "200m", GPU: "1"}}},
        {"name": "small", "image": "i"},
    ]
    with load().cycle(make_pod(containers=containers), two_nodes()) as cycle:
        gpu = resource(cycle, GPU)
        found = numbers(get(cycle, "pod_requests"))
        assert found[:2] == [200 + 100, 2 * 200 * MI]
        assert found[2:6] == [200, 0, 0, 1]
        assert found[2 + gpu] == 1


@pytest.mark.parametrize("room", [0, 7, 8, 17, 24])
def test_requests_are_written_as_far_as_whole_numbers_fit(room: int) -> None:
    with load().cycle(make_pod(requests={"cpu": "1"}), two_nodes()) as cycle:
        whole = get(cycle, "pod_requests")
        cycle.runner.guest_memory.write(BUFFER, b"\xee" * 64, "test")
        assert ask(cycle, "pod_requests", BUFFER, room) == len(whole)
        fits = room // 8 * 8
        assert cycle.runner.guest_memory.read(BUFFER, 64, "test") == whole[:fits] + b"\xee" * (64 - fits)


def test_requests_are_of_the_pod_at_hand() -> None:
    guest = load()
    for cpu in ("100m", "3"):
        for pod in (
            make_pod(requests={"cpu": cpu}),
            {"spec": {"containers": [{"resources": {"requests": {"cpu": cpu}}}]}},
        ):
            with guest.cycle(pod, two_nodes()) as cycle:
                assert numbers(get(cycle, "pod_requests"))[2] == {"100m": 100, "3": 3000}[cpu]


def test_the_pods_on_a_node_are_a_list() -> None:
    table = two_nodes()
    with load().cycle(POD, table) as cycle:
        asks, modest = table.pods_on[0].values()
        assert get(cycle, "node_pods", 0) == pod_list(asks.encoded, modest.encoded)
        assert get(cycle, "node_pods", 1) == b""
        late = encoded_pod("late", node="node-2")
        table.add_pod(late)
        assert get(cycle, "node_pods", 1) == pod_list(late.encoded)
        table.remove_pod(asks)
        assert get(cycle, "node_pods", 0) == pod_list(modest.encoded)
        changed = encoded_pod("late", {"a": "b"}, node="node-2")
        table.add_pod(changed)
        assert get(cycle, "node_pods", 1) == pod_list(changed.encoded)


def test_too_little_room_for_the_pods_writes_nothing() -> None:
    with load().cycle(POD, two_nodes()) as cycle:
        whole = get(cycle, "node_pods", 0)
        cycle.runner.guest_memory.write(BUFFER, b"\xee" * len(whole), "test")
        assert ask(cycle, "node_pods", 0, BUFFER, len(whole) - 1) == len(whole)
        assert cycle.runner.guest_memory.read(BUFFER, len(whole), "test") == b"\xee" * len(whole)


def test_pods_that_nobody_asked_for_are_not_written() -> None:
    table = two_nodes()
    with load().cycle(POD, table) as cycle:
        node_info(cycle, 0)
        heap = cycle.runner.inputs._nodes._heap
        before = heap.bytes_written
        for number in range(20):
            table.add_pod(encoded_pod(f"more-{number}", node="node-1"))
        node_info(cycle, 0)
        assert heap.bytes_written - before == cycle.runner.inputs._nodes._records.stride  # one record, and no pod


def test_what_a_trial_changes_is_seen_and_gone_again() -> None:
    table = two_nodes()
    with load().cycle(POD, table) as cycle:
        before, pods = node_info(cycle, 0), get(cycle, "node_pods", 0)
        victim = next(iter(table.pods_on[0].values()))
        table.remove_pod(victim)
        assert victim.encoded not in get(cycle, "node_pods", 0, hook="removepod")
        assert pairs(node_info(cycle, 0, hook="filter"), CPU, PODS) == [(4000, 0), (20, 1)]
        table.add_pod(victim)
        after = node_info(cycle, 0, hook="filter")
        assert (after[0], after[2:]) == (before[0], before[2:])
        assert len(get(cycle, "node_pods", 0)) == len(pods)


MOVES = """(module
  (import "k8s.io/scheduler" "handle.get_waiting_pod" (func $get_waiting_pod (param i32 i32 i32 i32)))
  (import "kubewasp/v1" "node_pods" (func $node_pods (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (global $length (export "length") (mut i32) (i32.const -2))
  (func (export "filter") (result i32)
    (call $get_waiting_pod (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 8))
    (global.set $length (call $node_pods (i32.const 0) (i32.const 1024) (i32.const 32768)))
    (i32.const 0)))"""


def test_pods_are_found_when_the_records_move_in_the_middle_of_a_hook() -> None:
    """The callback takes the role of another thread."""
    table = two_nodes()
    other = load()

    def meanwhile(_uid: str) -> None:
        for number in range(40):
            table.put_node(make_node(f"more-{number}"))
        with other.cycle(POD, table) as cycle:
            node_info(cycle, 0)

    guest = Guest.load(wat_text(MOVES), handle=FakeHandle(on_get=meanwhile))
    with guest.cycle(POD, table) as cycle:
        assert cycle.filter(["node-1"]).codes.tolist() == [0]
        expected = pod_list(*(pod.encoded for pod in table.pods_on[0].values()))
        assert cycle.runner.guest_memory.read(1024, peek(cycle, "length"), "test") == expected


# ---------------------------------------------------------------------- time and cycles


def test_the_time_is_that_of_the_scheduler() -> None:
    guest = load(handle=FakeHandle())
    with guest.cycle(POD, two_nodes()) as cycle:
        for hook in ("prefilter", "filter", "score", "permit"):
            assert ask(cycle, "now", hook=hook) == 1_700_000_000_500_000_000


def test_every_pod_has_a_number_of_its_own() -> None:
    guest = load()
    seen = []
    for number in range(3):
        with guest.cycle(samples.pod(f"pod-{number}"), two_nodes()) as cycle:
            seen += [{ask(cycle, "cycle", hook=hook) for hook in ("prefilter", "filter", "reserve")}]
    assert guest.stats.created == 1
    assert all(len(found) == 1 for found in seen)
    assert len(set.union(*seen)) == 3


def test_nothing_of_a_queue_hook_is_left_for_the_next_pod() -> None:
    guest = load()
    with guest.cycle(POD, two_nodes()) as cycle:
        cycle.queuesort(123.0)
        cycle.queueinghint("Node", 8, b"old", b"new")
        assert (ask(cycle, "queued_at"), ask(cycle, "event_action")) == (123_000_000_000, 8)
    with guest.cycle(POD, two_nodes()) as cycle:
        assert [ask(cycle, what) for what in ("queued_at", "event_resource", "event_action", "state")] == [0] * 4
        assert [get(cycle, what) for what in ("event_old", "event_new")] == [b"", b""]


# ---------------------------------------------------------------------- scores and statuses


def test_feasible_rows_from_prescore_on() -> None:
    table = make_table([make_node("node-1"), make_node("node-2"), make_node("node-3")])
    with load().cycle(POD, table) as cycle:
        assert get(cycle, "feasible_rows") == b""
        aim(cycle, "feasible_rows", BUFFER, 100, hook="prescore")
        cycle.prescore(["node-3", "node-1"])
        assert numbers(cycle.runner.guest_memory.read(BUFFER, peek(cycle, "result"), "test"), "i") == [2, 0]
        for hook in ("score", "reserve", "permit"):
            assert numbers(get(cycle, "feasible_rows", hook=hook), "i") == [2, 0]


def test_scores_come_in_the_order_of_the_rows() -> None:
    scores = {"node-2": 5, "node-1": -(2**62)}
    with load().cycle(POD, two_nodes()) as cycle:
        for what, kind, expected in (("feasible_rows", "i", [1, 0]), ("node_scores", "q", [5, -(2**62)])):
            aim(cycle, what, BUFFER, 100, hook="normalizescore")
            cycle.normalize_score(scores)
            assert numbers(cycle.runner.guest_memory.read(BUFFER, peek(cycle, "result"), "test"), kind) == expected


def test_normalized_scores_go_back_in_that_order() -> None:
    with load().cycle(POD, two_nodes()) as cycle:
        cycle.runner.guest_memory.write(BUFFER, (40).to_bytes(8, "little") + (60).to_bytes(8, "little"), "test")
        aim(cycle, "result.node_scores", BUFFER, 16, hook="normalizescore")
        assert cycle.normalize_score({"node-2": 1, "node-1": 2}).scores == {"node-2": 40, "node-1": 60}


@pytest.mark.parametrize("length", [0, 8, 15, 17, 24])
def test_normalized_scores_of_a_wrong_length_fail(length: int) -> None:
    with load().cycle(POD, two_nodes()) as cycle:
        aim(cycle, "result.node_scores", BUFFER, length, hook="normalizescore")
        result = cycle.normalize_score({"node-2": 1, "node-1": 2})
        expected = f"result.node_scores: expected 2 scores of 8 bytes, got {length} bytes"
        assert result.reason == f'wasm: normalizescore error: {expected} (plugin "probe")'
        assert cycle.failed


def test_normalized_scores_out_of_range_are_for_the_framework_to_refuse() -> None:
    with load().cycle(POD, two_nodes()) as cycle:
        cycle.runner.guest_memory.write(BUFFER, (101).to_bytes(8, "little"), "test")
        aim(cycle, "result.node_scores", BUFFER, 8, hook="normalizescore")
        result = cycle.normalize_score({"node-1": 1})
        assert (result.status, result.scores) == (Status(), {"node-1": 101})


def test_normalized_scores_in_any_other_hook_mean_nothing() -> None:
    with load().cycle(POD, two_nodes()) as cycle:
        assert ask(cycle, "result.node_scores", BUFFER, 5, hook="score") == -1
        steer(cycle, which=-1)
        assert cycle.normalize_score({"node-1": 3}).scores == {"node-1": 3}


def test_statuses_are_pairs_of_row_and_code() -> None:
    with load().cycle(POD, two_nodes()) as cycle:
        aim(cycle, "node_statuses", BUFFER, 100, hook="postfilter")
        cycle.postfilter({"node-2": 3, "gone": 2, "node-1": 2})
        assert numbers(cycle.runner.guest_memory.read(BUFFER, peek(cycle, "result"), "test"), "i") == [1, 3, 0, 2]
        cycle.postfilter({})
        assert peek(cycle, "result") == 0


# ---------------------------------------------------------------------- waiting pods


@pytest.mark.parametrize("hook", ["prefilter", "filter", "score", "permit", "postbind"])
def test_the_waiting_pods_are_a_list_in_every_hook(hook: str) -> None:
    handle = FakeHandle({"uid-1": b"one", "uid-2": b"two"})
    with load(handle=handle).cycle(POD, two_nodes()) as cycle:
        assert get(cycle, "waiting_pods", hook=hook) == pod_list(b"one", b"two")
        del handle.waiting["uid-1"]
        assert get(cycle, "waiting_pods", hook=hook) == pod_list(b"two")


def test_waiting_pods_have_their_node() -> None:
    pod = placed_on(encoded_pod("held"), "node-1")
    with load(handle=FakeHandle({"u": pod.encoded})).cycle(POD, two_nodes()) as cycle:
        assert get(cycle, "waiting_pods") == pod_list(pod.encoded)
        assert decode("Pod", pod.encoded)["spec"]["nodeName"] == "node-1"


def test_waiting_pods_are_allowed_and_rejected_with_a_reason() -> None:
    handle = FakeHandle({"uid-1": b"one", "uid-2": b"two"})
    with load(handle=handle).cycle(POD, two_nodes()) as cycle:
        assert ask(cycle, "allow_waiting_pod", *text(cycle, "uid-1"), hook="permit") == 1
        assert ask(cycle, "allow_waiting_pod", *text(cycle, "uid-1"), hook="permit") == 0
        reason = text(cycle, "not today", at=700)
        assert ask(cycle, "reject_waiting_pod", *text(cycle, "uid-2"), *reason, hook="filter") == 1
        assert ask(cycle, "reject_waiting_pod", *text(cycle, "nobody"), *reason, hook="filter") == 0
    assert handle.decided == [
        ("uid-1", "probe", ""),
        ("uid-1", "probe", ""),
        ("uid-2", "probe", "not today"),
        ("nobody", "probe", "not today"),
    ]


def test_a_reason_outside_of_memory_rejects_nobody() -> None:
    handle = FakeHandle({"uid-1": b"one"})
    with load(handle=handle).cycle(POD, two_nodes()) as cycle:
        aim(cycle, "reject_waiting_pod", *text(cycle, "uid-1"), 65536, 1)
        assert "reject_waiting_pod: buffer outside of the guest's memory" in cycle.prefilter().reason
    assert list(handle.waiting) == ["uid-1"]


# ---------------------------------------------------------------------- implemented


def says(hooks: int, *, exported: str = "", trap: bool = True) -> str:
    """A guest that exports those hooks and says which of them it implements; the others trap."""
    bodies = {
        "prefilter": "(result i32)",
        "filter": "(result i32)",
        "score": "(result i64)",
        "enqueue": "",
        "unreserve": "",
        "clonestate": "",
        "selectstate": "",
        "dropstate": "",
        "queuesort": "(result i32)",
        "preenqueue": "(result i32)",
    }
    functions = []
    for name in exported.split():
        is_there = hooks >> [*HOOKS, *EXTENSION_HOOKS].index(name) & 1
        answer = {"": "", "(result i32)": "(i32.const 0)", "(result i64)": "(i64.const 0)"}[bodies[name]]
        functions.append(f'(func (export "{name}") {bodies[name]} {answer if is_there or not trap else "unreachable"})')
    return f"""(module
      (import "kubewasp/v1" "implemented" (func $implemented (param i32)))
      (memory (export "memory") 1)
      (func (export "_initialize") (call $implemented (i32.const {hooks})))
      {" ".join(functions)})"""


def bits(*hooks: str) -> int:
    return sum(1 << [*HOOKS, *EXTENSION_HOOKS].index(hook) for hook in hooks)


def test_hooks_that_are_not_implemented_are_never_called() -> None:
    text = says(bits("filter"), exported="enqueue prefilter filter score unreserve preenqueue queuesort")
    guest = Guest.load(wat_text(text))
    assert guest.hooks == ("filter",)
    assert set(guest.evaluate(POD, samples.nodes(3)).scores) == {"node-1", "node-2", "node-3"}
    assert guest.stats.broken == 0


def test_a_hook_that_is_not_exported_is_not_there_whatever_is_said() -> None:
    guest = Guest.load(wat_text(says(bits("filter", "score") | 0x7FE00000, exported="filter")))
    assert guest.hooks == ("filter",)


@pytest.mark.parametrize(
    ("hooks", "told"), [(0, "nothing"), (bits("prefilter", "enqueue"), "enqueue, prefilter"), (1 << 25, "nothing")]
)
def test_a_guest_that_implements_nothing_useful_is_refused(hooks: int, told: str) -> None:
    with pytest.raises(GuestLoadError, match=rf"^wasm: guest says that it implements {told}; it takes one of filter, "):
        Guest.load(wat_text(says(hooks, exported="enqueue prefilter filter", trap=False)))


def test_prefilter_alone_is_enough() -> None:
    assert Guest.load(wat_text(says(bits("prefilter"), exported="prefilter filter"))).hooks == ("prefilter",)


@pytest.mark.parametrize("missing", ["clonestate", "selectstate", "dropstate"])
def test_the_hooks_of_cycle_states_go_together(missing: str) -> None:
    states = {"clonestate", "selectstate", "dropstate"}
    told = "wasm: clonestate, selectstate, dropstate go together: a guest has all of them or none"
    exported = " ".join(["filter", *sorted(states)])
    with pytest.raises(GuestLoadError, match=told):
        Guest.load(wat_text(says(bits("filter", *(states - {missing})), exported=exported)))
    with pytest.raises(GuestLoadError, match=told):
        Guest.load(wat_text(says(bits("filter", *states), exported=exported.replace(missing, ""))))
    assert Guest.load(wat_text(says(bits("filter"), exported=exported))).hooks == ("filter",)


def test_saying_it_later_changes_nothing() -> None:
    with load().cycle(POD, two_nodes()) as cycle:
        ask(cycle, "implemented", 0)
        assert STATUS_OF["filter"](cycle).is_success


def test_a_node_of_a_table_is_what_a_manifest_says() -> None:
    """The sample nodes of other tests have no numbers at all."""
    manifest = {"metadata": {"name": "node-1"}, "status": {"allocatable": {"cpu": "1", "memory": "1Ki", "pods": "3"}}}
    with (
        load().cycle(POD, Nodes([manifest])) as bare,
        load().cycle(POD, make_table([parse_node(manifest, encode("Node", manifest))])) as table,
    ):
        assert node_info(bare, 0)[2:] == node_info(table, 0)[2:]
        assert pairs(node_info(bare, 0), CPU, MEMORY, PODS) == [(1000, 0), (1024, 0), (3, 0)]
