"""Images of nodes in the shared memory, for `nodeImageStates`.

Kept for guests that import it. There is a table entry per image and a list of ids per row: a node that gains an image
changes one counter, not the answers for all nodes with that image.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from kubewasp.k8s.schema import message_class
from kubewasp.wasm.core.adapter_layout import IMAGE, IMAGE_LIST_IDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kubewasp.wasm.core.shared_heap import SharedHeap


class ImageTable:
    """The images of one `Nodes`."""

    def __init__(self, heap: SharedHeap) -> None:
        self._heap = heap
        self._ids: dict[str, int] = {}
        self._free: list[int] = []
        self._entries: NDArray[np.void] = np.zeros(64, IMAGE)
        self._names: list[str] = []
        self._rows: dict[int, tuple[list[int], int]] = {}
        self._dirty = True
        self._published = (0, 0)

    @property
    def address(self) -> int:
        return self._published[0]

    def replace(self, row: int, encoded_node: bytes) -> int:
        """Sets the images of a node; returns the address of its list."""
        self.remove(row)
        node: Any = message_class("core.v1.Node").FromString(encoded_node)
        sizes = {name: image.sizeBytes for image in node.status.images for name in image.names}
        ids = [self._id(name, size) for name, size in sorted(sizes.items())]
        for number in ids:
            self._entries[number]["nodes"] += 1
        self._dirty |= bool(ids)
        address = self._heap.place(np.array([len(ids), *ids], np.uint32).tobytes())
        self._rows[row] = (ids, address)
        return address

    def remove(self, row: int) -> None:
        ids, address = self._rows.pop(row, ([], 0))
        for number in ids:
            self._entries[number]["nodes"] -= 1
            if not self._entries[number]["nodes"]:
                self._drop(number)
        self._dirty |= bool(ids)
        if address:
            self._heap.retire(address, IMAGE_LIST_IDS + 4 * len(ids))

    def publish(self) -> None:
        if not self._dirty:
            return
        content = self._entries[: len(self._names)].tobytes()
        if self._published[0]:
            self._heap.retire(*self._published)
        self._published = (self._heap.place(content), len(content))
        self._dirty = False

    def release(self) -> None:
        for row in list(self._rows):
            self.remove(row)
        if self._published[0]:
            self._heap.retire(*self._published)
        self._published = (0, 0)

    def _id(self, name: str, size: int) -> int:
        number = self._ids.get(name)
        if number is None:
            if self._free:
                number = self._free.pop()
                self._names[number] = name
            else:
                number = len(self._names)
                self._names.append(name)
                if number == len(self._entries):
                    self._entries = np.concatenate([self._entries, np.zeros(number, IMAGE)])
            self._ids[name] = number
            text = orjson.dumps(name)
            self._entries[number] = (self._heap.place(text) | len(text) << 32, max(size, 0), 0)
        return number

    def _drop(self, number: int) -> None:
        """Removes an image that no node has any more; it may return with another size."""
        place = int(self._entries[number]["name"])
        self._heap.retire(place & 0xFFFFFFFF, place >> 32)
        del self._ids[self._names[number]]
        self._free.append(number)
