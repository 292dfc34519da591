"""Decisions on pictures: those of the scheduler itself, with changes, and without effects."""

import threading

import pytest

from kubewasp.console.console_source import NotThereError
from kubewasp.console.profile_variants import StudyError, WhatIf
from kubewasp.explain.dry_run import dry_run
from kubewasp.framework.handle import ReadOnlyClient
from tests.console.sources import ran
from tests.simulation.simulating import filled, node, pod, priority_class

NODES = [node("a", cpu="4", zone="x"), node("b", cpu="8", zone="y"), node("c", cpu="8", zone="y")]
TAINTED = node("t", taints=[{"key": "team", "value": "a", "effect": "NoSchedule"}])


def test_every_decision_of_a_run_is_made_again_at_its_position() -> None:
    pods = [pod(f"p{number}", cpu=f"{100 + 130 * number}m") for number in range(20)]
    run = ran(*NODES, TAINTED, *pods, late=(node("d"), pod("late", cpu="2"), *(pod(f"q{n}") for n in range(5))))
    end = run.history.picture_at(None)
    for key, placed in end.pods.items():
        at = run.history.decided_at(key)
        assert at is not None
        decision = run.study.decide(run.history.picture_at(at), key)
        assert (key, decision.node) == (key, placed.node)


def test_positions_may_be_asked_for_in_any_order() -> None:
    run = ran(*NODES, *(pod(f"p{number}", cpu="1") for number in range(12)))
    keys = sorted(run.history.picture_at(None).pods)
    forwards = [_at_its_time(run, key) for key in keys]
    backwards = [_at_its_time(run, key) for key in reversed(keys)]
    assert forwards == backwards[::-1]


def _at_its_time(run, key: str) -> str:  # noqa: ANN001 - a run
    return run.study.decide(run.history.picture_at(run.history.decided_at(key)), key).node


def test_a_placed_pod_is_decided_on_without_its_own_requests() -> None:
    run = ran(node("a", cpu="1"), pod("web", cpu="1"))
    decision = run.study.decide(run.history.picture_at(None), "default/web")
    assert (decision.result, decision.node) == ("scheduled", "a")
    assert decision.notes == ["bound to a: explained as pending, without its requests there"]
    again = run.study.decide(run.history.picture_at(0), "default/web")
    assert again.node == "a"


def test_the_grid_has_the_verdicts_of_explain() -> None:
    objects = [*NODES, TAINTED, pod("big", cpu="6"), pod("web", cpu="7"), pod("filler", cpu="3", on="c")]
    run = ran(*objects)
    picture = run.history.picture_at(0)
    cluster = filled(*objects, client=ReadOnlyClient())
    for key in ("default/web", "default/big"):
        decision = run.study.decide(picture, key)
        told = dry_run(cluster.scheduler, cluster.pods[key])
        grid = decision.grid
        assert [grid.names[place] for place in grid.order] == [item.name for item in told.nodes]
        for place, item in zip(grid.order.tolist(), told.nodes, strict=True):
            assert grid.objections_of(place) == item.objections
            assert bool(grid.status[place] == 0) == item.is_feasible
            assert grid.hints.get(place, []) == item.hints
            assert (int(grid.totals[place]) if grid.is_scored[place] else None) == item.total
            scored = {name: int(scores.raw[place]) for name, scores in grid.scores.items() if grid.is_scored[place]}
            assert scored == item.raw


def test_without_a_plugin_its_objections_are_gone() -> None:
    run = ran(TAINTED, pod("web"))
    picture = run.history.picture_at(None)
    assert run.study.decide(picture, "default/web").result == "unschedulable"
    changed = run.study.decide(picture, "default/web", WhatIf(without=frozenset(["TaintToleration"])))
    assert changed.node == "t"
    (removed,) = [plugin for plugin in changed.plugins if plugin.is_removed]
    assert removed.name == "TaintToleration"
    assert run.study.decide(picture, "default/web").result == "unschedulable"  # the profile itself is as before


def test_other_weights_give_another_winner() -> None:
    nodes = [node("busy", cpu="4", memory="16Gi"), node("free", cpu="4", memory="16Gi")]
    run = ran(*nodes, pod("there", on="busy", cpu="3", memory="8Gi"), pod("web", cpu="500m"))
    picture = run.history.picture_at(0)
    assert run.study.decide(picture, "default/web").node == "free"
    what_if = WhatIf({"NodeResourcesFit": 0, "NodeResourcesBalancedAllocation": 50})
    changed = run.study.decide(picture, "default/web", what_if)
    assert "NodeResourcesFit" not in changed.grid.scores
    assert changed.grid.scores["NodeResourcesBalancedAllocation"].weight == 50


def test_a_gated_pod_says_so() -> None:
    run = ran(*NODES, pod("web", schedulingGates=[{"name": "wait"}]))
    decision = run.study.decide(run.history.picture_at(None), "default/web")
    assert decision.result == "gated"
    assert decision.message.startswith("gated by SchedulingGates")


def test_victims_are_shown_and_stay() -> None:
    run = ran(
        node("a", cpu="4"),
        priority_class("high", 10),
        pod("low", on="a", cpu="3"),
        pod("web", cpu="3", priorityClassName="high"),
    )
    before = run.history.picture_at(0)
    decision = run.study.decide(before, "default/web")
    assert (decision.nominated_node, [victim.key for victim in decision.victims]) == ("a", ["default/low"])
    assert before.pods["default/low"].node == "a"
    assert run.study.decide(before, "default/low").node == "a"


def test_what_is_not_there_is_said() -> None:
    run = ran(*NODES, pod("web"))
    picture = run.history.picture_at(None)
    with pytest.raises(NotThereError, match="there is no pod default/other"):
        run.study.decide(picture, "default/other")
    with pytest.raises(StudyError, match=r"no plugin NodeResourceFit.*NodeResourcesFit"):
        run.study.decide(picture, "default/web", WhatIf(without=frozenset(["NodeResourceFit"])))
    with pytest.raises(StudyError, match="does not score"):
        run.study.decide(picture, "default/web", WhatIf({"NodeName": 3}))


def test_threads_take_turns() -> None:
    run = ran(*NODES, *(pod(f"p{number}") for number in range(8)))
    found: dict[str, str] = {}

    def decide(key: str) -> None:
        found[key] = run.study.decide(run.history.picture_at(run.history.decided_at(key)), key).node

    keys = list(run.history.picture_at(None).pods)
    threads = [threading.Thread(target=decide, args=(key,)) for key in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {key: placed.node for key, placed in run.history.picture_at(None).pods.items()}
