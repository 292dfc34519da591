"""Figures of a cluster as it changes: pods placed and pending, nodes in use, requested shares; sampled evenly."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from kubewasp.console.console_source import TimelineSeries
from kubewasp.k8s.resources import CPU, EPHEMERAL, MEMORY

if TYPE_CHECKING:
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.k8s.resources import Resources

_MOST: Final = 1000  # samples
_NATIVE: Final = (CPU, MEMORY, EPHEMERAL)


class Figures:
    """Sums that follow every change, and samples of them: at most 1,000, as far apart as that takes."""

    def __init__(self) -> None:
        self.pending = self.placed = 0
        self._there: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()
        # Of all nodes with pods, also of those that are gone: their pods take room on none.
        self._taken_on: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._on: Counter[str] = Counter()
        self._nodes: set[str] = set()
        self._step = 1
        self._samples: list[tuple[int, float, int, int, int, dict[str, float]]] = []

    def node(self, before: Node | None, after: Node | None) -> None:
        for node, sign in ((before, -1), (after, 1)):
            if node is not None:
                _add(self._there, node.allocatable, sign)
        if before is None and after is not None:
            self._nodes.add(after.name)
            self._taken.update(self._taken_on.get(after.name, {}))
        elif before is not None and after is None:
            self._nodes.discard(before.name)
            self._taken.subtract(self._taken_on.get(before.name, {}))

    def pod(self, before: Pod | None, after: Pod | None) -> None:
        for pod, sign in ((before, -1), (after, 1)):
            if pod is None:
                continue
            if not pod.node:
                self.pending += sign
                continue
            self.placed += sign
            _add(self._taken_on[pod.node], pod.resources.requests, sign)
            if pod.node in self._nodes:
                _add(self._taken, pod.resources.requests, sign)
            self._on[pod.node] += sign
            if not self._on[pod.node]:
                del self._on[pod.node], self._taken_on[pod.node]

    def sample(self, position: int, time: float, *, is_last: bool = False) -> None:
        if position % self._step and not is_last:
            return
        found = (position, time, self.pending, self.placed, len(self._on.keys() & self._nodes), self._shares())
        if self._samples and self._samples[-1][0] == position:
            self._samples[-1] = found
            return
        self._samples.append(found)
        if len(self._samples) > _MOST:
            self._step *= 2
            self._samples = [item for item in self._samples if not item[0] % self._step]

    def moved(self, positions: int) -> None:
        """Follows a timeline that begins later: its positions are smaller by that number."""
        self._samples = [(item[0] - positions, *item[1:]) for item in self._samples if item[0] >= positions]

    def series(self) -> TimelineSeries:
        names = [name for name in dict.fromkeys((*_NATIVE, *sorted(self._there))) if self._there[name]]
        samples = self._samples
        return TimelineSeries(
            [item[0] for item in samples],
            [item[1] for item in samples],
            [item[2] for item in samples],
            [item[3] for item in samples],
            [item[4] for item in samples],
            {name: [item[5].get(name, 0.0) for item in samples] for name in names},
        )

    def _shares(self) -> dict[str, float]:
        return {name: self._taken[name] / there for name, there in self._there.items() if there > 0}


def _add(sums: Counter[str], amounts: Resources, sign: int) -> None:
    for name in _NATIVE:
        sums[name] += sign * amounts.get(name)
    for name, value in amounts.scalars.items():
        sums[name] += sign * value
