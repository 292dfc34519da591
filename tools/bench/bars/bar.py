"""A bar: a measured value and its limit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    """One of `at_least` and `at_most` is the limit."""

    name: str
    measured: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""

    @property
    def reached(self) -> bool:
        return (self.at_least is None or self.measured >= self.at_least) and (
            self.at_most is None or self.measured <= self.at_most
        )

    @property
    def bar(self) -> str:
        return f">= {self.at_least:g}" if self.at_least is not None else f"<= {self.at_most:g}"

    def better(self, other: Bar) -> Bar:
        """That of two measurements of the same bar which is nearer to reaching it."""
        if self.at_least is not None:
            return self if self.measured >= other.measured else other
        return self if self.measured <= other.measured else other
