"""Fewest or cheapest nodes for a workload.

The method: needs (`node_needs`) give a bound from below. A set that hosts all pods is found by adding nodes for pending
pods, and made smaller while it still does. Then every cheaper set that meets the needs is tried, the cheapest first, as
long as tries are left. A set counts only if a simulation with the real plugins places all pods.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s.nodes import parse_node
from kubewasp.lab.what_if.node_needs import Needs, cheapest_single, needs_of, sets_below
from kubewasp.lab.what_if.what_if_errors import WhatIfError
from kubewasp.simulation.simulator import Simulation
from kubewasp.simulation.workloads import controller_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.k8s.pods import Pod
    from kubewasp.lab.experiments.experiment import Candidate
    from kubewasp.lab.what_if.node_needs import Counts
    from kubewasp.lab.what_if.node_shapes import NodeShape
    from kubewasp.simulation.loading import ClusterInput
    from kubewasp.simulation.result import PendingPod, SimulationResult
    from kubewasp.simulation.simulator import SimulationInput

_MIRROR: Final = "kubernetes.io/config.mirror"
_SERIAL: Final = re.compile(r"[0-9]+$")
_BOUND_TO_NODES: Final = ("DaemonSet", "Node")


@dataclass(frozen=True, slots=True)
class OneLess:
    """The found set with one node of a shape less, and the pods that are pending then."""

    shape: str
    pending: tuple[PendingPod, ...]


@dataclass(frozen=True, slots=True)
class Smallest:
    """The best set of nodes that was found.

    `bound` is a cost that no set can be below, `is_proven` says that every cheaper set fails. `impossible` are pods
    without a node on any set that was tried; the set is for all others.
    """

    shapes: tuple[NodeShape, ...]
    counts: Counts
    by_price: bool
    result: SimulationResult
    bound: float
    is_proven: bool
    tried: int
    below: int | None  # cheaper sets that meet the needs; None if they are too many to list
    impossible: tuple[PendingPod, ...]
    one_less: tuple[OneLess, ...]

    @property
    def cost(self) -> float:
        return _cost(self.counts, _prices(self.shapes, by_price=self.by_price))

    @property
    def price(self) -> float | None:
        """The price of the set; None unless all shapes have one."""
        if any(shape.price is None for shape in self.shapes):
            return None
        return _cost(self.counts, _prices(self.shapes, by_price=True))

    @property
    def gap(self) -> float:
        """Share by which the set may be above the best one."""
        return 0.0 if self.is_proven or not self.cost else (self.cost - self.bound) / self.cost

    def as_dict(self) -> dict[str, Any]:
        return {
            "nodes": sum(self.counts),
            **({"price": round(self.price, 6)} if self.price is not None else {}),
            "by": "price" if self.by_price else "nodes",
            "pools": [
                {"name": shape.name, "count": count} for shape, count in zip(self.shapes, self.counts, strict=True)
            ],
            "bound": round(self.bound, 6),
            "gap": round(self.gap, 6),
            "isProven": self.is_proven,
            "tried": self.tried,
            "cheaperSets": self.below,
            "impossible": [{"pod": item.pod, "message": item.message} for item in self.impossible],
            "oneLess": [
                {"pool": item.shape, "pending": [{"pod": pod.pod, "message": pod.message} for pod in item.pending]}
                for item in self.one_less
            ],
            "placements": [{"pod": item.pod, "node": item.node} for item in self.result.placements],
            "usage": [node.as_dict() for node in self.result.nodes],
        }


class SmallestSearch:
    """Search for the smallest set.

    Args:
        given: The input. Its nodes are left out and its pods are pending, unless `keeps_nodes`.
        candidate: The configuration.
        shapes: Shapes of nodes to choose from.
        by_price: The cheapest set, not the one with the fewest nodes.
        keeps_nodes: The nodes of the input stay, with the pods on them.
        tries: Number of simulations after the first set is found.
        tried: Called after every simulation of a set.
    """

    def __init__(
        self,
        given: SimulationInput,
        candidate: Candidate,
        shapes: Sequence[NodeShape],
        *,
        by_price: bool,
        keeps_nodes: bool = False,
        tries: int = 100,
        tried: Callable[[], None] = lambda: None,
    ) -> None:
        self.given = replace(given, objects=_emptied(given.objects, keeps_nodes=keeps_nodes))
        self.candidate = candidate
        self.shapes = shapes
        self.by_price = by_price
        self.tries = tries
        self.tried = tried
        self._all = self._simulation([]).cluster  # all pods of the input, none of them scheduled
        self._known: dict[Counts, SimulationResult] = {}
        self._impossible: dict[str, PendingPod] = {}
        self._unfit: set[str] = set()  # beginnings of names of DaemonSets' pods that a shape has no room for
        self._left = 0

    def run(self) -> Smallest:
        counts = self._first()
        # Pods that no set can host are not counted, now that they are known.
        needs = self._needs()
        self._left = self.tries
        counts = self._reduced(counts, needs)
        prices, most = self._prices, [shape.most for shape in self.shapes]
        below = sets_below(needs, prices, most, self._cost(counts))
        bound = self._cost(below.sets[0]) if below.sets and below.is_complete else cheapest_single(needs, prices)
        is_proven = below.is_complete
        for cheaper in below.sets:
            if not self._is_enough_if_allowed(cheaper):
                is_proven = is_proven and cheaper in self._known
                if self._left <= 0:
                    break
                continue
            counts = cheaper
            break
        is_proven = is_proven and all(one in self._known for one in below.sets if self._cost(one) < self._cost(counts))
        one_less = self._one_less(counts)
        return Smallest(
            tuple(self.shapes),
            counts,
            self.by_price,
            self._simulated(counts),
            self._cost(counts) if is_proven else min(bound, self._cost(counts)),
            is_proven,
            len(self._known),
            len(below.sets) if below.is_complete else None,
            tuple(self._impossible.values()),
            one_less,
        )

    @property
    def _prices(self) -> list[float]:
        return _prices(self.shapes, by_price=self.by_price)

    def _cost(self, counts: Counts) -> float:
        return _cost(counts, self._prices)

    # ------------------------------------------------------------------ simulations

    def _simulation(self, nodes: Sequence[Mapping[str, Any]], **others: list[Mapping[str, Any]]) -> Simulation:
        """The input with these nodes, and with other pods or workloads if they are given."""
        objects = self.given.objects
        more = replace(objects, nodes=[*objects.nodes, *nodes], **others)  # type: ignore[arg-type]
        return Simulation(replace(self.given, objects=more), self.candidate.settings, self.candidate.added)

    def _simulated(self, counts: Counts) -> SimulationResult:
        if counts not in self._known:
            nodes = [node for shape, count in zip(self.shapes, counts, strict=True) for node in shape.nodes(count)]
            self._known[counts] = self._simulation(nodes).run().result
            self.tried()
        return self._known[counts]

    def _pending(self, counts: Counts) -> list[PendingPod]:
        """Pods without a node that could have one on another set."""
        return [
            pod
            for pod in self._simulated(counts).pending
            if pod.pod not in self._impossible and _SERIAL.sub("", pod.pod) not in self._unfit
        ]

    def _is_enough(self, counts: Counts) -> bool:
        return not self._pending(counts)

    def _is_enough_if_allowed(self, counts: Counts) -> bool:
        """Whether a set is enough, as long as tries are left."""
        if counts not in self._known:
            if self._left <= 0:
                return False
            self._left -= 1
        return self._is_enough(counts)

    # ------------------------------------------------------------------ search

    def _needs(self) -> Needs:
        """Conditions of the pods of the input, and of DaemonSets on every shape."""
        filters = set.intersection(
            *({plugin.name for plugin in each.filter} for each in self._all.scheduler.frameworks.values())
        )
        return needs_of(
            [pod for pod in self._all.pods.values() if pod.key not in self._impossible],
            self.shapes,
            overhead=[self._overhead(shape) for shape in self.shapes],
            filters=filters,
            kept=[parse_node(node) for node in self.given.objects.nodes],
        )

    def _overhead(self, shape: NodeShape) -> list[Pod]:
        """Pods of DaemonSets on a node of its own. Those that it has no room for are left out of the search."""
        daemons = [item for item in self.given.objects.workloads if item["kind"] == "DaemonSet"]
        alone = self._simulation(shape.nodes(1), pods=[], workloads=daemons)
        for pod in alone.run().result.pending:
            self._impossible[pod.pod] = pod
            self._unfit.add(pod.pod.removesuffix("1"))
        return [pod for pod in alone.cluster.pods.values() if pod.node]

    def _first(self) -> Counts:
        """A set that hosts all pods that any set can host. Nodes are added for pending pods, best value first."""
        needs = self._needs()
        counts = self._covering(needs)
        self._leave_out(self._pending(counts))
        while pending := self._pending(counts):
            more = self._with_more(counts, pending, needs)
            if more == counts:
                self._impossible |= {pod.pod: pod for pod in pending}
            counts = more
        return counts

    def _leave_out(self, pending: Sequence[PendingPod]) -> None:
        """Leaves out pods without a node even if they are alone, as without a volume; not those that need others."""
        nodes = [node for shape in self.shapes for node in shape.nodes(max(1, len(shape.zones)))]
        bound = [pod for pod in self.given.objects.pods if (pod.get("spec") or {}).get("nodeName")]
        hosted: dict[int, bool] = {}
        for item in pending:
            pod = self._all.pods.get(item.pod)
            if pod is None or (pod.spec.pod_affinity is not None and pod.spec.pod_affinity.required):
                continue
            if pod.spec.id not in hosted:
                alone = {**self._all.objects.manifests[pod.key]}
                result = self._simulation(nodes, pods=[*bound, alone], workloads=[]).run().result
                hosted[pod.spec.id] = all(each.pod != pod.key for each in result.pending)
            if not hosted[pod.spec.id]:
                self._impossible[item.pod] = item

    def _covering(self, needs: Needs) -> Counts:
        """A set that meets the needs, as far as the numbers of nodes allow: each is met at the best price."""
        counts = [0] * len(self.shapes)
        for need in sorted(needs.all, key=lambda need: sum(one > 0 for one in need.supply)):
            rates = [one / price for one, price in zip(need.supply, self._prices, strict=True)]
            for place in sorted(range(len(rates)), key=lambda place: -rates[place]):
                lacking = need.amount - math.fsum(one * n for one, n in zip(need.supply, counts, strict=True))
                if lacking <= 0 or not need.supply[place]:
                    break
                room = self.shapes[place].most - counts[place]
                counts[place] += min(room, math.ceil(lacking / need.supply[place]))
        return tuple(counts)

    def _with_more(self, counts: Counts, pending: Sequence[PendingPod], needs: Needs) -> Counts:
        """The set with the nodes that help most pending pods for their price; itself if none can be added.

        Tries one node of each shape; of the best one, half as many are added as would be needed at that rate. If a
        single node helps nobody, all shapes double: a scheduler that spreads pods may fill any single node.
        """
        every = frozenset(range(len(self.shapes)))
        able = frozenset[int]().union(*(needs.hosts.get(pod.pod, every) for pod in pending))
        best, best_value = counts, 0.0
        for place in sorted(able):
            shape = self.shapes[place]
            if counts[place] < shape.most:
                more = _changed(counts, place, 1)
                left = len(self._pending(more))
                helped = len(pending) - left
                if helped / self._prices[place] > best_value:
                    further = min(left // (2 * helped), shape.most - more[place])
                    best, best_value = _changed(more, place, further), helped / self._prices[place]
        if best_value:
            return best
        most = len(self._all.pods)
        return tuple(
            max(count, min(2 * count + 1, shape.most, most)) if place in able else count
            for place, (count, shape) in enumerate(zip(counts, self.shapes, strict=True))
        )

    def _reduced(self, counts: Counts, needs: Needs) -> Counts:
        """The set without the nodes that it does not need, the most expensive first; by halves, then one by one."""
        order = sorted(range(len(counts)), key=lambda place: -self._prices[place])
        is_smaller = True
        while is_smaller:
            is_smaller = False
            for place in order:
                step = max(1, counts[place] // 2)
                while counts[place] and step:
                    fewer = _changed(counts, place, -min(step, counts[place]))
                    if needs.are_met(fewer) and self._is_enough_if_allowed(fewer):
                        counts, is_smaller = fewer, True
                    else:
                        step //= 2
        return counts

    def _one_less(self, counts: Counts) -> tuple[OneLess, ...]:
        found = []
        for place, shape in enumerate(self.shapes):
            if counts[place]:
                fewer = _changed(counts, place, -1)
                found.append(OneLess(shape.name, tuple(self._pending(fewer))))
        return tuple(found)


def check_shapes(shapes: Sequence[NodeShape], *, by_price: bool) -> None:
    """Prices for all shapes, if they are to be compared."""
    missing = [shape.name for shape in shapes if shape.price is None]
    if by_price and missing:
        raise WhatIfError(f"no price for {', '.join(missing[:5])}; give one, or search with --by nodes")


def _emptied(objects: ClusterInput, *, keeps_nodes: bool) -> ClusterInput:
    """The input without its nodes: all pods are pending, and those that belong to nodes are left out."""
    if keeps_nodes:
        return objects
    pods: list[Mapping[str, Any]] = []
    for pod in objects.pods:
        owner = controller_of(pod)
        annotations = (pod.get("metadata") or {}).get("annotations") or {}
        if (owner is None or owner[0] not in _BOUND_TO_NODES) and _MIRROR not in annotations:
            spec = {key: value for key, value in (pod.get("spec") or {}).items() if key != "nodeName"}
            pods.append({**pod, "spec": spec})
    return replace(objects, nodes=[], pods=pods)


def _changed(counts: Counts, place: int, by: int) -> Counts:
    return (*counts[:place], counts[place] + by, *counts[place + 1 :])


def _prices(shapes: Sequence[NodeShape], *, by_price: bool) -> list[float]:
    return [shape.price if by_price and shape.price is not None else 1.0 for shape in shapes]


def _cost(counts: Counts, prices: Sequence[float]) -> float:
    return math.fsum(count * price for count, price in zip(counts, prices, strict=True))
