"""Log lines of guests, formatted and written in bulk."""

import io
import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kubewasp.server import guest_lines, guest_log_writer, logs
from kubewasp.server.guest_log_writer import GuestLogWriter
from kubewasp.wasm.guest_log import Entry, GuestLog, HookLog


class Lines(GuestLog):
    def __init__(self, *entries: Entry, size: int | None = None) -> None:
        self._entries = entries
        self.lines = len(entries)
        self.size = sum(len(entry[2]) for entry in entries) if size is None else size

    def entries(self) -> Iterator[Entry]:
        return iter(self._entries)


class Writing:
    """A writer into a text, whose clock stands still."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.now = 0.0
        self.spent = 0.0
        self.writers: list[GuestLogWriter] = []
        self.handlers: list[logging.Handler] = []

    def start(self, kind: logs.LogFormat = "text", **more: Any) -> GuestLogWriter:
        handler = logs.configure(kind, 0, self.stream)
        self.handlers.append(handler)
        clocks = {"monotonic": lambda: self.now, "cpu_time": lambda: self.spent}
        self.writers.append(GuestLogWriter(handler, kind, **clocks, **more))
        return self.writers[-1]

    @property
    def lines(self) -> list[str]:
        for writer in self.writers:
            writer.flush()
        return self.stream.getvalue().splitlines()

    @property
    def told(self) -> list[str]:
        return [line.split("] ", 1)[1] for line in self.lines]


@pytest.fixture
def log() -> Iterator[Writing]:
    root, ours = logging.getLogger(), logging.getLogger("kubewasp")
    before = root.level, ours.level
    found = Writing()
    yield found
    for writer in found.writers:
        writer.close()
    for handler in found.handlers:
        root.removeHandler(handler)
    root.setLevel(before[0])
    ours.setLevel(before[1])


def call(
    *entries: Entry, plugin: str = "Policy", pod: str = "default/web", failed: bool = False, **more: Any
) -> HookLog:
    return HookLog(plugin, "filter", pod, 1_000_000.5, Lines(*entries, **more), is_failed=failed)


def plain(text: str, severity: int = 0) -> Entry:
    return severity, "", text.encode(), b""


OURS = 'plugin="Policy" hook="filter" pod="default/web"'


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        (plain("plain text\n"), f'"plain text" {OURS}'),
        ((0, "", b"Scored", b"node\0n1\0score\x007\0"), f'"Scored" node="n1" score="7" {OURS}'),
        (plain('"Scored" node="n1"'), f'"Scored" node="n1" {OURS}'),
        ((0, "", b"odd", b"key\0"), f'"odd" key="(MISSING)" {OURS}'),
        ((0, "", b"x", b"pod\0default/web\0"), f'"x" {OURS}'),
        ((0, "", b"x", b"pod\0other\0plugin\0Other\0"), f'"x" guest.pod="other" guest.plugin="Other" {OURS}'),
        (plain("a\nI0101 fake"), rf'"a\nI0101 fake" {OURS}'),
        ((0, "stdout", b"printed", b""), f'"printed" {OURS} stream="stdout"'),
        ((0, "", b"bad \xff", b"a b\0\xff\0"), f'"bad \ufffd" "a b"="\ufffd" {OURS}'),
        (plain("Authorization: Bearer hunter2"), f'"Authorization: Bearer REDACTED" {OURS}'),
        ((0, "", b"in", b"password\0hunter2\0"), f'"in" password="REDACTED" {OURS}'),
        ((0, "", b"in", b"url\0https://joe:hunter2@x/\0"), f'"in" url="https://REDACTED@x/" {OURS}'),
    ],
)
def test_a_line_has_the_fields_of_the_guest_and_ours(log: Writing, entry: Entry, shown: str) -> None:
    log.start().write(call(entry))
    assert log.told == [shown]


def test_a_text_line_has_klogs_header_with_the_time_of_the_call(log: Writing) -> None:
    log.start().write(call(plain("x", 1), plain("y", 99), plain("z", -1)))
    expected = logs.header(1_000_000.5, logging.makeLogRecord({}).process or 0, "guest.wasm:1")
    assert [line.split("] ")[0] + "]" for line in log.lines] == [f"{letter}{expected}" for letter in "WEI"]


def test_a_json_line_has_the_keys_of_klog(log: Writing) -> None:
    log.start("json").write(call((0, "", b"Scored", b"node\0n\n1\0level\0none\0"), plain("bad", 3)))
    first, second = (json.loads(line) for line in log.lines)
    assert first == {
        "ts": 1_000_000_500.0,
        "level": "info",
        "caller": "guest.wasm:1",
        "msg": "Scored",
        "v": 0,
        "node": "n\n1",
        "guest.level": "none",
        "plugin": "Policy",
        "hook": "filter",
        "pod": "default/web",
    }
    assert (second["level"], second["msg"], "v" in second) == ("error", "bad", False)


def test_equal_lines_of_a_call_are_one_with_their_count(log: Writing) -> None:
    writer = log.start()
    writer.write(call(plain("same"), plain("other"), plain("same")))
    writer.write(call(plain("same")))
    assert log.told == [f'"same" {OURS} count=2', f'"other" {OURS}', f'"same" {OURS}']


def test_all_lines_are_written_without_folding(log: Writing) -> None:
    log.start(fold=False).write(call(plain("same"), plain("other"), plain("same")))
    assert [line.split()[0] for line in log.told] == ['"same"', '"other"', '"same"']


def test_more_lines_than_a_block_keep_their_order(log: Writing) -> None:
    log.start().write(call(*(plain(f"line-{number}") for number in range(1000))))
    assert [line.split('"')[1] for line in log.told] == [f"line-{number}" for number in range(1000)]


def test_pending_lines_are_written_at_the_end(log: Writing) -> None:
    writer = log.start()
    writer.write(call(plain("x")))
    writer.close()
    assert '"x"' in log.stream.getvalue()
    writer.close()


def test_lines_are_written_without_a_flush(log: Writing) -> None:
    written = threading.Event()

    class Stream(io.StringIO):
        def write(self, text: str) -> int:
            written.set()
            return super().write(text)

    log.stream = Stream()
    log.start().write(call(plain("x")))
    assert written.wait(timeout=60)


def test_bytes_per_second_of_a_plugin_are_bounded_and_the_dropped_lines_are_logged(log: Writing) -> None:
    writer, much = log.start(), guest_log_writer._RAW_BURST
    writer.write(call(plain("first"), size=much))
    writer.write(call(plain("too much"), plain("more")))
    writer.write(call(plain("of another"), plugin="Other"))
    assert [line.split()[0] for line in log.told] == ['"first"', '"of', '"Log']
    assert log.told[-1] == '"Log lines of a plugin dropped" plugin="Policy" lines=2'
    log.now += 1.0
    writer.write(call(plain("later")))
    assert log.told[-1] == f'"later" {OURS}'


def test_written_bytes_are_bounded_too(log: Writing) -> None:
    writer = log.start()
    for _ in range(50):
        writer.write(call(*(plain(f"{number} {'x ' * 4000}") for number in range(50)), size=1))
    assert sum(map(len, log.lines)) < guest_log_writer._WRITTEN_BURST + 100_000
    assert log.told[-1].startswith('"Log lines of a plugin dropped" plugin="Policy" lines=')


@pytest.mark.parametrize("fold", [True, False])
def test_different_lines_of_a_call_are_bounded(log: Writing, fold: bool) -> None:
    log.start(fold=fold).write(call(*(plain(f"line-{number}") for number in range(50_000))))
    shown = [line.split('"')[1] for line in log.told]
    assert shown[3748:3753] == ["line-3748", "line-3749", "45000 log lines were dropped", "line-48750", "line-48751"]
    assert len(shown) == 5001


def test_a_long_line_is_cut_before_it_is_searched_for_secrets(log: Writing, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []

    def search(text: str) -> str:
        searched.append(text)
        return text

    monkeypatch.setattr(guest_lines, "without_secrets", search)
    log.start().write(call(plain("token=x " * 100_000), (0, "", b"m", b"token=\0y\0" * 100_000)))
    assert [line.split()[-4].rstrip('"') for line in log.told]
    assert len(max(searched, key=len)) < 8300


def test_cpu_time_of_a_plugin_is_bounded_and_the_dropped_lines_are_logged(log: Writing) -> None:
    class Slow(io.StringIO):
        def write(self, text: str) -> int:
            log.spent += 0.5
            return super().write(text)

    log.stream = Slow()
    writer = log.start()
    writer.write(call(*(plain(f"{number}") for number in range(64 * 10))))
    writer.write(call(plain("too much")))
    assert len([line for line in log.told if OURS in line]) == 64 * 2
    assert log.told[-1] == '"Log lines of a plugin dropped" plugin="Policy" lines=513'
    log.now += 1.0
    writer.write(call(plain("later")))
    assert log.told[-1] == f'"later" {OURS}'


def test_half_a_surrogate_pair_does_not_cost_the_lines_of_a_call(log: Writing) -> None:
    log.start("json").write(call(plain('"half" key="\\ud800"'), plain("whole")))
    first, second = (json.loads(line) for line in log.lines)
    assert (first["key"], second["msg"]) == ("\ud800", "whole")


def test_the_last_words_before_a_failure_go_ahead_of_the_bound(log: Writing) -> None:
    writer = log.start()
    writer.write(call(plain("first"), size=guest_log_writer._RAW_BURST))
    writer.write(call(plain("last words"), failed=True))
    assert '"last words"' in log.told[1]


def test_a_stream_that_blocks_bounds_what_is_pending(log: Writing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest_log_writer, "_MOST_PENDING", 10)
    writer = log.start()
    with writer._writing:  # as while a write blocks
        writer.write(call(plain("x"), size=11))
        writer.write(call(plain("y"), size=1))
    assert [line.split()[0] for line in log.told] == ['"x"', '"Log']
