"""Histories: the picture at each position, changes, differences, and their bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.console.console_source import Change, NotThereError
from kubewasp.console.history import NODES, PODS, ROTATION, History, State
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.pods import PodParser
from tests.console.sources import ran
from tests.simulation.simulating import node, pod, priority_class

PARSER = PodParser()


def test_positions_go_from_the_start_to_the_end() -> None:
    run = ran(node("a"), pod("one"), pod("two", cpu="8"), late=(node("b", cpu="16"),))
    history = run.history
    kinds = [change.kind for change in history.changes(0, 100)]
    assert kinds[:2] == ["scheduled", "unschedulable"]
    assert "node-added" in kinds
    assert kinds[-1] == "scheduled"
    assert history.picture_at(0).pods["default/one"].node == ""
    assert history.picture_at(1).pods["default/one"].node == "a"
    assert history.picture_at(None).pods["default/two"].node == "b"
    assert list(history.picture_at(0).nodes) == ["a"]
    assert [change.position for change in history.changes(0, 100)] == list(range(1, history.length + 1))


def test_the_queue_of_a_position() -> None:
    run = ran(node("a"), pod("big", cpu="8"))
    entry = run.history.picture_at(None).queue["default/big"]
    assert (entry.part, entry.attempts, entry.plugins) == ("unschedulable", 1, ("NodeResourcesFit",))
    assert "Insufficient cpu" in entry.message
    assert run.history.picture_at(0).queue["default/big"].part == "active"


def test_preempted_pods_name_the_preemptor_and_the_attempt_is_before_them() -> None:
    high = pod("web", cpu="3", priorityClassName="high")
    run = ran(node("a"), priority_class("high", 10), pod("low", on="a", cpu="3"), high)
    changes = run.history.changes(0, 10)
    (gone,) = [change for change in changes if change.kind == "preempted"]
    assert gone.text == "default/low preempted on a for default/web"
    assert changes[-1].kind == "scheduled"
    assert run.history.next(0, "preempted") == gone.position


def test_the_next_change_of_a_kind() -> None:
    history = ran(node("a"), pod("one"), pod("big", cpu="8"), pod("two")).history
    at = history.next(0, "unschedulable")
    assert at is not None
    assert history.changes(at - 1, 1)[0].kind == "unschedulable"
    assert history.next(at, "unschedulable") is None
    assert history.next(0, "any") == 1
    assert history.next(history.length, "any") is None


def test_differences_are_marked() -> None:
    history = ran(node("a"), pod("one"), pod("two")).history
    history.mark_differences({"default/two"})
    assert (history.differences, history.next(0, "difference")) == (1, 2)


def test_a_position_beyond_the_end_is_refused() -> None:
    history = ran(node("a"), pod("one")).history
    with pytest.raises(NotThereError, match="has 1 positions, 7 is not one"):
        history.picture_at(7)


def test_figures_follow() -> None:
    series = ran(node("a", cpu="4"), pod("one", cpu="1"), pod("two", cpu="1"), pod("big", cpu="9")).history.series()
    assert series.position == [0, 1, 2, 3]
    assert series.placed[-1] == 2
    assert series.pending == [3, 2, 1, 1] or sorted(series.pending, reverse=True) == series.pending
    assert series.utilisation["cpu"][-1] == 0.5
    assert series.nodes_used[-1] == 1


@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["", "a", "b", "gone"])), max_size=120), st.integers(2, 40)
)
def test_every_position_is_what_the_changes_give(changes: list[tuple[int, str]], most: int) -> None:
    """With bounds so small that the oldest changes become the start, and keyframes everywhere."""
    history = History(State(), 0.0, most=most)
    history._spacing = 3
    model: dict[str, str] = {}
    models = [dict(model)]
    for number, (name, on) in enumerate(changes):
        key = f"default/p{name}"
        history.add(Change(float(number), "scheduled", key, key))
        if on == "gone":
            model.pop(key, None)
            history.effect(PODS, key, None)
        else:
            model[key] = on
            manifest = {"metadata": {"name": f"p{name}"}, "spec": {"nodeName": on}}
            history.effect(PODS, key, PARSER.parse(manifest))
        history.effect(ROTATION, None, number)
        models.append(dict(model))
    history.close(float(len(changes)), {})
    assert history.length <= most
    kept = models[len(models) - 1 - history.length :]
    for at in range(history.length + 1):
        picture = history.picture_at(at)
        assert {key: pod.node for key, pod in picture.pods.items()} == kept[at]
        if at:
            assert picture.rotation == len(models) - 1 - history.length + at - 1
    assert len(history._keyframes) <= 13
    assert len(history.series().position) <= 1001


def test_the_samples_are_bounded_and_even() -> None:
    history = History(State(), 0.0)
    for number in range(5000):
        history.add(Change(float(number), "node-added", "", node=f"n{number}"))
        history.effect(NODES, f"n{number}", parse_node(node(f"n{number}")))
    history.close(5000.0, {})
    positions = history.series().position
    assert 300 < len(positions) <= 1001
    assert (positions[0], positions[-1]) == (0, 5000)
