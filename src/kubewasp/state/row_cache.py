"""Cache of arrays derived from the node table, updated for changed rows only.  HOT PATH (guard: make counts)."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kubewasp.state.columns import read_only

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from numpy.typing import NDArray

    from kubewasp.state.node_table import NodeTable

    Values = NDArray[Any]

Value = TypeVar("Value", bound=np.generic)
_FEW = 8  # rows for which plain numbers are faster than arrays


class RowCache:
    """Arrays with one value per row, by key."""

    _MOST = 512

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        # Writable values, their read-only view, and the generation that they are of.
        self._entries: OrderedDict[Hashable, tuple[Values, Values, int]] = OrderedDict()

    def get(
        self,
        key: Hashable,
        compute: Callable[[NDArray[np.int64]], NDArray[Value]],
        *,
        one: Callable[[int], Any] | None = None,
        of_nodes: bool = False,
    ) -> NDArray[Value]:
        """`compute(rows)` for every row, cached under the key; read-only.

        `compute` may depend on those rows and on the key only. `one(row)` computes the same for a single row: arrays
        are slow for the one or two rows that change from pod to pod. `of_nodes` declares that the values depend on
        nodes only, not on their pods.
        """
        source = self._table.objects if of_nodes else self._table
        known = self._entries.get(key)
        if known is None or len(known[0]) != self._table.capacity:
            values = self._fresh(compute)
            view = read_only(values)
        else:
            values, view, generation = known
            if generation != source.generation:
                values = self._refreshed(values, source.changed_since(generation), compute, one)
                if values is not known[0]:
                    view = read_only(values)
        self._entries[key] = (values, view, source.generation)
        self._entries.move_to_end(key)
        if len(self._entries) > self._MOST:
            self._entries.popitem(last=False)
        return view

    def forget(self, owners: Iterable[object]) -> None:
        """Drops the arrays of owners that are out of use, such as plugins. Keys are tuples that begin with theirs."""
        ended = {id(owner) for owner in owners}
        for key in [key for key in self._entries if isinstance(key, tuple) and key and id(key[0]) in ended]:
            del self._entries[key]

    def _fresh(self, compute: Callable[[NDArray[np.int64]], NDArray[Value]]) -> NDArray[Value]:
        rows = self._table.order()
        found = compute(rows)
        values = np.zeros(self._table.capacity, found.dtype)
        values[rows] = found
        return values

    def _refreshed(
        self,
        values: NDArray[Value],
        changed: Iterator[int],
        compute: Callable[[NDArray[np.int64]], NDArray[Value]],
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
            some = np.array(rows, np.int64)
            values[some] = compute(some)
        return values
