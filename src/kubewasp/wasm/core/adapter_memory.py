"""The adapter's own memory and globals, as Python reads and writes them.  HOT PATH (guard: make counts).

Fixed addresses are in adapter_layout.py. Behind them are the regions whose size depends on limits and on the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from kubewasp.wasm.core.adapter_layout import HINT_LIMIT, REGIONS, RESULT
from kubewasp.wasm.ffi import PAGE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from wasmtime import Global, Memory, Store

    from kubewasp.wasm.footprint import Bounds
    from kubewasp.wasm.limits import Limits

_FIRST_ROOM = 64


class AdapterMemory:
    """Memory and globals of one adapter instance."""

    view: memoryview  # the whole memory; a new object after it has grown

    def __init__(
        self, store: Store, exports: Mapping[str, object], limits: Limits, bounds: Bounds, *, severity: int
    ) -> None:
        self.bytes_written = 0
        self._store = store
        self._exports = exports
        self._bounds = bounds
        self._memory = cast("Memory", exports["memory"])
        at = REGIONS
        hinted = limits.reason + 1 + HINT_LIMIT  # a reason, a separator and a hint
        journal, lines = (max(limits.log, other) + 64 & -8 for other in (hinted, limits.output))
        regions = {"journal": journal, "lines": lines, "reason": limits.reason, "output": limits.output}
        for region, size in regions.items():
            self.set(region, at)
            self.set(f"{region}_limit", size)
            at = at + (hinted if region == "reason" else size) + 7 & -8
        self.set("hint", at)
        at += HINT_LIMIT
        self.journal = self.get("journal")
        self.lines = self.get("lines")
        self.set("log_limit", limits.log)
        self.set("severity", severity)
        self.rows = at
        self.results = 0
        self._capacity = 0
        self._listed: NDArray[np.int64] | None = None
        self.make_room(_FIRST_ROOM)

    def get(self, name: str) -> int:
        """The value of an exported global."""
        return int(cast("Global", self._exports[name]).value(self._store))

    def set(self, name: str, value: int) -> None:
        cast("Global", self._exports[name]).set_value(self._store, value)

    def make_room(self, rows: int) -> None:
        """Makes room for that many row numbers and results. The guest's memory limit does not apply here."""
        if rows <= self._capacity:
            return
        self._capacity = max(rows, 2 * self._capacity)
        self._listed = None
        self.results = self.rows + 4 * self._capacity + 15 & -16
        needed = self.results + RESULT.itemsize * self._capacity
        pages = -(-needed // PAGE) - self._memory.size(self._store)
        if pages > 0:
            self._bounds.apply(self._store, memory_size=2**32)
            self._memory.grow(self._store, pages)
            self._bounds.apply(self._store)
        self.view = memoryview(self._memory.get_buffer_ptr(self._store)).cast("B")

    def list_rows(self, rows: NDArray[np.int64]) -> int:
        """Writes row numbers and returns their address. An array is written once, and is read-only from then on."""
        if rows is not self._listed:
            rows.setflags(write=False)
            content = np.ascontiguousarray(rows, np.int32).tobytes()
            self.view[self.rows : self.rows + len(content)] = content
            self.bytes_written += len(content)
            self._listed = rows
        return self.rows

    def write_results(self, content: bytes) -> None:
        """Writes input of the adapter where its results will be."""
        self.view[self.results : self.results + len(content)] = content
        self.bytes_written += len(content)

    def output(self) -> str:
        """Stdout and stderr of the last call."""
        length, dropped = self.get("output_len"), self.get("output_dropped")
        start = self.get("output")
        text = bytes(self.view[start : start + length]).decode("utf-8", "replace")
        return f"{text}… ({dropped} more bytes)" if dropped else text
