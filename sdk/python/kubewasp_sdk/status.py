"""Statuses of hooks, and their short forms."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Code(IntEnum):
    """Status codes of the Kubernetes scheduling framework."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5


@dataclass(frozen=True, slots=True)
class Status:
    """A status code with its reason. `hint` is what the pod or node would need; `kubewasp explain` shows it."""

    code: Code = Code.SUCCESS
    reason: str = ""
    hint: str = ""

    @classmethod
    def unschedulable(cls, reason: str, hint: str = "") -> Status:
        """Rejection that preemption may resolve."""
        return cls(Code.UNSCHEDULABLE, reason, hint)

    @classmethod
    def unresolvable(cls, reason: str, hint: str = "") -> Status:
        """Rejection that preemption cannot resolve."""
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reason, hint)

    @classmethod
    def error(cls, reason: str) -> Status:
        """Error in the plugin."""
        return cls(Code.ERROR, reason)

    @property
    def is_success(self) -> bool:
        return self.code == Code.SUCCESS


SUCCESS = Status()
# Result of pre_filter or pre_score: no filter or score for this pod. Result of bind: left to the next bind plugin.
SKIP = Status(Code.SKIP)


@dataclass(frozen=True, slots=True)
class Wait:
    """Result of permit: the pod waits for `allow`, up to a timeout in seconds."""

    seconds: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Nominate:
    """Result of post_filter: node nominated for the pod. An empty name clears the nomination."""

    node: str


# None and True: the pod passes. A text: the reason for its rejection.
Verdict = Status | str | bool | None


def as_status(verdict: object, hook: str) -> Status:
    """The status of a verdict."""
    if verdict is None or verdict is True:
        return SUCCESS
    if isinstance(verdict, Status):
        return verdict
    if isinstance(verdict, str):
        return Status.unschedulable(verdict)
    if verdict is False:
        return Status.unschedulable(f"rejected by {hook}")
    raise TypeError(f"{hook} returned {_shown(verdict)}; expected None, True, a reason (str) or a Status")


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:60] + '…'} ({type(value).__name__})"
