"""Log of a hook call of a core module: copies of the adapter's line region.  HOT PATH (guard: make counts)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewasp.wasm.core.adapter_layout import LINE_HEADER, LOG, LOGS, LOST_OUTPUT, OUTPUT
from kubewasp.wasm.guest_log import GuestLog, printed, remark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.wasm.guest_log import Entry

_MOST_BYTES: Final = 2 * 1024 * 1024


class CoreLog(GuestLog):
    """Chunks of line records. Of a long log, the beginning and the last chunk are kept: the last words matter most."""

    def __init__(self) -> None:
        self.size = self.lines = 0
        self._chunks: list[bytes] = []
        self._tail: tuple[bytes, int] | None = None
        self._dropped = 0
        self._dropped_events = 0

    def add(self, chunk: bytes, lines: int) -> None:
        """Adds a copy of the line region."""
        self.lines += lines
        if self.size + len(chunk) <= _MOST_BYTES and self._tail is None:
            self._chunks.append(chunk)
        else:
            if self._tail is not None:
                before, count = self._tail
                self.size -= len(before)
                self.lines -= count
                self._dropped += count
            self._tail = chunk, lines
        self.size += len(chunk)

    def drop_event(self) -> None:
        self._dropped_events += 1

    def entries(self) -> Iterator[Entry]:
        reader = _Reader()
        for chunk in self._chunks:
            yield from reader.read(chunk)
        if self._dropped:
            yield from reader.rest()
            yield remark(f"{self._dropped} log lines were dropped")
        if self._tail is not None:
            yield from reader.read(self._tail[0])
        yield from reader.rest()
        if self._dropped_events:
            yield remark(f"{self._dropped_events} events were dropped")


class _Reader:
    """Reads records. Output of one call to one stream is collected, over chunks, until something else follows."""

    def __init__(self) -> None:
        self._texts: list[bytes] = []
        self._source = (0, 0)
        self._lost = 0

    def read(self, chunk: bytes) -> Iterator[Entry]:
        at, end, unpack = 0, len(chunk), LINE_HEADER.unpack_from
        while at < end:
            kind, row, severity, message, size, _ = unpack(chunk, at)
            at += LINE_HEADER.size
            if (self._texts or self._lost) and (kind < OUTPUT or (row, severity) != self._source):
                yield from self.rest()
            if kind == LOGS:
                yield severity, "", chunk[at : at + message], chunk[at + message : at + size]
            elif kind == LOG:
                yield severity, "", chunk[at : at + size], b""
            else:
                self._source = row, severity
                if kind == LOST_OUTPUT:
                    self._lost += message
                else:
                    self._texts.append(chunk[at : at + size])
            at += size + 7 & -8

    def rest(self) -> Iterator[Entry]:
        texts, lost = self._texts, self._lost
        self._texts, self._lost = [], 0
        yield from printed(self._source[1], texts, lost)
