"""Texts for unschedulable pods."""

from kubewasp.framework.messages import MAX_MESSAGE, NO_NODES, fit_error, histogram
from kubewasp.framework.status import Code, Status


def test_reasons_stand_with_their_number_of_nodes_sorted_as_texts() -> None:
    text = fit_error(14, {"y": 2, "x": 10, "a": 2})
    assert text == "0/14 nodes are available: 10 x, 2 a, 2 y."


def test_without_reasons_nothing_follows() -> None:
    assert fit_error(3, {}) == "0/3 nodes are available:"


def test_what_prefilter_said_stands_in_place_of_reasons() -> None:
    assert fit_error(3, {"x": 1}, pre_filter="no way") == "0/3 nodes are available: no way."


def test_what_postfilter_said_comes_last_as_it_is() -> None:
    assert fit_error(1, {"x": 1}, post_filter="nothing helps") == "0/1 nodes are available: 1 x. nothing helps"
    assert fit_error(1, {}, pre_filter="no", post_filter="not found") == "0/1 nodes are available: no. not found"


def test_a_node_counts_once_for_each_of_its_reasons() -> None:
    both = Status(Code.UNSCHEDULABLE, ("Insufficient cpu", "Insufficient memory"))
    one = Status(Code.UNSCHEDULABLE, "Insufficient cpu")
    assert histogram([(both, 2), (one, 3)]) == {"Insufficient cpu": 5, "Insufficient memory": 2}


def test_the_text_for_a_cluster_without_nodes() -> None:
    assert NO_NODES == "no nodes available to schedule pods"


def test_a_message_is_bounded_and_counts_the_reasons_left_out() -> None:
    text = fit_error(1000, {f"{number:04} {'x' * 32_000}": 1 for number in range(1000)})
    assert len(text.encode()) <= MAX_MESSAGE
    assert text.endswith(" ..., 999 more reasons.")
    many = fit_error(5000, {f"reason {number:04}": 1 for number in range(5000)}, post_filter="preemption: no")
    assert len(many) < MAX_MESSAGE
    assert many.startswith("0/5000 nodes are available: 1 reason 0000, 1 reason 0001, ")
    shown = many.count(", 1 reason") + 1
    assert many.endswith(f", {5000 - shown} more reasons. preemption: no")


def test_messages_of_usual_length_are_kept_whole() -> None:
    reasons = {f"Insufficient example.com/device-{number}": 7 for number in range(300)}
    text = fit_error(5000, reasons)
    assert text.count("Insufficient") == 300
