"""Keeps the shared memory's picture of the nodes up to date: writes what changed, and nothing else.  HOT PATH.

The adapter reads a *directory*: a header, then 32 bytes a row that say where name, object and images lie. A directory
is never changed once it is in use: a change makes a new one (a copy of some hundred kilobytes), so a call that is under
way on another thread goes on with a consistent picture. Layouts are described in adapter.wat.
"""

from __future__ import annotations

import struct
import weakref
import zlib
from typing import TYPE_CHECKING, cast

import numpy as np

from kubewasp.k8s.varint import leb128
from kubewasp.wasm.images import ImageTable
from kubewasp.wasm.numbers import NodeNumbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kubewasp.cluster.nodes import Nodes
    from kubewasp.cluster.table import NodeTable
    from kubewasp.wasm.heap import SharedHeap
    from kubewasp.wasm.numbers import ResourceIds

_HEADER = struct.Struct("<IIIIIIII")
_ROW = np.dtype([("name", "<u8"), ("node", "<u8"), ("item", "<u8"), ("images", "<u4"), ("unused", "<u4")])
_ITEM_TAG = b"\x12"


def _place(address: int, length: int) -> int:
    return address | length << 32


def _split(place: np.uint64) -> tuple[int, int]:
    """Address and length."""
    return int(place) & 0xFFFFFFFF, int(place) >> 32


class NodeMirror:
    """One `Nodes` as the adapters see it."""

    def __init__(self, heap: SharedHeap, nodes: Nodes, resources: ResourceIds) -> None:
        self._heap = heap
        self._resources = resources
        self._nodes = weakref.ref(nodes)
        self._generation = -1
        self._rows: NDArray[np.void] = np.zeros(0, _ROW)
        self._names: dict[int, str] = {}
        self._list_length = 0
        self._index = NameIndex(heap)
        self._images: ImageTable | None = None
        self._numbers: NodeNumbers | None = None
        self._directory = (0, 0)
        weakref.finalize(nodes, self._release).atexit = False

    @property
    def directory(self) -> int:
        """The address of the newest directory; what is read there stays as it is while a reader is registered."""
        return self._directory[0]

    def shows(self, row: int, name: str) -> bool:
        """Whether that row is known here, and is this node."""
        return self._names.get(row) == name

    def sync(self, *, images: bool = False, table: NodeTable | None = None) -> int:
        """Brings the picture up to date and returns its directory. Unchanged nodes cost nothing.

        With a table, the numbers are part of the picture.
        """
        nodes = cast("Nodes", self._nodes())
        with self._heap.lock:
            if images and self._images is None:
                self._images = ImageTable(self._heap)
                self._generation = -1
            moved = table is not None and self._numbers_of(table).sync()
            if nodes.generation != self._generation:
                self._update(nodes)
            elif moved:
                self._publish_directory()
            return self.directory

    def place_pods(self, row: int) -> None:
        """Brings the pods of a node into the shared memory."""
        with self._heap.lock:
            cast("NodeNumbers", self._numbers).place_pods(row)

    def _numbers_of(self, table: NodeTable) -> NodeNumbers:
        if self._numbers is None or not self._numbers.is_of(table):
            if self._numbers is not None:
                self._numbers.release()
            self._numbers = NodeNumbers(self._heap, table, self._resources)
        return self._numbers

    def _update(self, nodes: Nodes) -> None:
        if nodes.row_count > len(self._rows):
            grown = np.zeros(nodes.row_count, _ROW)
            grown[: len(self._rows)] = self._rows
            self._rows = grown
        changed = list(nodes.changed_since(self._generation))
        # All names first, so that they lie together: a hook that reads every node's name touches few pages.
        for row in changed:
            self._write_name(nodes.name(row), row)
        for row in changed:
            self._write_object(nodes, row)
        self._index.publish()
        if self._images is not None:
            self._images.publish()
        self._publish_directory()
        self._generation = nodes.generation

    def _write_name(self, name: str | None, row: int) -> None:
        if self._names.get(row) == name:
            return
        if self._names.pop(row, None) is not None:
            self._heap.retire(*_split(self._rows[row]["name"]))
        self._rows[row]["name"] = 0
        if name is not None:
            text = name.encode()
            self._names[row] = name
            self._rows[row]["name"] = _place(self._heap.place(text), len(text))
            self._index.add(text, row)

    def _write_object(self, nodes: Nodes, row: int) -> None:
        entry = self._rows[row]
        old = _split(entry["item"])
        if old[0]:
            self._heap.retire(*old)
        self._list_length -= old[1]
        if nodes.name(row) is None:
            entry["node"] = entry["item"] = entry["images"] = 0
            if self._images is not None:
                self._images.remove(row)
            return
        encoded = nodes.encoded(row)
        head = _ITEM_TAG + leb128(len(encoded))
        address = self._heap.place(head + encoded)
        entry["node"] = _place(address + len(head), len(encoded))
        entry["item"] = _place(address, len(head) + len(encoded))
        if self._images is not None:
            entry["images"] = self._images.replace(row, encoded)
        self._list_length += len(head) + len(encoded)

    def _publish_directory(self) -> None:
        images = 0 if self._images is None else self._images.address
        numbers, stride = (0, 0) if self._numbers is None else (self._numbers.address, self._numbers.stride)
        header = _HEADER.pack(
            len(self._rows), self._index.mask, self._index.address, images, self._list_length, numbers, stride, 0
        )
        content = header + self._rows.tobytes()
        address, old = self._heap.place(content), self._directory
        self._directory = (address, len(content))
        if old[0]:
            self._heap.retire(*old)

    def _release(self) -> None:
        with self._heap.lock:
            places = np.concatenate([self._rows["name"], self._rows["item"]])
            for block in [*map(_split, places[places != 0]), self._directory]:
                if block[0]:
                    self._heap.retire(*block)
            self._index.release()
            if self._images is not None:
                self._images.release()
            if self._numbers is not None:
                self._numbers.release()
            self._rows, self._directory = np.zeros(0, _ROW), (0, 0)


class NameIndex:
    """Node name → row, as an open-addressing table of row + 1 keyed by CRC-32. Stale entries are skipped by name."""

    def __init__(self, heap: SharedHeap) -> None:
        self._heap = heap
        self._names: dict[bytes, int] = {}
        self._table: NDArray[np.uint32] = np.zeros(64, np.uint32)
        self._used = 0
        self._dirty = True
        self.address = 0

    @property
    def mask(self) -> int:
        return len(self._table) - 1

    def add(self, name: bytes, row: int) -> None:
        known = self._names.pop(name, None)
        self._names[name] = row  # the newest name of a row stands last
        if known == row:
            return
        self._dirty = True
        if self._used * 2 >= len(self._table):
            self._rebuild()
        else:
            self._insert(name, row)

    def publish(self) -> None:
        if not self._dirty:
            return
        content = self._table.tobytes()
        self.release()
        self.address = self._heap.place(content)
        self._dirty = False

    def release(self) -> None:
        if self.address:
            self._heap.retire(self.address, self._table.nbytes)
            self.address = 0

    def _insert(self, name: bytes, row: int) -> None:
        slot = zlib.crc32(name) & self.mask
        while self._table[slot]:
            slot = (slot + 1) & self.mask
        self._table[slot] = row + 1
        self._used += 1

    def _rebuild(self) -> None:
        # A row has one name: of those that had it before, only the newest is kept.
        newest = {row: name for name, row in self._names.items()}
        self._names = {name: row for row, name in newest.items()}
        self.release()
        self._table = np.zeros(max(64, 1 << (len(self._names) * 4 - 1).bit_length()), np.uint32)
        self._used = 0
        for name, row in self._names.items():
            self._insert(name, row)
