"""Fragmentation: the share of idle capacity that the typical pods of a workload cannot use.

A generalisation of the measure of Weng et al. (USENIX ATC 2023) from GPUs to all resources of nodes. A node is filled
in thought with pods of one shape; idle amounts that are left then are its fragment for that shape. On a node that
does not suit the shape, or has no room for it, that is all of them. The fragmentation of a resource is the mean over
the shapes that request it, weighted by their frequency.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from kubewasp.k8s.nodes import Node
    from kubewasp.lab.experiments.typical_pods import TypicalPod
    from kubewasp.state.node_table import NodeTable

_MOST_SAMPLES: Final = 64


@dataclass(frozen=True, slots=True)
class NodeCapacity:
    """Nodes in their order, and their allocatable amounts by resource.

    `has_restrictions`: some nodes have taints or are unschedulable.
    """

    nodes: tuple[Node, ...]
    amounts: Mapping[str, NDArray[np.int64]]
    has_restrictions: bool


@dataclass(frozen=True, slots=True)
class IdleCapacity:
    """Idle amounts of all nodes at one time: by resource, and places for pods."""

    at: float
    capacity: NodeCapacity
    amounts: Mapping[str, NDArray[np.int64]]
    places: NDArray[np.int64]


def node_capacity(table: NodeTable) -> NodeCapacity:
    """Capacity of the nodes now."""
    rows = table.order()
    totals = {name: column[rows] for name, column in table.allocatable.items()}
    nodes = tuple(table.node(row) for row in rows.tolist())
    has_restrictions = any(node.taints or node.is_unschedulable for node in nodes)
    return NodeCapacity(nodes, {name: total for name, total in totals.items() if total.any()}, has_restrictions)


def idle_capacity(table: NodeTable, at: float, capacity: NodeCapacity | None = None) -> IdleCapacity:
    """Idle amounts now. The capacity may be given if nodes have not changed since it was taken."""
    rows, capacity = table.order(), capacity or node_capacity(table)
    amounts = {}
    for name, total in capacity.amounts.items():
        requested = table.requested.get(name)
        amounts[name] = total if requested is None else np.maximum(total - requested[rows], 0)
    return IdleCapacity(at, capacity, amounts, np.maximum(table.max_pods[rows] - table.pod_count[rows], 0))


class Fragmentation:
    """Fragmentation by resource for one workload: typical pods and their shares."""

    def __init__(self, typical: Mapping[TypicalPod, float]) -> None:
        self._typical = typical
        self._suitable: dict[tuple[TypicalPod, tuple[Node, ...]], NDArray[np.bool_]] = {}

    def of(self, idle: IdleCapacity) -> dict[str, float]:
        """Shares (0 to 1) of idle amounts, for resources that typical pods request; 0 where nothing is idle."""
        fragments: dict[str, float] = {}
        weights: dict[str, float] = {}
        for shape, share in self._typical.items():
            pods = self._pods(shape, idle)
            for name, amount in shape.requests:
                if name not in idle.amounts:
                    continue
                total = int(idle.amounts[name].sum())
                usable = int((pods * amount).sum())
                weights[name] = weights.get(name, 0.0) + share
                fragments[name] = fragments.get(name, 0.0) + (share * (1 - usable / total) if total else 0.0)
        return {name: fragments[name] / weights[name] for name in sorted(fragments)}

    def _pods(self, shape: TypicalPod, idle: IdleCapacity) -> NDArray[np.int64]:
        """Numbers of pods of a shape that fit on each node."""
        fitting = idle.places
        for name, amount in shape.requests:
            amounts = idle.amounts.get(name)
            fitting = np.minimum(fitting, amounts // amount) if amounts is not None else np.zeros_like(fitting)
        key = shape, idle.capacity.nodes
        suitable = self._suitable.get(key)
        if suitable is None:
            suitable = self._suitable[key] = _suitable(shape, idle.capacity)
        return np.where(suitable, fitting, 0)


def _suitable(shape: TypicalPod, capacity: NodeCapacity) -> NDArray[np.bool_]:
    if shape.is_undemanding and not capacity.has_restrictions:
        return np.ones(len(capacity.nodes), np.bool_)
    return np.array([shape.suits(node) for node in capacity.nodes], np.bool_)


class IdleSamples:
    """Idle capacity over time: when there are too many samples, every second one is dropped, and so are later ones."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._kept: list[IdleCapacity] = []
        self._capacity: NodeCapacity | None = None
        self._every = 1
        self._offered = 0

    def nodes_changed(self) -> None:
        """Nodes were added, changed or removed."""
        self._capacity = None

    def offer(self, at: float) -> None:
        """The cluster has changed; its state may be kept."""
        self._offered += 1
        if self._offered % self._every:
            return
        self._kept.append(idle_capacity(self._table, at, self._capacity))
        self._capacity = self._kept[-1].capacity
        if len(self._kept) >= _MOST_SAMPLES:
            self._kept = self._kept[1::2]
            self._every *= 2

    def mean(self, shares_of: Callable[[IdleCapacity], Mapping[str, float]], end: float) -> dict[str, float]:
        """Means over time of shares by resource, up to the end; empty if no time has passed."""
        times = [*(sample.at for sample in self._kept), end]
        spans = np.diff(np.array(times))
        if not spans.sum():
            return {}
        found = [shares_of(sample) for sample in self._kept]
        names = dict.fromkeys(name for shares in found for name in shares)
        return {name: float(np.average([shares.get(name, 0.0) for shares in found], weights=spans)) for name in names}


def spread(idle: IdleCapacity) -> dict[str, float]:
    """Standard deviations of the requested shares of nodes, by resource, over the nodes that have it."""
    found = {}
    for name, amounts in idle.amounts.items():
        totals = idle.capacity.amounts[name]
        having = totals > 0
        found[name] = float(np.std(amounts[having] / totals[having]))
    return found
