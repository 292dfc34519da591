"""Assumed pods: scheduled to a node, not yet observed there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.k8s.pods import annotated, placed_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable


class AssumedPods:
    """Pods that count on their node in the table from the decision on, before the cluster confirms it."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._pods: dict[str, Pod] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def node_of(self, uid: str) -> str:
        """The node of an assumed pod; empty if it is none."""
        found = self._pods.get(uid)
        return "" if found is None else found.node

    def __iter__(self) -> Iterator[Pod]:
        return iter(self._pods.values())

    def copy(self) -> list[Pod]:
        """All assumed pods. Safe from any thread."""
        return list(self._pods.values())

    def assume(self, pod: Pod, node: str) -> Pod:
        """Adds the pod to its node in the table; returns it with the node."""
        assumed = placed_on(pod, node)
        self.restore(assumed)
        return assumed

    def restore(self, assumed: Pod) -> None:
        """Adds a pod that has its node already."""
        self._pods[assumed.uid] = assumed
        self._table.add_pod(assumed)

    def annotate(self, assumed: Pod, annotations: Mapping[str, str]) -> Pod:
        """Adds annotations to the pod on its node, where other pods' plugins see them; returns it with them."""
        found = annotated(assumed, annotations)
        if assumed.uid in self._pods:  # else confirmed or deleted meanwhile
            self._pods[assumed.uid] = found
            self._table.add_pod(found)
        return found

    def forget(self, assumed: Pod) -> None:
        """Removes the pod from its node, unless the cluster has confirmed or deleted it meanwhile."""
        if self._pods.pop(assumed.uid, None) is not None:
            self._table.remove_pod(assumed)

    def confirm(self, pod: Pod) -> None:
        """Replaces an assumed pod by the observed one, possibly on another node."""
        assumed = self._pods.pop(pod.uid, None)
        if assumed is not None and assumed.node != pod.node:
            self._table.remove_pod(assumed)
        self._table.add_pod(pod)

    def remove(self, pod: Pod) -> Pod | None:
        """Removes a deleted pod from its node; returns its state there, None if it had no node."""
        assumed = self._pods.pop(pod.uid, None)
        placed = pod if pod.node else assumed
        if placed is not None:
            self._table.remove_pod(placed)
        return placed
