"""Pods that wait for room on a node that preemption is clearing for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.k8s.pods import placed_on

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubewasp.k8s.pods import Pod


class Nominator:
    """Which pods are nominated to which node."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, Pod]] = {}
        self._node_of: dict[str, str] = {}
        self._placed: dict[str, tuple[Pod, Pod]] = {}

    def nominate(self, pod: Pod, node: str) -> None:
        self.withdraw(pod.uid)
        if node:
            self._by_node.setdefault(node, {})[pod.uid] = pod
            self._node_of[pod.uid] = node

    def withdraw(self, uid: str) -> None:
        self._placed.pop(uid, None)
        node = self._node_of.pop(uid, None)
        if node is not None:
            del self._by_node[node][uid]
            if not self._by_node[node]:
                del self._by_node[node]

    def placed(self, pod: Pod) -> Pod:
        """A nominated pod as if it were on its node."""
        found = self._placed.get(pod.uid)
        if found is None or found[0] is not pod:
            found = self._placed[pod.uid] = pod, placed_on(pod, self._node_of[pod.uid])
        return found[1]

    def on(self, node: str) -> list[Pod]:
        return list(self._by_node.get(node, {}).values())

    def node_of(self, uid: str) -> str:
        return self._node_of.get(uid, "")

    def __len__(self) -> int:
        """How many nodes have nominated pods."""
        return len(self._by_node)

    def nodes_above(self, pod: Pod, nodes: Iterable[str] | None = None) -> dict[str, list[Pod]]:
        """The nodes with nominated pods that count against this one: other pods of at least its priority.

        Of all nodes, or of those that are named.
        """
        found = {}
        for node in self._by_node if nodes is None else nodes:
            pods = self._by_node.get(node)
            if pods is None:
                continue
            counting = [other for other in pods.values() if other.priority >= pod.priority and other.uid != pod.uid]
            if counting:
                found[node] = counting
        return found
