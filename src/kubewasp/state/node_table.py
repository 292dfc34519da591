"""The cluster as a table: one row a node, one numpy column for each thing that plugins ask of all nodes.  HOT PATH.

Guarded by `make counts`. Rows are updated in place when a node or a pod changes. What plugins derive from rows they
keep in a `RowCache`, which looks again only at rows that changed.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kubewasp.k8s.codec import decode
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.resources import CPU, EPHEMERAL, MEMORY
from kubewasp.state.node_objects import Nodes
from kubewasp.state.pod_index import PodIndex
from kubewasp.state.volume_index import VolumeIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import HostPort, Pod
    from kubewasp.k8s.resources import Resources
    from kubewasp.k8s.taints import Taint

Value = TypeVar("Value", bound=np.generic)
_MINIMUM = 16
_generations = itertools.count(1)  # of all tables together, as in nodes.py
ABSENT = 0
_FEW = 8  # rows for which plain numbers are faster than arrays


class LabelColumn:
    """The values of one label: a number a row, 0 where the node lacks it; `values[n]` is the text of number n."""

    def __init__(self, capacity: int) -> None:
        self.ids: NDArray[np.int32] = np.zeros(capacity, np.int32)
        self.values: list[str] = [""]
        self._numbers: dict[str, int] = {}

    def set(self, row: int, value: str | None) -> None:
        self.ids[row] = ABSENT if value is None else self.number(value)

    def find(self, value: str) -> int:
        """The number of a value; -1 if no node has had it."""
        return self._numbers.get(value, -1)

    def number(self, value: str) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self.values)
            self.values.append(value)
        return number


class NodeTable:
    """All nodes and the pods on them. Written by one thread."""

    def __init__(self, objects: Nodes | None = None) -> None:
        self.objects = Nodes() if objects is None else objects
        self.generation = 0
        self._followed = self.objects.generation
        self.nodes: list[Node | None] = []
        self.pods_on: list[dict[str, Pod]] = []
        self.pods = PodIndex()
        self.volumes = VolumeIndex()
        self.images: dict[str, tuple[int, set[int]]] = {}
        self.image_generation = 0
        self.ports: list[dict[HostPort, int]] = []
        self.taint_sets: list[tuple[Taint, ...]] = [()]
        self._taint_numbers: dict[tuple[Taint, ...], int] = {(): 0}
        self._capacity = 0
        self._labels: dict[str, LabelColumn] = {}
        self._changes: OrderedDict[int, int] = OrderedDict()
        self._zones: dict[tuple[str, str], dict[int, None]] = {}
        self._order: NDArray[np.int32] | None = None
        self._homeless: dict[str, dict[str, Pod]] = {}
        empty = np.zeros(0, np.int64)
        self.allocatable: dict[str, NDArray[np.int64]] = dict.fromkeys((CPU, MEMORY, EPHEMERAL), empty)
        self.requested: dict[str, NDArray[np.int64]] = dict.fromkeys((CPU, MEMORY, EPHEMERAL), empty)
        self.non_zero: dict[str, NDArray[np.int64]] = dict.fromkeys((CPU, MEMORY), empty)
        self.max_pods = empty
        self.pod_count = empty
        self.taint_ids: NDArray[np.int32] = np.zeros(0, np.int32)
        self.is_unschedulable: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.cache = RowCache(self)

    @classmethod
    def of(cls, nodes: Nodes) -> NodeTable:
        """A table over nodes that are there already, without pods; it does not follow their changes."""
        table = cls(nodes)
        for row in range(nodes.row_count):
            table._add_row()
            if nodes.name(row) is not None:
                encoded = nodes.encoded(row)
                table.put_node(parse_node(decode("Node", encoded), encoded))
        return table

    def __len__(self) -> int:
        return len(self.objects)

    @property
    def is_behind(self) -> bool:
        """Whether nodes were changed other than through this table: it does not know of it."""
        return self.objects.generation != self._followed

    @property
    def capacity(self) -> int:
        return self._capacity

    # ------------------------------------------------------------------ asking

    def row(self, name: str) -> int | None:
        return self.objects.row(name)

    def node(self, row: int) -> Node:
        node = self.nodes[row]
        if node is None:
            raise LookupError(f"row {row} has no node")
        return node

    def order(self) -> NDArray[np.int32]:
        """All rows with a node, in the order nodes are visited: one of each zone in turn."""
        if self._order is None:
            turns = [list(rows) for rows in self._zones.values() if rows]
            longest = max((len(rows) for rows in turns), default=0)
            merged = [rows[turn] for turn in range(longest) for rows in turns if turn < len(rows)]
            self._order = np.array(merged, np.int32)
        return self._order

    def label(self, key: str) -> LabelColumn:
        """The column of a label; made when first asked for, and kept."""
        column = self._labels.get(key)
        if column is None:
            column = self._labels[key] = LabelColumn(self._capacity)
            for row, node in enumerate(self.nodes):
                if node is not None:
                    column.set(row, node.labels.get(key))
        return column

    def allocatable_of(self, resource: str) -> NDArray[np.int64]:
        return self._column(self.allocatable, resource)

    def requested_of(self, resource: str) -> NDArray[np.int64]:
        return self._column(self.requested, resource)

    def generation_of(self, row: int) -> int:
        """When that row's node or pods last changed."""
        return self._changes.get(row, 0)

    def generations_of(self, rows: Iterable[int]) -> list[int]:
        changes = self._changes
        return [changes.get(row, 0) for row in rows]

    def changed_since(self, generation: int) -> Iterator[int]:
        """Rows whose node or pods changed after that generation, newest first."""
        for row, changed in reversed(self._changes.items()):
            if changed <= generation:
                return
            yield row

    # ------------------------------------------------------------------ nodes

    def put_node(self, node: Node) -> int:
        """Adds a node or takes its new state; returns its row."""
        known = self.objects.row(node.name)
        before = None if known is None else self.nodes[known]
        row = self.objects.put_encoded(node.name, node.encoded)
        self._followed = self.objects.generation
        if row >= len(self.nodes):
            self._add_row()
        self.nodes[row] = node
        self.max_pods[row] = node.max_pods
        self.is_unschedulable[row] = node.is_unschedulable
        self.taint_ids[row] = self._taint_number(node.taints)
        self._set_allocatable(row, node.allocatable)
        for key, column in self._labels.items():
            column.set(row, node.labels.get(key))
        self._move_images(row, before, node)
        self._move_zone(row, before, node)
        self._changed(row)
        for pod in list(self._homeless.pop(node.name, {}).values()):
            self.add_pod(pod)
        return row

    def remove_node(self, name: str) -> None:
        """Takes a node away; its pods wait for it to come back or to be deleted."""
        row = self.objects.row(name)
        if row is None:
            return
        pods = list(self.pods_on[row].values())
        for pod in pods:
            self.remove_pod(pod)
        before = self.nodes[row]
        self._move_images(row, before, None)
        self._move_zone(row, before, None)
        self.nodes[row] = None
        self.objects.remove(name)
        self._followed = self.objects.generation
        self.max_pods[row] = self.taint_ids[row] = 0
        self.is_unschedulable[row] = False
        for columns in (self.allocatable, self.requested, self.non_zero):
            for column in columns.values():
                column[row] = 0
        for label in self._labels.values():
            label.set(row, None)
        self._changed(row)
        if pods:
            self._homeless[name] = {pod.uid: pod for pod in pods}

    # ------------------------------------------------------------------ pods

    def add_pod(self, pod: Pod) -> None:
        """Counts a pod on its node; a pod with the same uid is replaced."""
        row = self.objects.row(pod.node)
        if row is None:
            self._homeless.setdefault(pod.node, {})[pod.uid] = pod
            return
        if pod.uid in self.pods_on[row]:
            self._count(row, self.pods_on[row][pod.uid], -1)
        self.pods_on[row][pod.uid] = pod
        self._count(row, pod, 1)

    def remove_pod(self, pod: Pod) -> None:
        row = self.objects.row(pod.node)
        if row is None:
            waiting = self._homeless.get(pod.node, {})
            waiting.pop(pod.uid, None)
            if not waiting:
                self._homeless.pop(pod.node, None)
            return
        known = self.pods_on[row].pop(pod.uid, None)
        if known is not None:
            self._count(row, known, -1)

    def _count(self, row: int, pod: Pod, sign: int) -> None:
        requests, non_zero = pod.resources.requests, pod.resources.non_zero
        self.requested[CPU][row] += sign * requests.cpu
        self.requested[MEMORY][row] += sign * requests.memory
        self.requested[EPHEMERAL][row] += sign * requests.ephemeral
        for name, amount in requests.scalars.items():
            self._own_column(self.requested, name)[row] += sign * amount
        self.non_zero[CPU][row] += sign * non_zero.cpu
        self.non_zero[MEMORY][row] += sign * non_zero.memory
        self.pod_count[row] += sign
        for port in pod.spec.host_ports:
            used = self.ports[row]
            used[port] = used.get(port, 0) + sign
            if not used[port]:
                del used[port]
        self.pods.count(row, pod, sign)
        if pod.spec.volumes:
            self.volumes.count(row, pod, sign)
        self._changed(row)

    # ------------------------------------------------------------------ inside

    def _add_row(self) -> None:
        self.nodes.append(None)
        self.pods_on.append({})
        self.ports.append({})
        self._grow(len(self.nodes))

    def _changed(self, row: int) -> None:
        self.generation = next(_generations)
        self._changes[row] = self.generation
        self._changes.move_to_end(row)

    def _grow(self, rows: int) -> None:
        if rows <= self._capacity:
            return
        self._capacity = max(_MINIMUM, rows * 2)
        for columns in (self.allocatable, self.requested, self.non_zero):
            for name, column in columns.items():
                columns[name] = _resized(column, self._capacity)
        self.max_pods = _resized(self.max_pods, self._capacity)
        self.pod_count = _resized(self.pod_count, self._capacity)
        self.taint_ids = _resized(self.taint_ids, self._capacity)
        self.is_unschedulable = _resized(self.is_unschedulable, self._capacity)
        for label in self._labels.values():
            label.ids = _resized(label.ids, self._capacity)
        self.pods.grow(self._capacity)
        self.volumes.grow(self._capacity)

    def _column(self, columns: dict[str, NDArray[np.int64]], name: str) -> NDArray[np.int64]:
        found = columns.get(name)
        return np.zeros(self._capacity, np.int64) if found is None else found

    def _own_column(self, columns: dict[str, NDArray[np.int64]], name: str) -> NDArray[np.int64]:
        if name not in columns:
            columns[name] = np.zeros(self._capacity, np.int64)
        return columns[name]

    def _set_allocatable(self, row: int, resources: Resources) -> None:
        for name in resources.scalars:
            self._own_column(self.allocatable, name)
        for name, column in self.allocatable.items():
            column[row] = resources.get(name)

    def _taint_number(self, taints: Sequence[Taint]) -> int:
        key = tuple(taints)
        number = self._taint_numbers.get(key)
        if number is None:
            number = self._taint_numbers[key] = len(self.taint_sets)
            self.taint_sets.append(key)
        return number

    def _move_images(self, row: int, before: Node | None, after: Node | None) -> None:
        """The size of an image is that of the first node to report it, for as long as any node has it."""
        old = {} if before is None else before.images
        new = {} if after is None else after.images
        if old == new:
            return
        self.image_generation += 1
        for name in old:
            _, rows = self.images[name]
            rows.discard(row)
            if not rows:
                del self.images[name]
        for name, size in new.items():
            self.images.setdefault(name, (size, set()))[1].add(row)

    def _move_zone(self, row: int, before: Node | None, after: Node | None) -> None:
        old = None if before is None else before.zone_key
        new = None if after is None else after.zone_key
        if old == new:
            return
        if old is not None:
            del self._zones[old][row]
            if not self._zones[old]:
                del self._zones[old]
        if new is not None:
            self._zones.setdefault(new, {})[row] = None
        self._order = None


class RowCache:
    """Arrays derived from the table, a value a row, brought up to date for the rows that changed."""

    _MOST = 512

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._entries: OrderedDict[Hashable, tuple[NDArray[Any], int]] = OrderedDict()

    def get(
        self,
        key: Hashable,
        compute: Callable[[NDArray[np.int32]], NDArray[Value]],
        *,
        one: Callable[[int], Any] | None = None,
        of_nodes: bool = False,
    ) -> NDArray[Value]:
        """`compute(rows)` for every row, remembered under the key; not to be written to.

        It may look at nothing but those rows and what the key stands for. `one(row)` may compute the same for a single
        row: arrays are slow for the one or two rows that change from pod to pod. `of_nodes` says that only nodes are
        looked at, not pods: then pods that come and go do not matter.
        """
        source = self._table.objects if of_nodes else self._table
        known = self._entries.get(key)
        if known is None or len(known[0]) != self._table.capacity:
            values = self._fresh(compute)
        else:
            values, generation = known
            if generation != source.generation:
                values = self._refreshed(values, source.changed_since(generation), compute, one)
        self._entries[key] = (values, source.generation)
        self._entries.move_to_end(key)
        if len(self._entries) > self._MOST:
            self._entries.popitem(last=False)
        return values

    def _fresh(self, compute: Callable[[NDArray[np.int32]], NDArray[Value]]) -> NDArray[Value]:
        rows = self._table.order()
        found = compute(rows)
        values = np.zeros(self._table.capacity, found.dtype)
        values[rows] = found
        return values

    def _refreshed(
        self,
        values: NDArray[Value],
        changed: Iterator[int],
        compute: Callable[[NDArray[np.int32]], NDArray[Value]],
        one: Callable[[int], Any] | None,
    ) -> NDArray[Value]:
        nodes = self._table.nodes
        rows = [row for row in changed if nodes[row] is not None]
        if one is not None and len(rows) <= _FEW:
            for row in rows:
                values[row] = one(row)
        elif 2 * len(rows) > len(self._table):
            return self._fresh(compute)
        elif rows:
            some = np.array(rows, np.int32)
            values[some] = compute(some)
        return values


def _resized(column: NDArray[Value], capacity: int) -> NDArray[Value]:
    grown = np.zeros(capacity, column.dtype)
    grown[: len(column)] = column
    return grown
