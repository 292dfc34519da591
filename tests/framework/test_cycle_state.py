"""Cycle state: typed keys, clones, sharing and closing."""

from kubewasp.framework.cycle_state import CycleState, StateKey

A, B, C = StateKey("A"), StateKey("B"), StateKey("C")


class Counter:
    """Changed in place."""

    def __init__(self, count: int = 0) -> None:
        self.count = count
        self.closed = False

    def clone(self) -> "Counter":
        return Counter(self.count)

    def close(self) -> None:
        self.closed = True


def test_values_are_kept_by_key() -> None:
    state = CycleState()
    state[A] = 1
    assert (state[A], state.get(A), state.get(B)) == (1, 1, None)
    assert A in state
    assert B not in state


def test_changes_of_a_clone_do_not_come_back() -> None:
    state = CycleState()
    state[A], state[B] = Counter(), (plain := [1])
    state.skip_filter.add("X")
    state.skip_score.add("Y")
    clone = state.clone()
    clone[A].count = 5
    clone[C] = 1
    clone.skip_filter.add("Z")
    clone.skip_score.clear()
    assert state[A].count == 0
    assert C not in state
    assert (state.skip_filter, state.skip_score) == ({"X"}, {"Y"})
    assert clone[B] is plain


def test_closing_gives_back_what_values_hold() -> None:
    state = CycleState()
    state[A], state[B] = (held := Counter()), "plain"
    state.close()
    assert held.closed
    assert A not in state
