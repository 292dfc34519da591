"""Texts for unschedulable pods."""

from kubewasp.framework.messages import NO_NODES, fit_error, histogram
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
