"""Output of a call: values, reasons, log lines, events and payloads, within limits.  HOT PATH (guard: make counts)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kubewasp.wasm.core.adapter_layout import AFTER_RUN, INT32_PAIR, JOURNAL_HEADER, LOG, REASON, RESULT
from kubewasp.wasm.guest_runner import HookOutcome, no_outcome
from kubewasp.wasm.hooks import EVENT
from kubewasp.wasm.klog import LogLine, plain, structured

if TYPE_CHECKING:
    from kubewasp.wasm.core.adapter_memory import AdapterMemory
    from kubewasp.wasm.limits import Limits

_MAX_LINES = 1000


class CallOutput:
    """Collects the outcome of one hook from the adapter's memory."""

    def __init__(self, memory: AdapterMemory, limits: Limits) -> None:
        self._memory = memory
        self._max_bytes = limits.payload
        self.begin(0)

    def begin(self, count: int) -> None:
        """Starts over, for that many rows."""
        self.outcome = no_outcome(count)
        self._kept = self._dropped = 0

    def read_batch(self) -> None:
        """Reads journal and output after a batch that has returned."""
        journal, output = INT32_PAIR.unpack_from(self._memory.view, AFTER_RUN)
        if journal:
            self.read_journal(journal)
        self.outcome.output = self._memory.output() if output else ""

    def read_rest(self) -> None:
        """Reads the journal outside of a batch: after a trap, or when it is full."""
        self.read_journal(self._memory.get("journal_len"))

    def read_journal(self, length: int) -> None:
        at = self._memory.journal
        end = at + length
        outcome, view = self.outcome, self._memory.view
        while at < end:
            kind, _row, severity, message, size, _ = JOURNAL_HEADER.unpack_from(view, at)
            at += JOURNAL_HEADER.size
            if kind == REASON:
                if message:  # with a hint; the separator belongs to neither
                    outcome.hints[len(outcome.reasons) + 1] = str(view[at + message : at + size], "utf-8", "replace")
                text = view[at : at + message - 1] if message else view[at : at + size]
                outcome.reasons.append(str(text, "utf-8", "replace"))
            elif not self._keeps(len(outcome.logs), size):
                self._dropped += 1
            elif kind == LOG:
                outcome.logs.append(LogLine(severity, plain(bytes(view[at : at + size]))))
            else:
                content = bytes(view[at : at + size])
                outcome.logs.append(LogLine(severity, structured(content[:message], content[message:])))
            at += size + 7 & -8

    def receive(self, kind: int, payload: bytes) -> None:
        """Takes a payload of the guest."""
        if kind != EVENT:
            self.outcome.received[kind] = payload
        elif self._keeps(len(self.outcome.events), len(payload)):
            self.outcome.events.append(payload)
        else:
            self._dropped += 1

    def finish(self, results: int) -> HookOutcome:
        """The outcome, with the values from that address."""
        outcome, count = self.outcome, len(self.outcome.values)
        found = np.frombuffer(self._memory.view, RESULT, count, results)
        outcome.values, outcome.reason_numbers = found["value"].copy(), found["reason"].copy()
        if self._dropped:
            outcome.logs.append(LogLine(1, f"{self._dropped} more log lines and events were dropped"))
        return outcome

    def finish_signing(self) -> HookOutcome:
        """The outcome, with signatures as values."""
        outcome = self.outcome
        outcome.values = np.frombuffer(self._memory.view, "<i8", len(outcome.values), self._memory.results).copy()
        return outcome

    def _keeps(self, lines: int, size: int) -> bool:
        """Whether there is room for one more log line or event: both their number and their bytes are bounded."""
        if lines >= _MAX_LINES or self._kept + size > self._max_bytes:
            return False
        self._kept += size
        return True
