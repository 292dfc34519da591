"""Node changes as lines of a request to a component.  HOT PATH (guard: make counts).

sdk/wit/README.md describes the lines. The JSON of a Node object is made once for all components.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import orjson

from kubewasp.k8s.codec import decode
from kubewasp.k8s.resources import CPU, MEMORY, Resources, allocatable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_objects import Nodes
    from kubewasp.state.node_table import NodeTable

_MOST_LISTS = 8


class NodeTexts:
    """Lines of the Node objects of one `Nodes`, made on first use and after a change."""

    def __init__(self) -> None:
        self._lines: dict[int, tuple[int, str, str]] = {}
        self._lock = threading.Lock()

    def lines(self, nodes: Nodes, row: int) -> tuple[str, str]:
        """The lines of the object, and the line with its numbers (for use without a table)."""
        generation = nodes.generation_of(row)
        with self._lock:
            known = self._lines.get(row)
            if known is None or known[0] != generation:
                known = self._lines[row] = (generation, *_object_lines(nodes.encoded(row)))
            return known[1:]


_texts: weakref.WeakKeyDictionary[Nodes, NodeTexts] = weakref.WeakKeyDictionary()
_texts_lock = threading.Lock()


def node_texts(nodes: Nodes) -> NodeTexts:
    with _texts_lock:
        texts = _texts.get(nodes)
        if texts is None:
            texts = _texts[nodes] = NodeTexts()
        return texts


class NodeView:
    """One instance's view of the nodes: their names, the generations it has seen, and known lists of rows."""

    def __init__(self, *, with_pods: bool) -> None:
        self._with_pods = with_pods
        self._nodes: weakref.ref[Nodes] | None = None
        self._table: weakref.ref[NodeTable] | None = None
        self._object_generation = self._table_generation = -1
        self._names: dict[int, str] = {}
        self._pods: dict[int, dict[str, Pod]] = {}
        self._lists: OrderedDict[bytes, int] = OrderedDict()

    def changes(self, nodes: Nodes, table: NodeTable | None) -> Iterator[str]:
        """Texts of one or more lines with all changes. They count as sent once the iterator is exhausted.

        The lines of a row are one text: a request must have them together.
        """
        if self._nodes is None or self._nodes() is not nodes or _referent(self._table) is not table:
            yield from self._start_over(nodes, table)
        if nodes.generation == self._object_generation and (
            table is None or table.generation == self._table_generation
        ):
            return
        objects = list(nodes.changed_since(self._object_generation))
        rows = dict.fromkeys(objects, True)
        if table is not None:
            rows = dict.fromkeys(table.changed_since(self._table_generation), False) | rows
        object_generation, table_generation = nodes.generation, 0 if table is None else table.generation
        texts = node_texts(nodes)
        for row, with_object in rows.items():
            lines = list(self._row(nodes, table, texts, row, with_object=with_object))
            if lines:
                yield "\n".join(lines)
        self._object_generation, self._table_generation = object_generation, table_generation

    def list_number(self, rows: NDArray[np.int64]) -> tuple[int, bool]:
        """The number of a list of rows, and whether it must be sent: the instance keeps recent ones."""
        key = rows.tobytes()
        number = self._lists.get(key)
        if number is not None:
            self._lists.move_to_end(key)
            return number, False
        number = len(self._lists) if len(self._lists) < _MOST_LISTS else self._lists.popitem(last=False)[1]
        self._lists[key] = number
        return number, True

    def _start_over(self, nodes: Nodes, table: NodeTable | None) -> Iterator[str]:
        if self._nodes is not None:
            yield "z "
        self._nodes, self._table = weakref.ref(nodes), None if table is None else weakref.ref(table)
        self._object_generation = self._table_generation = -1
        self._names, self._pods = {}, {}
        self._lists.clear()

    def _row(
        self, nodes: Nodes, table: NodeTable | None, texts: NodeTexts, row: int, *, with_object: bool
    ) -> Iterator[str]:
        name = nodes.name(row)
        if name is None:
            if self._names.pop(row, None) is not None:
                self._pods.pop(row, None)
                yield f"x {row}"
            return
        if self._names.get(row) != name:
            self._names[row] = name
            self._pods.pop(row, None)
            with_object = True
        yield f"n {row} {orjson.dumps(name).decode()}"
        if with_object:
            object_lines, own_numbers = texts.lines(nodes, row)
            yield object_lines
            if table is None:
                yield own_numbers
        if table is not None:
            yield _numbers(table, row)
            if self._with_pods:
                yield from self._pod_lines(row, list(table.pods_on[row].items()))

    def _pod_lines(self, row: int, there: Iterable[tuple[str, Pod]]) -> Iterator[str]:
        known, now = self._pods.get(row, {}), dict(there)
        for uid in known:
            if uid not in now:
                yield f"d {orjson.dumps(uid).decode()}"
        for uid, pod in now.items():
            if known.get(uid) is not pod:
                yield f"a {orjson.dumps(uid).decode()} {pod_text(pod.encoded)}"
        self._pods[row] = now


def pod_text(encoded: bytes) -> str:
    """A pod as one line of JSON."""
    return json_line(decode("Pod", encoded))


def json_line(manifest: Any) -> str:
    """An object as one line of JSON, without managed fields."""
    metadata = manifest.get("metadata")
    if metadata and "managedFields" in metadata:
        manifest = manifest | {"metadata": {k: v for k, v in metadata.items() if k != "managedFields"}}
    return orjson.dumps(manifest, default=str).decode()


def _object_lines(encoded: bytes) -> tuple[str, str]:
    manifest = decode("Node", encoded)
    metadata, status = manifest.get("metadata") or {}, manifest.get("status") or {}
    labels, images = metadata.pop("labels", None) or {}, status.pop("images", None) or []
    numbers, most_pods = allocatable(status)
    lines = f"l {orjson.dumps(labels).decode()}\ni {orjson.dumps(images).decode()}\no {json_line(manifest)}"
    return lines, f"r [0,0,0,{most_pods},{_resources(numbers)},{{}}]"


def _resources(amounts: Resources) -> str:
    named = {"cpu": amounts.cpu, "memory": amounts.memory, "ephemeral-storage": amounts.ephemeral}
    return orjson.dumps(named | dict(amounts.scalars)).decode()


def _numbers(table: NodeTable, row: int) -> str:
    counts = [table.non_zero[CPU], table.non_zero[MEMORY], table.pod_count, table.max_pods]
    amounts = [
        {name: amount for name, column in list(columns.items()) if (amount := int(column[row]))}
        for columns in (table.allocatable, table.requested)
    ]
    return "r " + orjson.dumps([*(int(column[row]) for column in counts), *amounts]).decode()


def _referent(reference: weakref.ref[NodeTable] | None) -> NodeTable | None:
    return None if reference is None else reference()
