"""Node table: one row per node, one numpy column per property of nodes and their pods.  HOT PATH (guard: make counts).

Rows are updated in place when a node or a pod changes; columns are read-only for readers. Plugins keep derived arrays
in the table's `RowCache`, which recomputes changed rows only.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from kubewasp.k8s.codec import decode
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.resources import CPU, EPHEMERAL, MEMORY
from kubewasp.state.columns import Column, LabelColumn, ResourceColumns
from kubewasp.state.node_objects import Nodes
from kubewasp.state.pod_index import PodIndex
from kubewasp.state.row_cache import RowCache
from kubewasp.state.volume_index import VolumeIndex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import HostPort, Pod
    from kubewasp.k8s.taints import Taint

_MINIMUM = 16
_generations = itertools.count(1)  # of all tables together, as in node_objects.py


class ImageIndex:
    """Sizes of container images and the rows that have them. `generation` moves with every change."""

    def __init__(self) -> None:
        self.by_name: dict[str, tuple[int, set[int]]] = {}
        self.generation = 0

    def move(self, row: int, before: Node | None, after: Node | None) -> None:
        """The size of an image is that of the first node to report it, for as long as any node has it."""
        old = {} if before is None else before.images
        new = {} if after is None else after.images
        if old == new:
            return
        self.generation += 1
        for name in old:
            _, rows = self.by_name[name]
            rows.discard(row)
            if not rows:
                del self.by_name[name]
        for name, size in new.items():
            self.by_name.setdefault(name, (size, set()))[1].add(row)


class ZoneOrder:
    """The order in which nodes are visited: one node of each zone in turn."""

    def __init__(self) -> None:
        self._zones: dict[tuple[str, str], dict[int, None]] = {}
        self._rows: NDArray[np.int64] | None = None

    def rows(self) -> NDArray[np.int64]:
        if self._rows is None:
            turns = [list(rows) for rows in self._zones.values() if rows]
            longest = max((len(rows) for rows in turns), default=0)
            merged = [rows[turn] for turn in range(longest) for rows in turns if turn < len(rows)]
            self._rows = np.array(merged, np.int64)
            self._rows.setflags(write=False)
        return self._rows

    def zones(self) -> list[list[int]]:
        return [list(rows) for rows in self._zones.values()]

    def arrange(self, zones: Sequence[Sequence[int]]) -> None:
        """Puts zones and the rows in them into that order."""
        known = {frozenset(rows): zone for zone, rows in self._zones.items()}
        self._zones = {known[frozenset(rows)]: dict.fromkeys(rows) for rows in zones}
        self._rows = None

    def move(self, row: int, before: Node | None, after: Node | None) -> None:
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
        self._rows = None


class NodeTable:
    """All nodes and the pods on them. Written by one thread.

    `objects` are the encoded nodes, `nodes[row]` and `pods_on[row]` the parsed ones.
    """

    def __init__(self, objects: Nodes | None = None) -> None:
        self.objects = Nodes() if objects is None else objects
        self.generation = 0
        self._followed = self.objects.generation
        self.nodes: list[Node | None] = []
        self.pods_on: list[dict[str, Pod]] = []
        self.pods = PodIndex()
        self.volumes = VolumeIndex()
        self.images = ImageIndex()
        self.ports: list[dict[HostPort, int]] = []
        self.taint_sets: list[tuple[Taint, ...]] = [()]
        self._taint_numbers: dict[tuple[Taint, ...], int] = {(): 0}
        self._capacity = 0
        self._labels: dict[str, LabelColumn] = {}
        self._changes: OrderedDict[int, int] = OrderedDict()
        self._order = ZoneOrder()
        self._orphans: dict[str, dict[str, Pod]] = {}
        self._allocatable = ResourceColumns((CPU, MEMORY, EPHEMERAL))
        self._requested = ResourceColumns((CPU, MEMORY, EPHEMERAL))
        self._non_zero = ResourceColumns((CPU, MEMORY))
        self._max_pods, self._pod_count = Column(np.int64), Column(np.int64)
        self._taint_ids, self._is_unschedulable = Column(np.int32), Column(np.bool_)
        self.allocatable = self._allocatable.views
        self.requested = self._requested.views
        self.non_zero = self._non_zero.views
        self.max_pods, self.pod_count = self._max_pods.view, self._pod_count.view
        self.taint_ids, self.is_unschedulable = self._taint_ids.view, self._is_unschedulable.view
        self.cache = RowCache(self)

    @classmethod
    def of(cls, nodes: Nodes) -> NodeTable:
        """A table over existing nodes, without pods; it does not follow their changes."""
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
        """Whether `objects` changed other than through this table."""
        return self.objects.generation != self._followed

    @property
    def capacity(self) -> int:
        return self._capacity

    # ------------------------------------------------------------------ reading

    def row(self, name: str) -> int | None:
        return self.objects.row(name)

    def node(self, row: int) -> Node:
        node = self.nodes[row]
        if node is None:
            raise LookupError(f"row {row} has no node")
        return node

    def order(self) -> NDArray[np.int64]:
        """All rows with a node, in the order nodes are visited: one node of each zone in turn."""
        return self._order.rows()

    @property
    def visits(self) -> ZoneOrder:
        return self._order

    @property
    def orphans(self) -> list[Pod]:
        """Pods whose node is unknown."""
        return [pod for pods in self._orphans.values() for pod in pods.values()]

    def label(self, key: str) -> LabelColumn:
        """The column of a label, created on first use."""
        column = self._labels.get(key)
        if column is None:
            column = self._labels[key] = LabelColumn(self._capacity)
            for row, node in enumerate(self.nodes):
                if node is not None:
                    column.set(row, node.labels.get(key))
        return column

    def allocatable_of(self, resource: str) -> NDArray[np.int64]:
        return self._allocatable.amounts(resource)

    def requested_of(self, resource: str) -> NDArray[np.int64]:
        return self._requested.amounts(resource)

    def generation_of(self, row: int) -> int:
        """The generation of the last change of the row's node or pods."""
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
        """Adds or replaces a node; returns its row."""
        known = self.objects.row(node.name)
        before = None if known is None else self.nodes[known]
        row = self.objects.put_encoded(node.name, node.encoded)
        self._followed = self.objects.generation
        if row >= len(self.nodes):
            self._add_row()
        self.nodes[row] = node
        self._max_pods.own[row] = node.max_pods
        self._is_unschedulable.own[row] = node.is_unschedulable
        self._taint_ids.own[row] = self._taint_number(node.taints)
        self._allocatable.set_row(row, node.allocatable)
        for key, column in self._labels.items():
            column.set(row, node.labels.get(key))
        self.images.move(row, before, node)
        self._order.move(row, before, node)
        self._changed(row)
        for pod in list(self._orphans.pop(node.name, {}).values()):
            self.add_pod(pod)
        return row

    def remove_node(self, name: str) -> None:
        """Removes a node. Its pods are kept until the node returns or they are deleted."""
        row = self.objects.row(name)
        if row is None:
            return
        pods = list(self.pods_on[row].values())
        for pod in pods:
            self.remove_pod(pod)
        before = self.nodes[row]
        self.images.move(row, before, None)
        self._order.move(row, before, None)
        self.nodes[row] = None
        self.objects.remove(name)
        self._followed = self.objects.generation
        self._max_pods.own[row] = self._taint_ids.own[row] = 0
        self._is_unschedulable.own[row] = False
        for columns in (self._allocatable, self._requested, self._non_zero):
            columns.clear_row(row)
        for label in self._labels.values():
            label.set(row, None)
        self._changed(row)
        if pods:
            self._orphans[name] = {pod.uid: pod for pod in pods}

    # ------------------------------------------------------------------ pods

    def add_pod(self, pod: Pod) -> None:
        """Counts a pod on its node; a pod with the same uid is replaced."""
        row = self.objects.row(pod.node)
        if row is None:
            self._orphans.setdefault(pod.node, {})[pod.uid] = pod
            return
        if pod.uid in self.pods_on[row]:
            self._count(row, self.pods_on[row][pod.uid], -1)
        self.pods_on[row][pod.uid] = pod
        self._count(row, pod, 1)

    def remove_pod(self, pod: Pod) -> None:
        row = self.objects.row(pod.node)
        if row is None:
            waiting = self._orphans.get(pod.node, {})
            waiting.pop(pod.uid, None)
            if not waiting:
                self._orphans.pop(pod.node, None)
            return
        known = self.pods_on[row].pop(pod.uid, None)
        if known is not None:
            self._count(row, known, -1)

    def _count(self, row: int, pod: Pod, sign: int) -> None:
        requests, non_zero = pod.resources.requests, pod.resources.non_zero
        requested, counted = self._requested.own, self._non_zero.own
        requested[CPU][row] += sign * requests.cpu
        requested[MEMORY][row] += sign * requests.memory
        requested[EPHEMERAL][row] += sign * requests.ephemeral
        for name, amount in requests.scalars.items():
            self._requested.column(name)[row] += sign * amount
        counted[CPU][row] += sign * non_zero.cpu
        counted[MEMORY][row] += sign * non_zero.memory
        self._pod_count.own[row] += sign
        for port in pod.spec.host_ports:
            used = self.ports[row]
            used[port] = used.get(port, 0) + sign
            if not used[port]:
                del used[port]
        self.pods.count(row, pod, sign)
        if pod.spec.volumes:
            self.volumes.count(row, pod, sign)
        self._changed(row)

    # ------------------------------------------------------------------ columns

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
        for columns in (self._allocatable, self._requested, self._non_zero):
            columns.grow(self._capacity)
        self.max_pods = self._max_pods.grow(self._capacity)
        self.pod_count = self._pod_count.grow(self._capacity)
        self.taint_ids = self._taint_ids.grow(self._capacity)
        self.is_unschedulable = self._is_unschedulable.grow(self._capacity)
        for label in self._labels.values():
            label.grow(self._capacity)
        self.pods.grow(self._capacity)
        self.volumes.grow(self._capacity)

    def _taint_number(self, taints: Sequence[Taint]) -> int:
        key = tuple(taints)
        number = self._taint_numbers.get(key)
        if number is None:
            number = self._taint_numbers[key] = len(self.taint_sets)
            self.taint_sets.append(key)
        return number
