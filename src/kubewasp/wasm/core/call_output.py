"""Output of a call: values, reasons, log lines, events and payloads, within limits.  HOT PATH (guard: make counts)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kubewasp.wasm.core.adapter_layout import AFTER_RUN, JOURNAL_HEADER, LENGTHS_AFTER_RUN, RESULT
from kubewasp.wasm.core.core_log import CoreLog
from kubewasp.wasm.guest_runner import HookOutcome, no_outcome
from kubewasp.wasm.hooks import ANNOTATING_HOOKS, EVENT
from kubewasp.wasm.payloads import MOST_EVENT_BYTES, PayloadError, add_annotation

if TYPE_CHECKING:
    from kubewasp.wasm.core.adapter_memory import AdapterMemory
    from kubewasp.wasm.limits import Limits

_MAX_EVENTS = 1000
_ONE_VALUE = np.zeros(1, np.int64)
_ONE_VALUE.setflags(write=False)


class CallOutput:
    """Collects the outcome of one hook from the adapter's memory."""

    def __init__(self, memory: AdapterMemory, limits: Limits) -> None:
        self._memory = memory
        self._max_event_bytes = min(limits.payload, MOST_EVENT_BYTES)
        self.begin(0)

    def begin(self, count: int, *, may_annotate: bool = False) -> None:
        """Starts over, for that many rows."""
        self._may_annotate = may_annotate
        self.outcome = no_outcome(count) if count != 1 else HookOutcome(_ONE_VALUE, _ONE_VALUE, [])
        self._log: CoreLog | None = None
        self._event_bytes = 0

    def read_batch(self) -> None:
        """Reads journal, lines and output after a batch that has returned."""
        journal, output, lines, line_count = LENGTHS_AFTER_RUN.unpack_from(self._memory.view, AFTER_RUN)
        if journal:
            self._read_journal(journal)
        if lines:
            self._take_lines(lines, line_count)
        self.outcome.output = self._memory.output() if output else ""

    def read_rest(self) -> None:
        """Reads journal and lines outside of a batch: after a trap, or when one of them is full."""
        memory = self._memory
        self._read_journal(memory.get("journal_len"))
        lines = memory.get("lines_len")
        if lines:
            self._take_lines(lines, memory.get("line_count"))

    def _read_journal(self, length: int) -> None:
        at = self._memory.journal
        end = at + length
        outcome, view = self.outcome, self._memory.view
        while at < end:
            size, split = JOURNAL_HEADER.unpack_from(view, at)
            at += JOURNAL_HEADER.size
            if split:  # with a hint; the separator belongs to neither
                outcome.hints[len(outcome.reasons) + 1] = str(view[at + split : at + size], "utf-8", "replace")
            text = view[at : at + split - 1] if split else view[at : at + size]
            outcome.reasons.append(str(text, "utf-8", "replace"))
            at += size + 7 & -8

    def _take_lines(self, length: int, count: int) -> None:
        """Copies all lines at once; the reader of the log separates them."""
        at = self._memory.lines
        self._own_log().add(bytes(self._memory.view[at : at + length]), count)

    def _own_log(self) -> CoreLog:
        if self._log is None:
            self._log = self.outcome.log = CoreLog()
        return self._log

    def receive(self, kind: int, payload: bytes) -> None:
        """Takes a payload of the guest."""
        if kind != EVENT:
            self.outcome.received[kind] = payload
        elif len(self.outcome.events) < _MAX_EVENTS and self._event_bytes + len(payload) <= self._max_event_bytes:
            self.outcome.events.append(payload)
            self._event_bytes += len(payload)
        else:
            self._own_log().drop_event()

    def annotate(self, key: bytes, value: bytes) -> None:
        """Takes an annotation of the guest; PayloadError if there are too many, or the hook has none."""
        if not self._may_annotate:
            raise PayloadError(f"result.annotation: only {' and '.join(ANNOTATING_HOOKS)} may annotate")
        try:
            add_annotation(self.outcome.annotations, key.decode(), value.decode())
        except UnicodeDecodeError:
            raise PayloadError("result.annotation: not UTF-8") from None

    def finish(self, results: int) -> HookOutcome:
        """The outcome, with the values from that address."""
        outcome, count = self.outcome, len(self.outcome.values)
        if count == 1:
            both = np.frombuffer(bytes(self._memory.view[results : results + RESULT.itemsize]), "<i8")
            outcome.values, outcome.reason_numbers = both[:1], both[1:]
            return outcome
        found = np.frombuffer(self._memory.view, RESULT, count, results)
        outcome.values, outcome.reason_numbers = found["value"].copy(), found["reason"].copy()
        return outcome

    def finish_signing(self) -> HookOutcome:
        """The outcome, with signatures as values."""
        outcome = self.outcome
        outcome.values = np.frombuffer(self._memory.view, "<i8", len(outcome.values), self._memory.results).copy()
        return outcome
