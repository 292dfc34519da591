"""Index of pods by labels and by affinity terms, with counts per row.  HOT PATH (guard: make counts).

Pods of one namespace with the same labels form a *label set*. A query is a predicate over label sets; the number of
matching pods per row is maintained as pods are added and removed. Pods with affinity terms are counted by those terms.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from kubewasp.state.columns import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from numpy.typing import NDArray

    from kubewasp.k8s.pods import Pod, PodAffinity

_MOST_QUERIES = 512
_PROMOTE = 32


class RowCounts:
    """Number of pods per row: a dictionary while they are few, a column when they are many."""

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
        """The rows with a count above zero."""
        if self._column is not None:
            return np.flatnonzero(self._column)
        return np.fromiter(self._few, np.int64, len(self._few))

    def of(self, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        if self._column is not None:
            return self._column[rows]
        return np.fromiter((self._few.get(int(row), 0) for row in rows), np.int32, len(rows))

    def __bool__(self) -> bool:
        return self._total > 0


class LabelSet:
    """Counts of the pods of one namespace with the same labels."""

    __slots__ = ("labels", "namespace", "queries", "running", "terminating")

    def __init__(self, namespace: str, labels: Mapping[str, str]) -> None:
        self.namespace = namespace
        self.labels = labels
        self.running = RowCounts()
        self.terminating = RowCounts()
        self.queries: list[Query] = []


class Query:
    """A predicate and the number of matching pods per row."""

    __slots__ = ("column", "matches", "with_terminating")

    def __init__(
        self, matches: Callable[[str, Mapping[str, str]], bool], capacity: int, *, with_terminating: bool
    ) -> None:
        self.matches = matches
        self.with_terminating = with_terminating
        self.column = Column(np.int32, capacity)


class PodIndex:
    """Counts of the pods on all rows, for label queries and affinity terms.

    `affinity_version` moves with the keys of `with_affinity`, not with their counts.
    """

    def __init__(self) -> None:
        self.with_affinity: dict[PodAffinity, RowCounts] = {}
        self.affinity_version = 0
        self._sets: dict[tuple[str, int], LabelSet] = {}
        self._sets_by_value: dict[tuple[str, frozenset[tuple[str, str]]], LabelSet] = {}
        self._queries: OrderedDict[Hashable, Query] = OrderedDict()
        self._priorities: dict[int, int] = {}
        self._capacity = 0

    def counts(
        self, key: Hashable, matches: Callable[[str, Mapping[str, str]], bool], *, with_terminating: bool
    ) -> NDArray[np.int32]:
        """The number of pods per row whose namespace and labels match; read-only.

        The key identifies the predicate and `with_terminating`.
        """
        query = self._queries.get(key)
        if query is None:
            query = self._register(key, matches, with_terminating=with_terminating)
        self._queries.move_to_end(key)
        return query.column.view

    def has_priority_below(self, priority: int) -> bool:
        """Whether any pod has a lower priority."""
        return any(known < priority for known in self._priorities)

    def count(self, row: int, pod: Pod, sign: int) -> None:
        priorities, priority = self._priorities, pod.spec.priority
        left = priorities.get(priority, 0) + sign
        if left:
            priorities[priority] = left
        else:
            del priorities[priority]
        label_set = self._label_set(pod)
        counts = label_set.terminating if pod.is_terminating else label_set.running
        counts.add(row, sign, self._capacity)
        for query in label_set.queries:
            if query.with_terminating or not pod.is_terminating:
                query.column.own[row] += sign
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
        if sign < 0 and not label_set.running and not label_set.terminating:
            self._sets.pop((label_set.namespace, id(label_set.labels)), None)
            self._sets_by_value.pop((label_set.namespace, frozenset(label_set.labels.items())), None)

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        for query in self._queries.values():
            query.column.grow(capacity)
        for counts in self._all_counts():
            counts.grow(capacity)

    def _all_counts(self) -> Iterable[RowCounts]:
        yield from self.with_affinity.values()
        for label_set in self._sets_by_value.values():
            yield label_set.running
            yield label_set.terminating

    def _label_set(self, pod: Pod) -> LabelSet:
        identity = (pod.namespace, id(pod.labels))
        label_set = self._sets.get(identity)
        if label_set is None or label_set.labels is not pod.labels:
            value = (pod.namespace, frozenset(pod.labels.items()))
            label_set = self._sets_by_value.get(value)
            if label_set is None:
                label_set = self._sets_by_value[value] = LabelSet(pod.namespace, pod.labels)
                label_set.queries = [q for q in self._queries.values() if q.matches(pod.namespace, pod.labels)]
            if label_set.labels is pod.labels:
                self._sets[identity] = label_set  # the set keeps these labels alive, so their id stays theirs
        return label_set

    def _register(
        self, key: Hashable, matches: Callable[[str, Mapping[str, str]], bool], *, with_terminating: bool
    ) -> Query:
        query = self._queries[key] = Query(matches, self._capacity, with_terminating=with_terminating)
        for label_set in self._sets_by_value.values():
            if matches(label_set.namespace, label_set.labels):
                label_set.queries.append(query)
                label_set.running.add_to(query.column.own)
                if with_terminating:
                    label_set.terminating.add_to(query.column.own)
        if len(self._queries) > _MOST_QUERIES:
            _, dropped = self._queries.popitem(last=False)
            for label_set in self._sets_by_value.values():
                if dropped in label_set.queries:
                    label_set.queries.remove(dropped)
        return query
