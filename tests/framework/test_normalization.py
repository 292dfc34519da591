"""Declared normalizations: DefaultNormalizeScore of kube-scheduler, integer for integer; min-max."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.framework.normalization import Method, Normalization

SCORES = st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=20)


def default_normalize_score(scores: list[int], maximum: int, *, reverse: bool) -> list[int]:
    """As in Go, where a division rounds towards 0."""
    highest = max([0, *scores])
    if highest == 0:
        return [maximum] * len(scores) if reverse else scores
    shares = [maximum * score // highest if score >= 0 else -(-maximum * score // highest) for score in scores]
    return [maximum - share for share in shares] if reverse else shares


@given(SCORES, st.integers(1, 100), st.booleans())
def test_proportional_is_the_default_of_kube_scheduler(scores: list[int], maximum: int, reverse: bool) -> None:
    found = Normalization(Method.PROPORTIONAL, reverse, maximum).of(np.array(scores, np.int64))
    assert found.tolist() == default_normalize_score(scores, maximum, reverse=reverse)


@given(SCORES, st.integers(1, 100), st.booleans())
def test_min_max_uses_the_whole_range(scores: list[int], maximum: int, reverse: bool) -> None:
    found = Normalization(Method.MIN_MAX, reverse, maximum).of(np.array(scores, np.int64)).tolist()
    if min(scores) == max(scores):
        assert found == [maximum] * len(scores)
    else:
        lowest, highest = (scores.index(pick(scores)) for pick in (min, max))
        assert (found[lowest], found[highest]) == ((maximum, 0) if reverse else (0, maximum))
        assert all(0 <= score <= maximum for score in found)


def test_none_leaves_the_scores() -> None:
    scores = np.array([3, -1], np.int64)
    assert Normalization(Method.NONE).of(scores) is scores


def test_the_given_scores_are_not_changed() -> None:
    scores = np.array([1, 2], np.int64)
    scores.setflags(write=False)
    for method in Method:
        Normalization(method, reverse=True).of(scores)
    assert scores.tolist() == [1, 2]


@pytest.mark.parametrize("maximum", [0, -1, 101])
def test_a_maximum_beyond_the_scores_of_the_framework_is_refused(maximum: int) -> None:
    with pytest.raises(ValueError, match="not from 1 to 100"):
        Normalization(Method.MIN_MAX, maximum=maximum)


def test_a_normalization_has_a_short_text() -> None:
    assert str(Normalization(Method.MIN_MAX, reverse=True, maximum=10)) == "min-max, reverse, maximum 10"
    assert str(Normalization(Method.PROPORTIONAL)) == "proportional"
