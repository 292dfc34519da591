"""Temporary timers and counters around existing functions, for the duration of a block.

Time is exclusive: what a watched function spends in another watched one counts for that one. What a timer itself takes
is measured once and taken off, so that a part made of many short calls is not made of timers.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_clock = time.perf_counter


@dataclass(frozen=True, slots=True)
class Point:
    """A function of a class or module, and its part.

    `amount` makes a number of a call's result and arguments, which is added up.
    """

    owner: Any
    name: str
    part: str
    amount: Callable[..., int] | None = None


class Watch:
    """Context manager that watches all points. `seconds`, `counts` and `amounts` are by part."""

    def __init__(self, points: Sequence[Point], *, corrected: bool = True) -> None:
        self._points = points
        self._inside, self._around = _timer_cost() if corrected else (0.0, 0.0)
        self._originals: list[Any] = []
        self._nested: list[float] = []
        self.clear()

    def clear(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.amounts: Counter[str] = Counter()

    def __enter__(self) -> Self:
        for point in self._points:
            original = vars(point.owner)[point.name]
            self._originals.append(original)
            setattr(point.owner, point.name, self._watched(original, point))
        return self

    def __exit__(self, *_error: object) -> None:
        for point in reversed(self._points):  # a function may be watched twice
            setattr(point.owner, point.name, self._originals.pop())

    def _watched(self, function: Callable[..., Any], point: Point) -> Callable[..., Any]:
        part, amount, nested = point.part, point.amount, self._nested

        @wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            nested.append(0.0)
            began = _clock()
            try:
                result = function(*args, **kwargs)
            finally:
                spent = _clock() - began
                self.seconds[part] += spent - nested.pop() - self._inside  # type: ignore[assignment]
                self.counts[part] += 1
                if nested:
                    nested[-1] += spent + self._around
            if amount is not None:
                self.amounts[part] += amount(result, *args, **kwargs)
            return result

        return watched


@cache
def _timer_cost() -> tuple[float, float]:
    """Seconds that a timer adds to its own function and to the enclosing one."""

    class Nothing:
        def inner(self) -> None:
            pass

        def outer(self) -> None:
            for _ in range(rounds):
                self.inner()

    rounds = 2000
    nothing = Nothing()
    found = []
    for _ in range(5):
        began = _clock()
        nothing.outer()
        plain = _clock() - began
        watch = Watch([Point(Nothing, "outer", "outer"), Point(Nothing, "inner", "inner")], corrected=False)
        with watch:
            nothing.outer()
        inside = watch.seconds["inner"] / rounds
        around = (watch.seconds["outer"] - plain) / rounds
        found.append((max(inside, 0.0), max(around, 0.0)))
    return min(found)
