"""Adaptive sample of nodes: the choices of kube-scheduler, in its order and with its rotation."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.kubewasp import wait_node
from tests.guests.build import wat_text
from tools.testbed.cluster import Cluster, pod
from tools.testbed.kubewasp import NAME, StartKubewasp, profile
from tools.testbed.nodes import FakeNodes
from tools.testbed.servers import StartKubeScheduler

# Not signed: it has to be called for every node and every pod. It changes nothing.
FILTER = '(func (export "filter") (result i32) (i32.const 0))'
SCORE = '(func (export "score") (result i64) (i64.const 0))'
PODS = 12


@pytest.mark.parametrize("hooks", [FILTER, SCORE, FILTER + SCORE], ids=["filter", "score", "both"])
def test_a_plugin_called_per_node_leaves_the_choices_of_kube_scheduler(
    cluster: Cluster,
    fake_nodes: FakeNodes,
    start_kube_scheduler: StartKubeScheduler,
    start_kubewasp: StartKubewasp,
    hooks: str,
) -> None:
    """More nodes than in a sample, some of them closed: a search ends before all are examined, the next goes on."""
    for some, closed in ((70, False), (30, True), (150, False)):
        fake_nodes.create(some, labels=lambda number: {"size": str(number % 3)}, unschedulable=closed)

    def placed(start: Callable[[], Any]) -> list[str]:
        scheduler = start()
        found = [placement(cluster, number) for number in range(PODS)]
        scheduler.stop()
        for number in range(PODS):
            cluster.delete("Pod", f"p{number}", grace_seconds=0)
        return found

    guest = wat_text(f'(module (memory (export "memory") 1) {hooks})', "sampling")
    # One after the other: with more, the order of nodes that pass is left to chance.
    kube = placed(lambda: start_kube_scheduler(config={"parallelism": 1, "profiles": [{"schedulerName": NAME}]}))
    ours = placed(lambda: start_kubewasp(profiles=[profile(guests={"sampling": guest})]))
    assert ours == kube
    every = placed(lambda: start_kubewasp(profiles=[profile(guests={"sampling": guest}, percentageOfNodesToScore=100)]))
    assert every != kube


def placement(cluster: Cluster, number: int) -> str:
    """The node of another pod, once it is bound: no two are in the queue together."""
    name = f"p{number}"
    cluster.create(pod(name, scheduler=NAME, cpu=f"{100 + number}m"))
    return wait_node(cluster, name)
