"""Nodes in the shared memory, written when they change.  HOT PATH (guard: make counts).

The adapter reads a *directory*: a header, and an entry per row with the places of name, object and images
(adapter_layout.py). A published directory is never changed: a change publishes a new one (a copy of some hundred
kilobytes), so a call on another thread keeps a consistent view.
"""

from __future__ import annotations

import weakref
import zlib
from array import array
from typing import TYPE_CHECKING, cast

import numpy as np

from kubewasp.wasm.core.adapter_layout import DIRECTORY_HEADER, ROW
from kubewasp.wasm.core.image_states import ImageTable
from kubewasp.wasm.core.node_records import NodeRecords

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from kubewasp.state.node_objects import Nodes
    from kubewasp.state.node_table import NodeTable
    from kubewasp.wasm.core.node_records import ResourceIds
    from kubewasp.wasm.core.shared_heap import SharedHeap


def _lengths(contents: Sequence[bytes]) -> NDArray[np.int64]:
    return np.fromiter(map(len, contents), np.int64, len(contents))


def _in_list(lengths: NDArray[np.int64]) -> int:
    """Bytes of Nodes as items of a NodeList, each with tag and length."""
    there = lengths[lengths > 0]
    heads = 2 * len(there) + sum(int((there >> bits > 0).sum()) for bits in (7, 14, 21, 28))
    return int(there.sum()) + heads


def _places(addresses: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places: address and length in one number each."""
    return addresses | lengths << 32


class SharedNodes:
    """The nodes of one `Nodes` object, for all adapters of an engine."""

    def __init__(self, heap: SharedHeap, nodes: Nodes, resources: ResourceIds) -> None:
        self._heap = heap
        self._resources = resources
        self._nodes = weakref.ref(nodes)
        self._generation = -1
        self._has_objects = False
        self._rows: NDArray[np.void] = np.zeros(0, ROW)
        self._names: dict[int, str] = {}
        self._list_length = 0
        self._index = NameIndex(heap)
        self._images: ImageTable | None = None
        self._records: NodeRecords | None = None
        self._directory = (0, 0)
        weakref.finalize(nodes, self._release).atexit = False

    @property
    def directory(self) -> int:
        """Address of the newest directory. Its content stays valid while a reader is registered."""
        return self._directory[0]

    def sync(
        self, *, by_name: bool = True, objects: bool = True, images: bool = False, table: NodeTable | None = None
    ) -> int:
        """Writes all changes and returns the directory. Unchanged nodes cost nothing.

        A table adds the records, `by_name` the index of names. Objects and images are kept from their first use on.
        """
        nodes = cast("Nodes", self._nodes())
        with self._heap.lock:
            if objects and not self._has_objects:
                self._has_objects = True
                self._generation = -1
            if images and self._images is None:
                self._images = ImageTable(self._heap)
                self._generation = -1
            moved = table is not None and self._records_of(table).sync()
            if nodes.generation != self._generation:
                moved |= self._update(nodes)
            if by_name:
                moved |= self._index.publish()
            if moved:
                self._publish_directory()
            return self.directory

    def name(self, row: int) -> str:
        """The name of a row's node; empty if there is none."""
        nodes = self._nodes()
        return "" if nodes is None or not 0 <= row < nodes.row_count else nodes.name(row) or ""

    def place_pods(self, row: int) -> int:
        """Writes the pods of a node, if needed, and returns their place."""
        with self._heap.lock:
            return cast("NodeRecords", self._records).place_pods(row)

    def _records_of(self, table: NodeTable) -> NodeRecords:
        if self._records is None or not self._records.is_of(table):
            if self._records is not None:
                self._records.release()
            self._records = NodeRecords(self._heap, table, self._resources)
        return self._records

    def _update(self, nodes: Nodes) -> bool:
        """Returns whether a new directory is needed."""
        if nodes.row_count > len(self._rows):
            grown = np.zeros(nodes.row_count, ROW)
            grown[: len(self._rows)] = self._rows
            self._rows = grown
        changed = list(nodes.changed_since(self._generation))
        names = dict(zip(changed, nodes.names_of(changed), strict=True))
        # All names first, side by side: a hook that reads every name touches few pages.
        moved = self._write_names(names)
        if self._has_objects:
            self._write_objects(nodes, names)
            moved = True
        if self._images is not None:
            self._images.publish()
        self._generation = nodes.generation
        return moved

    def _write_names(self, names: Mapping[int, str | None]) -> bool:
        """Returns whether a name was added or removed."""
        known = self._names
        renamed = [row for row, name in names.items() if known.get(row) != name]
        if not renamed:
            return False
        self._retire(self._rows["name"][renamed])
        named = {row: name.encode() for row in renamed if (name := names[row]) is not None}
        for row in renamed if len(named) < len(renamed) else ():
            known.pop(row, None)
            self._rows["name"][row] = 0
        known.update((row, cast("str", names[row])) for row in named)
        self._index.add(named)
        texts = list(named.values())
        lengths = _lengths(texts)
        addresses = self._heap.allocate_all(lengths)
        self._heap.write_all(addresses, texts)
        self._rows["name"][list(named)] = _places(addresses, lengths)
        return True

    def _write_objects(self, nodes: Nodes, names: Mapping[int, str | None]) -> None:
        changed = list(names)
        old = self._rows["node"][changed]
        self._retire(old)
        self._list_length -= _in_list(old >> 32)
        there = [row for row, name in names.items() if name is not None]
        if len(there) < len(changed):
            self._rows["node"][changed] = self._rows["images"][changed] = 0
        objects = nodes.all_encoded(there)
        lengths = _lengths(objects)
        addresses = self._heap.allocate_all(lengths)
        self._heap.write_all(addresses, objects)
        self._rows["node"][there] = _places(addresses, lengths)
        self._list_length += _in_list(lengths)
        if self._images is not None:
            for row, name in names.items():
                if name is None:
                    self._images.remove(row)
            for row, encoded in zip(there, objects, strict=True):
                self._rows["images"][row] = self._images.replace(row, encoded)

    def _retire(self, places: NDArray[np.uint64]) -> None:
        for place in places[places != 0].tolist():
            self._heap.retire(place & 0xFFFFFFFF, place >> 32)

    def _publish_directory(self) -> None:
        images = 0 if self._images is None else self._images.address
        records, stride = (0, 0) if self._records is None else (self._records.address, self._records.stride)
        header = DIRECTORY_HEADER.pack(
            len(self._rows), self._index.mask, self._index.address, images, self._list_length, records, stride, 0
        )
        content = header + self._rows.tobytes()
        address, old = self._heap.place(content), self._directory
        self._directory = (address, len(content))
        if old[0]:
            self._heap.retire(*old)

    def _release(self) -> None:
        with self._heap.lock:
            self._retire(self._rows["name"])
            self._retire(self._rows["node"])
            if self._directory[0]:
                self._heap.retire(*self._directory)
            self._index.release()
            if self._images is not None:
                self._images.release()
            if self._records is not None:
                self._records.release()
            self._rows, self._directory = np.zeros(0, ROW), (0, 0)


class NameIndex:
    """Node name → row: an open-addressing hash table of row + 1, keyed by CRC-32. Lookups skip stale entries by name.

    Built on first use: many guests never look up a node by name.
    """

    def __init__(self, heap: SharedHeap) -> None:
        self._heap = heap
        self._names: dict[bytes, int] = {}
        self._waiting: dict[int, bytes] = {}
        self._table = array("I", bytes(4 * 64))
        self._used = 0
        self.address = self._written = 0

    @property
    def mask(self) -> int:
        return len(self._table) - 1

    def add(self, names: Mapping[int, bytes]) -> None:
        """Adds names of rows."""
        self._waiting |= names

    def publish(self) -> bool:
        """Writes the table if it has changed; returns whether it has moved."""
        if self.address and not self._waiting:
            return False
        self._take(self._waiting)
        self._waiting = {}
        self.release()
        content = self._table.tobytes()
        self.address, self._written = self._heap.place(content), len(content)
        return True

    def release(self) -> None:
        if self.address:
            self._heap.retire(self.address, self._written)
            self.address = 0

    def _take(self, names: Mapping[int, bytes]) -> None:
        fresh = []
        for row, name in names.items():
            if self._names.pop(name, None) != row:
                fresh.append((name, row))
            self._names[name] = row  # the newest name of a row comes last
        if (self._used + len(fresh)) * 2 >= len(self._table):
            self._rebuild()
        else:
            self._insert(fresh)

    def _insert(self, entries: Iterable[tuple[bytes, int]]) -> None:
        table, mask = self._table, self.mask
        for name, row in entries:
            slot = zlib.crc32(name) & mask
            while table[slot]:
                slot = (slot + 1) & mask
            table[slot] = row + 1
            self._used += 1

    def _rebuild(self) -> None:
        # A row has one name: only its newest is kept.
        newest = {row: name for name, row in self._names.items()}
        self._names = {name: row for row, name in newest.items()}
        self._table = array("I", bytes(4 * max(64, 1 << (len(self._names) * 4 - 1).bit_length())))
        self._used = 0
        self._insert(self._names.items())
