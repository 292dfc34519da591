"""What a hook answers: a status, or one of the short forms that stand for one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Code(IntEnum):
    """The codes of the Kubernetes scheduling framework."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5


@dataclass(frozen=True, slots=True)
class Status:
    """A code and the reason for it."""

    code: Code = Code.SUCCESS
    reason: str = ""

    @classmethod
    def unschedulable(cls, reason: str) -> Status:
        """The pod does not fit; evicting other pods may help."""
        return cls(Code.UNSCHEDULABLE, reason)

    @classmethod
    def unresolvable(cls, reason: str) -> Status:
        """The pod does not fit, and evicting other pods would not help."""
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reason)

    @classmethod
    def error(cls, reason: str) -> Status:
        """Something went wrong."""
        return cls(Code.ERROR, reason)

    @property
    def is_success(self) -> bool:
        return self.code == Code.SUCCESS


SUCCESS = Status()
# From pre_filter or pre_score: this pod needs no filter or score of this plugin. From bind: let the next one bind it.
SKIP = Status(Code.SKIP)


@dataclass(frozen=True, slots=True)
class Wait:
    """From permit: hold the pod back until it is allowed, at most for that many seconds."""

    seconds: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Nominate:
    """From post_filter: the pod should be tried on this node next. An empty name takes a nomination back."""

    node: str


# None and True let the pod pass, a text is the reason why it cannot.
Verdict = Status | str | bool | None


def as_status(verdict: object, hook: str) -> Status:
    """The status that a hook's answer stands for."""
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
