"""How long to wait before the next try."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(slots=True)
class Backoff:
    """Doubles from `first` up to `most` seconds, plus a random part, so that clients do not return all at once."""

    first: float
    most: float
    jitter: float = 1.0
    _step: float = 0.0

    def next(self) -> float:
        self._step = min(max(self._step * 2, self.first), self.most)
        return min(self._step * (1 + self.jitter * random.random()), self.most)  # noqa: S311 no secret

    def reset(self) -> None:
        self._step = 0.0
