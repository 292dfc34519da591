"""Node records: numbers of nodes in the shared memory, a record per row, written in place when a row changes.

HOT PATH (guard: make counts). A record holds the place of the row's pods (-1: not written yet) and the answer of
`node_info`: two generations, non-zero requests, and per resource the allocatable and the requested amount. The
scheduling thread writes records between hooks; a hook on another thread may see them change, as any plugin may that
reads nodes after its scheduling cycle.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, cast

import numpy as np

from kubewasp.errors import KubewaspError
from kubewasp.k8s.resources import CPU, EPHEMERAL, MEMORY, PODS
from kubewasp.k8s.varint import leb128
from kubewasp.wasm.core.adapter_layout import RECORD

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable
    from kubewasp.wasm.core.shared_heap import SharedHeap

_ITEM_TAG = b"\x12"
_FIXED = len(RECORD.names or ())
_FEW_ROWS = 16
_MOST_NAMES = 1024
_MOST_NAMES_OF_A_GUEST = 64


class TooManyResourcesError(KubewaspError):
    """Guests use more resource names than there is room for."""


class ResourceIds:
    """Numbers of resource names, for all guests of an engine. The first four are the same everywhere."""

    def __init__(self) -> None:
        self.names = [CPU, MEMORY, EPHEMERAL, PODS]
        self._ids = {name: number for number, name in enumerate(self.names)}

    def id(self, name: str) -> int:
        number = self._ids.get(name)
        if number is None:
            if len(self.names) >= _MOST_NAMES:
                raise TooManyResourcesError(f"more than {_MOST_NAMES} names of resources were asked for")
            number = self._ids[name] = len(self.names)
            self.names.append(name)
        return number


class GuestResources:
    """Resource names of one guest. Their number is bounded, as all guests share the room."""

    def __init__(self, ids: ResourceIds) -> None:
        self._ids = ids
        self._used: set[str] = set()

    def number(self, name: str) -> tuple[int, bool]:
        """The number of a name, and whether it is new to the engine."""
        if len(self._used) >= _MOST_NAMES_OF_A_GUEST and name not in self._used:
            raise TooManyResourcesError(f"resource: more than {_MOST_NAMES_OF_A_GUEST} names were asked for")
        self._used.add(name)
        known = len(self._ids.names)
        number = self._ids.id(name)
        return number, number >= known


def pod_requests(pod: Pod, ids: ResourceIds) -> bytes:
    """The answer of `pod_requests`: non-zero requests of CPU and memory, then a request per resource."""
    asked, non_zero = pod.resources.requests, pod.resources.non_zero
    amounts = [1 if name == PODS else asked.get(name) for name in ids.names]
    return np.array([non_zero.cpu, non_zero.memory, *amounts], "<i8").tobytes()


def pod_list(pods: Iterable[bytes]) -> bytes:
    """Encoded pods as items of a PodList."""
    return b"".join(_ITEM_TAG + leb128(len(pod)) + pod for pod in pods)


class NodeRecords:
    """The records of one node table."""

    def __init__(self, heap: SharedHeap, table: NodeTable, ids: ResourceIds) -> None:
        self._heap = heap
        self._table = weakref.ref(table)
        self._ids = ids
        self._generation = -1
        self._resources = 0
        self._records: NDArray[np.int64] = np.zeros((0, 0), np.int64)
        self.address = 0

    def is_of(self, table: NodeTable) -> bool:
        return self._table() is table

    @property
    def stride(self) -> int:
        """Bytes per row."""
        return 8 * int(self._records.shape[1])

    def sync(self) -> bool:
        """Writes changed rows; returns whether the records have moved."""
        table = cast("NodeTable", self._table())
        rows = table.objects.row_count
        moved = rows > len(self._records) or len(self._ids.names) != self._resources
        if moved:
            room = len(self._records)
            self._move(room if rows <= room else max(rows, 2 * room, 16))
            changed = list(range(rows))
        elif table.generation == self._generation:
            return False
        else:
            changed = list(table.changed_since(self._generation))
        self._write(table, changed)
        self._generation = table.generation
        return moved

    def place_pods(self, row: int) -> int:
        """The place of a node's pods, which are written on the first use after a change."""
        if self._records[row, 0] == -1:
            table = cast("NodeTable", self._table())
            content = pod_list([pod.encoded for pod in list(table.pods_on[row].values())])
            self._records[row, 0] = self._heap.place(content) | len(content) << 32 if content else 0
        return int(self._records[row, 0])

    def _move(self, rows: int) -> None:
        self._release()
        self._resources = len(self._ids.names)
        width = _FIXED + 2 * self._resources
        self.address = self._heap.allocate(8 * rows * width)
        self._records = self._heap.numbers(self.address, rows, width)
        self._records[:, 0] = -1

    def _write(self, table: NodeTable, rows: list[int]) -> None:
        self._heap.bytes_written += self.stride * len(rows)
        if len(rows) <= _FEW_ROWS:
            for row in rows:
                self._write_row(table, row)
            return
        records, listed = self._records, np.array(rows, np.int64)
        for place, column in enumerate(self._columns(table), 3):
            records[listed, place] = 0 if column is None else column[listed]
        self._retire_pods(records[listed, 0])
        records[listed, 0] = -1
        records[listed, 1] = table.objects.generations_of(rows)
        records[listed, 2] = table.generations_of(rows)

    def _write_row(self, table: NodeTable, row: int) -> None:
        """One row: the usual case, of one pod added or removed."""
        record = self._records[row]
        pods = int(record[0])
        if pods > 0:
            self._heap.retire(pods & 0xFFFFFFFF, pods >> 32)
        numbers = [0 if column is None else column[row] for column in self._columns(table)]
        record[:] = [-1, table.objects.generation_of(row), table.generation_of(row), *numbers]

    def _columns(self, table: NodeTable) -> list[NDArray[np.int64] | None]:
        """Columns of a record after the generations; None where no node has or had such a resource."""
        columns: list[NDArray[np.int64] | None] = [table.non_zero[CPU], table.non_zero[MEMORY]]
        for name in self._ids.names:
            if name == PODS:
                columns += [table.max_pods, table.pod_count]
            else:
                columns += [table.allocatable.get(name), table.requested.get(name)]
        return columns

    def _retire_pods(self, places: NDArray[np.int64]) -> None:
        for place in places[places > 0].tolist():
            self._heap.retire(place & 0xFFFFFFFF, place >> 32)

    def _release(self) -> None:
        if self.address:
            self._retire_pods(self._records[:, 0])
            self._heap.retire(self.address, self._records.nbytes)

    def release(self) -> None:
        """Frees all blocks."""
        self._release()
        self.address, self._records = 0, np.zeros((0, 0), np.int64)
