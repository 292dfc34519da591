"""Logs of hook calls: order, printed output, folding, and the sink for Python's logging."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from kubewasp.wasm import guest_log
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_log import Entry, GuestLog, HookLog, LoggerSink
from tests import samples
from tests.guests.build import wat_text

TALKS = """
(module
  (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "logged printed\\nhalf")
  (func $print (param $fd i32) (param $at i32) (param $length i32)
    (i32.store (i32.const 100) (local.get $at))
    (i32.store (i32.const 104) (local.get $length))
    (drop (call $write (local.get $fd) (i32.const 100) (i32.const 1) (i32.const 200))))
  (func {name} (result i32)
    (call $log (i32.const 1) (i32.const 0) (i32.const 6))
    (call $print (i32.const 1) (i32.const 7) (i32.const 12))
    (call $log (i32.const 0) (i32.const 0) (i32.const 6))
    (call $print (i32.const 2) (i32.const 15) (i32.const 2))
    (call $print (i32.const 2) (i32.const 17) (i32.const 2))
    {end}
    (i32.const 0)))
"""
SAID = [(1, "", b"logged"), (0, "stdout", b"printed"), (0, "stdout", b"half"), (0, "", b"logged")]
LAST = (0, "stderr", b"half")


class Sink:
    def __init__(self) -> None:
        self.calls: list[HookLog] = []

    def write(self, call: HookLog) -> None:
        self.calls.append(call)


def talking(hook: str = "filter", end: str = "", **settings: Any) -> tuple[Guest, Sink]:
    sink = Sink()
    text = TALKS.replace("{name}", f'(export "{hook}")').replace("{end}", end)
    return Guest.load(wat_text(text), name="talks", logs=sink, **settings), sink


def contents(log: GuestLog) -> list[tuple[int, str, bytes]]:
    return [entry[:3] for entry in log.entries()]


def test_lines_and_printed_output_are_in_the_order_of_the_guest() -> None:
    guest, sink = talking()
    with guest.cycle(samples.pod("web"), samples.nodes(2)) as cycle:
        trace = cycle.filter().trace
    (call,) = sink.calls
    assert contents(call.log) == [*SAID[:1], (0, "stdout", b"printed"), (0, "stdout", b"half"), SAID[3], LAST] * 2
    assert [line.text for line in trace.logs] == ["logged", "logged"] * 2
    assert (call.plugin, call.hook, call.pod, call.is_failed) == ("talks", "filter", "default/web", False)


def test_the_last_words_before_a_trap_are_kept() -> None:
    guest, sink = talking(end="unreachable")
    with guest.cycle(samples.pod("web"), samples.nodes(3)) as cycle:
        cycle.filter()
    (call,) = sink.calls
    assert call.is_failed
    assert contents(call.log) == [*SAID, LAST]


def test_the_last_words_of_a_start_function_that_traps_are_kept() -> None:
    text = TALKS.replace("{name}", "$starts").replace("{end}", "unreachable")
    start = '(func (export "_start") (drop (call $starts))) (func (export "filter") (result i32) (i32.const 0)))'
    sink = Sink()
    with pytest.raises(GuestLoadError, match="_start error"):
        Guest.load(wat_text(text.rstrip()[:-1] + start), name="talks", logs=sink)
    (call,) = sink.calls
    assert (call.hook, call.pod, call.is_failed) == ("start", "", True)
    assert contents(call.log) == [*SAID, LAST]


def test_printed_output_is_information_and_left_out_above_that_severity() -> None:
    guest, sink = talking(log_severity=1)
    with guest.cycle(samples.pod("web"), samples.nodes(1)) as cycle:
        assert cycle.filter().trace.output == "printed\nhalfhalf", "it is kept for an error"
    assert contents(sink.calls[0].log) == [SAID[0]]


def test_printed_bytes_over_the_limit_are_counted() -> None:
    guest, sink = talking(limits={"output": 14})
    with guest.cycle(samples.pod("web"), samples.nodes(1)) as cycle:
        cycle.filter()
    assert contents(sink.calls[0].log)[-1] == (0, "stderr", "… (2 more bytes)".encode())


def test_a_call_without_a_word_reaches_no_sink() -> None:
    guest, sink = talking(log_severity=3)
    with guest.cycle(samples.pod("web"), samples.nodes(3)) as cycle:
        cycle.filter()
    assert sink.calls == []


# ---------------------------------------------------------------------- Python's logging


class Lines(GuestLog):
    def __init__(self, *entries: Entry) -> None:
        self._entries = entries
        self.lines = len(entries)
        self.size = sum(len(entry[2]) + len(entry[3]) for entry in entries)

    def entries(self) -> Iterator[Entry]:
        return iter(self._entries)


def logged(*entries: Entry) -> None:
    LoggerSink().write(HookLog("policy", "filter", "default/web", 0.0, Lines(*entries)))


def test_equal_lines_of_a_call_are_one_record_with_their_count(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    same, other = (0, "", b"same", b""), (0, "", b"other", b"")
    logged(same, other, same, same)
    assert caplog.messages == ["policy: same (3 times)", "policy: other"]
    first = caplog.records[0].__dict__
    assert {name: first[name] for name in ("plugin", "hook", "pod", "count", "guest_line")} == {
        "plugin": "policy",
        "hook": "filter",
        "pod": "default/web",
        "count": 3,
        "guest_line": "same",
    }


def test_a_logger_that_shows_errors_only_gets_no_information(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "kubewasp.guest")
    logged((0, "", b"information", b""), (2, "", b"error", b""))
    assert caplog.messages == ["policy: error"]


def test_records_of_a_call_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    logged(*((0, "", str(number).encode(), b"") for number in range(1500)))
    assert len(caplog.messages) == 1001
    assert caplog.messages[749:752] == ["policy: 749", "policy: 500 log lines were dropped", "policy: 1250"]


def test_bytes_in_the_records_of_a_call_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    logged(*((0, "", f"{number} {'x' * 10_000}".encode(), b"") for number in range(100)))
    assert sum(map(len, caplog.messages)) <= 64 * 1024
    assert caplog.messages[0] == f"policy: 0 {'x' * 8190}… (1810 more bytes)"
    assert [text for text in caplog.messages if "dropped" in text]


@pytest.mark.parametrize(
    ("message", "pairs", "shown"),
    [
        (b"a " * 5000, b"", b"a " * 4095 + "a… (1809 more bytes)".encode()),
        (b"a " * 4000 + b"https://joe:" + b"pw" * 200, b"", b"a " * 3999 + "a… (413 more bytes)".encode()),
        (b"x" * 9000, b"k\0v\0", b"x" * 8192 + "… (812 more bytes)".encode()),
    ],
)
def test_a_long_text_is_cut_before_a_word(message: bytes, pairs: bytes, shown: bytes) -> None:
    line: Entry = (1, "stdout", message, pairs)
    assert guest_log.bounded([(line, 3)], most_lines=10, most_bytes=10_000) == [((1, "stdout", shown, b""), 3)]


def test_long_pairs_are_cut_before_a_word() -> None:
    line: Entry = (1, "", b"message", b"key\0" + b"x" * 8000 + b" second" + b"x" * 1000 + b"\0")
    (((_, _, message, pairs), _),) = guest_log.bounded([(line, 1)], most_lines=10, most_bytes=10_000)
    assert (message, pairs) == (b"message", b"key\0" + b"x" * 8000 + "… (1008 more bytes)".encode())


def test_lines_within_the_budget_stay_as_they_are() -> None:
    lines: list[tuple[Entry, int]] = [((0, "", b"x" * size, b""), 1) for size in (8192, 1, 8192)]
    assert guest_log.bounded(lines, most_lines=3, most_bytes=20_000) == lines


def test_blocks_have_all_entries_in_order() -> None:
    entries = [(0, "", str(number).encode(), b"") for number in range(1000)]
    blocks = list(Lines(*entries).blocks())
    assert len(blocks) > 1
    assert [entry for block in blocks for entry in block] == entries
    assert list(guest_log.NO_LOG.blocks()) == []
