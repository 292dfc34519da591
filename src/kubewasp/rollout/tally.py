"""Tally of a version on trial: pods, failures, disagreements, times; and its judgement by the bounds."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kubewasp.framework.config.rollout import LEAST_PODS
from kubewasp.k8s.duration import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.framework.config.rollout import Amount, Bounds
    from kubewasp.scheduler.shadow import Comparison

_MOST_TIMES: Final = 2000
_TIMES_BETWEEN_CHECKS: Final = 50


class Times:
    """The last durations of something, for percentiles."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=_MOST_TIMES)

    def __len__(self) -> int:
        return len(self._seconds)

    def add(self, seconds: float) -> None:
        self._seconds.append(seconds)

    def percentile(self, share: float) -> float:
        """The duration that this share of the last ones does not exceed; 0 without any."""
        ordered = sorted(self._seconds)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0


@dataclass(slots=True)
class Tally:
    """Counts of one stage. Comparisons are a shadow's; `verdicts` are nodes, all others pods."""

    pods: int = 0
    errors: int = 0
    timeouts: int = 0
    other_nodes: int = 0
    other_verdicts: int = 0
    verdicts: int = 0
    whole_cycles: int = 0
    distance: float = 0.0  # sum, over the pods that were scored
    times: Times = field(default_factory=Times)
    stable_times: Times = field(default_factory=Times)
    examples: deque[str] = field(default_factory=lambda: deque(maxlen=5))
    _judged: int = -1  # failures and disagreements at the last judgement

    def attempted(self, seconds: float) -> None:
        """A pod that the version has decided on."""
        self.pods += 1
        self.times.add(seconds)

    def compared(self, found: Comparison) -> None:
        """A pod that both versions have looked at."""
        self.attempted(found.seconds)
        self.stable_times.add(found.stable_seconds)
        self.verdicts += found.nodes
        self.other_verdicts += found.verdicts
        self.whole_cycles += found.is_whole_cycle
        self.distance += found.distance
        if found.is_other_node:
            self.other_nodes += 1
            self.examples.append(f"{found.pod}: {found.node or 'no node'} -> {found.other or 'no node'}")

    @property
    def mean_distance(self) -> float:
        return self.distance / self.pods if self.pods else 0.0

    def broken_bound(self, bounds: Bounds, window: int | None) -> str:
        """The first broken bound, in words; empty if all hold. Percentages are of the window, or of the pods so far.

        Called after every pod: only a count that has grown, or the end of a batch of times, can break a bound.
        """
        counted = self.errors + self.timeouts + self.other_nodes
        is_due = self.pods % _TIMES_BETWEEN_CHECKS == 0 or self.pods == window
        if counted == self._judged and not is_due:
            return ""
        self._judged = counted
        of = max(self.pods, LEAST_PODS) if window is None else window
        counts: Sequence[tuple[str, str, int, Amount | None]] = (
            ("errors", "maxErrors", self.errors, bounds.max_errors),
            ("timeouts", "maxTimeouts", self.timeouts, bounds.max_timeouts),
            ("pods on another node", "maxDisagreement", self.other_nodes, bounds.max_disagreement),
        )
        for what, name, count, most in counts:
            if most is not None and count > most.of(of):
                return f"{count} {what} in {self.pods} pods, {name} is {most}"
        if bounds.max_p99 is not None and is_due and (len(self.times) >= LEAST_PODS or self.pods == window):
            found = self.times.percentile(0.99)
            if found > bounds.max_p99:
                return f"p99 is {format_duration(round(found, 6))}, maxP99 is {format_duration(bounds.max_p99)}"
        return ""
