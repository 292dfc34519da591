"""Taints and tolerations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "PreferNoSchedule", "NoExecute"
HARD_EFFECTS = (NO_SCHEDULE, NO_EXECUTE)
UNSCHEDULABLE_KEY = "node.kubernetes.io/unschedulable"


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        """The form of kubectl: `key=value:effect`."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of a pod."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        return self.operator == "Exists"


UNSCHEDULABLE = Taint(UNSCHEDULABLE_KEY, "", NO_SCHEDULE)


def is_tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    return any(toleration.tolerates(taint) for toleration in tolerations)


def untolerated(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """The first NoSchedule or NoExecute taint without a toleration."""
    for taint in taints:
        if taint.effect in HARD_EFFECTS and not is_tolerated(taint, tolerations):
            return taint
    return None


def parse_taints(items: Sequence[Mapping[str, Any]] | None) -> tuple[Taint, ...]:
    return tuple(Taint(t.get("key") or "", t.get("value") or "", t.get("effect") or "") for t in items or ())


def parse_tolerations(items: Sequence[Mapping[str, Any]] | None) -> tuple[Toleration, ...]:
    return tuple(
        Toleration(t.get("key") or "", t.get("operator") or "", t.get("value") or "", t.get("effect") or "")
        for t in items or ()
    )
