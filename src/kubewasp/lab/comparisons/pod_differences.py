"""Differences between two runs of one input, pod by pod: moved, newly pending, newly placed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from kubewasp.lab.comparisons.difference_causes import Cause, CauseKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from kubewasp.lab.comparisons.compared_run import ComparedRun
    from kubewasp.lab.experiments.pod_history import PodFate


class DifferenceKind(StrEnum):
    """Ways in which a pod's fate differs from that in the baseline."""

    MOVED = "moved"
    PENDING = "newlyPending"
    PLACED = "newlyPlaced"
    PREEMPTED = "newlyPreempted"
    SPARED = "noLongerPreempted"


KIND_TEXTS: Final = {
    DifferenceKind.MOVED: "moved",
    DifferenceKind.PENDING: "newly pending",
    DifferenceKind.PLACED: "newly placed",
    DifferenceKind.PREEMPTED: "newly preempted",
    DifferenceKind.SPARED: "no longer preempted",
}


@dataclass(frozen=True, slots=True)
class PodDifference:
    """A pod with another node than in the baseline, with a node in one of the runs only, or preempted in one only.

    `at` is the simulated time at which it got the first of its nodes, or lost it. `cause` is
    None unless it was looked for.
    """

    pod: str
    workload: str
    kind: DifferenceKind
    baseline: str
    node: str
    at: float
    is_first: bool = False
    cause: Cause | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "pod": self.pod,
            "workload": self.workload,
            "kind": self.kind.value,
            "baseline": self.baseline or None,
            "node": self.node or None,
            "atSeconds": self.at,
            "first": self.is_first,
            "cause": None if self.cause is None else self.cause.as_dict(),
        }


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first decision that differs: the same state, and another pod or another node. Numbers begin at 1."""

    decision: int
    baseline: tuple[str, str] | None
    candidate: tuple[str, str] | None

    @property
    def is_order(self) -> bool:
        """Whether the runs decide on different pods: the queue has another order."""
        pods = [made[0] for made in (self.baseline, self.candidate) if made is not None]
        return len(set(pods)) > 1 or len(pods) < 2

    @property
    def pod(self) -> str:
        made = self.candidate or self.baseline
        return "" if made is None else made[0]

    def as_dict(self) -> dict[str, Any]:
        sides = [
            None if made is None else {"pod": made[0], "node": made[1] or None}
            for made in (self.baseline, self.candidate)
        ]
        return {"decision": self.decision, "baseline": sides[0], "candidate": sides[1]}


def first_difference(
    baseline: Sequence[tuple[str, str]], candidate: Sequence[tuple[str, str]]
) -> FirstDifference | None:
    """The first difference of two logs of decisions."""
    for number, (old, new) in enumerate(zip_longest(baseline, candidate), start=1):
        if old != new:
            return FirstDifference(number, old, new)
    return None


def moved(baseline: Mapping[str, PodFate], candidate: Mapping[str, PodFate]) -> int:
    """Number of pods with a node in both runs, and not the same."""
    return sum(
        bool(fate.node and (old := baseline.get(pod)) is not None and old.node and old.node != fate.node)
        for pod, fate in candidate.items()
    )


def pod_differences(baseline: ComparedRun, candidate: ComparedRun) -> tuple[PodDifference, ...]:
    """All differences in order of time. Pods that only one run has, such as replacements, are left out."""
    first = first_difference(baseline.decisions, candidate.decisions)
    name = "" if first is None else first.pod
    found = []
    for pod, old in baseline.fates.items():
        new = candidate.fates.get(pod)
        if new is None or new.node == old.node:
            continue
        kind = DifferenceKind.MOVED
        if not old.node or not new.node:
            kind = DifferenceKind.PLACED if new.node else DifferenceKind.PENDING
        at = min(fate.placed for fate in (old, new) if fate.placed is not None)
        found.append(PodDifference(pod, new.workload, kind, old.node, new.node, at, is_first=pod == name))
    found += _preempted(baseline, candidate, {each.pod for each in found})
    return tuple(sorted(found, key=lambda item: (not item.is_first, item.at)))


def _preempted(baseline: ComparedRun, candidate: ComparedRun, known: Collection[str]) -> Iterator[PodDifference]:
    """Pods that lose their node in one of the runs only, and do not differ otherwise."""
    for kind, losses, others in (
        (DifferenceKind.PREEMPTED, candidate.preempted, baseline.preempted),
        (DifferenceKind.SPARED, baseline.preempted, candidate.preempted),
    ):
        for pod, loss in losses.items():
            if pod in others or pod in known:
                continue
            is_lost = kind is DifferenceKind.PREEMPTED
            cause = Cause(CauseKind.PREEMPTION, f"{'preempted' if is_lost else 'was preempted'} by {loss.by}")
            nodes = (loss.node, "") if is_lost else ("", loss.node)
            fate = candidate.fates.get(pod)
            yield PodDifference(pod, fate.workload if fate is not None else "", kind, *nodes, loss.at, cause=cause)
