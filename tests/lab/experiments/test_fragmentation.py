"""Fragmentation: idle amounts that the typical pods of a workload cannot use."""

import pytest

from kubewasp.lab.experiments.fragmentation import Fragmentation, IdleSamples, idle_capacity, spread
from kubewasp.lab.experiments.typical_pods import PodShapes, TypicalPod
from tests.simulation.simulating import Object, filled, node, pod, settled

GI = 1024**3


def shape(**requests: int) -> TypicalPod:
    return TypicalPod(tuple(sorted(requests.items())))


def measured(typical: dict[TypicalPod, float], *objects: Object) -> dict[str, float]:
    return Fragmentation(typical).of(idle_capacity(filled(*objects).scheduler.table, 0.0))


def test_a_node_that_pods_of_a_shape_fill_has_no_fragment() -> None:
    assert measured({shape(cpu=1000, memory=4 * GI): 1.0}, node("a", cpu="4", memory="16Gi")) == {
        "cpu": 0.0,
        "memory": 0.0,
    }


def test_what_is_left_after_filling_a_node_is_its_fragment() -> None:
    found = measured({shape(cpu=3000, memory=GI): 1.0}, node("a", cpu="4", memory="16Gi"))
    assert found == {"cpu": pytest.approx(1 / 4), "memory": pytest.approx(15 / 16)}


def test_room_that_is_scattered_over_nodes_is_a_fragment_and_in_one_place_it_is_not() -> None:
    typical = {shape(cpu=4000): 1.0}
    nodes = [node(name, cpu="4") for name in "ab"]
    apart = measured(typical, *nodes, pod("x", cpu="2", on="a"), pod("y", cpu="2", on="b"))
    together = measured(typical, *nodes, pod("x", cpu="2", on="a"), pod("y", cpu="2", on="a"))
    assert (apart["cpu"], together["cpu"]) == (1.0, 0.0)


def test_shapes_count_by_their_frequency_and_only_for_resources_that_they_request() -> None:
    typical = {shape(cpu=1000): 0.75, shape(cpu=8000, memory=GI): 0.25}
    found = measured(typical, node("a", cpu="4", memory="16Gi"))
    assert found == {"cpu": pytest.approx(0.25), "memory": 1.0}


def test_nodes_that_do_not_suit_a_shape_are_a_fragment() -> None:
    tainted = node("a", cpu="4", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    assert measured({shape(cpu=1000): 1.0}, tainted)["cpu"] == 1.0
    selecting = TypicalPod((("cpu", 1000),), node_selector=(("pool", "x"),))
    assert measured({selecting: 1.0}, node("a", cpu="4", pool="x"), node("b", cpu="4", pool="y"))["cpu"] == 0.5


def test_places_for_pods_are_limits_too() -> None:
    assert measured({shape(cpu=1000): 1.0}, node("a", cpu="4", pods="1"))["cpu"] == 0.75


def test_a_full_cluster_has_no_fragment() -> None:
    assert measured({shape(cpu=1000): 1.0}, node("a", cpu="4"), pod("x", cpu="4", on="a"))["cpu"] == 0.0


def test_typical_pods_are_the_most_frequent_ones_with_their_constraints() -> None:
    rare = pod("rare", cpu="3")
    many = [pod(f"web-{number}", cpu="1", memory="1Gi", nodeSelector={"pool": "x"}) for number in range(99)]
    shapes = PodShapes()
    for each in filled(node("a"), rare, *many).pods.values():
        shapes.add(each)
    found = [(each.requests, each.node_selector, share) for each, share in shapes.typical().items()]
    assert found == [((("cpu", 1000), ("memory", GI)), (("pool", "x"),), 1.0)]


def test_means_are_weighted_by_time() -> None:
    cluster = filled(node("a", cpu="4"))
    samples = IdleSamples(cluster.scheduler.table)
    samples.offer(0.0)
    cluster.apply(pod("x", cpu="3", on="a"))
    samples.offer(30.0)
    found = samples.mean(Fragmentation({shape(cpu=2000): 1.0}).of, 40.0)
    assert found == {"cpu": pytest.approx(0.25)}


def test_many_changes_take_bounded_memory_and_time_is_not_lost() -> None:
    cluster = filled(node("a", cpu="4"))
    samples = IdleSamples(cluster.scheduler.table)
    for second in range(1000):
        samples.offer(float(second))
    assert len(samples._kept) <= 64
    assert samples.mean(Fragmentation({shape(cpu=3000): 1.0}).of, 1000.0) == {"cpu": pytest.approx(0.25)}


def test_the_spread_is_the_deviation_of_the_shares_of_nodes() -> None:
    cluster = settled(node("a", cpu="4"), node("b", cpu="2"), pod("x", cpu="2", on="a"), pod("y", cpu="1", on="b"))
    assert spread(idle_capacity(cluster.scheduler.table, 0.0))["cpu"] == 0.0
    cluster.apply(pod("z", cpu="2", on="a"))
    assert spread(idle_capacity(cluster.scheduler.table, 0.0))["cpu"] == pytest.approx(0.25)
