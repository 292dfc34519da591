"""Differences of two runs, pod by pod, and the first decision that differs."""

from kubewasp.lab.comparisons.compared_run import ComparedRun, Loss
from kubewasp.lab.comparisons.pod_differences import DifferenceKind, first_difference, moved, pod_differences
from kubewasp.lab.experiments.pod_history import PodFate


def run(
    fates: dict[str, PodFate], decisions: list[tuple[str, str]] | None = None, preempted: dict[str, Loss] | None = None
) -> ComparedRun:
    return ComparedRun("name", 0, {}, fates, {}, {}, (), preempted or {}, 0.0, decisions=decisions or [])


def test_equal_logs_do_not_differ() -> None:
    log = [("x", "a"), ("y", "")]
    assert first_difference(log, list(log)) is None
    assert first_difference([], []) is None


def test_the_first_difference_is_another_node_another_pod_or_an_end() -> None:
    node = first_difference([("x", "a"), ("y", "a")], [("x", "a"), ("y", "b")])
    assert node is not None
    assert (node.decision, node.pod, node.is_order) == (2, "y", False)
    order = first_difference([("x", "a")], [("y", "a")])
    assert order is not None
    assert (order.decision, order.is_order) == (1, True)
    end = first_difference([("x", "a")], [("x", "a"), ("y", "a")])
    assert end is not None
    assert (end.decision, end.baseline, end.candidate, end.is_order) == (2, None, ("y", "a"), True)
    assert end.as_dict() == {"decision": 2, "baseline": None, "candidate": {"pod": "y", "node": "a"}}


def test_pods_move_appear_and_disappear() -> None:
    old = {"x": PodFate(0, 0, "a"), "y": PodFate(0), "z": PodFate(0, 5, "a"), "same": PodFate(0, 0, "a")}
    new = {"x": PodFate(0, 1, "b"), "y": PodFate(0, 9, "a"), "z": PodFate(0), "same": PodFate(0, 3, "a")}
    found = pod_differences(run(old | {"only": PodFate(0)}), run(new))
    assert [(each.pod, each.kind, each.at) for each in found] == [
        ("x", DifferenceKind.MOVED, 0),
        ("z", DifferenceKind.PENDING, 5),
        ("y", DifferenceKind.PLACED, 9),
    ]
    assert moved(old, new) == 1


def test_the_first_one_comes_first_whatever_its_time() -> None:
    old, new = ({name: PodFate(0, at, node) for name, at in (("x", 1), ("y", 2))} for node in "ab")
    found = pod_differences(run(old, [("y", "a"), ("x", "a")]), run(new, [("y", "b"), ("x", "b")]))
    assert [(each.pod, each.is_first) for each in found] == [("y", True), ("x", False)]


def test_pods_that_were_there_before_may_be_preempted_in_one_run_only() -> None:
    loss = Loss("urgent", "a", 7.0)
    (lost,) = pod_differences(run({}), run({}, preempted={"old": loss}))
    assert (lost.kind, lost.baseline, lost.node, lost.at) == (DifferenceKind.PREEMPTED, "a", "", 7.0)
    assert lost.cause is not None
    assert lost.cause.text == "preempted by urgent"
    (spared,) = pod_differences(run({}, preempted={"old": loss}), run({}))
    assert (spared.kind, spared.baseline, spared.node) == (DifferenceKind.SPARED, "", "a")
    assert pod_differences(run({}, preempted={"old": loss}), run({}, preempted={"old": loss})) == ()
