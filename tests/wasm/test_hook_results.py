import numpy as np

from kubewasp.framework.status import Status
from kubewasp.wasm.hook_results import HookResult, NodeScores, NodeStatuses

STATUSES = NodeStatuses(
    names=("a", "b", "c", "d"),
    codes=np.array([0, 2, 2, 42]),
    reason_numbers=np.array([1, 1, 2, 0]),
    reasons=("full", "tainted"),
)


def test_a_node_has_the_reason_its_number_stands_for() -> None:
    assert [STATUSES.reason(index) for index in range(4)] == ["", "full", "tainted", ""]
    assert STATUSES.rejected == {"b": Status(2, "full"), "c": Status(2, "tainted"), "d": Status(42, "")}


def test_a_node_that_passed_has_no_reason() -> None:
    assert STATUSES.feasible == ("a",)
    assert STATUSES.status(0) == Status(0, "")


def test_statuses_are_counted_by_label() -> None:
    assert str(STATUSES) == "1 Success, 2 Unschedulable, 1 Error"
    assert len(STATUSES) == 4


def test_the_best_node_is_the_first_with_the_highest_score() -> None:
    none = np.zeros(3, np.int64)
    scores = NodeScores(("a", "b", "c"), none, none, (), scores=np.array([1, 5, 5]))
    assert scores.best == "b"
    assert scores.as_dict() == {"a": 1, "b": 5, "c": 5}


def test_without_nodes_there_is_no_best_one() -> None:
    none = np.zeros(0, np.int64)
    assert NodeScores((), none, none, (), scores=none).best is None


def test_a_result_is_true_where_the_hook_succeeded() -> None:
    assert HookResult(Status())
    assert not HookResult(Status(5))
