"""PrioritySort: by priority, then by time."""

from hypothesis import given
from hypothesis import strategies as st

from kubewasp.plugins.priority_sort import PrioritySort
from tests.plugins.building import FakeHandle, make_pod

PLUGIN = PrioritySort({}, FakeHandle())


@given(st.lists(st.tuples(st.sampled_from([None, -5, 0, 7]), st.integers(0, 3)), min_size=2, max_size=2))
def test_the_higher_priority_comes_first_and_among_equals_the_earlier(pods: list[tuple[int | None, int]]) -> None:
    (one, early), (other, late) = pods
    before = (one or 0) > (other or 0) or ((one or 0) == (other or 0) and early < late)
    keys = [PLUGIN.sort_key(make_pod("p", priority=priority), float(time)) for priority, time in pods]
    assert (keys[0] < keys[1]) is before
