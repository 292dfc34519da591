"""Repeatable guests: random numbers from a seed and an injected clock in place of the machine's, for simulations."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kubewasp.clock import Clock

# A guest that waits for time to pass, or divides by a duration, needs a clock that moves.
_TICK: Final = 1_000


@dataclass(frozen=True, slots=True)
class Repeatable:
    """Seed and clock of all guests: with the same ones, guests repeat their answers."""

    seed: int
    clock: Clock

    def source(self, plugin: str, instance: int) -> GuestSource:
        """The source of an instance; `instance` counts those of the plugin."""
        return GuestSource(f"{self.seed} {instance} {plugin}", self.clock)


class GuestSource:
    """Random numbers and time of one instance. The time of its sleep is its own: the clock does not advance by it."""

    def __init__(self, seed: str, clock: Clock) -> None:
        self._random = random.Random(seed)  # noqa: S311 - not a secret
        self._clock = clock
        self._ticks = 0
        self._slept = 0

    def random_bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def random_number(self) -> int:
        """An integer of 64 bits."""
        return self._random.getrandbits(64)

    def wall_ns(self) -> int:
        """Time since 1970, in the 64 bits that WASI has for it."""
        return min(max(int(self._clock.wall() * 1e9) + self._slept, 0), 2**64 - 1)

    def monotonic_ns(self) -> int:
        """Time since an arbitrary moment; each call is a little later than the one before."""
        self._ticks += _TICK
        return int(self._clock.now() * 1e9) + self._slept + self._ticks

    def sleep(self, seconds: float) -> None:
        self._slept += int(seconds * 1e9)
