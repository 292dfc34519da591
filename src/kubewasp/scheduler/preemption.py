"""Preemption in progress: nominations to nodes, and evictions of victims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.k8s.pods import placed_on

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kubewasp.k8s.pods import Pod


class Nominator:
    """Pods nominated to nodes, with room reserved until they are scheduled."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, Pod]] = {}
        self._node_of: dict[str, str] = {}
        self._placed: dict[str, tuple[Pod, Pod]] = {}

    def nominate(self, pod: Pod, node: str) -> None:
        """Replaces the pod's nomination; an empty node withdraws it."""
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
        """A nominated pod as if bound to its node."""
        found = self._placed.get(pod.uid)
        if found is None or found[0] is not pod:
            found = self._placed[pod.uid] = pod, placed_on(pod, self._node_of[pod.uid])
        return found[1]

    def __iter__(self) -> Iterator[tuple[str, Pod]]:
        """Nodes and the pods nominated to them."""
        return iter([(node, pod) for node, pods in self._by_node.items() for pod in pods.values()])

    def on(self, node: str) -> list[Pod]:
        return list(self._by_node.get(node, {}).values())

    def node_of(self, uid: str) -> str:
        return self._node_of.get(uid, "")

    def __len__(self) -> int:
        """Number of nodes with nominated pods."""
        return len(self._by_node)

    def nodes_above(self, pod: Pod, nodes: Iterable[str] | None = None) -> dict[str, list[Pod]]:
        """Nodes with other nominated pods of at least this pod's priority, among all nodes or those given."""
        found = {}
        for node in self._by_node if nodes is None else nodes:
            pods = self._by_node.get(node)
            if pods is None:
                continue
            counting = [other for other in pods.values() if other.priority >= pod.priority and other.uid != pod.uid]
            if counting:
                found[node] = counting
        return found


class Evictions:
    """Victims with a sent eviction, until their deletion; preemptors, until all their evictions are accepted."""

    def __init__(self) -> None:
        self._sent: set[str] = set()
        self._unaccepted: dict[str, set[str]] = {}

    @property
    def state(self) -> tuple[list[str], dict[str, list[str]]]:
        """Uids of the victims, and of those not yet accepted by preemptor."""
        return sorted(self._sent), {uid: sorted(left) for uid, left in self._unaccepted.items()}

    def restore(self, sent: Iterable[str], unaccepted: Mapping[str, Iterable[str]]) -> None:
        self._sent = set(sent)
        self._unaccepted = {uid: set(left) for uid, left in unaccepted.items()}

    def sent(self, victim: Pod, preemptor: Pod) -> None:
        self._sent.add(victim.uid)
        self._unaccepted.setdefault(preemptor.uid, set()).add(victim.uid)

    def accepted(self, victim: Pod, preemptor: Pod) -> bool:
        """Whether this was the preemptor's last eviction to be accepted."""
        left = self._unaccepted.get(preemptor.uid)
        if left is None:
            return False
        left.discard(victim.uid)
        if left:
            return False
        del self._unaccepted[preemptor.uid]
        return True

    def failed(self, victim: Pod, preemptor: Pod) -> None:
        self._sent.discard(victim.uid)
        self._unaccepted.pop(preemptor.uid, None)

    def pod_gone(self, uid: str) -> None:
        self._sent.discard(uid)
        self._unaccepted.pop(uid, None)

    def is_victim(self, uid: str) -> bool:
        return uid in self._sent

    def is_preempting(self, uid: str) -> bool:
        return uid in self._unaccepted
