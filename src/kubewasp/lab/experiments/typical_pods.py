"""Typical pods of a run: the most frequent shapes of the pods that were there, for measures of fragmentation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.k8s.resources import CPU, EPHEMERAL, MEMORY
from kubewasp.k8s.taints import untolerated

if TYPE_CHECKING:
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod, PodSpec
    from kubewasp.k8s.selectors import NodeSelectorTerm
    from kubewasp.k8s.taints import Toleration

TYPICAL: Final = 0.95
_MOST_SHAPES: Final = 10_000  # that are counted; a trace may have a shape per pod
_MOST_TYPICAL: Final = 64
_MOST_SPECS: Final = 4096


@dataclass(frozen=True, slots=True)
class TypicalPod:
    """Requests of a pod by resource, and its constraints on nodes: labels, affinity, taints."""

    requests: tuple[tuple[str, int], ...]
    node_selector: tuple[tuple[str, str], ...] = ()
    required_affinity: tuple[NodeSelectorTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()

    @classmethod
    def of(cls, spec: PodSpec) -> TypicalPod:
        asked = spec.resources.requests
        amounts = {CPU: asked.cpu, MEMORY: asked.memory, EPHEMERAL: asked.ephemeral, **asked.scalars}
        return cls(
            tuple(sorted((name, amount) for name, amount in amounts.items() if amount)),
            tuple(sorted((spec.node_selector or {}).items())),
            spec.required_affinity,
            spec.tolerations,
        )

    @property
    def is_undemanding(self) -> bool:
        """Whether labels of nodes do not matter."""
        return not self.node_selector and self.required_affinity is None

    def suits(self, node: Node) -> bool:
        """Whether the node's labels, taints and state allow the pod, whatever room there is."""
        if node.is_unschedulable or untolerated(node.taints, self.tolerations) is not None:
            return False
        if any(node.labels.get(key) != value for key, value in self.node_selector):
            return False
        terms = self.required_affinity
        return terms is None or any(term.matches(node.name, node.labels) for term in terms)


class PodShapes:
    """Numbers of pods by shape."""

    def __init__(self) -> None:
        self._counts: Counter[TypicalPod] = Counter()
        self._known: dict[PodSpec, TypicalPod] = {}

    def add(self, pod: Pod) -> None:
        shape = self._known.get(pod.spec)
        if shape is None:
            if len(self._known) >= _MOST_SPECS:
                self._known.clear()
            shape = self._known[pod.spec] = TypicalPod.of(pod.spec)
        if shape in self._counts or len(self._counts) < _MOST_SHAPES:
            self._counts[shape] += 1

    def typical(self) -> dict[TypicalPod, float]:
        """The most frequent shapes that make up 95 % of the pods, with their shares, which add up to 1."""
        wanted, found = TYPICAL * self._counts.total(), dict[TypicalPod, int]()
        for shape, pods in sorted(self._counts.items(), key=lambda item: -item[1])[:_MOST_TYPICAL]:
            if sum(found.values()) >= wanted:
                break
            found[shape] = pods
        total = sum(found.values())
        return {shape: pods / total for shape, pods in found.items()}
