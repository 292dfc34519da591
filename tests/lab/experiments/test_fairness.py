"""Fairness between namespaces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.lab.experiments.fairness import NamespaceTotals, fairness_placed, fairness_wait, jain


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20))
def test_the_index_is_between_one_share_and_all(values: list[float]) -> None:
    assert 1 / len(values) - 1e-9 <= jain(values) <= 1 + 1e-9


def test_equal_values_are_fair_and_so_is_nothing_at_all() -> None:
    assert jain([3.0, 3.0, 3.0]) == jain([0.0, 0.0]) == jain([]) == 1.0


def test_placement_is_fair_if_each_gets_the_same_part_of_what_it_asked_for() -> None:
    large, small = NamespaceTotals(10, 5, asked=1.0, got=0.5), NamespaceTotals(2, 1, asked=0.02, got=0.01)
    assert fairness_placed([large, small]) == 1.0
    starved = NamespaceTotals(2, 0, asked=0.02)
    assert fairness_placed([large, starved]) == 0.5


def test_waits_far_below_a_second_are_fair() -> None:
    assert fairness_wait([NamespaceTotals(1, 1, wait=0.001), NamespaceTotals(1, 1)]) == pytest.approx(1.0, abs=1e-5)
    assert fairness_wait([NamespaceTotals(1, 1, wait=1000.0), NamespaceTotals(1, 1)]) < 0.51
