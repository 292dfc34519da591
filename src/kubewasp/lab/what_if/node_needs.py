"""Necessary conditions on sets of nodes: sums of resources that their pods need, and the cheapest sets that meet them.

No set that fails one of them can have all pods, so what meets them is a bound from below. Only filters that are enabled
in all profiles count.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kubewasp.k8s.nodes import HOSTNAME, parse_node
from kubewasp.k8s.resources import CPU, EPHEMERAL, MEMORY
from kubewasp.k8s.taints import untolerated

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.lab.what_if.node_shapes import NodeShape

Counts = tuple[int, ...]
_PODS: Final = "pods"
_MOST_STEPS: Final = 200_000


@dataclass(frozen=True, slots=True)
class Need:
    """An amount that the nodes of some shapes must have together: `supply` is that of one node of each shape."""

    what: str
    supply: tuple[float, ...]
    amount: float

    def is_met(self, counts: Sequence[int]) -> bool:
        return sum(one * count for one, count in zip(self.supply, counts, strict=True)) >= self.amount


@dataclass(frozen=True, slots=True)
class Needs:
    """All conditions, and the shapes (by their places) that can host a pod, as far as labels, taints and sizes tell."""

    all: tuple[Need, ...]
    hosts: Mapping[str, frozenset[int]]

    def are_met(self, counts: Sequence[int]) -> bool:
        return all(need.is_met(counts) for need in self.all)


def needs_of(
    pods: Iterable[Pod],
    shapes: Sequence[NodeShape],
    *,
    overhead: Sequence[Sequence[Pod]],
    filters: Collection[str],
    kept: Sequence[Node] = (),
) -> Needs:
    """Conditions on the numbers of nodes of each shape.

    Args:
        pods: Pods that need a node.
        shapes: Shapes of nodes.
        overhead: Pods of DaemonSets on a node, by shape.
        filters: Enabled filter plugins.
        kept: Nodes that are there anyway; they could host all pods, and their room is not looked at in detail.
    """
    examples = [[parse_node(node) for node in shape.nodes(max(1, len(shape.zones)))] for shape in shapes]
    room = [_less(_room(nodes[0]), some) for nodes, some in zip(examples, overhead, strict=True)]
    demands: dict[frozenset[int], Counter[str]] = {}
    of_pods: dict[str, frozenset[int]] = {}
    hosts: dict[int, frozenset[int]] = {}
    for pod in pods:
        if pod.spec.id not in hosts:
            hosts[pod.spec.id] = _hosts(pod, examples, room, filters)
        able = of_pods[pod.key] = hosts[pod.spec.id]
        if able:
            demands.setdefault(able, Counter()).update(_demand(pod, filters))
    extra: Counter[str] = Counter()
    for node in kept:
        extra.update(_room(node))
    found = []
    for able in {*demands, frozenset(range(len(shapes)))}:
        total: Counter[str] = Counter()
        for others, demand in demands.items():
            if others <= able:
                total.update(demand)
        for what, amount in total.items():
            supply = tuple(_supply(room[place], what) if place in able else 0.0 for place in range(len(shapes)))
            needed = amount - (len(kept) if _is_exclusive(what) else extra[what])
            if needed > 0:
                found.append(Need(what, supply, needed))
    return Needs(tuple(found), of_pods)


def _hosts(
    pod: Pod, examples: Sequence[Sequence[Node]], room: Sequence[Mapping[str, float]], filters: Collection[str]
) -> frozenset[int]:
    """The shapes that can host a pod, as far as labels, taints and an empty node tell."""
    demand = _demand(pod, filters)
    return frozenset(
        place
        for place, nodes in enumerate(examples)
        if any(_admits(pod, node, filters) for node in nodes)
        and all(_supply(room[place], what) >= amount for what, amount in demand.items())
    )


def _admits(pod: Pod, node: Node, filters: Collection[str]) -> bool:
    if "TaintToleration" in filters and untolerated(node.taints, pod.spec.tolerations) is not None:
        return False
    if "NodeAffinity" not in filters:
        return True
    selector, terms = pod.spec.node_selector or {}, pod.spec.required_affinity
    if any(node.labels.get(key) != value for key, value in selector.items()):
        return False
    return terms is None or any(term.matches(node.name, node.labels) for term in terms)


def _demand(pod: Pod, filters: Collection[str]) -> dict[str, int]:
    """Amounts that a pod takes from a node; of what only one pod on a node can have, one."""
    found: dict[str, int] = {}
    if "NodeResourcesFit" in filters:
        requests = pod.resources.requests
        names = (CPU, MEMORY, EPHEMERAL, *requests.scalars)
        found = {name: requests.get(name) for name in names if requests.get(name)} | {_PODS: 1}
    if "NodePorts" in filters:
        found |= {f"host port {port.port}/{port.protocol} of {port.ip}": 1 for port in pod.spec.host_ports}
    if "InterPodAffinity" in filters and _excludes_its_like(pod):
        # Equal terms are one object, and pods that select themselves by them exclude each other.
        found[f"node without its like {pod.namespace} {id(pod.spec.pod_affinity)}"] = 1
    return found


def _excludes_its_like(pod: Pod) -> bool:
    affinity = pod.spec.pod_affinity
    return affinity is not None and any(
        term.topology_key == HOSTNAME
        and pod.namespace in term.namespaces
        and term.selector is not None
        and term.selector.matches(pod.labels)
        for term in affinity.required_anti
    )


def _is_exclusive(what: str) -> bool:
    return what.startswith(("host port ", "node without "))


def _supply(room: Mapping[str, float], what: str) -> float:
    return 1.0 if _is_exclusive(what) else room.get(what, 0.0)


def _room(node: Node) -> dict[str, float]:
    amounts = node.allocatable
    names = (CPU, MEMORY, EPHEMERAL, *amounts.scalars)
    return {name: float(amounts.get(name)) for name in names} | {_PODS: float(node.max_pods)}


def _less(room: dict[str, float], pods: Sequence[Pod]) -> dict[str, float]:
    for pod in pods:
        for what, amount in _demand(pod, ("NodeResourcesFit",)).items():
            room[what] = max(0.0, room.get(what, 0.0) - amount)
    return room


# ---------------------------------------------------------------------- sets that meet all needs


@dataclass(frozen=True, slots=True)
class CheapSets:
    """Sets that meet all needs below a cost, the cheapest first. `is_complete`: all of them."""

    sets: tuple[Counts, ...]
    is_complete: bool


def cheapest_single(needs: Needs, prices: Sequence[float]) -> float:
    """The cost that the most expensive single need has at least: its amount at the best price."""
    return max((_least_cost(need, prices, need.amount) for need in needs.all), default=0.0)


def sets_below(needs: Needs, prices: Sequence[float], most: Sequence[int], cost: float) -> CheapSets:
    """All sets of a lower cost that meet the needs, as far as they can be listed."""
    listing = _Listing(needs.all, prices, most, cost)
    found = sorted(listing.run(), key=lambda counts: (_cost(counts, prices), sum(counts)))
    return CheapSets(tuple(found), listing.is_complete)


def _cost(counts: Sequence[int], prices: Sequence[float]) -> float:
    return math.fsum(count * price for count, price in zip(counts, prices, strict=True))


def _least_cost(need: Need, prices: Sequence[float], amount: float, first: int = 0) -> float:
    rates = [one / price for one, price in zip(need.supply[first:], prices[first:], strict=True) if one]
    if amount <= 0:
        return 0.0
    return amount / max(rates) if rates else math.inf


class _Listing:
    """Search over the numbers of nodes, shape by shape, without branches that cost too much."""

    def __init__(self, needs: Sequence[Need], prices: Sequence[float], most: Sequence[int], cost: float) -> None:
        self.is_complete = True
        self._prices = prices
        self._most = most
        self._cost = cost
        self._supply = np.array([need.supply for need in needs], dtype=np.float64).reshape(len(needs), len(prices))
        rates = self._supply / np.array(prices, dtype=np.float64)
        # Of each need, the best rate among the shapes from a place on.
        self._best = np.maximum.accumulate(rates[:, ::-1], axis=1)[:, ::-1] if len(needs) else rates
        self._amounts = np.array([need.amount for need in needs], dtype=np.float64)
        self._steps = 0

    def run(self) -> Iterator[Counts]:
        return self._from((), self._amounts, 0.0)

    def _from(self, counts: Counts, lacking: np.ndarray, spent: float) -> Iterator[Counts]:
        place = len(counts)
        self._steps += 1
        if self._steps > _MOST_STEPS:
            self.is_complete = False
            return
        if place == len(self._prices):
            if sum(counts) and not (lacking > 0).any():
                yield counts
            return
        open_needs = lacking > 0
        if open_needs.any():
            best = self._best[open_needs, place]
            if not best.all() or spent + float((lacking[open_needs] / best).max()) >= self._cost:
                return
        price = self._prices[place]
        for count in range(self._most[place] + 1):
            cost = spent + count * price
            if cost >= self._cost * (1 - 1e-12):
                return
            yield from self._from((*counts, count), lacking - count * self._supply[:, place], cost)
