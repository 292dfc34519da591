"""Declared normalizations of scores: done on arrays, without a call of the plugin.  HOT PATH (guard: make counts)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from kubewasp.framework.plugin import MAX_SCORE

if TYPE_CHECKING:
    from kubewasp.framework.plugin import Scores


class Method(IntEnum):
    """Methods, by their number in the guest ABI."""

    NONE = 0
    PROPORTIONAL = 1
    MIN_MAX = 2

    @property
    def text(self) -> str:
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class Normalization:
    """A normalization of all feasible nodes' scores to 0 … `maximum`; `reverse`: the lowest score is the best."""

    method: Method
    reverse: bool = False
    maximum: int = MAX_SCORE

    def __post_init__(self) -> None:
        if not 0 < self.maximum <= MAX_SCORE:
            raise ValueError(f"normalization: the maximum {self.maximum} is not from 1 to {MAX_SCORE}")

    def __str__(self) -> str:
        parts = [self.method.text, *(["reverse"] * self.reverse)]
        return ", ".join(parts if self.maximum == MAX_SCORE else [*parts, f"maximum {self.maximum}"])

    def of(self, scores: Scores) -> Scores:
        """The normalized scores."""
        if self.method is Method.PROPORTIONAL:
            return normalized(scores, self.maximum, reverse=self.reverse)
        if self.method is Method.MIN_MAX:
            return min_max(scores, self.maximum, reverse=self.reverse)
        return scores


def normalized(scores: Scores, maximum: int = MAX_SCORE, *, reverse: bool = False) -> Scores:
    """Shares of the highest score: DefaultNormalizeScore of kube-scheduler, integer for integer.

    Without a score above 0 there are no shares: the scores stay as they are, or all are `maximum` if `reverse`.
    """
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full_like(scores, maximum) if reverse else scores
    shares = maximum * scores
    if scores.min() < 0:  # integers of Go are divided towards 0
        shares = np.where(shares < 0, -(-shares // highest), shares // highest)
    else:
        shares //= highest
    return maximum - shares if reverse else shares


def min_max(scores: Scores, maximum: int = MAX_SCORE, *, reverse: bool = False) -> Scores:
    """The lowest score becomes 0 and the highest `maximum`, or the opposite; equal scores all become `maximum`."""
    if not len(scores):
        return scores
    lowest, highest = int(scores.min()), int(scores.max())
    if lowest == highest:
        return np.full_like(scores, maximum)
    shares = maximum * (scores - lowest) // (highest - lowest)
    return maximum - shares if reverse else shares
