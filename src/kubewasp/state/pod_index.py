"""Which pods lie where, by labels and by affinity: so that a question about 100,000 pods is answered from columns.

Pods with the same namespace and labels are one *kind*; a query is a predicate over kinds whose matching pods are
counted for every row, and kept up to date as pods come and go. Pods with affinity terms are counted by those terms.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from numpy.typing import NDArray

    from kubewasp.k8s.pods import Pod, PodAffinity

_MOST_QUERIES = 512
_PROMOTE = 32


class RowCounts:
    """How many pods there are on which row; a dictionary while they are few, a column when they are many."""

    __slots__ = ("_column", "_few", "_total")

    def __init__(self) -> None:
        self._total = 0
        self._few: dict[int, int] = {}
        self._column: NDArray[np.int32] | None = None

    def add(self, row: int, amount: int, capacity: int) -> None:
        self._total += amount
        if self._column is not None:
            self._column[row] += amount
            return
        count = self._few.get(row, 0) + amount
        if count:
            self._few[row] = count
        else:
            self._few.pop(row, None)
        if len(self._few) > _PROMOTE:
            self._column = np.zeros(capacity, np.int32)
            for known, value in self._few.items():
                self._column[known] = value
            self._few = {}

    def add_to(self, column: NDArray[np.int32]) -> None:
        if self._column is not None:
            column += self._column
        else:
            for row, count in self._few.items():
                column[row] += count

    def grow(self, capacity: int) -> None:
        if self._column is not None:
            grown = np.zeros(capacity, np.int32)
            grown[: len(self._column)] = self._column
            self._column = grown

    def rows(self) -> NDArray[np.int64]:
        """The rows that have any."""
        if self._column is not None:
            return np.flatnonzero(self._column)
        return np.fromiter(self._few, np.int64, len(self._few))

    def of(self, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        if self._column is not None:
            return self._column[rows]
        return np.fromiter((self._few.get(int(row), 0) for row in rows), np.int32, len(rows))

    def __bool__(self) -> bool:
        return self._total > 0


class Kind:
    """All pods of one namespace with the same labels."""

    __slots__ = ("labels", "namespace", "queries", "running", "terminating")

    def __init__(self, namespace: str, labels: Mapping[str, str]) -> None:
        self.namespace = namespace
        self.labels = labels
        self.running = RowCounts()
        self.terminating = RowCounts()
        self.queries: list[Query] = []


class Query:
    """The number of matching pods on each row."""

    __slots__ = ("column", "matches", "with_terminating")

    def __init__(
        self, matches: Callable[[str, Mapping[str, str]], bool], capacity: int, *, with_terminating: bool
    ) -> None:
        self.matches = matches
        self.with_terminating = with_terminating
        self.column: NDArray[np.int32] = np.zeros(capacity, np.int32)


class PodIndex:
    """The pods on all rows, as queries and affinity plugins need them.

    `affinity_version` moves when the keys of `with_affinity` do, not when their counts do.
    """

    def __init__(self) -> None:
        self.with_affinity: dict[PodAffinity, RowCounts] = {}
        self.affinity_version = 0
        self._kinds: dict[tuple[str, int], Kind] = {}
        self._kinds_by_value: dict[tuple[str, frozenset[tuple[str, str]]], Kind] = {}
        self._queries: OrderedDict[Hashable, Query] = OrderedDict()
        self._capacity = 0

    def counts(
        self, key: Hashable, matches: Callable[[str, Mapping[str, str]], bool], *, with_terminating: bool
    ) -> NDArray[np.int32]:
        """The number of pods a row whose namespace and labels match; not to be written to.

        The key stands for the predicate and for whether terminating pods count.
        """
        query = self._queries.get(key)
        if query is None:
            query = self._register(key, matches, with_terminating=with_terminating)
        self._queries.move_to_end(key)
        return query.column

    def count(self, row: int, pod: Pod, sign: int) -> None:
        kind = self._kind(pod)
        counts = kind.terminating if pod.is_terminating else kind.running
        counts.add(row, sign, self._capacity)
        for query in kind.queries:
            if query.with_terminating or not pod.is_terminating:
                query.column[row] += sign
        affinity = pod.spec.pod_affinity
        if affinity is not None:
            known = self.with_affinity.get(affinity)
            if known is None:
                known = self.with_affinity[affinity] = RowCounts()
                self.affinity_version += 1
            known.add(row, sign, self._capacity)
            if sign < 0 and not known:
                del self.with_affinity[affinity]
                self.affinity_version += 1
        if sign < 0 and not kind.running and not kind.terminating:
            self._kinds.pop((kind.namespace, id(kind.labels)), None)
            self._kinds_by_value.pop((kind.namespace, frozenset(kind.labels.items())), None)

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        for query in self._queries.values():
            grown = np.zeros(capacity, np.int32)
            grown[: len(query.column)] = query.column
            query.column = grown
        for counts in self._all_counts():
            counts.grow(capacity)

    def _all_counts(self) -> Iterable[RowCounts]:
        yield from self.with_affinity.values()
        for kind in self._kinds_by_value.values():
            yield kind.running
            yield kind.terminating

    def _kind(self, pod: Pod) -> Kind:
        identity = (pod.namespace, id(pod.labels))
        kind = self._kinds.get(identity)
        if kind is None or kind.labels is not pod.labels:
            value = (pod.namespace, frozenset(pod.labels.items()))
            kind = self._kinds_by_value.get(value)
            if kind is None:
                kind = self._kinds_by_value[value] = Kind(pod.namespace, pod.labels)
                kind.queries = [q for q in self._queries.values() if q.matches(pod.namespace, pod.labels)]
            if kind.labels is pod.labels:
                self._kinds[identity] = kind  # the kind keeps these labels alive, so their id stays theirs
        return kind

    def _register(
        self, key: Hashable, matches: Callable[[str, Mapping[str, str]], bool], *, with_terminating: bool
    ) -> Query:
        query = self._queries[key] = Query(matches, self._capacity, with_terminating=with_terminating)
        for kind in self._kinds_by_value.values():
            if matches(kind.namespace, kind.labels):
                kind.queries.append(query)
                kind.running.add_to(query.column)
                if with_terminating:
                    kind.terminating.add_to(query.column)
        if len(self._queries) > _MOST_QUERIES:
            _, dropped = self._queries.popitem(last=False)
            for kind in self._kinds_by_value.values():
                if dropped in kind.queries:
                    kind.queries.remove(dropped)
        return query
