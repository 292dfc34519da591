"""Churn: concurrent creation, change and deletion of pods and nodes, with a consistent end state.

`CHURN=1000x5000x180` asks for other numbers of nodes, pods and seconds.
"""

import os
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from tests.e2e.kubewasp import SOON, ours
from tools.testbed.client import ApiError, Object
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import NAME, Kubewasp, StartKubewasp
from tools.testbed.nodes import FakeNodes
from tools.testbed.waiting import wait_until

NODES, PODS, SECONDS = map(int, os.environ.get("CHURN", "300x1500x30").split("x"))
NODE_CPU: Final = 4000
BATCH: Final = 40
ZONES: Final = 3
TAINT: Final = {"key": "maintenance", "effect": "NoSchedule"}


@dataclass
class Watched:
    """Nodes of each pod, recorded by a watch."""

    nodes_of: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    problems: list[BaseException] = field(default_factory=list)

    @property
    def bound(self) -> int:
        return sum(bool(nodes) for nodes in self.nodes_of.values())


@contextmanager
def watching(cluster: Cluster) -> Iterator[Watched]:
    """Follows all pods of the namespace until one with the name `end` appears."""
    watched = Watched()

    def follow(changes: Iterator[tuple[str, Object]]) -> None:
        try:
            for _, found in changes:
                if found["metadata"]["name"] == "end":
                    return
                nodes = watched.nodes_of[found["metadata"]["uid"]]
                if "nodeName" in found["spec"]:
                    nodes.add(found["spec"]["nodeName"])
        except Exception as error:  # noqa: BLE001 - told by the test, not by its thread
            watched.problems.append(error)

    with cluster.client.watch("Pod", namespace=cluster.namespace) as changes:
        thread = threading.Thread(target=follow, args=(changes,), daemon=True)
        thread.start()
        yield watched
        cluster.create(ours("end", scheduler="nobody"))
        thread.join(SOON)
        cluster.delete("Pod", "end")
    assert not thread.is_alive()
    assert watched.problems == []


class Churn:
    """Creates and removes pods and nodes at random."""

    def __init__(self, cluster: Cluster, nodes: FakeNodes) -> None:
        self._cluster = cluster
        self._nodes = nodes
        self._random = random.Random(1)
        self._pods: list[str] = []
        self.made: Counter[str] = Counter()

    def fill(self) -> None:
        self._create_pods(PODS)

    def step(self) -> None:
        self._delete_pods(BATCH)
        self._create_pods(PODS - len(self._pods))
        for change in self._random.sample([self._replace_node, self._taint, self._relabel], 2):
            change()

    def _create_pods(self, count: int) -> None:
        names = [f"pod-{self.made['pods'] + number}" for number in range(count)]
        self.made["pods"] += count
        self._pods += names
        self._cluster.create_all([self._pod(name) for name in names])

    def _pod(self, name: str) -> Object:
        cpu = self._random.choice((100, 250, 500, 1000, 2000))
        zone = self._random.randrange(2 * ZONES)
        return ours(name, cpu=f"{cpu}m", nodeSelector={"zone": str(zone)} if zone < ZONES else {})

    def _delete_pods(self, count: int) -> None:
        """Any of them; most likely also some of the newest, which are just being scheduled."""
        chosen = self._random.sample(self._pods, count // 2) + self._pods[-count // 2 :]
        gone = set(chosen)
        self._pods = [name for name in self._pods if name not in gone]
        self._cluster.client.each(self._delete_pod, gone)
        self.made["pods deleted"] += len(gone)

    def _delete_pod(self, name: str) -> None:
        try:
            self._cluster.delete("Pod", name, grace_seconds=0)
        except ApiError as error:
            if error.status != 404:
                raise

    def _replace_node(self) -> None:
        self._nodes.delete(self._random.choice(self._nodes.names))
        self._nodes.create(1, labels=zone, capacity={"cpu": f"{NODE_CPU}m"})
        self.made["nodes replaced"] += 1

    def _taint(self) -> None:
        name = self._random.choice(self._nodes.names)
        for taints in ([TAINT], []):
            self._cluster.client.patch("Node", name, {"spec": {"taints": taints}})
        self.made["taints"] += 1

    def _relabel(self) -> None:
        labels = {"zone": str(self._random.randrange(ZONES))}
        self._cluster.client.patch("Node", self._random.choice(self._nodes.names), {"metadata": {"labels": labels}})
        self.made["labels"] += 1

    def collect(self) -> None:
        """Deletes the pods of nodes that are gone, as a controller would."""
        placements = self._cluster.placements()
        lost = [name for name, node in placements.items() if node not in self._nodes.names]
        self._cluster.client.each(self._delete_pod, lost)
        self._pods = [name for name in self._pods if name not in set(lost)]
        self.made["pods of lost nodes"] += len(lost)


def zone(number: int) -> dict[str, str]:
    return {"zone": str(number % ZONES)}


def milli(cpu: str) -> int:
    return int(cpu.removesuffix("m")) if cpu.endswith("m") else 1000 * int(cpu)


def request(found: Object) -> int:
    return milli(found["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def free_room(cluster: Cluster, nodes: FakeNodes) -> dict[str, int]:
    """Free CPU of each node, below zero where it is over-committed."""
    free = dict.fromkeys(nodes.names, NODE_CPU)
    for found in cluster.list_all("Pod"):
        node = found["spec"].get("nodeName")
        if node in free:
            free[node] -= request(found)
    return free


def wrongly_pending(cluster: Cluster, nodes: FakeNodes) -> list[str]:
    """The pods without a node for which there is one."""
    free, roomiest = free_room(cluster, nodes), dict.fromkeys(map(str, range(ZONES)), 0)
    for node in cluster.list_all("Node"):
        place = node["metadata"]["labels"].get("zone", "")
        if place in roomiest:
            roomiest[place] = max(roomiest[place], free.get(node["metadata"]["name"], 0))
    return [
        found["metadata"]["name"]
        for found in cluster.unbound()
        if found["spec"]["schedulerName"] == NAME and request(found) <= max(roomiest[one] for one in _zones_of(found))
    ]


def _zones_of(found: Object) -> list[str]:
    wanted = found["spec"].get("nodeSelector", {}).get("zone")
    return [wanted] if wanted else list(map(str, range(ZONES)))


def test_after_churn_no_node_is_over_committed_and_no_pod_is_lost(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    fake_nodes.create(NODES, labels=zone, capacity={"cpu": f"{NODE_CPU}m"})
    churn = Churn(cluster, fake_nodes)
    with watching(cluster) as watched:
        scheduler = start_kubewasp()
        churn.fill()
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            churn.step()
            assert scheduler.running, scheduler.log_tail()
            if churn.made["pods deleted"] % (25 * BATCH) < BATCH:
                churn.collect()
                assert min(free_room(cluster, fake_nodes).values()) >= 0
        churn.collect()
        wait_until(lambda: not wrongly_pending(cluster, fake_nodes), SOON, "pods to be bound", cluster.describe)
    _report(cluster, scheduler, churn, watched)
    assert min(free_room(cluster, fake_nodes).values()) >= 0
    moved = {uid: nodes for uid, nodes in watched.nodes_of.items() if len(nodes) > 1}
    assert moved == {}
    assert "Traceback" not in scheduler.log_text


def _report(cluster: Cluster, scheduler: Kubewasp, churn: Churn, watched: Watched) -> None:
    counts = [f"{count:,} {what}" for what, count in churn.made.items()]
    counts += [f"{watched.bound:,} bound once", f"{len(cluster.unbound()):,} rightly pending"]
    counts += [f"{scheduler.cpu_seconds():.1f} s CPU", f"{scheduler.memory() >> 20:,} MiB"]
    print(f"\n{NODES:,} nodes, {SECONDS} s: {', '.join(counts)}")
