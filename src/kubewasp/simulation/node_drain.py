"""Cordoned nodes, and the pods that a drain leaves on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.k8s.pods import Pod
    from kubewasp.simulation.cluster_objects import ClusterObjects

_MIRROR: Final = "kubernetes.io/config.mirror"


def cordoned(node: Mapping[str, Any], *, is_cordoned: bool = True) -> dict[str, Any]:
    """The manifest of a node, cordoned or uncordoned."""
    return {**node, "spec": {**(node.get("spec") or {}), "unschedulable": is_cordoned}}


def reason_to_stay(cluster: ClusterObjects, pod: Pod) -> str:
    """The reason why `kubectl drain --ignore-daemonsets` leaves a pod on its node; empty for one that it evicts."""
    if pod.owner is not None and pod.owner.kind == "DaemonSet":
        return f"of DaemonSet {pod.owner.name}"
    metadata = cluster.manifests[pod.key]["metadata"]
    if (pod.owner is not None and pod.owner.kind == "Node") or _MIRROR in (metadata.get("annotations") or {}):
        return "static pod of the node"
    return ""
