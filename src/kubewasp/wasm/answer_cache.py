"""What a guest said of nodes, kept for pods that it says are alike.  HOT PATH, see `make counts`.

A guest that gives a pod a signature promises: pods with the same signature get the same answers of `filter` and `score`
on the same Node object. So it is asked again only about nodes that changed, and if there is none, not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kubewasp.framework.plugin import Verdicts
from kubewasp.framework.status import SUCCESS, Status
from kubewasp.wasm.hook_results import known

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from numpy.typing import NDArray

    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.state.node_table import NodeTable
    from kubewasp.wasm.guest_cycle import Cycle

Value = TypeVar("Value", bound=np.generic)
_MOST_VERDICTS = 4096
_MOST_GATHERED = 64
_MOST_SIGNATURES = 4096


class Unshared(Exception):  # noqa: N818 - a turn of the way, not an error
    """The guest failed, or has no score for a node: nothing is kept, and it must be asked directly."""


class SharedAnswers:
    """The answers of one plugin. Verdicts are numbered once, so that arrays of numbers can be kept."""

    def __init__(self) -> None:
        self._statuses: list[Status] = [SUCCESS]
        self._numbers: dict[tuple[int, str], int] = {}
        self._edition = 0
        self.hits = 0  # how often the guest was not asked about any node
        self._is_asked = False
        self._gathered: dict[Hashable, tuple[Rows, int, NDArray[Any]]] = {}
        self._prepared: set[int] = set()

    def is_prepared(self, signature: int) -> bool:
        """Whether the guest had nothing against scoring for such a pod before."""
        return signature in self._prepared

    def prepared(self, signature: int) -> None:
        if len(self._prepared) >= _MOST_SIGNATURES:
            self._prepared.clear()
        self._prepared.add(signature)

    def filter(self, signature: int, cycle: Callable[[], Cycle], table: NodeTable, rows: Rows) -> Verdicts | None:
        """The verdicts, or Unshared."""
        if len(self._statuses) > _MOST_VERDICTS:
            self._statuses, self._numbers, self._edition = [SUCCESS], {}, self._edition + 1
        key = (self, "filter", self._edition, signature)
        numbers = self._of(key, lambda some: self._judge(cycle(), some), table, rows)
        return Verdicts(numbers, self._statuses) if np.count_nonzero(numbers) else None

    def score(self, signature: int, cycle: Callable[[], Cycle], table: NodeTable, rows: Rows) -> Scores:
        """The scores, or Unshared."""
        return self._of((self, "score", signature), lambda some: self._scores(cycle(), some), table, rows)

    def _of(self, key: Hashable, ask: Callable[[Rows], NDArray[Value]], table: NodeTable, rows: Rows) -> NDArray[Value]:
        """The answers for those rows. When all nodes are feasible, the rows are the same array for every pod."""
        moment = table.objects.generation
        known = self._gathered.get(key)
        if known is not None and known[0] is rows and known[1] == moment:
            gathered: NDArray[Value] = known[2]
            self.hits += 1
            return gathered
        self._is_asked = False
        gathered = table.cache.get(key, ask, of_nodes=True)[rows]
        self.hits += not self._is_asked
        if len(self._gathered) >= _MOST_GATHERED:
            self._gathered.clear()
        self._gathered[key] = (rows, moment, gathered)
        return gathered

    def _judge(self, cycle: Cycle, rows: Rows) -> NDArray[np.int32]:
        self._is_asked = True
        calls = cycle.call_rows("filter", rows)
        if cycle.failed:
            raise Unshared
        numbers = np.zeros(len(rows), np.int32)
        for place in np.flatnonzero(calls.values).tolist():
            reason = int(calls.reason_numbers[place])
            numbers[place] = self._number(int(calls.values[place]), calls.reasons[reason - 1] if reason else "")
        return numbers

    def _scores(self, cycle: Cycle, rows: Rows) -> Scores:
        self._is_asked = True
        calls = cycle.call_rows("score", rows)
        if cycle.failed or np.count_nonzero(calls.values.astype(np.int32)):
            raise Unshared
        scores: Scores = calls.values >> 32
        return scores

    def _number(self, code: int, reason: str) -> int:
        number = self._numbers.get((code, reason))
        if number is None:
            number = self._numbers[code, reason] = len(self._statuses)
            self._statuses.append(known(Status(code, reason)))
        return number
