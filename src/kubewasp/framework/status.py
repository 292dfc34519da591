"""Status codes and statuses of the scheduling framework."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


class Code(IntEnum):
    """Status codes with the numbers of the Kubernetes scheduling framework."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS: Final[Mapping[int, str]] = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
}


def code_label(code: int) -> str:
    """The name of a code; unknown numbers count as Error."""
    return _LABELS.get(code, "Error")


@dataclass(frozen=True, slots=True)
class Status:
    """A code with its reasons and the plugin that returned it. A single reason may be given as a text.

    `hint` is a change that would help, for explanations only.
    """

    code: int = Code.SUCCESS
    reasons: tuple[str, ...] | str = ()
    plugin: str = ""
    hint: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.reasons, str):
            object.__setattr__(self, "reasons", (self.reasons,) if self.reasons else ())

    @property
    def reason(self) -> str:
        """All reasons, joined."""
        return ", ".join(self.reasons)

    def of(self, plugin: str) -> Status:
        """The same status with the name of its plugin."""
        return Status(self.code, self.reasons, plugin, self.hint)

    @property
    def label(self) -> str:
        return code_label(self.code)

    @property
    def is_success(self) -> bool:
        return self.code == Code.SUCCESS

    @property
    def is_rejected(self) -> bool:
        """Unschedulable or UnschedulableAndUnresolvable: a rejection, not a failure."""
        return self.code in (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)


SUCCESS = Status()
