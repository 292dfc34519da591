"""The log of one hook call: log lines and printed output, kept as the guest left them until they are read.

A hook call takes one buffer from the sandbox and hands it to a sink (`HookLog`, `GuestLogSink`). Reading it line by
line is the sink's part, on a thread that does not decide on pods.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol

from kubewasp.wasm.klog import LogLine, level_of, structured

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kubewasp.framework.cluster_events import RecordedEvent

# One line: severity, stream (empty for a log line), message, pairs of klog.
Entry = tuple[int, str, bytes, bytes]

START: Final = "start"  # the hook of lines that a start function logs
STREAMS: Final = {1: "stdout", 2: "stderr"}
KIB: Final = 1024
LONGEST_LINE: Final = 8 * KIB  # bytes; the search for secrets in a hostile text takes a microsecond per byte
_SEPARATORS: Final = (b" ", b"\n", b"\0", b'"', b"'", b",", b";", b"&")
_LONGEST_WORD: Final = 512
_BLOCK: Final = 128
# Of one hook call, in Python's logging: records are made on the thread of the call.
_MOST_RECORDS, _MOST_RECORD_BYTES = 1000, 64 * KIB

logger = logging.getLogger("kubewasp.guest")


class GuestLog:
    """Log of one hook call. This one is empty; each kind of guest has its own."""

    size = 0  # bytes that it holds
    lines = 0  # number of its lines; output counts once per write

    def entries(self) -> Iterator[Entry]:
        """All lines in order, with a remark where some were dropped."""
        return iter(())

    def blocks(self) -> Iterator[list[Entry]]:
        """The entries, some at a time: a reader lets other threads run in between."""
        entries = self.entries()
        while block := list(islice(entries, _BLOCK)):
            yield block

    def log_lines(self) -> tuple[LogLine, ...]:
        """The log lines, without printed output."""
        return tuple(LogLine(entry[0], text_of(entry)) for entry in self.entries() if not entry[1])


NO_LOG: Final = GuestLog()


def text_of(entry: Entry) -> str:
    return structured(entry[2], entry[3])


def remark(text: str) -> Entry:
    """A warning of the host between the lines of a guest."""
    return 1, "", text.encode(), b""


def printed(stream: int, texts: Iterable[bytes], lost: int = 0) -> Iterator[Entry]:
    """The lines of output that was written in pieces."""
    name = STREAMS.get(stream, "stdout")
    for line in b"".join(texts).splitlines():
        yield 0, name, line, b""
    if lost:
        yield 0, name, f"… ({lost} more bytes)".encode(), b""


def bounded(lines: Sequence[tuple[Entry, int]], *, most_lines: int, most_bytes: int) -> Sequence[tuple[Entry, int]]:
    """Entries with their counts, within a budget: first lines, last ones, and a remark between them.

    Texts are cut here, before they are parsed and searched for secrets.
    """
    sizes = [len(entry[2]) + len(entry[3]) for entry, _ in lines]
    if max(sizes, default=0) > LONGEST_LINE:
        lines = [(_cut(entry), count) for entry, count in lines]
        sizes = [_size(entry) for entry, _ in lines]
    if len(sizes) <= most_lines and sum(sizes) <= most_bytes:
        return lines
    first = _within(lines, most_lines * 3 // 4, most_bytes * 3 // 4)
    rest = lines[len(first) :]
    last = _within(rest[::-1], most_lines - most_lines * 3 // 4, most_bytes // 4)[::-1]
    dropped = sum(count for _, count in rest[: len(rest) - len(last)])
    return [*first, (remark(f"{dropped} log lines were dropped"), 1), *last]


def _within(lines: Sequence[tuple[Entry, int]], most_lines: int, most_bytes: int) -> Sequence[tuple[Entry, int]]:
    """The first lines that fit."""
    size = 0
    for number, (entry, _) in enumerate(lines[:most_lines]):
        size += _size(entry)
        if size > most_bytes:
            return lines[:number]
    return lines[:most_lines]


def _size(entry: Entry) -> int:
    return len(entry[2]) + len(entry[3])


def _cut(entry: Entry) -> Entry:
    """The beginning of a long entry. The last word is left out: half of a secret may not look like one."""
    size = _size(entry)
    if size <= LONGEST_LINE:
        return entry
    severity, stream, message, pairs = entry
    if len(message) < LONGEST_LINE:
        pairs = _whole_words(pairs[: LONGEST_LINE - len(message)])
    else:
        message, pairs = _whole_words(message[:LONGEST_LINE]), b""
    more = f"… ({size - len(message) - len(pairs)} more bytes)".encode()
    return (severity, stream, message, pairs + more) if pairs else (severity, stream, message + more, b"")


def _whole_words(text: bytes) -> bytes:
    end = max(text.rfind(separator, len(text) - _LONGEST_WORD) for separator in _SEPARATORS)
    return text[:end] if end >= 0 else text


@dataclass(frozen=True, slots=True)
class HookLog:
    """Log and recorded events of one hook call: of which plugin, hook and pod, and when the call ended."""

    plugin: str
    hook: str
    pod: str
    time: float
    log: GuestLog = NO_LOG
    events: tuple[RecordedEvent, ...] = ()
    is_failed: bool = False


class GuestLogSink(Protocol):
    """Receiver of the logs of hook calls."""

    def write(self, call: HookLog) -> None:
        """Takes the log of a call. Called on the thread of the call, which has other things to do: must be quick."""


class LoggerSink:
    """Sink for programs that use Python's logging: a record per line, equal lines of a call as one with their count."""

    def write(self, call: HookLog) -> None:
        if call.log is NO_LOG or not logger.isEnabledFor(logging.ERROR):
            return
        counts: Counter[Entry] = Counter()
        for block in call.log.blocks():
            counts.update(block)
        lines = list(counts.items())
        for entry, count in bounded(lines, most_lines=_MOST_RECORDS, most_bytes=_MOST_RECORD_BYTES):
            _log(call, entry, count)


def _log(call: HookLog, entry: Entry, count: int) -> None:
    level = level_of(entry[0])
    if not logger.isEnabledFor(level):
        return
    text = text_of(entry)
    extra = {"plugin": call.plugin, "hook": call.hook, "guest_line": text}
    if call.pod:
        extra["pod"] = call.pod
    if entry[1]:
        extra["stream"] = entry[1]
    repeated = f" ({count} times)" if count > 1 else ""
    logger.log(level, "%s: %s%s", call.plugin, text, repeated, extra=extra | ({"count": count} if repeated else {}))


LOGGER_SINK: Final = LoggerSink()
