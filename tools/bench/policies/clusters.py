"""Clusters of the plugin layer, drawn from a seed: the same in every process.

A node has about 2 KB, like those of a kubelet. A sixth of them is closed, and on a fifth of the others more than 80 %
of the CPU is requested: `filter-reasons` rejects a third of all nodes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s import sample_cluster
from kubewasp.k8s.codec import encode
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.pods import PodParser, placed_on
from kubewasp.state.node_table import NodeTable
from tools.bench.policies.constants import CLOSED_LABEL, ZONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod

    Manifest = dict[str, Any]

CHANGED_SHARE: Final = 0.01
_PODS_A_NODE: Final = 2
_CPU: Final = 7910  # allocatable of sample nodes, in milli
_CREATED: Final = "2026-01-01T00:00:00Z"


@dataclass(frozen=True)
class Cluster:
    """Nodes with pods on them. Nodes begin with version 0; change number n creates version n of some nodes."""

    size: int
    seed: int = 1
    # Changes include the zone, unlike for real nodes: this changes the order of nodes as well.
    moving: bool = False

    @cached_property
    def manifests(self) -> list[Manifest]:
        return [self.manifest(number) for number in range(self.size)]

    @cached_property
    def nodes(self) -> list[Node]:
        return [parse_node(manifest, encode("Node", manifest)) for manifest in self.manifests]

    @cached_property
    def placed(self) -> list[list[Pod]]:
        """The pods on each node."""
        return [self.pods_on(number) for number in range(self.size)]

    def table(self) -> NodeTable:
        """A fresh table without derived caches."""
        table = NodeTable()
        self.fill(table.put_node, table.add_pod)
        return table

    def fill(self, put_node: Callable[[Node], object], add_pod: Callable[[Pod], object]) -> None:
        for node, pods in zip(self.nodes, self.placed, strict=True):
            put_node(node)
            for pod in pods:
                add_pod(pod)

    def pods(self, count: int) -> list[Pod]:
        """Pods to be scheduled, with different names: no answer can be shared."""
        parser = PodParser()
        return [parser.parse(manifest, encode("Pod", manifest)) for manifest in self.pod_manifests(count)]

    def pod_manifests(self, count: int) -> list[Manifest]:
        """The same pods as manifests, for an extender."""
        return [_pod(f"web-{number}", f"web-{number}", 250) for number in range(count)]

    def manifest(self, number: int, version: int = 0) -> Manifest:
        """Numbers begin with 0, like rows; names count from 1."""
        drawn = random.Random(f"{self.seed} node {number} {version}")
        zone = "abc"[drawn.randrange(3) if self.moving else number % 3]
        return _node(number + 1, version, zone=zone, is_closed=drawn.randrange(6) == 0)

    def pods_on(self, number: int, version: int = 0) -> list[Pod]:
        drawn = random.Random(f"{self.seed} pods {number} {version}")
        # Below or above 80 % of the allocatable CPU.
        low, high = (0.81, 0.98) if drawn.randrange(5) == 0 else (0.05, 0.79)
        share = drawn.uniform(low, high) / _PODS_A_NODE
        return [placed_on(_running(slot, round(share * _CPU)), f"node-{number + 1}") for slot in range(_PODS_A_NODE)]

    def changed(self, change: int) -> list[int]:
        """Numbers of the changed nodes: 1 % of all, at least one."""
        drawn = random.Random(f"{self.seed} change {change}")
        return sorted(drawn.sample(range(self.size), max(1, round(self.size * CHANGED_SHARE))))

    def change(self, change: int, put_node: Callable[[Node], object], add_pod: Callable[[Pod], object]) -> None:
        """New labels and requests for these nodes; their pods keep their uids."""
        for number in self.changed(change):
            manifest = self.manifest(number, change)
            put_node(parse_node(manifest, encode("Node", manifest)))
            for pod in self.pods_on(number, change):
                add_pod(pod)


_known: dict[tuple[int, int], Pod] = {}
_parser = PodParser()


def _running(slot: int, cpu: int) -> Pod:
    """A pod, parsed once per request: each copy is on another node."""
    pod = _known.get((slot, cpu))
    if pod is None:
        manifest = _pod(f"app-{slot}-{cpu}", f"app-{slot}", cpu)
        pod = _known[slot, cpu] = _parser.parse(manifest, encode("Pod", manifest))
    return pod


def _pod(name: str, uid: str, cpu: int) -> Manifest:
    manifest = sample_cluster.pod(name)
    manifest["metadata"] |= {"uid": f"uid-of-{uid}", "resourceVersion": "1", "creationTimestamp": _CREATED}
    manifest["spec"]["containers"][0]["resources"]["requests"]["cpu"] = f"{cpu}m"
    return _as_item(manifest)


def _node(number: int, version: int, *, zone: str, is_closed: bool) -> Manifest:
    manifest = sample_cluster.node(number)
    metadata = manifest["metadata"]
    metadata |= {"resourceVersion": str(100 + version), "creationTimestamp": _CREATED}
    metadata["labels"] |= {ZONE: f"eu-west-1{zone}", "example.com/revision": str(version)}
    metadata["labels"] |= {CLOSED_LABEL: "true"} if is_closed else {}
    return _as_item(manifest)


def _as_item(manifest: Manifest) -> Manifest:
    """A node manifest as listed by an API server and sent by kube-scheduler."""
    del manifest["apiVersion"], manifest["kind"]
    return manifest
