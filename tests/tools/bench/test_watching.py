"""Timers around functions: exclusive, corrected, and gone afterwards."""

import pytest

from tools.bench import time_breakdown
from tools.bench.forms import guest, watching
from tools.bench.forms.watching import Point, Watch


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Work:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def outer(self) -> str:
        self._clock.now += 1
        self.inner(3)
        self.inner(4)
        return "done"

    def inner(self, seconds: int) -> int:
        self._clock.now += seconds
        return seconds

    def broken(self) -> None:
        self._clock.now += 5
        raise ValueError("broken")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(watching, "_clock", made)
    return made


def test_time_counts_where_it_is_spent(clock: Clock) -> None:
    points = [Point(Work, "outer", "whole"), Point(Work, "inner", "part", lambda result, _, seconds: result * seconds)]
    with Watch(points, corrected=False) as watch:
        assert Work(clock).outer() == "done"
    assert watch.seconds == {"whole": 1, "part": 7}
    assert watch.counts == {"whole": 1, "part": 2}
    assert watch.amounts == {"part": 25}


def test_what_raises_is_timed_too(clock: Clock) -> None:
    with Watch([Point(Work, "broken", "part")], corrected=False) as watch, pytest.raises(ValueError, match="broken"):
        Work(clock).broken()
    assert watch.seconds == {"part": 5}


def test_functions_are_put_back_even_if_watched_twice(clock: Clock) -> None:
    original = vars(Work)["inner"]
    with Watch([Point(Work, "inner", "one"), Point(Work, "inner", "two")], corrected=False) as watch:
        Work(clock).inner(2)
    assert vars(Work)["inner"] is original
    assert watch.counts == {"one": 1, "two": 1}


def test_the_cost_of_timers_is_taken_off() -> None:
    class Nothing:
        def outer(self) -> None:
            for _ in range(1000):
                self.inner()

        def inner(self) -> None:
            pass

    points = [Point(Nothing, "outer", "outer"), Point(Nothing, "inner", "inner")]
    spent: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(20):  # the quickest of them: a busy machine makes any single one slower
        for corrected, found in spent.items():
            with Watch(points, corrected=corrected) as watch:
                Nothing().outer()
            found.append(sum(watch.seconds.values()))
    assert min(spent[True]) < min(spent[False])


def test_a_function_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError, match="gone"), Watch([Point(Work, "gone", "part")]):
        pass


@pytest.mark.parametrize("point", [*time_breakdown.POINTS, *guest.COUNTED], ids=lambda point: f"{point.name}")
def test_the_watched_functions_of_the_product_exist(point: Point) -> None:
    assert callable(vars(point.owner)[point.name])
