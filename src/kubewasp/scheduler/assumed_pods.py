"""Assumed pods: scheduled to a node, not yet observed there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.k8s.pods import placed_on

if TYPE_CHECKING:
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable


class AssumedPods:
    """Pods that count on their node in the table from the decision on, before the cluster confirms it."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._pods: dict[str, Pod] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def assume(self, pod: Pod, node: str) -> Pod:
        """The pod with its node, added to the table."""
        assumed = placed_on(pod, node)
        self._pods[pod.uid] = assumed
        self._table.add_pod(assumed)
        return assumed

    def forget(self, assumed: Pod) -> None:
        """Takes the pod off its node, unless the cluster has confirmed or deleted it meanwhile."""
        if self._pods.pop(assumed.uid, None) is not None:
            self._table.remove_pod(assumed)

    def confirm(self, pod: Pod) -> None:
        """The pod as observed on a node, which may be another one."""
        assumed = self._pods.pop(pod.uid, None)
        if assumed is not None and assumed.node != pod.node:
            self._table.remove_pod(assumed)
        self._table.add_pod(pod)

    def remove(self, pod: Pod) -> Pod | None:
        """Takes a deleted pod off its node; returns it as it was there, None if it had no node."""
        assumed = self._pods.pop(pod.uid, None)
        placed = pod if pod.node else assumed
        if placed is not None:
            self._table.remove_pod(placed)
        return placed
