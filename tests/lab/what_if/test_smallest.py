"""Fewest or cheapest nodes: every answer holds in a simulation, and no smaller set does."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubewasp.k8s.errors import ManifestError
from kubewasp.lab.what_if.node_shapes import NodeShape, load_shapes
from kubewasp.lab.what_if.smallest import Smallest, SmallestSearch, check_shapes
from kubewasp.lab.what_if.what_if_errors import WhatIfError
from tests.lab.what_if import asking
from tests.lab.what_if.asking import workload
from tests.simulation.simulating import Object, node, pod, settled

APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}


def shape(name: str, cpu: str, price: float | None = None, most: int = 50, **more: Any) -> NodeShape:
    return NodeShape(name, node(f"{name}-template", cpu=cpu, **more), price, most)


def searched(shapes: list[NodeShape], *objects: Object, by_price: bool = True, **more: Any) -> Smallest:
    return SmallestSearch(asking.given(*objects), asking.CANDIDATE, shapes, by_price=by_price, **more).run()


def test_the_cheapest_set_is_proven_by_the_sums_of_resources() -> None:
    found = searched([shape("small", "2", 1.0), shape("large", "8", 3.0)], workload("Deployment", "web", 10))
    assert (found.counts, found.price, found.is_proven) == ((1, 1), 4.0, True)
    assert not found.result.pending
    assert {item.shape: len(item.pending) for item in found.one_less} == {"small": 2, "large": 8}


def test_fewest_nodes_need_no_price() -> None:
    found = searched([shape("small", "2"), shape("large", "8")], workload("Deployment", "web", 10), by_price=False)
    assert sum(found.counts) == 2
    assert found.is_proven
    assert found.price is None


def test_what_a_node_can_have_only_once_counts_for_the_bound() -> None:
    found = searched([shape("n", "8", 1.0)], workload("StatefulSet", "db", 5, cpu="1", affinity=APART))
    assert (found.counts, found.is_proven, found.below) == ((5,), True, 0)
    ports = [{"containerPort": 80, "hostPort": 80}]
    template = workload("Deployment", "web", 3)
    template["spec"]["template"]["spec"]["containers"][0]["ports"] = ports
    assert searched([shape("n", "8", 1.0)], template).counts == (3,)


def test_daemonsets_take_their_share_of_every_node() -> None:
    objects = (workload("DaemonSet", "agent", cpu="1"), workload("Deployment", "web", 6))
    assert searched([shape("n", "4", 1.0)], *objects).counts == (2,)
    assert searched([shape("n", "3", 1.0)], *objects).counts == (3,)


def test_pods_that_no_shape_can_host_are_named_and_the_others_placed() -> None:
    found = searched([shape("n", "4", 1.0)], pod("huge", cpu="9"), workload("Deployment", "web", 4))
    assert [item.pod for item in found.impossible] == ["default/huge"]
    assert "Insufficient cpu" in found.impossible[0].message
    assert (found.counts, found.is_proven) == ((1,), True)


def test_pods_go_only_where_labels_and_taints_allow() -> None:
    gpu = shape("gpu", "8", 9.0, taints=[{"key": "gpu", "effect": "NoSchedule"}], pool="gpu")
    training = pod("t", cpu="1", nodeSelector={"pool": "gpu"}, tolerations=[{"key": "gpu", "operator": "Exists"}])
    found = searched([shape("n", "4", 1.0), gpu], training, workload("Deployment", "web", 4))
    assert found.counts == (1, 1)


def test_bound_pods_and_nodes_of_the_input_are_left_out_or_kept() -> None:
    objects = (node("old", cpu="4"), pod("there", on="old", cpu="3"), workload("Deployment", "web", 4))
    assert searched([shape("n", "4", 1.0)], *objects).counts == (2,)
    kept = searched([shape("n", "4", 1.0)], *objects, keeps_nodes=True)
    assert kept.counts == (1,)
    assert kept.is_proven


def test_without_tries_the_distance_from_the_bound_is_shown() -> None:
    # By sums two nodes are enough, but no two pods fit together on one.
    found = searched(
        [shape("n", "4", 1.0), shape("m", "4", 1.5)], workload("Deployment", "web", 3, cpu="2500m"), tries=0
    )
    assert found.counts[0] + found.counts[1] == 3
    assert not found.is_proven
    assert found.bound < found.cost
    assert 0 < found.gap < 1
    assert searched(
        [shape("n", "4", 1.0), shape("m", "4", 1.5)], workload("Deployment", "web", 3, cpu="2500m")
    ).is_proven


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    cpus=st.tuples(st.integers(3, 5), st.integers(4, 8)),
    prices=st.tuples(st.integers(1, 4), st.integers(1, 6)),
)
def test_no_cheaper_set_places_all_pods(sizes: list[int], cpus: tuple[int, int], prices: tuple[int, int]) -> None:
    pods = [pod(f"p{number}", cpu=str(cpu)) for number, cpu in enumerate(sizes)]
    shapes = [shape(name, str(cpu), float(price)) for name, cpu, price in zip("ab", cpus, prices, strict=True)]
    found = searched(shapes, *pods)
    fits = {each["metadata"]["name"] for each, cpu in zip(pods, sizes, strict=True) if cpu <= max(cpus)}
    assert {item.pod for item in found.impossible} == {f"default/{each['metadata']['name']}" for each in pods} - {
        f"default/{name}" for name in fits
    }
    assert found.is_proven
    for counts in product(range(len(pods) + 1), repeat=2):
        cost = sum(count * price for count, price in zip(counts, prices, strict=True))
        if sum(counts) and cost < found.cost:
            nodes = [each for one, count in zip(shapes, counts, strict=True) for each in one.nodes(count)]
            cluster = settled(*nodes, *(each for each in pods if each["metadata"]["name"] in fits))
            assert any(not each.node for each in cluster.pods.values()), counts


POOLS = """
kind: NodePools
pools:
  - {name: small, price: 0.5, max: 3, zones: [x, y], node: {status: {allocatable: {cpu: 2, pods: 10}}}}
  - {name: as-old, like: old}
"""


def test_a_file_of_pools(tmp_path: Path) -> None:
    (tmp_path / "pools.yaml").write_text(POOLS)
    small, old = load_shapes(tmp_path / "pools.yaml", {"old": node("old")})
    assert (small.price, small.most, old.price, old.most) == (0.5, 3, None, 1000)
    assert [each["metadata"]["labels"]["topology.kubernetes.io/zone"] for each in small.nodes(3)] == ["x", "y", "x"]
    assert [each["metadata"]["name"] for each in old.nodes(2)] == ["as-old-1", "as-old-2"]
    with pytest.raises(WhatIfError, match="no price for as-old"):
        check_shapes([small, old], by_price=True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind: Pod", "expected one object of kind NodePools"),
        ("{kind: NodePools, pool: []}", "pool: unknown field"),
        ("{kind: NodePools, pools: []}", "pools: expected a list"),
        ("{kind: NodePools, pools: [{name: a, cost: 1}]}", r"pools\[0\].cost: unknown field"),
        ("{kind: NodePools, pools: [{name: A_b, like: old}]}", r"pools\[0\].name: expected a name"),
        ("{kind: NodePools, pools: [{name: a}]}", "expected either node"),
        ("{kind: NodePools, pools: [{name: a, like: odl}]}", 'no node "odl".*did you mean "old"'),
        ("{kind: NodePools, pools: [{name: a, like: old, price: 0}]}", r"pools\[0\].price: expected a number above 0"),
        ("{kind: NodePools, pools: [{name: a, like: old, max: 99999}]}", r"pools\[0\].max: expected"),
        ("{kind: NodePools, pools: [{name: a, like: old, zones: x}]}", r"pools\[0\].zones: expected"),
        ("{kind: NodePools, pools: [{name: a, like: old, price: .nan}]}", r"pools\[0\].price: expected"),
        ("{kind: NodePools, pools: [{name: a, like: old, zones: [" + "x," * 101 + "]}]}", "at most 100 names"),
        ("{kind: NodePools, pools: [{name: a, node: {spec: 3}}]}", r"pools\[0\].node"),
        ("{kind: NodePools, pools: [{name: a, node: {}}]}", "expected amounts with pods"),
        ("{kind: NodePools, pools: [{name: a, like: old}, {name: a, like: old}]}", "duplicate pool a"),
    ],
)
def test_bad_pools_name_the_field(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "pools.yaml").write_text(text)
    with pytest.raises((ManifestError, WhatIfError), match=problem):
        load_shapes(tmp_path / "pools.yaml", {"old": node("old")})
