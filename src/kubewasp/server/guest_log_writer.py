"""Writer of the log lines of guests: a thread that formats and writes them in bulk.

The thread of a hook call only adds a buffer to a queue. Bounds of a hook call: lines and bytes. Bounds of a plugin:
bytes per second as they come from the guest and as they are written, with equal lines folded, and CPU time of the
writing, as the interpreter's lock is also needed for scheduling. What is dropped is counted and logged.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Final, TextIO

from kubewasp.server.guest_lines import CallLines
from kubewasp.wasm.guest_log import NO_LOG, bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kubewasp.server.logs import LogFormat
    from kubewasp.wasm.guest_log import Entry, HookLog

KIB, MIB = 1024, 1024 * 1024
# Of one hook call.
_MOST_LINES, _MOST_BYTES = 5000, 512 * KIB
# Of one plugin; the time is CPU time.
_TIME_RATE, _TIME_BURST = 0.2, 1.0
_RAW_RATE, _RAW_BURST = 16 * MIB, 32 * MIB
_WRITTEN_RATE, _WRITTEN_BURST = 4 * MIB, 16 * MIB
_MOST_PENDING: Final = 64 * MIB
_DELAY: Final = 0.01  # lines of many calls are written together
_PAUSE: Final = 0.0001  # between two blocks: a thread that decides on pods needs the interpreter's lock
_BLOCK, _BLOCK_BYTES = 64, 64 * KIB
_REPORT_EVERY: Final = 1.0

logger = logging.getLogger(__name__)


class GuestLogWriter:
    """Implements `GuestLogSink`. Writes to the stream of a logging handler, between its records.

    Args:
        handler: The handler of the process's own lines.
        format: Their format.
        fold: Write equal lines of a hook call once, with their count.
        monotonic: Clock of the bounds per second.
        cpu_time: CPU time of the calling thread.
    """

    def __init__(
        self,
        handler: logging.StreamHandler[TextIO],
        format: LogFormat = "text",  # noqa: A002
        *,
        fold: bool = True,
        monotonic: Callable[[], float] = time.monotonic,
        cpu_time: Callable[[], float] = time.thread_time,
    ) -> None:
        self._handler = handler
        self._format: LogFormat = format
        self._fold = fold
        self._monotonic = monotonic
        self._cpu_time = cpu_time
        self._pending: deque[HookLog] = deque()
        self._pending_bytes = 0
        self._raw: dict[str, _Budget] = {}
        self._written: dict[str, _Budget] = {}
        self._spent: dict[str, _Budget] = {}
        self._dropped: Counter[str] = Counter()
        self._reported_at = 0.0
        self._counting = threading.Lock()
        self._writing = threading.Lock()
        self._wanted = threading.Event()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="kubewasp-guest-logs", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def write(self, call: HookLog) -> None:
        log = call.log
        if log is NO_LOG:
            return
        with self._counting:
            budget = self._raw.get(call.plugin)
            if budget is None:
                budget = self._raw[call.plugin] = _Budget(_RAW_RATE, _RAW_BURST, self._monotonic())
            # The last words before a failure go ahead of the bound.
            if self._pending_bytes > _MOST_PENDING or not budget.take(log.size, self._monotonic(), call.is_failed):
                self._dropped[call.plugin] += log.lines
                return
            self._pending_bytes += log.size
        self._pending.append(call)
        if not self._wanted.is_set():
            self._wanted.set()

    def flush(self) -> None:
        """Writes all that is pending, on this thread."""
        with self._writing:
            self._write_pending(pause=0.0)
            self._report(at_once=True)

    def close(self) -> None:
        """Ends the thread and writes the rest. Lines that come later are written by the next `flush`."""
        atexit.unregister(self.close)
        self._is_closed = True
        self._wanted.set()
        self._thread.join(timeout=5.0)
        self.flush()

    def _run(self) -> None:
        while not self._is_closed:
            self._wanted.wait(timeout=_REPORT_EVERY if self._dropped else None)
            if not self._is_closed:
                time.sleep(_DELAY)
            self._wanted.clear()
            with self._writing:
                self._write_pending(pause=_PAUSE)
                self._report(at_once=False)

    def _write_pending(self, pause: float) -> None:
        while self._pending:
            call = self._pending.popleft()
            try:
                self._write_call(call, pause)
            except Exception:
                logger.exception("Log lines of a plugin cannot be written", extra={"plugin": call.plugin})
            with self._counting:
                self._pending_bytes -= call.log.size

    def _write_call(self, call: HookLog, pause: float) -> None:
        time_left = self._spent.setdefault(call.plugin, _Budget(_TIME_RATE, _TIME_BURST, self._monotonic()))
        if not time_left.take(0, self._monotonic(), call.is_failed):
            self._drop(call, call.log.lines)
            return
        began = self._cpu_time()
        lines, format_ = self._lines(call, pause), CallLines(call, self._format)
        for block in _blocks(lines):
            if time_left.take(0, self._monotonic(), call.is_failed):
                self._write_lines(call, format_.render(block))
            else:
                self._drop(call, sum(count for _, count in block))
            began, before = self._cpu_time(), began
            time_left.spend(began - before)
            time.sleep(pause)

    def _lines(self, call: HookLog, pause: float) -> Sequence[tuple[Entry, int]]:
        """Entries with their counts."""
        found: list[tuple[Entry, int]] = []
        counts: Counter[Entry] = Counter()
        for block in call.log.blocks():
            if self._fold:
                counts.update(block)
            else:
                found += [(entry, 1) for entry in block]
            time.sleep(pause)
        return bounded(found or list(counts.items()), most_lines=_MOST_LINES, most_bytes=_MOST_BYTES)

    def _write_lines(self, call: HookLog, texts: Sequence[str]) -> None:
        text, now = "".join(texts), self._monotonic()
        budget = self._written.setdefault(call.plugin, _Budget(_WRITTEN_RATE, _WRITTEN_BURST, now))
        if not budget.take(len(text), now, call.is_failed):
            self._drop(call, len(texts))
            return
        handler = self._handler
        handler.acquire()
        try:
            handler.stream.write(text)
            handler.flush()
        finally:
            handler.release()

    def _drop(self, call: HookLog, lines: int) -> None:
        with self._counting:
            self._dropped[call.plugin] += lines

    def _report(self, *, at_once: bool) -> None:
        now = self._monotonic()
        if not self._dropped or (now - self._reported_at < _REPORT_EVERY and not at_once):
            return
        self._reported_at = now
        with self._counting:
            dropped, self._dropped = self._dropped, Counter()
        for plugin, lines in dropped.items():
            logger.warning("Log lines of a plugin dropped", extra={"plugin": plugin, "lines": lines})


def _blocks(lines: Sequence[tuple[Entry, int]]) -> Iterator[list[tuple[Entry, int]]]:
    block: list[tuple[Entry, int]] = []
    size = 0
    for line in lines:
        block.append(line)
        size += len(line[0][2]) + len(line[0][3])
        if len(block) == _BLOCK or size > _BLOCK_BYTES:
            yield block
            block, size = [], 0
    if block:
        yield block


class _Budget:
    """Token bucket of bytes or seconds. May go into debt by one block, and for failed calls by a whole burst."""

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._at = now

    def take(self, size: float, now: float, is_urgent: bool) -> bool:
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left <= (-self._burst if is_urgent else 0):
            return False
        self._left -= size
        return True

    def spend(self, size: float) -> None:
        self._left -= size
