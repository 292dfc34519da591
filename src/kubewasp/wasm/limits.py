"""How much of the machine a guest may use. Every limit has a default and can be set in the plugin's configuration."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

KIB, MIB = 1024, 1024 * 1024


class LimitError(ValueError):
    """A limit that makes no sense; the text names the field."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one guest. Times are seconds, sizes bytes.

    `call_timeout` bounds every call of a hook. Filter and Score are called for many nodes in one go; the nodes are then
    handed over in batches small enough that a batch takes a fraction of this time, and each batch has it anew.
    """

    memory: int = 256 * MIB
    call_timeout: float = 1.0
    start_timeout: float = 10.0
    stack: int = 1 * MIB
    output: int = 64 * KIB
    reason: int = 64 * KIB
    log: int = 256 * KIB
    payload: int = 16 * MIB
    guest_size: int = 128 * MIB

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            wanted = "a number" if name in _TIMES else "an integer"
            if isinstance(value, bool) or not isinstance(value, int | float if name in _TIMES else int):
                raise LimitError(f"limits.{name}: expected {wanted}, got {value!r}")
            if not low <= value <= high:
                raise LimitError(f"limits.{name}: expected {wanted} from {low} to {high}, got {value!r}")

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any]) -> Limits:
        known = {field.name for field in fields(cls)}
        for name in settings:
            if name not in known:
                raise LimitError(f"limits.{name}: unknown limit; there are {', '.join(sorted(known))}")
        return cls(**settings)


_TIMES = ("call_timeout", "start_timeout")
_RANGES: dict[str, tuple[float, float]] = {
    "memory": (64 * KIB, 4096 * MIB),
    "call_timeout": (0.01, 600),
    "start_timeout": (0.01, 600),
    "stack": (64 * KIB, 4 * MIB),
    "output": (0, 16 * MIB),
    "reason": (0, MIB),
    "log": (KIB, 16 * MIB),
    "payload": (KIB, 256 * MIB),
    "guest_size": (8, 1024 * MIB),
}
