"""Workloads by name and size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tools.bench.workloads import HOST, PASSING_NODE, ZONE, Meanwhile, Object, Pods, Workload
from tools.testbed.cluster import pod
from tools.testbed.nodes import node

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ONE_ZONE: Final = ("zone-1",)
_THREE_ZONES: Final = ("moon-1", "moon-2", "moon-3")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_HIGH: Final = "bench-high"
_TOO_LARGE: Final = 9_000  # milli CPU: more than any node has


def workload(name: str, nodes: int, pods: int) -> Workload:
    """A workload with `pods` measured pods, or as many as it has room for."""
    return WORKLOADS[name](nodes, pods)


def _basic(nodes: int, pods: int) -> Workload:
    return Workload("basic", nodes, Pods(pods), initial=Pods(min(nodes, 1000)))


def _node_affinity(nodes: int, pods: int) -> Workload:
    """Pods restricted to two zones; all nodes are in one of them."""
    wanted = {"key": ZONE, "operator": "In", "values": ["zone-1", "zone-2"]}
    term = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
    spec = {"affinity": {"nodeAffinity": {_REQUIRED: term}}}
    return Workload("node-affinity", nodes, Pods(pods, spec=spec), initial=Pods(nodes, spec=spec), zones=_ONE_ZONE)


def _topology_spread(nodes: int, pods: int) -> Workload:
    """Pods with spread constraints over three zones, among plain ones."""
    blue = {"color": "blue"}
    rule = {
        "maxSkew": 5,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": blue},
    }
    measured = Pods(pods, labels=blue, spec={"topologySpreadConstraints": [rule]})
    return Workload("topology-spread", nodes, measured, initial=Pods(min(2 * nodes, 5000)), zones=_THREE_ZONES)


def _pod_affinity(nodes: int, pods: int) -> Workload:
    """Pods with affinity to their own kind by zone; all nodes are in one zone."""
    blue = {"color": "blue"}
    spec = {"affinity": {"podAffinity": {_REQUIRED: [_term(blue, ZONE)]}}}
    measured, initial = Pods(pods, labels=blue, spec=spec), Pods(nodes, labels=blue, spec=spec)
    return Workload("pod-affinity", nodes, measured, initial=initial, zones=_ONE_ZONE)


def _pod_anti_affinity(nodes: int, pods: int) -> Workload:
    """Pods with anti-affinity to their own kind by node; a fifth of the nodes has one already."""
    green = {"color": "green"}
    spec = {"affinity": {"podAntiAffinity": {_REQUIRED: [_term(green, HOST)]}}}
    there = nodes // 5
    measured, initial = Pods(min(pods, nodes - there), labels=green, spec=spec), Pods(there, labels=green, spec=spec)
    return Workload("pod-anti-affinity", nodes, measured, initial=initial)


def _preemption(nodes: int, pods: int) -> Workload:
    """Four pods on every node, three of which are victims of one measured pod; half of the nodes are needed."""
    measured = Pods(min(pods, max(1, nodes // 2)), cpu=3000, spec={"priorityClassName": _HIGH})
    return Workload("preemption", nodes, measured, initial=Pods(4 * nodes, cpu=900), objects=(_priority_class(),))


def _unschedulable(nodes: int, pods: int) -> Workload:
    """Every sixth pod requests more CPU than any node has."""
    return Workload("unschedulable", nodes, Pods(pods), initial=Pods(nodes), waiting=Pods(pods // 5, cpu=_TOO_LARGE))


def _mixed_churn(nodes: int, pods: int) -> Workload:
    """A node, a service and an unschedulable pod of high priority are created and deleted all the time."""
    passing: tuple[Object, ...] = (
        node(PASSING_NODE, capacity={"cpu": "4", "memory": "32Gi", "pods": "110"}),
        pod("passing-pod", cpu=f"{_TOO_LARGE}m", memory="500Mi", priorityClassName=_HIGH),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "passing-service"},
            "spec": {"selector": {"app": "foo"}, "ports": [{"protocol": "TCP", "port": 8080, "targetPort": 8080}]},
        },
    )
    churn = Meanwhile((passing, passing), (False, True), every_seconds=0.1, every_pods=50)
    return Workload("mixed-churn", nodes, Pods(pods), objects=(_priority_class(),), meanwhile=churn)


def _gated(nodes: int, pods: int) -> Workload:
    """As many gated pods again, while running pods are deleted one by one."""
    gated = Pods(pods, spec={"schedulingGates": [{"name": "bench.kubewasp.dev/never"}]})
    plain = Workload("gated", nodes, Pods(pods), initial=Pods(nodes), waiting=gated)
    ending = tuple((found,) for found in plain.initial_pods())
    ends = Meanwhile(ending, (True,) * len(ending), every_seconds=0.02, every_pods=10)
    return Workload("gated", nodes, plain.measured, initial=plain.initial, waiting=gated, meanwhile=ends)


def _term(labels: Mapping[str, str], key: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": labels}, "topologyKey": key}


def _priority_class() -> Object:
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return {**kind, "metadata": {"name": _HIGH}, "value": 10}


WORKLOADS: Final[Mapping[str, Callable[[int, int], Workload]]] = {
    "basic": _basic,
    "node-affinity": _node_affinity,
    "topology-spread": _topology_spread,
    "pod-affinity": _pod_affinity,
    "pod-anti-affinity": _pod_anti_affinity,
    "preemption": _preemption,
    "unschedulable": _unschedulable,
    "mixed-churn": _mixed_churn,
    "gated": _gated,
}
