"""Means of paired runs and their intervals."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.lab.experiments.intervals import Estimate, estimate, paired, t_quantile

FIGURES = st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=20)


def test_an_interval_is_that_of_the_t_distribution() -> None:
    found = estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.mean == 3.0
    # Standard deviation 1.5811, four degrees of freedom: 2.776 × 1.5811 / √5.
    assert found.margin == pytest.approx(1.9629, abs=1e-3)
    assert (found.low, found.high) == pytest.approx((1.0371, 4.9629), abs=1e-3)


def test_one_run_has_no_interval_and_decides_nothing() -> None:
    assert estimate([7.0]) == Estimate(7.0)
    assert not estimate([7.0]).is_significant
    assert (estimate([7.0]).low, estimate([7.0]).high) == (None, None)


def test_a_change_is_significant_if_its_interval_excludes_zero() -> None:
    assert paired([11.0, 12.1, 12.9], [10.0, 11.0, 12.0]).is_significant
    assert not paired([11.0, 9.0, 12.9], [10.0, 11.0, 12.0]).is_significant


def test_pairs_find_what_means_alone_do_not() -> None:
    baseline = [10.0, 100.0, 1000.0]
    better = [11.0, 101.1, 1000.9]
    assert paired(better, baseline).is_significant
    assert estimate(better).margin > 1000  # type: ignore[operator]


@pytest.mark.parametrize(("freedom", "wanted"), [(1, 12.706), (9, 2.262), (30, 2.042), (50, 2.009), (100, 1.984)])
def test_quantiles_of_the_t_distribution(freedom: int, wanted: float) -> None:
    assert t_quantile(freedom) == pytest.approx(wanted, abs=0.002)


def test_quantiles_fall_to_those_of_the_normal_distribution() -> None:
    found = [t_quantile(freedom) for freedom in range(1, 5000)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == pytest.approx(1.96, abs=0.001)


@given(FIGURES)
def test_equal_runs_do_not_differ(values: list[float]) -> None:
    assert paired(values, values) == Estimate(0.0, 0.0)
    assert not paired(values, values).is_significant


@given(FIGURES)
def test_the_mean_is_inside_its_interval(values: list[float]) -> None:
    found = estimate(values)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.mean <= found.high
    assert math.isfinite(found.high)


def test_rounding_of_sums_is_no_difference() -> None:
    assert paired([0.1 + 0.2, 0.3], [0.3, 0.3]) == Estimate(0.0, 0.0)
