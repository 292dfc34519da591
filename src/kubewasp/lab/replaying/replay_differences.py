"""Differences between a recording and its replay: kinds, counts, and the outcomes of both sides."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# Differences that are kept with their outcomes; all are counted.
MOST_KEPT: Final = 1000


class DifferenceKind(StrEnum):
    """Kinds of differences, the gravest first."""

    OTHER_NODE = "other node"
    NOW_PENDING = "now pending"
    NOW_FAILING = "now failing"
    NOW_PLACED = "now placed"
    OTHER_VICTIMS = "other victims"
    OTHER_NOMINATION = "other nominated node"
    OTHER_PERMIT = "other permission"
    OTHER_ANNOTATIONS = "other annotations"
    OTHER_MESSAGE = "other message"
    NOT_READY = "not tried yet"
    TRIED_EARLIER = "tried earlier"
    OTHER_END = "other end of binding"


@dataclass(frozen=True, slots=True)
class Decision:
    """An outcome of an attempt, of either side."""

    node: str = ""
    message: str = ""
    is_waiting: bool = False
    is_binding: bool = False
    is_error: bool = False
    nominated: str = ""
    victims: tuple[str, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    score: int | None = None
    feasible: int = 0

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Decision:
        """The decision of a recorded outcome."""
        return cls(
            node=str(document.get("node", "")),
            message=str(document.get("message", "")),
            is_waiting=bool(document.get("waiting")),
            is_binding=bool(document.get("binding")),
            is_error=bool(document.get("error")),
            nominated=str(document.get("nominated", "")),
            victims=tuple(str(key) for key, _ in document.get("victims", ())),
            annotations=dict(document.get("annotations", {})),
            score=document.get("score"),
            feasible=int(document.get("feasible", 0)),
        )

    @property
    def state(self) -> tuple[str, bool, bool]:
        """What the rest of the cluster sees of it."""
        return self.node, self.is_waiting, self.is_binding

    def as_dict(self) -> dict[str, Any]:
        return {
            "node": self.node or None,
            "message": self.message or None,
            "waiting": self.is_waiting,
            "error": self.is_error,
            "nominated_node": self.nominated or None,
            "victims": list(self.victims),
            "annotations": dict(self.annotations),
            "score": self.score,
            "feasible": self.feasible,
        }

    def __str__(self) -> str:
        if self.node:
            score = "" if self.score is None else f", score {self.score:,} of {self.feasible:,} feasible nodes"
            return f"{self.node}{' (waits on Permit)' if self.is_waiting else ''}{score}"
        parts = [f"{'error' if self.is_error else 'pending'}: {self.message}"]
        if self.nominated:
            parts.append(f"nominated to {self.nominated}")
        if self.victims:
            parts.append(f"victims {', '.join(self.victims)}")
        return "; ".join(parts)


def difference(then: Decision, now: Decision) -> DifferenceKind | None:
    """The kind of difference between two decisions on one pod; None if there is none."""
    kind = DifferenceKind
    if then.node != now.node:
        if then.node and now.node:
            return kind.OTHER_NODE
        if now.node:
            return kind.NOW_PLACED
        return kind.NOW_FAILING if now.is_error else kind.NOW_PENDING
    if then.node:
        if then.is_waiting != now.is_waiting:
            return kind.OTHER_PERMIT
        if then.annotations != now.annotations:
            return kind.OTHER_ANNOTATIONS
        return kind.OTHER_END if then.is_binding != now.is_binding else None
    if then.is_error != now.is_error:
        return kind.NOW_FAILING if now.is_error else kind.NOW_PENDING
    if then.nominated != now.nominated:
        return kind.OTHER_NOMINATION
    if then.victims != now.victims:
        return kind.OTHER_VICTIMS
    return kind.OTHER_MESSAGE if then.message != now.message else None


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. `attempt` counts those of the pod; `cause` is the plugin or part that made it, if known."""

    kind: DifferenceKind
    pod: str
    attempt: int
    time: float
    then: Decision
    now: Decision
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": str(self.kind),
            "pod": self.pod,
            "attempt": self.attempt,
            "time": self.time,
            "then": self.then.as_dict(),
            "now": self.now.as_dict(),
            "note": self.note or None,
        }


class Differences:
    """Differences of a replay: counts of all, the first ones in detail."""

    def __init__(self) -> None:
        self.counts: Counter[DifferenceKind] = Counter()
        self.kept: list[Difference] = []
        self.pods: set[str] = set()

    def __len__(self) -> int:
        return self.counts.total()

    def add(self, found: Difference) -> None:
        self.counts[found.kind] += 1
        self.pods.add(found.pod)
        if len(self.kept) < MOST_KEPT:
            self.kept.append(found)

    @property
    def by_kind(self) -> list[tuple[DifferenceKind, int]]:
        """Counts, in the order of the kinds."""
        return [(kind, self.counts[kind]) for kind in DifferenceKind if self.counts[kind]]
