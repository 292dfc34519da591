"""Nodes as encoded objects: one row per node, with a generation per change."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from kubewasp.k8s.codec import encode
from kubewasp.k8s.objects import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

# Counted for all clusters together: caches by row and generation may serve several clusters.
_generations = itertools.count(1)


class Nodes:
    """A changing set of nodes.

    A node keeps its row until it is removed; another node may reuse the row. Every change moves `generation`, and
    `changed_since` lists the changed rows, newest first, without a scan of all rows.
    """

    def __init__(self, manifests: Iterable[Mapping[str, object]] = ()) -> None:
        self.generation = 0
        self._rows: dict[str, int] = {}
        self._names: list[str | None] = []
        self._objects: list[bytes] = []
        self._free: list[int] = []
        self._changes: dict[int, int] = {}
        self._dense = True
        for manifest in manifests:
            self.put(manifest)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __contains__(self, name: str) -> bool:
        return name in self._rows

    @property
    def row_count(self) -> int:
        """Number of rows, including rows without a node."""
        return len(self._names)

    @property
    def free_rows(self) -> list[int]:
        """Rows without a node; the last one is used next."""
        return list(self._free)

    @property
    def is_dense(self) -> bool:
        """Whether the nodes in the order of their addition are the rows 0, 1, 2 …"""
        return self._dense and len(self._rows) == len(self._names)

    def put(self, manifest: Mapping[str, object]) -> int:
        """Adds or replaces a node given as a manifest; returns its row."""
        encoded = encode("Node", manifest)
        name = name_of(manifest)
        if not name:
            raise ValueError("metadata.name: a node needs a name")
        return self.put_encoded(name, encoded)

    def put_encoded(self, name: str, encoded: bytes) -> int:
        """Adds or replaces a node given as protobuf. Equal bytes are no change."""
        row = self._rows.get(name)
        if row is None:
            row = self._free.pop() if self._free else len(self._names)
            if row == len(self._names):
                self._names.append(None)
                self._objects.append(b"")
            self._rows[name] = row
            self._names[row] = name
        elif self._objects[row] == encoded:
            return row
        self._objects[row] = encoded
        self._changed(row)
        return row

    def remove(self, name: str) -> None:
        row = self._rows.pop(name)
        self._names[row] = None
        self._objects[row] = b""
        self._free.append(row)
        self._dense = False
        self._changed(row)

    def row(self, name: str) -> int | None:
        return self._rows.get(name)

    def name(self, row: int) -> str | None:
        return self._names[row]

    def encoded(self, row: int) -> bytes:
        return self._objects[row]

    def names_of(self, rows: Iterable[int]) -> list[str | None]:
        names = self._names
        return [names[row] for row in rows]

    def all_encoded(self, rows: Iterable[int]) -> list[bytes]:
        objects = self._objects
        return [objects[row] for row in rows]

    def rows(self) -> NDArray[np.int64]:
        """The rows with a node, in the order of addition."""
        return np.fromiter(self._rows.values(), dtype=np.int64, count=len(self._rows))

    def generation_of(self, row: int) -> int:
        """The generation of the last change of the row."""
        return self._changes[row]

    def generations_of(self, rows: Iterable[int]) -> list[int]:
        changes = self._changes
        return [changes[row] for row in rows]

    def changed_since(self, generation: int) -> Iterator[int]:
        for row, changed in reversed(self._changes.items()):
            if changed <= generation:
                return
            yield row

    def _changed(self, row: int) -> None:
        self.generation = next(_generations)
        self._changes.pop(row, None)
        self._changes[row] = self.generation
