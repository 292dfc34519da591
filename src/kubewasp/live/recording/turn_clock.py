"""Clock of a recorded scheduler: time stands still while its thread does one thing."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubewasp.clock import Clock


class TurnClock:
    """A clock whose times on the scheduler's thread can be recorded: one per turn. Other threads read the real one.

    `advance` begins a turn; the thread that calls it is the scheduler's.
    """

    def __init__(self, inner: Clock) -> None:
        self._inner = inner
        self._owner: int | None = None
        self._now, self._wall = inner.now(), inner.wall()

    def advance(self) -> None:
        self._owner = threading.get_ident()
        self._now, self._wall = self._inner.now(), self._inner.wall()

    def now(self) -> float:
        return self._now if threading.get_ident() == self._owner else self._inner.now()

    def wall(self) -> float:
        return self._wall if threading.get_ident() == self._owner else self._inner.wall()
