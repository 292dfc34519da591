"""One core instance: start, isolation from the machine, ownership, and limits."""

import gc
import struct
import threading
import weakref
from typing import Any

import pytest
from wasmtime import _bindings as bindings

from kubewasp.framework.status import Status
from kubewasp.state.node_objects import Nodes
from kubewasp.wasm.errors import GuestLoadError, InstanceInUseError
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_cycle import GuestCycle
from tests import samples
from tests.guests import IMPORTS
from tests.guests.build import go_guest, wat, wat_text
from tests.wasm.fakes import FakeHandle
from tests.wasm.steering import misbehave, peek, steer


def load(name: str, **settings: Any) -> Guest:
    return Guest.load(wat(name), name=name, **settings)


def load_error(name: str, **settings: Any) -> str:
    with pytest.raises(GuestLoadError) as caught:
        load(name, **settings)
    return str(caught.value)


def start_lines(guest: Guest) -> list[str]:
    return [line.text for line in guest.start_logs]


def call_import(cycle: GuestCycle, function: str, *arguments: int) -> None:
    """Sets the action of the guest `imports` in its next filter."""
    which = [name for _, name, _ in IMPORTS].index(function)
    steer(cycle, which=which, **dict(zip("abcde", arguments, strict=False)))


# ---------------------------------------------------------------- start functions


def test_a_command_that_exits_with_0_is_used_afterwards(pod: dict[str, Any], nodes: Nodes) -> None:
    guest = load("start_exit0")
    for _ in range(2):
        with guest.cycle(pod, nodes) as cycle:
            assert cycle.filter().codes.tolist() == [0, 0, 0]
    assert guest.stats.created == 1


def test_a_start_function_that_exits_otherwise_is_a_load_error_with_its_output() -> None:
    assert load_error("start_exit1") == (
        'wasm: _start error: bad config\nguest exited with code 1 (plugin "start_exit1")'
    )


def test_a_trap_in_a_start_function_is_a_load_error() -> None:
    assert load_error("start_trap").startswith(
        'wasm: _start error: wasm trap: wasm `unreachable` instruction executed (plugin "start_trap")'
    )


def test_a_start_function_that_never_ends_is_a_load_error() -> None:
    assert load_error("start_loop", limits={"start_timeout": 0.05}).startswith(
        'wasm: _start error: time limit of 0.05 s exceeded; the limit is limits.startTimeout (plugin "start_loop")'
    )


SLOW = """(module
  (import "kubewasp/v1" "current_node" (func $row (result i32)))
  (memory (export "memory") 1)
  (func $main.spin (loop $forever (br $forever)))
  (func $main.__Plugin_.Filter (if (i32.eq (call $row) (i32.const 2)) (then (call $main.spin))))
  (func $sdk.run (call $main.__Plugin_.Filter))
  (func (export "filter") (result i32) (call $sdk.run) (i32.const 0)))"""


def test_a_time_limit_names_the_node_the_function_and_the_setting(pod: dict[str, Any]) -> None:
    guest = Guest.load(wat_text(SLOW), name="slow", limits={"call_timeout": 0.05})
    with guest.cycle(pod, samples.nodes(5)) as cycle:
        found = cycle.filter()
    assert found.codes.tolist() == [0, 0, 1, 1, 1]
    first, title, *frames = found.reason(2).splitlines()
    assert first == (
        "wasm: filter error: time limit of 0.05 s exceeded on node node-3, in main.spin; the limit is "
        'limits.callTimeout (plugin "slow")'
    )
    assert title == "wasm stack trace:"
    assert [frame.strip().partition(" @ ")[0] for frame in frames[:2]] == ["main.spin", "main.(*Plugin).Filter"]


def test_a_panic_of_a_go_guest_that_starts_is_a_load_error_with_its_text() -> None:
    with pytest.raises(GuestLoadError) as caught:
        Guest.load(go_guest("nodenumber"), config="no JSON")
    assert str(caught.value).startswith("wasm: _initialize error: panic: the config is no JSON object: no JSON")


def test_a_reactor_reads_its_configuration_while_it_starts(pod: dict[str, Any], nodes: Nodes) -> None:
    guest = load("start_initialize", config="größe: 7")
    assert start_lines(guest) == ["größe: 7"]
    with guest.cycle(pod, nodes) as cycle:
        assert cycle.filter(["node-1"]).status(0) == Status(2, "größe: 7")


def test_a_start_section_may_call_the_host(pod: dict[str, Any], nodes: Nodes) -> None:
    guest = load("start_section")
    assert start_lines(guest) == ["from the start section"]
    with guest.cycle(pod, nodes) as cycle:
        assert cycle.filter().codes.tolist() == [0, 0, 0]


def test_a_start_section_runs_before_the_start_function() -> None:
    text = """
    (module
      (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
      (memory (export "memory") 1)
      (data (i32.const 0) "section_start")
      (func $section (call $log (i32.const 0) (i32.const 0) (i32.const 7)))
      (start $section)
      (func (export "_start") (call $log (i32.const 0) (i32.const 7) (i32.const 6)))
      (func (export "filter") (result i32) (i32.const 0)))
    """
    assert start_lines(Guest.load(wat_text(text))) == ["section", "_start"]


def test_an_instance_starts_once(pod: dict[str, Any], nodes: Nodes) -> None:
    guest = load("start_counts")
    for _ in range(3):
        with guest.cycle(pod, nodes) as one, guest.cycle(pod, nodes) as other:
            for cycle in (one, other):
                verdicts = cycle.filter()
                assert [verdicts.reason(index) for index in range(3)] == ["starts: 1"] * 3
    assert guest.stats.created == 2


# ---------------------------------------------------------------- what it sees of the machine


def test_without_args_there_are_none() -> None:
    assert (
        start_lines(Guest.load(go_guest("allhooks"))) == ["enqueue"]
        or start_lines(Guest.load(go_guest("allhooks"))) == []
    )


@pytest.mark.parametrize("args", [["one"], ["--flag=x", "", "a b", "größe"]])
def test_args_are_given_as_they_are(args: list[str]) -> None:
    assert start_lines(Guest.load(go_guest("allhooks"), args=args)) == [f"arg {arg}" for arg in args]


LOOKS_AROUND = """
(module
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_get" (func $prestat (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "sock_accept" (func $accept (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $time (param i32 i64 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 256) "/etc/passwd")
  (data (i32.const 288) "\\00\\02\\00\\00\\10\\00\\00\\00") ;; an iovec: 16 bytes at 512
  (global (export "environ") (mut i32) (i32.const -1))
  (global (export "args") (mut i32) (i32.const -1))
  (global (export "prestat") (mut i32) (i32.const -1))
  (global (export "open") (mut i32) (i32.const -1))
  (global (export "read") (mut i32) (i32.const -1))
  (global (export "write") (mut i32) (i32.const -1))
  (global (export "accept") (mut i32) (i32.const -1))
  (global (export "random") (mut i32) (i32.const -1))
  (global (export "time") (mut i32) (i32.const -1))
  (func (export "filter") (result i32)
    (drop (call $environ (i32.const 0) (i32.const 4)))
    (global.set 0 (i32.load (i32.const 0)))
    (drop (call $args (i32.const 0) (i32.const 4)))
    (global.set 1 (i32.load (i32.const 0)))
    (global.set 2 (call $prestat (i32.const 3) (i32.const 0)))
    (global.set 3 (call $open (i32.const 3) (i32.const 0) (i32.const 256) (i32.const 11) (i32.const 0)
      (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 0)))
    (drop (call $read (i32.const 0) (i32.const 288) (i32.const 1) (i32.const 0)))
    (global.set 4 (i32.load (i32.const 0)))
    (global.set 5 (call $write (i32.const 3) (i32.const 288) (i32.const 1) (i32.const 0)))
    (global.set 6 (call $accept (i32.const 3) (i32.const 0) (i32.const 0)))
    (global.set 7 (call $random (i32.const 1024) (i32.const 32)))
    (global.set 8 (call $time (i32.const 0) (i64.const 1) (i32.const 2048)))
    (i32.const 0)))
"""
EBADF, EINVAL = 8, 28


def test_a_guest_sees_no_file_no_environment_and_no_socket(
    pod: dict[str, Any], nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "value")
    with Guest.load(wat_text(LOOKS_AROUND)).cycle(pod, nodes) as cycle:
        assert cycle.filter(["node-1"]).codes.tolist() == [0]
        assert (peek(cycle, "environ"), peek(cycle, "args")) == (0, 0)
        assert (peek(cycle, "prestat"), peek(cycle, "open"), peek(cycle, "write")) == (EBADF, EBADF, EBADF)
        assert peek(cycle, "accept") != 0
        assert peek(cycle, "read") == 0, "standard input has ended"


def test_clocks_and_random_numbers_work(pod: dict[str, Any], nodes: Nodes) -> None:
    with Guest.load(wat_text(LOOKS_AROUND)).cycle(pod, nodes) as cycle:
        cycle.filter(["node-1"])
        assert (peek(cycle, "random"), peek(cycle, "time")) == (0, 0)
        assert cycle.runner.guest_memory.read(1024, 32, "test") != bytes(32)
        seconds = int.from_bytes(cycle.runner.guest_memory.read(2048, 8, "test"), "little") / 1e9
        assert seconds > 1_700_000_000


def test_a_short_sleep_ends_in_time(pod: dict[str, Any], nodes: Nodes) -> None:
    """Of two clocks, in 1 ms and in an hour, the first one is reported; Go's time.Sleep waits in this way."""
    with load("imports").cycle(pod, nodes) as cycle:
        for at, userdata, nanoseconds in ((2048, 7, 1_000_000), (2096, 8, 3_600_000_000_000)):
            subscription = struct.pack("<QB7xI4xQQH6x", userdata, 0, 1, nanoseconds, 0, 0)
            cycle.runner.guest_memory.write(at, subscription, "test")
        call_import(cycle, "poll_oneoff", 2048, 4096, 2, 8192)
        assert cycle.filter(["node-1"]).codes.tolist() == [0]
        assert peek(cycle, "result") == 0
        assert cycle.runner.guest_memory.read(8192, 4, "test") == b"\1\0\0\0"
        assert cycle.runner.guest_memory.read(4096, 8, "test") == b"\7" + bytes(7)


@pytest.mark.parametrize("count", [0, -1, 1025, 2**31 - 1])
def test_a_sleep_for_an_odd_number_of_things_is_refused(count: int, pod: dict[str, Any], nodes: Nodes) -> None:
    with load("imports").cycle(pod, nodes) as cycle:
        call_import(cycle, "poll_oneoff", 2048, 4096, count, 8192)
        assert cycle.filter(["node-1"]).codes.tolist() == [0]
        assert peek(cycle, "result") == EINVAL


PRINTS = """
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (global $fd (export "fd") (mut i32) (i32.const 1))
  (global $count (export "count") (mut i32) (i32.const 2))
  (global $written (export "written") (mut i32) (i32.const 0))
  (data (i32.const 0) "hello world")
  (data (i32.const 16) "\\00\\00\\00\\00\\06\\00\\00\\00" "\\06\\00\\00\\00\\05\\00\\00\\00")
  (func (export "filter") (result i32)
    (if (call $write (global.get $fd) (i32.const 16) (global.get $count) (i32.const 64)) (then (return (i32.const 1))))
    (global.set $written (i32.load (i32.const 64)))
    (i32.const 0)))
"""


@pytest.mark.parametrize("fd", [1, 2])
def test_output_is_captured_for_each_call(fd: int, pod: dict[str, Any], nodes: Nodes) -> None:
    with Guest.load(wat_text(PRINTS)).cycle(pod, nodes) as cycle:
        steer(cycle, fd=fd)
        assert cycle.filter(["node-1"]).trace.output == "hello world"
        assert peek(cycle, "written") == 11
        steer(cycle, count=1)
        assert cycle.filter(["node-1", "node-2"]).trace.output == "hello ", "that of the last call"
        steer(cycle, count=0)
        assert cycle.filter(["node-1"]).trace.output == ""


def test_output_over_the_limit_is_counted(pod: dict[str, Any], nodes: Nodes) -> None:
    with Guest.load(wat_text(PRINTS), limits={"output": 8}).cycle(pod, nodes) as cycle:
        assert cycle.filter(["node-1"]).trace.output == "hello wo… (3 more bytes)"
        assert peek(cycle, "written") == 11, "the guest is not told"


def test_other_files_cannot_be_written(pod: dict[str, Any], nodes: Nodes) -> None:
    with Guest.load(wat_text(PRINTS)).cycle(pod, nodes) as cycle:
        for fd in (0, 3, -1):
            steer(cycle, fd=fd)
            assert cycle.filter(["node-1"]).codes.tolist() == [1]


# ---------------------------------------------------------------- logs


def test_log_lines_are_written_as_klog_writes_them(pod: dict[str, Any], nodes: Nodes) -> None:
    with load("log").cycle(pod, nodes) as cycle:
        lines = cycle.filter(["node-1"]).trace.logs
    assert [line.text for line in lines] == [
        "hello",
        '"moved" pod="a" node="b"',
        '"quoted" text="say \\"hi\\"\\nand bye"',
    ]


@pytest.mark.parametrize("configured", [0, 1, 2, 3])
def test_lines_at_or_above_the_configured_severity_are_logged(
    configured: int, pod: dict[str, Any], nodes: Nodes
) -> None:
    with load("log", log_severity=configured).cycle(pod, nodes) as cycle:
        for severity in range(4):
            steer(cycle, severity=severity)
            lines = cycle.filter(["node-1"]).trace.logs
            assert [line.severity for line in lines] == ([severity] * 3 if severity >= configured else [])
        assert peek(cycle, "level") == configured


@pytest.mark.parametrize(("severity", "level"), [(0, "INFO"), (1, "WARNING"), (2, "ERROR"), (3, "ERROR")])
def test_lines_go_to_the_log_with_the_plugins_name(
    severity: int, level: str, pod: dict[str, Any], nodes: Nodes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with load("log").cycle(pod, nodes) as cycle:
        steer(cycle, severity=severity)
        cycle.filter(["node-1"])
    found = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert found[0] == (level, "log: hello")
    assert len(found) == 3


def test_lines_of_all_nodes_are_kept_in_order(pod: dict[str, Any]) -> None:
    with load("postbind").cycle(pod, samples.nodes(3)) as cycle:
        lines = [cycle.postbind(name).trace.logs[0].text for name in ("node-3", "node-1")]
    assert lines == ["postbind node-3", "postbind node-1"]


LONG_LINE = """
(module
  (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 10)
  (global $length (export "length") (mut i32) (i32.const 0))
  (func (export "filter") (result i32)
    (memory.fill (i32.const 0) (i32.const 120) (global.get $length))
    (call $log (i32.const 0) (i32.const 0) (global.get $length))
    (i32.const 0)))
"""


def test_a_long_line_is_kept_up_to_the_limit(pod: dict[str, Any], nodes: Nodes) -> None:
    with Guest.load(wat_text(LONG_LINE)).cycle(pod, nodes) as cycle:
        steer(cycle, length=256 * 1024)
        for _ in range(3):
            assert cycle.filter(["node-1"]).trace.logs[0].text == "x" * (256 * 1024)
        steer(cycle, length=300_000)
        assert "log: 300000 bytes are over the limit of 262144" in cycle.filter(["node-1"]).reason(0)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("log", (2, 65530, 7)),
        ("log", (2, 65537, 0)),
        ("logs", (2, 65530, 7, 64, 6)),
        ("logs", (2, 64, 6, 65530, 7)),
        ("logs", (2, 64, 6, -1, 1)),
    ],
)
def test_of_a_line_that_lies_outside_nothing_is_logged(
    function: str, arguments: tuple[int, ...], pod: dict[str, Any], nodes: Nodes
) -> None:
    with load("imports").cycle(pod, nodes) as cycle:
        call_import(cycle, function, *arguments)
        verdicts = cycle.filter(["node-1"])
        assert verdicts.reason(0).startswith(f"wasm: filter error: {function}: buffer outside of the guest's memory")
        assert verdicts.trace.logs == ()


# ---------------------------------------------------------------- what a guest hands over


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("result.cluster_events", (65530, 7)),
        ("result.node_names", (65530, 7)),
        ("result.nominated_node_name", (65536, 1)),
        ("result.status_reason", (65530, 7)),
        ("result.normalized_score_list", (-1, 1)),
        ("handle.eventrecorder.eventf", (65530, 7)),
        ("handle.reject_waiting_pod", (65530, 7, 0, 8)),
        ("handle.reject_waiting_pod", (0, 5, 65530, 8)),
        ("handle.get_waiting_pod", (65530, 7, 0, 8)),
        ("handle.get_waiting_pod", (0, 5, 65530, 8)),
        ("fd_write", (1, 65536, 1, 0)),
        ("fd_write", (1, 128, 1, 65534)),
        ("poll_oneoff", (65530, 0, 1, 0)),
        ("poll_oneoff", (0, 65530, 1, 0)),
        ("poll_oneoff", (0, 1024, 1, 65534)),
    ],
)
def test_what_lies_outside_of_the_guests_memory_is_an_error_that_names_the_function(
    function: str, arguments: tuple[int, ...], pod: dict[str, Any], nodes: Nodes
) -> None:
    with load("imports").cycle(pod, nodes) as cycle:
        call_import(cycle, function, *arguments)
        reason = cycle.filter(["node-1"]).reason(0)
        assert f"{function}: buffer outside of the guest's memory (plugin" in reason


HANDS_OVER = """
(module
  (import "k8s.io/scheduler" "{function}" (func $give (param i32 i32)))
  (memory (export "memory") 4)
  (global $length (export "length") (mut i32) (i32.const 0))
  (func (export "filter") (result i32) (call $give (i32.const 0) (global.get $length)) (i32.const 0)))
"""


@pytest.mark.parametrize(
    "function",
    ["result.cluster_events", "result.node_names", "result.nominated_node_name", "result.normalized_score_list"],
)
def test_what_is_over_the_limit_is_an_error_that_names_the_function(
    function: str, pod: dict[str, Any], nodes: Nodes
) -> None:
    guest = Guest.load(wat_text(HANDS_OVER.replace("{function}", function)), limits={"payload": 100_000})
    with guest.cycle(pod, nodes) as cycle:
        steer(cycle, length=100_000)
        assert cycle.filter(["node-1"]).codes.tolist() == [0]
        steer(cycle, length=100_001)
        reason = cycle.filter(["node-1"]).reason(0)
        assert reason.startswith(f"wasm: filter error: {function}: 100001 bytes are over the limit of 100000 (plugin")


# ---------------------------------------------------------------- one thread at a time


def test_one_instance_is_refused_to_a_second_thread(pod: dict[str, Any], nodes: Nodes) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def block(_uid: str) -> None:
        inside.set()
        assert go_on.wait(10)

    guest = load("waiting", handle=FakeHandle(on_get=block))
    with guest.cycle(pod, nodes) as cycle:
        first = threading.Thread(target=cycle.filter, args=(["node-1"],), name="first")
        first.start()
        assert inside.wait(10)
        with pytest.raises(InstanceInUseError) as caught:
            cycle.filter(["node-1"])
        go_on.set()
        first.join()
        assert str(caught.value) == (
            'plugin "waiting": this instance is in use by thread "first"; '
            "one instance runs on one thread at a time, take another one from the guest"
        )
        assert cycle.filter(["node-1"]).reason(0) == "missing, declined", "the first call was not disturbed"


def test_an_instance_may_go_from_one_thread_to_another(pod: dict[str, Any], nodes: Nodes) -> None:
    with load("state").cycle(pod, nodes) as cycle:
        cycle.prefilter()
        steer(cycle, status_code=2)
        found: list[str] = []
        thread = threading.Thread(target=lambda: found.append(cycle.prebind("node-1").reason))
        thread.start()
        thread.join()
        assert found == ["prebind pod=pod-1 cycle=1 call=1"]
        assert cycle.bind("node-1").reason == "bind pod=pod-1 cycle=1 call=2"


def test_a_guest_may_be_called_from_another_guests_callback(pod: dict[str, Any], nodes: Nodes) -> None:
    reasons: list[str] = []
    inner = load("waiting")

    def call_inner(_uid: str) -> None:
        with inner.cycle(pod, nodes) as cycle:
            reasons.append(cycle.filter(["node-1"]).reason(0))

    outer = load("waiting", handle=FakeHandle({"uid-1": b"pod"}, on_get=call_inner))
    with outer.cycle(pod, nodes) as cycle:
        reasons.append(cycle.filter(["node-1"]).reason(0))
    assert reasons == ["missing, declined", "waiting, rejected"]


# ---------------------------------------------------------------- callbacks that fail


def test_an_error_of_the_scheduler_is_an_error_of_the_hook(pod: dict[str, Any], nodes: Nodes) -> None:
    def fail(_uid: str) -> None:
        raise RuntimeError("no such queue")

    with load("waiting", handle=FakeHandle(on_get=fail)).cycle(pod, nodes) as cycle:
        reason = cycle.filter(["node-1"]).reason(0)
    assert reason.startswith('wasm: filter error: RuntimeError: no such queue (plugin "waiting")')


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_ends_the_call_and_costs_the_instance(
    interrupt: type[BaseException], pod: dict[str, Any], nodes: Nodes
) -> None:
    def stop(_uid: str) -> None:
        raise interrupt

    guest = load("waiting", handle=FakeHandle(on_get=stop))
    with pytest.raises(interrupt), guest.cycle(pod, nodes) as cycle:
        cycle.filter(["node-1"])
    assert guest.stats.broken == 1, "the guest was stopped in the middle of something"


# ---------------------------------------------------------------- memory and tables


GROWS = """
(module
  (memory (export "memory") 1)
  (table $table 1 funcref)
  (global $by (export "by") (mut i32) (i32.const 0))
  (func (export "filter") (result i32) (memory.grow (global.get $by)))
  (func (export "reserve") (result i32) (table.grow $table (ref.null func) (global.get $by))))
"""


def test_memory_grows_up_to_the_limit_and_no_further(pod: dict[str, Any], nodes: Nodes) -> None:
    guest = Guest.load(wat_text(GROWS), limits={"memory": 10 * 65536})
    with guest.cycle(pod, nodes) as cycle:
        steer(cycle, by=10)
        assert cycle.filter(["node-1"]).codes.tolist() == [-1]
        steer(cycle, by=9)
        assert cycle.filter(["node-1"]).codes.tolist() == [1]
        assert cycle.runner.memory_bytes == 10 * 65536
        steer(cycle, by=1)
        assert cycle.filter(["node-1"]).codes.tolist() == [-1]


def test_room_for_many_nodes_is_not_the_guests(pod: dict[str, Any]) -> None:
    """The adapter's memory grows with the number of nodes; the guest's limit stays where it is."""
    guest = Guest.load(wat_text(GROWS), limits={"memory": 65536})
    with guest.cycle(pod, samples.nodes(20_000)) as cycle:
        assert len(cycle.filter()) == 20_000
        steer(cycle, by=1)
        assert cycle.filter(["node-1"]).codes.tolist() == [-1]


def test_tables_are_bounded_too(pod: dict[str, Any]) -> None:
    with Guest.load(wat_text(GROWS)).cycle(pod, samples.nodes(1000)) as cycle:
        steer(cycle, by=5_000_000)
        assert cycle.reserve("node-1").code == -1
        cycle.filter()
        assert cycle.reserve("node-1").code == -1


def test_a_guest_that_begins_with_too_large_a_table_is_refused() -> None:
    text = GROWS.replace("(table $table 1 funcref)", "(table $table 9000000 funcref)")
    with pytest.raises(GuestLoadError, match="in 1 memories and 1 tables, over the limit of 67108864; raise limits"):
        Guest.load(wat_text(text), limits={"memory": 64 << 20})


def test_memory_and_tables_together_stay_within_the_limit(pod: dict[str, Any], nodes: Nodes) -> None:
    """30 tables of a million elements each in one instance were 240 MB beside its memory."""
    text = GROWS.replace("(table $table 1 funcref)", "(table $table 100000 funcref) " + "(table 10000 funcref) " * 29)
    limit = 40 << 20
    with Guest.load(wat_text(text), limits={"memory": limit}).cycle(pod, nodes) as cycle:
        steer(cycle, by=1)
        assert cycle.reserve("node-1").code == -1
        tables = 30 * 100_000 * 8
        steer(cycle, by=(limit - tables) // 65536 + 1)
        assert cycle.filter(["node-1"]).codes.tolist() == [-1]
        steer(cycle, by=(limit - tables) // 65536 - 1)
        assert cycle.filter(["node-1"]).codes.tolist() == [1]
        assert limit - 2 * 65536 < cycle.runner.memory_bytes <= limit


def test_an_instance_with_many_exports_is_made_without_looking_at_them(pod: dict[str, Any], nodes: Nodes) -> None:
    exports = "".join(f'(export "e{number}" (func $filter))' for number in range(5000))
    text = f'(module (memory (export "memory") 1) (func $filter (export "filter") (result i32) i32.const 0) {exports})'
    guest = Guest.load(wat_text(text))
    with pytest.MonkeyPatch.context() as patch:
        asked: list[object] = []
        nth = bindings._wasmtime_instance_export_nth
        patch.setattr(bindings, "_wasmtime_instance_export_nth", lambda *args: asked.append(0) or nth(*args))
        with guest.cycle(pod, nodes), guest.cycle(pod, nodes):
            pass
    assert 0 < len(asked) < 1000, "exports of the host's own modules"


@pytest.mark.parametrize(
    ("what", "item", "most"),
    [
        ("exports", '(export "e{}" (func $filter))', 10_000),
        ("imports", '(import "wasi_snapshot_preview1" "sched_yield" (func (result i32)))', 1000),
    ],
)
def test_a_guest_with_too_many_imports_or_exports_is_refused(what: str, item: str, most: int) -> None:
    items = "".join(item.format(number) for number in range(most + 1))
    own = '(memory (export "memory") 1) (func $filter (export "filter") (result i32) i32.const 0)'
    with pytest.raises(GuestLoadError, match=f"wasm: guest has [0-9]+ {what}, over the limit of {most}"):
        Guest.load(
            wat_text(f"(module {items if what == 'imports' else ''} {own} {items if what == 'exports' else ''})")
        )


def test_an_instance_that_is_thrown_away_is_gone_at_once(pod: dict[str, Any], nodes: Nodes) -> None:
    """Its memory must not wait for the garbage collector, which does not know how large it is."""
    guest = load("misbehave", limits={"call_timeout": 0.05})
    gc.disable()
    try:
        for what in ("unreachable", "infinite loop", "proc_exit(3)", "sleeps an hour", "event that is not JSON"):
            with guest.cycle(pod, nodes) as cycle:
                misbehave(cycle, what)
                cycle.filter()
                instance = weakref.ref(cycle.runner)
            assert instance() is None, what
    finally:
        gc.enable()


def test_an_error_of_the_runtimes_own_function_is_one_line_with_a_trace(pod: dict[str, Any], nodes: Nodes) -> None:
    with Guest.load(wat("imports"), name="imports").cycle(pod, nodes) as cycle:
        call_import(cycle, "clock_time_get", 99, 0, 1024)
        first, *trace = cycle.filter(["node-1"]).reason(0).splitlines()
    cause = "In func wasi_snapshot_preview1::clock_time_get at convert Clockid: Invalid enum value Clockid"
    assert first == f'wasm: filter error: {cause} (plugin "imports")'
    assert trace[0] == "wasm stack trace:"


# ---------------------------------------------------------------- globals of the guest


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("nothing", 1, 'wasm: guest does not export a global "nothing"'),
        ("filter", 1, 'wasm: guest does not export a global "filter"'),
        ("fixed", 1, 'wasm: the exported global "fixed" is not mutable'),
        ("vector", 1, 'wasm: global "vector" cannot be set to 1: '),
        ("reference", 1, 'wasm: global "reference" cannot be set to 1: '),
    ],
)
def test_a_global_that_cannot_be_set_is_refused(
    name: str, value: int, text: str, pod: dict[str, Any], nodes: Nodes
) -> None:
    source = """
    (module
      (memory (export "memory") 1)
      (global (export "fixed") i32 (i32.const 0))
      (global (export "vector") (mut v128) (v128.const i64x2 0 0))
      (global (export "reference") (mut funcref) (ref.null func))
      (func (export "filter") (result i32) (i32.const 0)))
    """
    with Guest.load(wat_text(source)).cycle(pod, nodes) as cycle:
        with pytest.raises(GuestLoadError) as caught:
            cycle.runner.set_guest_global(name, value)
        assert str(caught.value).startswith(text)
