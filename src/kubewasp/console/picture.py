"""Picture of a cluster at one moment: nodes, pods, queue entries and other objects, with columns of the nodes.

Objects in a picture are frozen and shared: the next picture has the same objects, apart from those that changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from kubewasp.k8s.resources import CPU, EPHEMERAL, MEMORY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.k8s.resources import Resources
    from kubewasp.state.object_store import Key

# Parts of the queue in the API. A gated pod is in the unschedulable part of the scheduler's queue.
ACTIVE, BACKOFF, UNSCHEDULABLE, WAITING, GATED = "active", "backoff", "unschedulable", "waiting", "gated"
PARTS: Final = (ACTIVE, BACKOFF, UNSCHEDULABLE, WAITING, GATED)
_NATIVE: Final = (CPU, MEMORY, EPHEMERAL)


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A pod without a node, or one that waits on Permit for `node`.

    `since` and `until` are seconds since 1970: of its addition to the queue, and of the end of its backoff or its wait.
    `plugins` are those that rejected, gated or delay it. `order` is its place in its part of the queue, if known.
    """

    pod: Pod
    part: str
    since: float
    attempts: int = 0
    until: float | None = None
    plugins: tuple[str, ...] = ()
    message: str = ""
    node: str = ""
    is_error: bool = False
    order: int = 0


@dataclass(frozen=True, slots=True)
class NodeColumns:
    """Nodes as columns, in the order of `names`. Amounts are in the scheduler's units: CPU in milli."""

    names: Sequence[str]
    allocatable: Mapping[str, NDArray[np.int64]]
    requested: Mapping[str, NDArray[np.int64]]
    pods: NDArray[np.int64]
    max_pods: NDArray[np.int64]
    is_unschedulable: NDArray[np.bool_]

    @property
    def resources(self) -> list[str]:
        """Resources that some node has or some pod on a node requests: CPU and memory first, others by name."""
        both = (self.allocatable, self.requested)
        found = {name for columns in both for name, column in columns.items() if column.any()}
        return [*(name for name in _NATIVE if name in found), *sorted(found.difference(_NATIVE))]

    def shares(self, resource: str) -> NDArray[np.float64]:
        """Requested shares; NaN for a node without the resource."""
        there = self.allocatable.get(resource)
        taken = self.requested.get(resource)
        if there is None:
            return np.full(len(self.names), np.nan)
        asked = np.zeros(len(self.names)) if taken is None else taken
        found: NDArray[np.float64] = np.full(len(self.names), np.nan)
        np.divide(asked, there, out=found, where=there > 0)
        return found


@dataclass(frozen=True)
class Picture:
    """A cluster at one moment.

    Args:
        time: Seconds since 1970.
        nodes: Nodes by name, in the order in which the scheduler met them.
        pods: Pods by `namespace/name`, without finished ones. Those with a node take room on it: bound pods, and those
            that are being bound or wait on Permit.
        queue: Queue entries by `namespace/name`.
        objects: Other objects, parsed, by kind and by namespace and name (`ObjectStore.copy`).
        rotation: The place in the order of nodes at which the next search begins.
        known_columns: Columns of the nodes, in their order, if the caller has them; computed otherwise.
    """

    time: float
    nodes: Mapping[str, Node]
    pods: Mapping[str, Pod]
    queue: Mapping[str, QueueEntry] = field(default_factory=dict)
    objects: Mapping[str, Mapping[Key, object]] = field(default_factory=dict)
    rotation: int = 0
    known_columns: NodeColumns | None = None

    @cached_property
    def columns(self) -> NodeColumns:
        return self.known_columns or columns_of(self.nodes, self.pods)

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """Rows of the columns by name of the node."""
        return {name: row for row, name in enumerate(self.columns.names)}

    @cached_property
    def pods_on(self) -> Mapping[str, Sequence[Pod]]:
        """Pods by node, without nodes that have none."""
        found: dict[str, list[Pod]] = {}
        for pod in self.pods.values():
            if pod.node:
                found.setdefault(pod.node, []).append(pod)
        return found

    @cached_property
    def pending(self) -> list[Pod]:
        """Pods without a node, of this scheduler and of others, in the order of the pods."""
        return [pod for pod in self.pods.values() if not pod.node]


def columns_of(nodes: Mapping[str, Node], pods: Mapping[str, Pod]) -> NodeColumns:
    """Columns of nodes with the pods on them. Pods of equal requests are counted together."""
    names, count = list(nodes), len(nodes)
    rows = {name: row for row, name in enumerate(names)}
    scalars = dict.fromkeys(name for node in nodes.values() for name in node.allocatable.scalars)
    allocatable = {
        name: np.fromiter((node.allocatable.get(name) for node in nodes.values()), np.int64, count)
        for name in (*_NATIVE, *scalars)
    }
    shapes: dict[int, int] = {}
    requests: list[Resources] = []
    places: list[int] = []
    kinds: list[int] = []
    for pod in pods.values():
        row = rows.get(pod.node) if pod.node else None
        if row is None:
            continue
        asked = pod.resources.requests
        kind = shapes.get(id(asked))
        if kind is None:
            kind = shapes[id(asked)] = len(requests)
            requests.append(asked)
        places.append(row)
        kinds.append(kind)
    at, of = np.array(places, np.int64), np.array(kinds, np.int64)
    requested = {}
    for name in (*_NATIVE, *dict.fromkeys(name for asked in requests for name in asked.scalars)):
        amounts = np.array([asked.get(name) for asked in requests], np.int64)
        column = requested[name] = np.zeros(count, np.int64)
        if amounts.any():
            np.add.at(column, at, amounts[of])
    return NodeColumns(
        names,
        allocatable,
        requested,
        np.bincount(at, minlength=count).astype(np.int64),
        np.fromiter((node.max_pods for node in nodes.values()), np.int64, count),
        np.fromiter((node.is_unschedulable for node in nodes.values()), np.bool_, count),
    )
