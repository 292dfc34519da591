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
    from collections.abc import Iterable, Iterator

    from kubewasp.framework.cluster_events import RecordedEvent

# One line: severity, stream (empty for a log line), message, pairs of klog.
Entry = tuple[int, str, bytes, bytes]

START: Final = "start"  # the hook of lines that a start function logs
STREAMS: Final = {1: "stdout", 2: "stderr"}
_BLOCK: Final = 128
_MOST_RECORDS: Final = 1000

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
        for entry, count in islice(counts.items(), _MOST_RECORDS):
            _log(call, entry, count)
        if len(counts) > _MOST_RECORDS:
            _log(call, remark(f"{len(counts) - _MOST_RECORDS} more log lines were dropped"), 1)


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
