"""Allocator of the shared memory that all adapters of an engine read.  HOT PATH (guard: make counts).

A freed block is reused only when no running call may still read it.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from kubewasp.wasm.errors import HeapFullError
from kubewasp.wasm.ffi import MAX_PAGES, PAGE, ImportableMemory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from wasmtime import Engine

# Address 0 is "none" to the adapter.
_FIRST_ADDRESS = 64
_LARGE_PAGE = (2 << 20) // PAGE


def size_class(size: int) -> int:
    """A size, rounded up to a quarter of a power of two: wastes a quarter at most, and freed blocks fit again."""
    if size <= 64:
        return max(-(-size // 16), 1) * 16
    step = 1 << (size.bit_length() - 3)
    return -(-size // step) * step


def size_classes(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """`size_class` for an array."""
    steps = np.where(sizes <= 64, 16, 1 << np.maximum(np.frexp(sizes)[1] - 3, 0))
    return np.maximum(-(-sizes // steps), 1) * steps


class SharedHeap:
    """Blocks of the shared memory. Writers hold the lock; readers need none."""

    def __init__(self, engine: Engine) -> None:
        self.memory = ImportableMemory(engine)
        self.lock = threading.RLock()
        self.bytes_written = 0
        self._view = self.memory.view()
        self._bytes = memoryview(self._view.data)
        self._end = _FIRST_ADDRESS
        self._free: dict[int, list[int]] = {}
        self._retired: deque[tuple[int, int, int]] = deque()
        self._clock = itertools.count(1)
        self._now = 0
        self._readers: dict[int, int] = {}

    def allocate(self, size: int) -> int:
        """The address of a block of at least that size, a multiple of 8."""
        size = size_class(size)
        self._reclaim()
        free = self._free.get(size)
        if free:
            return free.pop()
        address = self._end
        if address + size > len(self._view):
            self._grow(address + size)
        self._end = address + size
        return address

    def retire(self, address: int, size: int) -> None:
        """Frees a block, once all present readers are done."""
        self._retired.append((self._now, address, size_class(size)))

    def write(self, address: int, content: bytes) -> None:
        self._bytes[address : address + len(content)] = content
        self.bytes_written += len(content)

    def place(self, content: bytes) -> int:
        address = self.allocate(len(content))
        self.write(address, content)
        return address

    def allocate_all(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Addresses of many blocks: freed ones first, then new ones side by side."""
        self._reclaim()
        sizes = size_classes(lengths)
        if not any(self._free.values()):
            ends = self._end + sizes.cumsum()
            return self._take_to(int(ends[-1]) if len(ends) else self._end, ends - sizes)
        addresses, end = [], self._end
        for size in sizes.tolist():
            free = self._free.get(size)
            if free:
                addresses.append(free.pop())
            else:
                addresses.append(end)
                end += size
        return self._take_to(end, np.array(addresses, np.int64))

    def _take_to(self, end: int, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
        if end > len(self._view):
            self._grow(end)
        self._end = end
        return addresses

    def write_all(self, addresses: NDArray[np.int64], contents: Sequence[bytes]) -> None:
        view = self._bytes
        for address, content in zip(addresses.tolist(), contents, strict=True):
            view[address : address + len(content)] = content
        self.bytes_written += sum(map(len, contents))

    def numbers(self, address: int, rows: int, width: int) -> NDArray[np.int64]:
        """A block as an array, written in place. The memory never moves: it stays valid."""
        found: NDArray[np.int64] = self._view[address : address + 8 * rows * width].view(np.int64)
        return found.reshape(rows, width)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While this is open, no block that was reachable at its start is reused."""
        ticket = self.begin_reading()
        try:
            yield
        finally:
            self.end_reading(ticket)

    def begin_reading(self) -> int:
        """A ticket for `end_reading`."""
        with self.lock:
            ticket = self._now = next(self._clock)
            self._readers[ticket] = ticket
        return ticket

    def end_reading(self, ticket: int) -> None:
        with self.lock:
            del self._readers[ticket]

    def _reclaim(self) -> None:
        oldest = next(iter(self._readers), None)
        while self._retired and (oldest is None or self._retired[0][0] < oldest):
            _, address, size = self._retired.popleft()
            self._free.setdefault(size, []).append(address)

    def _grow(self, needed: int) -> None:
        # By an eighth at least, and in whole large pages: small additions must not grow it one page at a time.
        pages = max(-(-needed // PAGE), len(self._view) // PAGE * 9 // 8)
        pages = min(-(-pages // _LARGE_PAGE) * _LARGE_PAGE, MAX_PAGES)
        if pages * PAGE < needed:
            raise HeapFullError(f"the nodes need {needed} bytes; there is room for {MAX_PAGES * PAGE}")
        self.memory.grow(pages - len(self._view) // PAGE)
        self._view = self.memory.view()
        self._bytes = memoryview(self._view.data)
