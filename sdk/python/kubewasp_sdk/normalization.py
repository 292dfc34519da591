"""Normalizations of scores by the scheduler itself, without a call of the plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

METHODS = ("none", "proportional", "min-max")
_HIGHEST = 100


class Normalization(NamedTuple):
    """A normalization of scores to 0 … `maximum`, as a class attribute of a plugin.

    >>> class Cheap(Plugin):
    ...     normalization = Normalization("proportional", reverse=True)

    `method` is one of
    - `none`: the scores stay as they are, and must be from 0 to 100;
    - `proportional`: shares of the highest score, rounded down, as by DefaultNormalizeScore of kube-scheduler;
    - `min-max`: the lowest score becomes 0 and the highest the maximum. Equal scores all become the maximum.

    With `reverse`, the lowest score is the best.
    """

    method: str
    reverse: bool = False
    maximum: int = _HIGHEST

    def of(self, scores: Sequence[int]) -> list[int]:
        """The normalized scores, as by the scheduler."""
        if self.method == "none" or not scores:
            return list(scores)
        lowest, highest = min(scores), max(scores)
        if self.method == "min-max":
            if lowest == highest:
                return [self.maximum] * len(scores)
            shares = [self.maximum * (score - lowest) // (highest - lowest) for score in scores]
        elif highest > 0:
            shares = [_divided(self.maximum * score, highest) for score in scores]
        else:
            return [self.maximum] * len(scores) if self.reverse else list(scores)
        return [self.maximum - share for share in shares] if self.reverse else shares

    def wire(self) -> tuple[int, int, int]:
        """Number of the method, reverse and maximum; ValueError for an unknown method."""
        if self.method not in METHODS:
            raise ValueError(f"normalization: unknown method {self.method!r}; there are {', '.join(METHODS)}")
        return METHODS.index(self.method), int(self.reverse), self.maximum


def _divided(number: int, divisor: int) -> int:
    """Rounded towards 0, as Go does."""
    return number // divisor if number >= 0 else -(-number // divisor)
