"""Cache of a guest's answers for equal pods.  HOT PATH (guard: make counts).

A guest that signs pods promises that pods with equal signatures get equal answers of `filter` and `score` for the same
Node object; a pure guest promises it for equal pods (purity.py) and the same node with the same pods. It is called
again for changed nodes only, and without a change not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from kubewasp.framework.plugin import Verdicts
from kubewasp.framework.status import SUCCESS, Status
from kubewasp.wasm.hook_results import known

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from numpy.typing import NDArray

    from kubewasp.framework.plugin import PreFilterResult, Rows, Scores
    from kubewasp.state.node_table import NodeTable
    from kubewasp.wasm.guest_cycle import GuestCycle

Value = TypeVar("Value", bound=np.generic)
_MOST_VERDICTS = 4096
_MOST_GATHERED = 64
_MOST_KEYS = 4096


class Sharing(NamedTuple):
    """The pods that share answers: those with the same key. `of_nodes`: for as long as the Node object is the same."""

    key: Hashable
    of_nodes: bool


class NotCacheable(Exception):  # noqa: N818 - control flow, not an error
    """The guest failed, or has no score for a node: it must be called without the cache."""


class AnswerCache:
    """Answers of one plugin. Verdicts have numbers, so that an answer is an array of numbers."""

    def __init__(self) -> None:
        self._statuses: list[Status] = [SUCCESS]
        self._numbers: dict[tuple[int, str, str], int] = {}
        self._edition = 0
        self.hits = 0  # answers without a call of the guest
        self._has_called = False
        self._gathered: dict[Hashable, tuple[Rows, int, NDArray[Any]]] = {}
        self._prepared: set[Hashable] = set()
        self._prefiltered: dict[Hashable, PreFilterResult] = {}

    def is_prepared(self, key: Hashable) -> bool:
        """Whether `prescore` succeeded for a pod with that key."""
        return key in self._prepared

    def prepared(self, key: Hashable) -> None:
        if len(self._prepared) >= _MOST_KEYS:
            self._prepared.clear()
        self._prepared.add(key)

    def prefiltered(self, key: Hashable) -> PreFilterResult | None:
        """The result of `prefilter` for a pod with that key."""
        return self._prefiltered.get(key)

    def keep_prefiltered(self, key: Hashable, result: PreFilterResult) -> None:
        if len(self._prefiltered) >= _MOST_KEYS:
            self._prefiltered.clear()
        self._prefiltered[key] = result

    def filter(self, shared: Sharing, cycle: Callable[[], GuestCycle], table: NodeTable, rows: Rows) -> Verdicts | None:
        """The verdicts; raises NotCacheable."""
        if len(self._statuses) > _MOST_VERDICTS:
            self._statuses, self._numbers, self._edition = [SUCCESS], {}, self._edition + 1
        key = (self, "filter", self._edition, shared.key)
        numbers = self._of(key, lambda some: self._judge(cycle(), some), table, rows, of_nodes=shared.of_nodes)
        return Verdicts(numbers, self._statuses) if np.count_nonzero(numbers) else None

    def score(self, shared: Sharing, cycle: Callable[[], GuestCycle], table: NodeTable, rows: Rows) -> Scores:
        """The scores; raises NotCacheable."""
        key = (self, "score", shared.key)
        return self._of(key, lambda some: self._scores(cycle(), some), table, rows, of_nodes=shared.of_nodes)

    def _of(
        self, key: Hashable, compute: Callable[[Rows], NDArray[Value]], table: NodeTable, rows: Rows, *, of_nodes: bool
    ) -> NDArray[Value]:
        """The answers for the rows. When all nodes are feasible, the rows are the same array for every pod."""
        moment = table.objects.generation if of_nodes else table.generation
        known = self._gathered.get(key)
        if known is not None and known[0] is rows and known[1] == moment:
            gathered: NDArray[Value] = known[2]
            self.hits += 1
            return gathered
        self._has_called = False
        gathered = table.cache.get(key, compute, of_nodes=of_nodes)[rows]
        self.hits += not self._has_called
        if len(self._gathered) >= _MOST_GATHERED:
            self._gathered.clear()
        gathered.setflags(write=False)
        self._gathered[key] = (rows, moment, gathered)
        return gathered

    def _judge(self, cycle: GuestCycle, rows: Rows) -> NDArray[np.int32]:
        self._has_called = True
        outcome = cycle.hooks.call_rows("filter", rows)
        if cycle.failed:
            raise NotCacheable
        numbers = np.zeros(len(rows), np.int32)
        for place in np.flatnonzero(outcome.values).tolist():
            number = int(outcome.reason_numbers[place])
            reason, hint = outcome.reasons[number - 1] if number else "", outcome.hints.get(number, "")
            numbers[place] = self._number(int(outcome.values[place]), reason, hint)
        return numbers

    def _scores(self, cycle: GuestCycle, rows: Rows) -> Scores:
        self._has_called = True
        outcome = cycle.hooks.call_rows("score", rows)
        if cycle.failed or np.count_nonzero(outcome.values.astype(np.int32)):
            raise NotCacheable
        scores: Scores = outcome.values >> 32
        return scores

    def _number(self, code: int, reason: str, hint: str) -> int:
        number = self._numbers.get((code, reason, hint))
        if number is None:
            number = self._numbers[code, reason, hint] = len(self._statuses)
            self._statuses.append(known(Status(code, reason, hint=hint)))
        return number
