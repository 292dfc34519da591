"""Guest and its instances: assignment to pods, lifetime, and calls to the scheduler."""

import gc
import os
import threading
import tracemalloc
import weakref
from pathlib import Path
from typing import Any

import pytest

from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.framework.cluster_events import ObjectReference, RecordedEvent
from kubewasp.framework.status import Status
from kubewasp.k8s.codec import decode, encode
from kubewasp.state.node_objects import Nodes
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_runner import PoolStats
from kubewasp.wasm.limits import LimitError, Limits
from kubewasp.wasm.repeatable import Repeatable
from tests import samples
from tests.guests.build import SOURCES, example, go_guest, wat, wat_text
from tests.wasm.fakes import FakeHandle
from tests.wasm.steering import getter, misbehave, peek, steer

HOOKS_AFTER_PREFILTER = ("reserve", "permit", "prebind", "bind")


def load(name: str, **settings: Any) -> Guest:
    return Guest.load(wat(name), name=name, **settings)


# ---------------------------------------------------------------- loading


def test_a_guest_is_loaded_from_a_path_an_address_or_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "my-plugin.v2.wasm"
    path.write_bytes(wat("filter").read_bytes())
    assert Guest.load(path).name == "my-plugin.v2"
    assert Guest.load(str(path)).name == "my-plugin.v2"
    assert Guest.load(path.as_uri()).name == "my-plugin.v2"
    assert Guest.load(path.read_bytes()).name == "guest"
    assert Guest.load(path, name="mine").name == "mine"


def test_limits_are_given_as_such_or_as_a_mapping() -> None:
    assert Guest.load(wat("filter"), limits={"call_timeout": 2}).limits == Limits(call_timeout=2)
    assert Guest.load(wat("filter"), limits=Limits(call_timeout=2)).limits == Limits(call_timeout=2)
    with pytest.raises(LimitError):
        Guest.load(wat("filter"), limits={"time": 2})


def test_a_pod_is_given_as_a_manifest_or_as_protobuf(nodes: Nodes) -> None:
    guest = Guest.load(example("nodenumber"))
    pod = samples.pod("web-2")
    assert guest.evaluate(pod, nodes).best == guest.evaluate(encode("Pod", pod), nodes).best == "node-2"


def test_nodes_are_given_as_such_or_as_manifests() -> None:
    guest = Guest.load(example("nodenumber"))
    assert guest.evaluate(samples.pod("web-2"), [samples.node("node-1"), samples.node("node-2")]).best == "node-2"


def test_plugins_with_different_stacks_see_the_same_nodes(nodes: Nodes) -> None:
    small = Guest.load(wat("echo"), limits={"stack": 128 * 1024})
    large = Guest.load(wat("echo"))
    assert small.module.engine is not large.module.engine
    for guest in (small, large):
        with guest.cycle(samples.pod(), nodes) as cycle:
            steer(cycle, which=1)
            assert cycle.filter(["node-3"]).reason(0) == "node-3"


# ---------------------------------------------------------------- an instance and its pod


def test_an_instance_stays_with_its_pod_until_the_end(nodes: Nodes) -> None:
    guest = load("state")
    one, two = guest.cycle(samples.pod("one"), nodes), guest.cycle(samples.pod("two"), nodes)
    for cycle in (one, two):
        assert cycle.prefilter()
        steer(cycle, status_code=2)
    for call, hook in enumerate(HOOKS_AFTER_PREFILTER, 1):
        for cycle, name in ((two, "two"), (one, "one")):
            result = getattr(cycle, hook)("node-1")
            assert result.status == Status(2, f"{hook} pod={name} cycle=1 call={call}")
    for hook in ("unreserve", "postbind"):
        for cycle, name in ((one, "one"), (two, "two")):
            (line,) = getattr(cycle, hook)("node-1").trace.logs
            assert line.text.startswith(f"{hook} pod={name} cycle=1 ")
    one.close()
    two.close()
    assert guest.stats == PoolStats(created=2)


def test_an_instance_serves_the_next_pod_after_it_is_given_back(nodes: Nodes) -> None:
    guest = load("state")
    for cycle_number, name in enumerate(["one", "two", "three"], 1):
        with guest.cycle(samples.pod(name), nodes) as cycle:
            cycle.prefilter()
            steer(cycle, status_code=2)
            assert cycle.reserve("node-1").reason == f"reserve pod={name} cycle={cycle_number} call=1"
    assert guest.stats == PoolStats(created=1)


def test_before_prefilter_a_guest_still_has_the_last_pod_in_mind(nodes: Nodes) -> None:
    guest = load("state")
    with guest.cycle(samples.pod("one"), nodes) as cycle:
        cycle.prefilter()
    with guest.cycle(samples.pod("two"), nodes) as cycle:
        assert cycle.reserve("node-1").code == 1, "the guest notices"
        cycle.prefilter()
        assert cycle.reserve("node-1")


def test_instances_wait_for_pods_as_far_as_they_are_small(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    guest = load("filter")
    cycles = [guest.cycle(samples.pod(), nodes) for _ in range(10)]
    assert guest.stats.created == 10
    monkeypatch.setattr("kubewasp.wasm.core.core_pool._IDLE_BYTES", 6 * cycles[0].runner.memory_bytes)
    for cycle in cycles:
        cycle.close()
    assert len(guest.pool._idle) == 6
    monkeypatch.setattr("kubewasp.wasm.core.core_pool._IDLE_BYTES", 0)
    few = load("filter")
    for cycle in [few.cycle(samples.pod(), nodes) for _ in range(10)]:
        cycle.close()
    assert len(few.pool._idle) == 4


@pytest.mark.parametrize(("repeatable", "left"), [(None, 4), (Repeatable(1, SYSTEM_CLOCK), 10)])
def test_instances_of_a_past_peak_are_dropped_unless_a_simulation_repeats_them(
    repeatable: Repeatable | None, left: int, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("kubewasp.wasm.core.core_pool.monotonic", lambda: now)
    guest = load("filter", repeatable=repeatable)
    for cycle in [guest.cycle(samples.pod(), nodes) for _ in range(10)]:
        cycle.close()
    alone = guest.pool.memory_bytes // 10
    for _ in range(20):
        now += 30.0
        guest.cycle(samples.pod(), nodes).close()
    assert len(guest.pool._idle) == left
    assert guest.pool.memory_bytes == left * alone
    assert guest.stats == PoolStats(created=10)


# ---------------------------------------------------------------- leaks


def test_an_instance_that_leaks_is_replaced_before_it_is_full(nodes: Nodes) -> None:
    guest = load("leak", limits={"memory": 20 * 65536})
    for _ in range(100):
        with guest.cycle(samples.pod(), nodes) as cycle:
            assert cycle.prefilter(), "there is always memory left"
    # One page to begin with, one more a cycle, and 15 of 20 pages are three quarters: 16 are over it.
    assert guest.stats == PoolStats(created=7, recycled=6)


def test_without_a_high_water_mark_a_leak_would_end_in_an_error(nodes: Nodes) -> None:
    """The test above would not notice a guest that does not leak."""
    guest = load("leak", limits={"memory": 20 * 65536})
    with guest.cycle(samples.pod(), nodes) as cycle:
        codes = [cycle.prefilter().code for _ in range(30)]
    assert codes == [0] * 19 + [1] * 11


STATM = Path("/proc/self/statm")
needs_proc = pytest.mark.skipif(not STATM.exists(), reason="reads the memory in use from /proc")


def resident_bytes() -> int:
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@needs_proc
def test_ten_thousand_cycles_do_not_grow_the_host(nodes: Nodes) -> None:
    guest = load("all_hooks", config="a config")
    pod = encode("Pod", samples.pod("pod-1"))
    heap = guest.module.engine.heap

    def schedule(times: int) -> None:
        for _ in range(times):
            with guest.cycle(pod, nodes) as cycle:
                cycle.prefilter()
                cycle.filter()
                cycle.postfilter({"node-1": 2})
                cycle.prescore()
                cycle.normalize_score(cycle.score().as_dict())
                cycle.reserve("node-1")

    schedule(200)
    end = heap._end
    gc.collect()
    resident = resident_bytes()
    schedule(9_600)
    gc.collect()
    assert resident_bytes() - resident < 8_000_000
    tracemalloc.start()
    schedule(100)
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    schedule(100)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 20_000
    assert heap._end == end
    assert len(heap._retired) < 100
    assert guest.stats == PoolStats(created=1)


@needs_proc
def test_a_thousand_broken_instances_do_not_grow_the_host(nodes: Nodes) -> None:
    guest = load("misbehave")
    heap = guest.module.engine.heap

    def fail(times: int) -> None:
        for _ in range(times):
            with guest.cycle(samples.pod(), nodes) as cycle:
                misbehave(cycle, "unreachable")
                cycle.filter()

    fail(100)
    end = heap._end
    resident = resident_bytes()
    fail(1000)
    assert resident_bytes() - resident < 20_000_000
    assert heap._end == end
    assert guest.stats.broken == 1100


def test_a_guest_that_nobody_has_any_more_is_gone_at_once(nodes: Nodes) -> None:
    heap = load("filter").module.engine.heap
    gc.disable()
    try:
        guest = load("state", config="x" * 1000, handle=FakeHandle())
        with guest.cycle(samples.pod(), nodes) as cycle:
            cycle.prefilter()
        retired = len(heap._retired) + sum(map(len, heap._free.values()))
        gone = weakref.ref(guest)
        del guest, cycle
        assert gone() is None
        assert len(heap._retired) + sum(map(len, heap._free.values())) > retired, "its config is given back"
    finally:
        gc.enable()


# ---------------------------------------------------------------- threads


def test_two_instances_run_at_the_same_time(nodes: Nodes) -> None:
    """Both guests are inside a host call at once; were one of them waiting for the other, the barrier would break."""
    barrier = threading.Barrier(2, timeout=10)
    guest = load("waiting", handle=FakeHandle(on_get=lambda _: barrier.wait()), limits={"call_timeout": 20})
    reasons: list[str] = []

    def schedule() -> None:
        with guest.cycle(samples.pod(), nodes) as cycle:
            reasons.append(cycle.filter(["node-1"]).reason(0))

    threads = [threading.Thread(target=schedule) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reasons == ["missing, declined"] * 2
    assert guest.stats.created == 2


def test_python_goes_on_while_a_guest_computes(nodes: Nodes) -> None:
    """The guest loops until its time is over, and all the while this thread counts."""
    guest = load("misbehave", limits={"call_timeout": 0.3})
    counted = 0
    with guest.cycle(samples.pod(), nodes) as cycle:
        misbehave(cycle, "infinite loop")
        thread = threading.Thread(target=cycle.filter)
        thread.start()
        while thread.is_alive():
            counted += 1
    assert counted > 1000


def test_many_threads_share_a_guest_and_changing_nodes() -> None:
    guest = Guest.load(example("nodenumber"))
    failures: list[object] = []

    def schedule(number: int) -> None:
        try:
            cluster = samples.nodes(10)
            for turn in range(30):
                cluster.put(samples.node(f"node-{turn % 10 + 1}", labels={"turn": str(turn)}))
                found = guest.evaluate(samples.pod(f"web-{number}"), cluster)
                if found.best != f"node-{number}":
                    failures.append(found)
        except Exception as error:  # noqa: BLE001 - a thread's error would be lost
            failures.append(error)

    threads = [threading.Thread(target=schedule, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert guest.stats.broken == 0


def test_a_reader_sees_a_consistent_picture_while_nodes_change() -> None:
    """One thread reads the list of nodes while another one writes them: no node is ever half old and half new."""
    cluster = Nodes(samples.node(f"node-{number}", annotations={"v": "a" * 300}) for number in range(50))
    guest = Guest.load(wat("echo"))
    over = threading.Event()
    lists: list[bytes] = []

    def read() -> None:
        with guest.cycle(samples.pod(), cluster) as cycle:
            steer(cycle, which=getter("nodeList"))
            while not over.is_set():
                cycle.prefilter()
                lists.append(cycle.runner.guest_memory.read(1024, peek(cycle, "first_len"), "test"))

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(300):
        for number in range(turn % 50, 50, 7):
            cluster.put(samples.node(f"node-{number}", annotations={"v": "abcdefgh"[turn % 8] * 300}))
        with guest.cycle(samples.pod(), cluster):
            pass
    over.set()
    reader.join()
    assert lists
    for found in set(lists):
        for node in decode("NodeList", found)["items"]:
            assert len(node["metadata"]["annotations"]["v"]) == 300
            assert len(set(node["metadata"]["annotations"]["v"])) == 1


# ---------------------------------------------------------------- what the scheduler is asked


def test_a_waiting_pod_is_found_and_rejected(nodes: Nodes) -> None:
    handle = FakeHandle({"uid-1": encode("Pod", samples.pod("waits"))})
    guest = load("waiting", handle=handle)
    for expected in ("waiting, rejected", "missing, declined"):
        with guest.cycle(samples.pod(), nodes) as cycle:
            assert cycle.filter(["node-1"]).status(0) == Status(2, expected)
    assert handle.asked == ["uid-1", "uid-1"]
    assert handle.waiting == {}


@pytest.mark.parametrize("limit", [0, 7])
def test_the_result_of_a_rejection_is_written_whatever_the_limit_is(limit: int, nodes: Nodes) -> None:
    text = (SOURCES / "wat" / "waiting.wat").read_text(encoding="utf-8")
    short = text.replace("(i32.const 1024) (i32.const 8))", f"(i32.const 1024) (i32.const {limit}))")
    assert short != text
    handle = FakeHandle({"uid-1": encode("Pod", samples.pod("waits"))})
    with Guest.load(wat_text(short), handle=handle).cycle(samples.pod(), nodes) as cycle:
        assert cycle.filter(["node-1"]).reason(0) == "waiting, rejected"


def test_a_cycle_may_have_a_scheduler_of_its_own(nodes: Nodes) -> None:
    """A guest is loaded before there is a scheduler, and may serve several."""
    guest = load("waiting")
    pods = {"uid-1": encode("Pod", samples.pod("waits"))}
    for handle, expected in ((FakeHandle(pods), "waiting, rejected"), (FakeHandle(), "missing, declined")):
        with guest.cycle(samples.pod(), nodes, handle=handle) as cycle:
            assert cycle.filter(["node-1"]).status(0) == Status(2, expected)
        assert handle.asked == ["uid-1"]
    assert guest.stats.created == 1


def test_without_a_scheduler_no_pod_waits(nodes: Nodes) -> None:
    with load("waiting").cycle(samples.pod(), nodes) as cycle:
        assert cycle.filter(["node-1"]).reason(0) == "missing, declined"


def test_a_waiting_pod_is_written_if_it_fits(nodes: Nodes) -> None:
    """No length comes back, so nothing is written that does not fit."""
    with load("imports", handle=FakeHandle({"node-1": b"p" * 100})).cycle(samples.pod(), nodes) as cycle:
        for limit, written in ((100, b"p" * 100), (99, bytes(100)), (-1, b"p" * 100)):
            cycle.runner.guest_memory.write(1024, bytes(100), "test")
            steer(cycle, which=17, a=64, b=6, c=1024, d=limit)
            assert cycle.filter(["node-2"]).codes.tolist() == [0]
            assert cycle.runner.guest_memory.read(1024, 100, "test") == written


def test_an_empty_uid_is_legal(nodes: Nodes) -> None:
    handle = FakeHandle()
    with load("imports", handle=handle).cycle(samples.pod(uid=""), nodes) as cycle:
        steer(cycle, which=17, a=64, b=0, c=1024, d=8)
        assert cycle.filter(["node-2"]).codes.tolist() == [0]
    assert handle.asked == [""]


def test_events_reach_the_scheduler(nodes: Nodes) -> None:
    handle = FakeHandle()
    with load("events", handle=handle).cycle(samples.pod(), nodes) as cycle:
        result = cycle.filter(["node-1", "node-2"])
    event = RecordedEvent(
        regarding=ObjectReference("Pod", "v1", "pod-1", "default", "uid of pod-1"),
        related=ObjectReference("Node", "v1", "node-1"),
        type="Normal",
        reason="Considered",
        action="Filter",
        note="looked at node-1",
    )
    assert handle.events == [event, event]
    assert result.trace.events == (event, event)


def test_events_that_cannot_be_read_do_not_reach_the_scheduler(nodes: Nodes) -> None:
    handle = FakeHandle()
    with load("misbehave", handle=handle).cycle(samples.pod(), nodes) as cycle:
        misbehave(cycle, "event that is not JSON")
        assert cycle.reserve("node-1").code == 1
    assert handle.events == []


def test_logs_of_a_start_are_kept_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    guest = Guest.load(go_guest("nodenumber"), name="number", config="{}")
    assert [line.text for line in guest.start_logs] == ["config {}"]
    assert "number: config {}" in caplog.text
