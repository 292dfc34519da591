"""Occupancy of a cluster over time: nodes in use, their cost, and idle capacity."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from kubewasp.lab.experiments.fragmentation import IdleSamples
from kubewasp.lab.experiments.node_prices import MICROS, PricedNodes

if TYPE_CHECKING:
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.lab.experiments.node_prices import NodePrices
    from kubewasp.simulation.embedded_cluster import EmbeddedCluster

_HOUR: Final = 3600.0
_ON_EVERY_NODE: Final = "DaemonSet"


class Occupancy:
    """Nodes in use from now on. A node is in use while it has a pod that is not of a DaemonSet.

    Implements `ObjectListener`. Sums are exact: they change with each pod, not by samples.
    """

    def __init__(self, cluster: EmbeddedCluster, prices: NodePrices | None = None) -> None:
        self.idle = IdleSamples(cluster.scheduler.table)
        self.priced = None if prices is None else PricedNodes(prices)
        self._clock = cluster.clock
        self._began = self._last = cluster.clock.now()
        self._pods: Counter[str] = Counter()  # by node in use
        self._price = 0  # of nodes in use, in millionths per hour
        self._node_seconds = self._price_seconds = 0.0
        table = cluster.scheduler.table
        for row in table.order().tolist():
            self.put_node(table.node(row))
        for pod in cluster.pods.values():
            self._changed(pod, 1)
        cluster.objects.subscribe(self)

    @property
    def nodes_used(self) -> int:
        """Nodes in use now."""
        return len(self._pods)

    @property
    def cost_per_hour(self) -> float:
        """Price of the nodes in use now."""
        return self._price / MICROS

    def mean_nodes(self) -> float | None:
        """Mean number of nodes in use over time; None if no time has passed."""
        self._advance()
        seconds = self._last - self._began
        return self._node_seconds / seconds if seconds else None

    def cost(self) -> float | None:
        """Price of the nodes in use, added up over time; None if no time has passed."""
        self._advance()
        return self._price_seconds / _HOUR / MICROS if self._last > self._began else None

    def put_node(self, node: Node) -> None:
        self.idle.nodes_changed()
        if self.priced is not None:
            self._advance()
            before = self.priced.known.get(node.name, 0)
            self.priced.add(node)
            if node.name in self._pods:
                self._price += self.priced.known[node.name] - before

    def delete_node(self, name: str) -> None:  # noqa: ARG002 - interface
        """Its pods are deleted next, which ends its use."""
        self.idle.nodes_changed()

    def put_pod(self, pod: Pod, before: Pod | None) -> None:
        if before is None or not before.node:
            self._changed(pod, 1)

    def delete_pod(self, pod: Pod) -> None:
        self._changed(pod, -1)

    def _changed(self, pod: Pod, number: int) -> None:
        if not pod.node:
            return
        self._advance()
        self.idle.offer(self._last)
        if pod.owner is not None and pod.owner.kind == _ON_EVERY_NODE:
            return
        was_used = pod.node in self._pods
        self._pods[pod.node] += number
        if self._pods[pod.node] <= 0:
            del self._pods[pod.node]
        change = (pod.node in self._pods) - was_used
        if change and self.priced is not None:
            self._price += change * self.priced.known.get(pod.node, 0)

    def _advance(self) -> None:
        """Adds the time since the last change."""
        now = self._clock.now()
        span = now - self._last
        if span:
            self._node_seconds += span * len(self._pods)
            self._price_seconds += span * self._price
            self._last = now


def capacity(cluster: EmbeddedCluster) -> dict[str, int]:
    """Allocatable amounts of all nodes together, by resource."""
    table = cluster.scheduler.table
    rows = table.order()
    return {name: total for name, column in table.allocatable.items() if (total := int(column[rows].sum()))}
