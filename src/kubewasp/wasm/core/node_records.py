"""Node records: numbers of nodes in the shared memory, a record per row, written in place when a row changes.

HOT PATH (guard: make counts). A record holds the place of the row's pods (-1: not written yet) and the answer of
`node_info`: two generations, non-zero requests, and per resource the allocatable and the requested amount. The
scheduling thread writes records between hooks; a hook on another thread may see them change, as any plugin may that
reads nodes after its scheduling cycle.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from typing import TYPE_CHECKING, cast

import numpy as np

from kubewasp.errors import KubewaspError
from kubewasp.k8s.resources import CPU, EPHEMERAL, MEMORY, PODS
from kubewasp.k8s.varint import leb128
from kubewasp.wasm.core.adapter_layout import RECORD

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable
    from kubewasp.wasm.core.shared_heap import SharedHeap

_ITEM_TAG = b"\x12"
_FIXED = len(RECORD.names or ())
_FEW_ROWS = 16
_MOST_NAMES = 1024
_MOST_NAMES_OF_A_GUEST = 64
LONGEST_NAME = 317  # a domain of 253 characters, a slash, and a name of 63


class TooManyResourcesError(KubewaspError):
    """Guests use more resource names than there is room for."""


class ResourceIds:
    """Numbers of resource names, for all guests of an engine. The first four are the same everywhere.

    The number of a name that no guest uses any more goes to the next new name. `version` counts changes of `names`.
    """

    def __init__(self) -> None:
        self.names = [CPU, MEMORY, EPHEMERAL, PODS]
        self.version = 0
        self._ids = {name: number for number, name in enumerate(self.names)}
        self._users = Counter(self.names)
        self._lock = threading.RLock()  # a guest may be freed at any moment, also in `use`

    def use(self, name: str) -> int:
        """The number of a name, until `release`."""
        with self._lock:
            number = self._ids.get(name)
            if number is None:
                number = self._place(name)
            self._users[name] += 1
            return number

    def release(self, names: Collection[str]) -> None:
        with self._lock:
            self._users.subtract(list(names))  # of a mapping, it would subtract the values

    def _place(self, name: str) -> int:
        for number, known in enumerate(self.names):
            if self._users[known] <= 0:
                del self._ids[known], self._users[known]
                self.names[number] = name
                break
        else:
            if len(self.names) >= _MOST_NAMES:
                raise TooManyResourcesError(f"more than {_MOST_NAMES} names of resources were asked for")
            number = len(self.names)
            self.names.append(name)
        self._ids[name] = number
        self.version += 1
        return number


class GuestResources:
    """Resource names of one guest: bounded in number and length, as all guests share the room; freed with the guest."""

    def __init__(self, ids: ResourceIds) -> None:
        self._ids = ids
        self._used: dict[str, int] = {}
        weakref.finalize(self, ids.release, self._used).atexit = False

    def number(self, name: str) -> tuple[int, bool]:
        """The number of a name, and whether it is new to the engine."""
        known = self._used.get(name)
        if known is not None:
            return known, False
        if len(self._used) >= _MOST_NAMES_OF_A_GUEST:
            raise TooManyResourcesError(f"resource: more than {_MOST_NAMES_OF_A_GUEST} names were asked for")
        before = self._ids.version
        number = self._used[name] = self._ids.use(name)
        return number, self._ids.version != before


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
        self._version = -1
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
        moved = rows > len(self._records) or self._ids.version != self._version
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
        self._version = self._ids.version
        width = _FIXED + 2 * len(self._ids.names)
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
