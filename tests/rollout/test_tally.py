"""Tally of a version on trial: bounds by number and percentage, percentiles, comparisons."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.framework.config.rollout import Amount, Bounds
from kubewasp.rollout.tally import Tally, Times
from kubewasp.scheduler.shadow import Comparison

NO_BOUNDS = Bounds(None, None, None, None)
HALF = Amount(50.0, is_percentage=True)


def tally(pods: int = 0, **counts: int) -> Tally:
    found = Tally(**counts)
    for _ in range(pods):
        found.attempted(0.001)
    return found


@pytest.mark.parametrize(
    ("bounds", "counts", "broken"),
    [
        (Bounds(Amount(2), None), {"errors": 2}, ""),
        (Bounds(Amount(2), None), {"errors": 3}, "3 errors in 10 pods, maxErrors is 2"),
        (Bounds(None, Amount(0)), {"timeouts": 1}, "1 timeouts in 10 pods, maxTimeouts is 0"),
        (Bounds(HALF, None), {"errors": 10}, ""),  # of the 20 pods of the window
        (Bounds(HALF, None), {"errors": 11}, "11 errors in 10 pods, maxErrors is 50%"),
        (
            Bounds(None, None, None, HALF),
            {"other_nodes": 11},
            "11 pods on another node in 10 pods, maxDisagreement is 50%",
        ),
        (NO_BOUNDS, {"errors": 1000, "timeouts": 1000, "other_nodes": 1000}, ""),
    ],
)
def test_counts_are_compared_with_their_bounds(bounds: Bounds, counts: dict[str, int], broken: str) -> None:
    assert tally(10, **counts).broken_bound(bounds, 20) == broken


def test_without_a_window_percentages_are_of_the_pods_so_far_and_of_a_hundred_at_least() -> None:
    bounds = Bounds(Amount(1.0, is_percentage=True), None)
    assert tally(5, errors=1).broken_bound(bounds, None) == ""
    assert tally(5, errors=2).broken_bound(bounds, None) != ""
    assert tally(1000, errors=10).broken_bound(bounds, None) == ""


def test_the_p99_is_judged_when_there_are_enough_pods() -> None:
    bounds = Bounds(None, None, max_p99=0.002)
    found = Tally()
    for _ in range(99):
        found.attempted(0.005)
    assert found.broken_bound(bounds, 500) == ""
    found.attempted(0.005)
    assert found.broken_bound(bounds, 500) == "p99 is 5ms, maxP99 is 2ms"
    assert tally(100).broken_bound(bounds, 500) == ""


def test_the_p99_of_a_short_window_is_judged_at_its_end() -> None:
    found = Tally()
    for _ in range(3):
        found.attempted(1.0)
    assert found.broken_bound(Bounds(None, None, max_p99=0.5), 4) == ""
    assert found.broken_bound(Bounds(None, None, max_p99=0.5), 3).startswith("p99 is 1s")


@given(st.lists(st.floats(0, 100), min_size=1, max_size=300), st.sampled_from([0.5, 0.99]))
def test_a_percentile_is_one_of_the_durations(seconds: list[float], share: float) -> None:
    times = Times()
    for item in seconds:
        times.add(item)
    found = times.percentile(share)
    assert found in seconds
    assert sum(item <= found for item in seconds) >= share * len(seconds)


def test_no_durations_have_no_percentile() -> None:
    assert Times().percentile(0.99) == 0.0


def test_comparisons_are_counted() -> None:
    found = Tally()
    found.compared(Comparison("a/one", "n1", "n1", 10, 0, 5.0, seconds=0.1, stable_seconds=0.2))
    found.compared(Comparison("a/two", "n1", "", 10, 4, 0.0, is_whole_cycle=True))
    found.compared(Comparison("a/three", "n1", error="trap"))
    assert (found.pods, found.other_nodes, found.verdicts, found.other_verdicts) == (3, 1, 20, 4)
    assert found.whole_cycles == 1
    assert found.mean_distance == pytest.approx(5 / 3)
    assert list(found.examples) == ["a/two: n1 -> no node"]
