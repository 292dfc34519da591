"""Runs of a trace: arrivals, waits, ends, given-up pods, samples."""

import gc
import itertools
import math
import random
import re
import tracemalloc
from collections.abc import Iterable
from dataclasses import replace

import pytest

from kubewasp.lab.traces.playback import TraceRun
from kubewasp.lab.traces.pod_requests import requests_of
from kubewasp.lab.traces.samples import MOST, Sample, Samples
from kubewasp.lab.traces.trace import BadRows, TracePod
from kubewasp.lab.traces.trace_errors import Place, RowError, TraceError
from kubewasp.lab.traces.workload import inflated, shuffled, shuffled_nodes, until
from kubewasp.simulation.simulator import embedded_cluster


def pod(name: str, at: float = 0.0, duration: float | None = None, cpu: str = "1") -> TracePod:
    spec = {"containers": [{"name": "main", "image": "trace", "resources": {"requests": {"cpu": cpu}}}]}
    return TracePod(name, "default", at, duration, spec, {}, {})


ONE = pod("")


def run(
    pods: Iterable[TracePod],
    *,
    nodes: int = 1,
    patience: float = math.inf,
    end: float = math.inf,
    bad: BadRows | None = None,
) -> TraceRun:
    cluster, _ = embedded_cluster([], None, [], {})
    for number in range(nodes):
        status = {"allocatable": {"cpu": "2", "pods": "100"}}
        cluster.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}"}, "status": status})
    found = TraceRun(cluster, iter(pods), patience, ("cpu",), bad)
    found.run(end)
    return found


def test_pods_arrive_run_and_end() -> None:
    found = run([pod("a", 0, 60), pod("b", 10, 60), pod("c", 20, 60)])
    assert (found.counts.arrived, found.counts.placed, found.counts.ended) == (3, 3, 3)
    assert found.counts.longest_wait == 40  # c fits when a has ended
    assert found.cluster.pods == {}
    assert found.cluster.clock.now() == 120


def test_pods_without_a_duration_stay() -> None:
    found = run([pod("a"), pod("b"), pod("c")])
    assert (found.counts.placed, found.counts.ended) == (2, 0)
    assert len(found.cluster.pods) == 3


@pytest.mark.parametrize(("patience", "placed"), [(0, 2), (30, 2), (61, 3)])
def test_a_pod_without_a_node_is_given_up_when_its_patience_ends(patience: float, placed: int) -> None:
    found = run([pod("a", 0, 60), pod("b", 0, 60), pod("c", 0, 60)], patience=patience)
    assert (found.counts.placed, found.counts.given_up) == (placed, 3 - placed)


def test_a_run_may_end_early() -> None:
    found = run([pod("a", 0, 60), pod("b", 100, 60)], end=80)
    assert (found.counts.arrived, found.counts.ended) == (1, 1)


def test_pods_of_the_future_take_no_memory() -> None:
    made = 0

    def pods() -> Iterable[TracePod]:
        nonlocal made
        for number in range(1000):
            made += 1
            yield pod(f"p{number}", number * 10.0, 5)

    found = run(pods(), end=100)
    assert made == 12  # eleven have arrived, and one is next
    assert len(found.cluster.pods) <= 1


def test_the_end_of_a_pod_tries_those_again_that_fit_on_its_node() -> None:
    """Pods that wait for more than a pod leaves behind are not tried at its end."""
    large = [pod(f"large-{number}", 1, cpu="2") for number in range(20)]
    small = [pod(f"small-{number}", 2 * number, 10) for number in range(50)]
    found = run(sorted([*large, *small], key=lambda item: item.arrival))
    assert found.counts.placed == 51
    tries = sum(queued.attempts for queued in found.cluster.scheduler.queue)
    assert tries < 3 * 19


@pytest.mark.parametrize("skip", [False, True])
def test_a_pod_whose_name_is_taken_is_a_bad_row(skip: bool) -> None:
    place = Place("pods.csv", 3)
    pods = [pod("a", 0, 60), replace(pod("a", 10, 60), place=place, column="job"), pod("a", 70, 60), pod("b", 80, 60)]
    told = "pods.csv:3: column job: pod default/a arrives while another one of that name is there"
    if not skip:
        with pytest.raises(RowError, match=re.escape(told)):
            run(pods)
        return
    bad = BadRows()
    found = run(pods, bad=bad)
    assert (found.counts.arrived, found.counts.ended) == (3, 3)
    assert (bad.count, bad.first) == (1, [told])


def test_the_patience_of_a_pod_that_has_ended_does_not_end_a_later_one_of_its_name() -> None:
    pods = [pod("a", 0, 10), pod("b", 15, 200, cpu="2"), pod("a", 20, 10)]
    found = run(pods, patience=250)
    assert (found.counts.placed, found.counts.given_up) == (3, 0)


def test_pods_that_have_ended_take_no_memory() -> None:
    """Bytes that stay after 500 pods; a pod in the cluster takes some thousand."""

    def pods() -> Iterable[TracePod]:
        for number in itertools.count():
            yield replace(ONE, name=f"pod-{number}", arrival=float(number), duration=1.5)

    cluster, _ = embedded_cluster([], None, [], {})
    status = {"allocatable": {"cpu": "2", "pods": "100"}}
    cluster.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": status})
    found = TraceRun(cluster, iter(pods()), samples=Samples(_every=10**9))
    found.run(100)
    tracemalloc.start()
    try:
        cluster.settle(200)
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        cluster.settle(700)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.counts.ended >= 690
    assert after - before < 20 * 500


def test_samples_have_what_arrived_and_what_is_requested() -> None:
    found = run([pod("a", 0, 60, cpu="500m"), pod("b", 10, 60)])
    first, second, last = found.samples.kept
    assert (first.at, first.arrived_amounts, first.requested) == (0, {"cpu": 500}, {"cpu": 500})
    assert (second.at, second.running, second.requested) == (10, 2, {"cpu": 1500})
    assert (last.running, last.arrived_amounts, last.requested) == (0, {"cpu": 1500}, {"cpu": 0})


def test_the_number_of_samples_is_bounded() -> None:
    samples = Samples()
    for number in range(100_000):
        if samples.offered():
            samples.add(Sample(number, number, 0, 0, {}, {}))
    assert MOST / 2 <= len(samples.kept) <= MOST
    steps = {later.at - earlier.at for earlier, later in zip(samples.kept, samples.kept[1:], strict=False)}
    assert len(steps) == 1  # evenly spaced


# ---------------------------------------------------------------------- changes to the pods


def test_shuffled_pods_keep_the_times_of_arrival() -> None:
    pods = [pod(str(number), number) for number in range(50)]
    found = shuffled(pods, random.Random(1))
    assert [item.arrival for item in found] == [item.arrival for item in pods]
    assert [item.name for item in found] != [item.name for item in pods]
    assert sorted(item.name for item in found) == sorted(item.name for item in pods)


def test_shuffled_nodes_have_names_of_their_order() -> None:
    nodes = [{"kind": "Node", "metadata": {"name": f"n{number}", "labels": {"zone": "z"}}} for number in range(20)]
    found = shuffled_nodes(nodes, random.Random(1))
    names = [item["metadata"]["name"] for item in found]
    assert names == sorted(names)
    assert names != [f"{number:02}-n{number}" for number in range(20)]
    assert sorted(name.partition("-")[2] for name in names) == sorted(f"n{number}" for number in range(20))
    assert found[0]["metadata"]["labels"] == {"zone": "z", "kubernetes.io/hostname": names[0]}


def test_inflated_pods_reach_the_amount_and_not_more() -> None:
    pods = [pod(str(number), number, cpu=cpu) for number, cpu in enumerate(["1", "2", "500m"])]
    found = inflated(pods, random.Random(1), resource="cpu", amount=20_000)
    total = sum(requests_of(item.spec)["cpu"] for item in found)
    assert 18_000 <= total <= 20_000
    assert found[:3] == pods
    assert len({item.name for item in found}) == len(found)
    assert [item.arrival for item in found] == sorted(item.arrival for item in found)


def test_a_trace_without_the_resource_cannot_be_inflated_to_it() -> None:
    with pytest.raises(TraceError, match=r"no pod requests nvidia\.com/gpu"):
        inflated([pod("a")], random.Random(1), resource="nvidia.com/gpu", amount=10)


def test_until_is_a_time() -> None:
    pods = [pod(str(number), number) for number in range(10)]
    assert list(until(iter(pods), 3)) == pods[:4]
    assert replace(pods[0], name="x") != pods[0]
