"""Workloads: nodes, running pods, measured pods, and concurrent changes.

The shapes are those of scheduler_perf, the benchmark that Kubernetes has for its own scheduler. A workload is plain
data: one runner plays it in memory, another on a real API server, and both check the result with `problems`.

Two differences from scheduler_perf: running pods are created on their nodes and not scheduled, so that all schedulers
begin with the same cluster; and concurrent changes have a higher rate, as the runs are short.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tools.testbed.cluster import pod
from tools.testbed.nodes import node

if TYPE_CHECKING:
    from collections.abc import Mapping

Object = dict[str, Any]

PART: Final = "bench.kubewasp.dev/part"  # label: the part of the workload
INITIAL, MEASURED, WAITING = "initial", "measured", "waiting"
ZONE: Final = "topology.kubernetes.io/zone"
HOST: Final = "kubernetes.io/hostname"
NODE_PREFIX: Final = "node"
PASSING_NODE: Final = "passing-node"  # a transient node: pods on it are lost
_NODE: Final = {"cpu": "4", "memory": "32Gi", "pods": "110"}
_NODE_MILLI, _NODE_MEBI, _NODE_PODS = 4000, 32 * 1024, 110


@dataclass(frozen=True, slots=True)
class Pods:
    """Pods that differ only in their names. CPU is in milli, memory in MiB."""

    count: int = 0
    cpu: int = 100
    memory: int = 500
    labels: Mapping[str, str] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)

    def manifest(self, name: str, part: str, **spec: Any) -> Object:
        labels = {**self.labels, PART: part}
        return pod(name, cpu=f"{self.cpu}m", memory=f"{self.memory}Mi", labels=labels, **self.spec, **spec)


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """Changes during scheduling: one turn after the other, cyclic.

    Time does not pass in memory; there, a turn comes after so many pods.
    """

    turns: tuple[tuple[Object, ...], ...]
    deletes: tuple[bool, ...]  # whether the objects of a turn are deleted, or created
    every_seconds: float
    every_pods: int

    def turn(self, number: int) -> tuple[tuple[Object, ...], bool]:
        place = number % len(self.turns)
        return self.turns[place], self.deletes[place]


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload and its parts. `waiting` pods never get a node."""

    name: str
    nodes: int
    measured: Pods
    initial: Pods = Pods()
    waiting: Pods = Pods()
    zones: tuple[str, ...] = ()
    objects: tuple[Object, ...] = ()
    meanwhile: Meanwhile | None = None

    def node_manifests(self) -> list[Object]:
        return [node(name, labels=self.node_labels(number), capacity=_NODE) for number, name in self.numbered_nodes()]

    def node_labels(self, number: int) -> dict[str, str]:
        return {ZONE: self.zones[number % len(self.zones)]} if self.zones else {}

    @property
    def capacity(self) -> Mapping[str, str]:
        return _NODE

    def initial_pods(self) -> list[Object]:
        """Running pods, on their nodes by turns."""
        return [
            self.initial.manifest(f"{INITIAL}-{number:05}", INITIAL, nodeName=_node_name(1 + number % self.nodes))
            for number in range(self.initial.count)
        ]

    def pending_pods(self) -> list[Object]:
        """Measured and waiting pods, mixed evenly, in the order of their names.

        A starting scheduler lists them in this order and, at equal priority, tries them in it.
        """
        total = self.measured.count + self.waiting.count
        pods: list[Object] = []
        for place in range(total):
            waits = (place + 1) * self.waiting.count // total > place * self.waiting.count // total
            kind, part = (self.waiting, WAITING) if waits else (self.measured, MEASURED)
            pods.append(kind.manifest(f"pod-{place:05}", part))
        return pods

    def numbered_nodes(self) -> list[tuple[int, str]]:
        return [(number, _node_name(number)) for number in range(1, self.nodes + 1)]


def _node_name(number: int) -> str:
    return f"{NODE_PREFIX}-{number}"


# ---------------------------------------------------------------------- check of the outcome


def problems(workload: Workload, placements: Mapping[str, tuple[str, str]]) -> list[str]:
    """Errors in the outcome of a run; `placements` has the part and the node (or "") of every pod by name."""
    found: list[str] = []
    bound = [name for name, (part, where) in placements.items() if part == MEASURED and where]
    if len(bound) != workload.measured.count:
        found.append(f"{len(bound):,} of {workload.measured.count:,} measured pods are bound")
    lucky = sorted(name for name, (part, where) in placements.items() if part == WAITING and where)
    if lucky:
        found.append(f"pods that fit nowhere have nodes: {_some(lucky)}")
    return found + _overcommitted(workload, placements) + _misplaced(workload, placements)


def _overcommitted(workload: Workload, placements: Mapping[str, tuple[str, str]]) -> list[str]:
    kinds = {INITIAL: workload.initial, MEASURED: workload.measured}
    cpu: Counter[str] = Counter()
    memory: Counter[str] = Counter()
    pods: Counter[str] = Counter()
    for part, where in placements.values():
        if where and part in kinds:
            cpu[where] += kinds[part].cpu
            memory[where] += kinds[part].memory
            pods[where] += 1
    known = {name for _, name in workload.numbered_nodes()} | {PASSING_NODE}
    strange = sorted(set(pods) - known)
    found = [f"there are pods on {_some(strange)}, which the workload has not"] if strange else []
    full = [
        where
        for where in sorted(set(pods) & known)
        if cpu[where] > _NODE_MILLI or memory[where] > _NODE_MEBI or pods[where] > _NODE_PODS
    ]
    return found + ([f"over-committed: {_some(full)}"] if full else [])


def _misplaced(workload: Workload, placements: Mapping[str, tuple[str, str]]) -> list[str]:
    """Rules of the measured pods besides resources."""
    found = []
    if "podAntiAffinity" in workload.measured.spec.get("affinity", {}):
        alone = Counter(where for part, where in placements.values() if where and part in (INITIAL, MEASURED))
        crowded = sorted(where for where, count in alone.items() if count > 1)
        if crowded:
            found.append(f"pods that want to be alone share {_some(crowded)}")
    for rule in workload.measured.spec.get("topologySpreadConstraints", ()):
        zone_of = {name: workload.node_labels(number)[ZONE] for number, name in workload.numbered_nodes()}
        by_zone = Counter(dict.fromkeys(workload.zones, 0))
        by_zone.update(zone_of[where] for part, where in placements.values() if part == MEASURED and where in zone_of)
        if max(by_zone.values()) - min(by_zone.values()) > rule["maxSkew"]:
            found.append(f"spread unevenly: {dict(by_zone)}")
    return found


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
