"""Nodes in use over time and their cost."""

import pytest

from kubewasp.lab.experiments.node_prices import NodePrices
from kubewasp.lab.experiments.occupancy import Occupancy
from tests.simulation.simulating import filled, node, owned_by, pod

PRICES = NodePrices(("price",))


def test_nodes_in_use_and_their_cost_are_added_up_over_time() -> None:
    cluster = filled(node("a", price="2"), node("b", price="0.5"))
    occupancy = Occupancy(cluster, PRICES)
    cluster.at(3600.0, lambda: cluster.objects.apply(pod("x", on="a")))
    cluster.at(7200.0, lambda: cluster.objects.apply(pod("y", on="b")))
    cluster.at(9000.0, lambda: cluster.objects.apply(pod("z", on="b")) or None)
    cluster.at(10800.0, lambda: cluster.objects.delete("Pod", "default", "x") and None)
    cluster.settle()
    assert (occupancy.nodes_used, occupancy.cost_per_hour) == (1, 0.5)
    assert occupancy.cost() == pytest.approx(2 * 2 + 0.5)
    assert occupancy.mean_nodes() == pytest.approx((0 + 1 + 2) / 3)


def test_pods_that_were_there_use_their_nodes() -> None:
    occupancy = Occupancy(filled(node("a", price="2"), pod("x", on="a"), pod("y", on="a")), PRICES)
    assert (occupancy.nodes_used, occupancy.cost_per_hour) == (1, 2.0)


def test_a_node_with_pods_of_daemon_sets_only_is_not_in_use() -> None:
    agent = owned_by("DaemonSet", "agent", pod("agent-1", on="a"))
    assert Occupancy(filled(node("a"), agent)).nodes_used == 0


def test_without_time_there_are_no_means() -> None:
    occupancy = Occupancy(filled(node("a", price="2"), pod("x", on="a")), PRICES)
    assert (occupancy.mean_nodes(), occupancy.cost()) == (None, None)


def test_a_node_that_goes_takes_its_cost_with_it() -> None:
    cluster = filled(node("a", price="2"), pod("x", on="a"))
    occupancy = Occupancy(cluster, PRICES)
    cluster.delete("Node", "", "a")
    assert (occupancy.nodes_used, occupancy.cost_per_hour) == (0, 0.0)


def test_a_new_price_counts_from_then_on() -> None:
    cluster = filled(node("a", price="2"), pod("x", on="a"))
    occupancy = Occupancy(cluster, PRICES)
    cluster.at(3600.0, lambda: cluster.objects.apply(node("a", price="4")))
    cluster.at(7200.0, lambda: None)
    cluster.settle()
    assert occupancy.cost() == pytest.approx(6.0)


def test_nodes_without_a_price_are_named() -> None:
    occupancy = Occupancy(filled(node("a", price="2"), node("b"), node("c", price="cheap")), PRICES)
    assert occupancy.priced is not None
    assert occupancy.priced.warning() == "2 nodes such as b without a price for price"
