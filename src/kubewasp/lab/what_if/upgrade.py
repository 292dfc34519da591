"""Rolling upgrade: nodes drained one after the other, or some at a time, and back as fresh ones.

Budgets are respected. A node with a pod that cannot be evicted is left as it was, and tried once more after the others.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubewasp.lab.what_if.eviction import drain
from kubewasp.lab.what_if.node_copies import add_nodes, csi_node_copies, new_names, node_copy
from kubewasp.lab.what_if.pod_changes import DISPLACED, followed
from kubewasp.lab.what_if.what_if_errors import WhatIfError
from kubewasp.simulation.node_drain import cordoned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.lab.what_if.pod_changes import PodChange, PodPicture
    from kubewasp.lab.what_if.what_if_trial import Answer, KeptPod, Trial


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """Nodes in their order, and how many at a time.

    `surge` nodes get a fresh copy before they are drained, and are deleted after it; `max_unavailable` further ones are
    drained without one and come back.
    """

    nodes: tuple[str, ...]
    surge: int = 0
    max_unavailable: int = 1

    def __post_init__(self) -> None:
        if min(self.surge, self.max_unavailable) < 0 or not self.surge + self.max_unavailable:
            raise WhatIfError("expected at least one node at a time: by --surge or --max-unavailable")


@dataclass(frozen=True, slots=True)
class UpgradeStep:
    """Nodes drained at the same time: the fate of each evicted pod, and the pods that keep a node from its upgrade."""

    nodes: tuple[str, ...]
    copies: tuple[str, ...]  # fresh nodes that were added before
    upgraded: tuple[str, ...]
    moves: tuple[PodChange, ...]
    blocked: tuple[KeptPod, ...]
    rounds: int
    pending: Mapping[str, int]  # evicted pods without a node while the nodes were away, by workload
    is_retry: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {
            "nodes": list(self.nodes),
            "copies": list(self.copies),
            "upgraded": list(self.upgraded),
            "isRetry": self.is_retry,
            "rounds": self.rounds,
            "pending": sum(self.pending.values()),
            "moves": [change.as_dict() for change in self.moves],
            "blocked": [pod.as_dict() for pod in self.blocked],
        }


@dataclass(frozen=True, slots=True)
class Disruption:
    """Evictions of a workload: all, those of the most often evicted pod, and the most pods without a node in a step."""

    workload: str
    evictions: int
    most_often: int
    most_pending: int

    def as_dict(self) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "evictions": self.evictions,
            "mostOften": self.most_often,
            "mostPending": self.most_pending,
        }


@dataclass(frozen=True, slots=True)
class Upgrade:
    """An upgrade that has ended. `left` are the nodes that it could not drain."""

    answer: Answer
    steps: tuple[UpgradeStep, ...]
    upgraded: tuple[str, ...]
    left: tuple[str, ...]
    disruptions: tuple[Disruption, ...]

    @property
    def evictions(self) -> int:
        return sum(item.evictions for item in self.disruptions)

    def as_dict(self) -> dict[str, Any]:
        return {
            "upgraded": list(self.upgraded),
            "left": list(self.left),
            "evictions": self.evictions,
            "steps": [step.as_dict() for step in self.steps],
            "disruptions": [item.as_dict() for item in self.disruptions],
            **self.answer.as_dict(),
        }


def upgrade(trial: Trial, plan: UpgradePlan) -> Upgrade:
    """Upgrades the nodes of a plan in their order."""
    rolling = _Rolling(trial, plan)
    answer = trial.ask(rolling.run)
    return Upgrade(answer, tuple(rolling.steps), tuple(rolling.upgraded), tuple(rolling.left), rolling.disruptions())


class _Rolling:
    """The upgrade while it runs."""

    def __init__(self, trial: Trial, plan: UpgradePlan) -> None:
        self.steps: list[UpgradeStep] = []
        self.upgraded: list[str] = []
        self.left: list[str] = []
        self._trial = trial
        self._plan = plan
        self._evicted: dict[str, PodPicture] = {}
        self._copied: dict[str, str] = {}  # names of fresh copies by node

    def run(self) -> Sequence[KeptPod]:
        self._pass(self._plan.nodes, is_retry=False)
        if self.left and self.upgraded:
            again, self.left = tuple(self.left), []
            self._pass(again, is_retry=True)
        return [
            pod for step in self.steps for pod in step.blocked if pod.node in self.left and self._is_last(step, pod)
        ]

    def disruptions(self) -> tuple[Disruption, ...]:
        times: Counter[tuple[str, str]] = Counter()
        ancestors: dict[str, str] = {after: before for before, after in self._trial.cluster.objects.successors.items()}
        for uid, picture in self._evicted.items():
            first = uid
            while first in ancestors:
                first = ancestors[first]
            times[picture.workload or picture.pod.key, first] += 1
        found = []
        for workload in dict.fromkeys(workload for workload, _ in times):
            counts = [count for (name, _), count in times.items() if name == workload]
            found.append(
                Disruption(
                    workload, sum(counts), max(counts), max(step.pending.get(workload, 0) for step in self.steps)
                )
            )
        return tuple(sorted(found, key=lambda item: (-item.evictions, item.workload)))

    def _pass(self, nodes: Sequence[str], *, is_retry: bool) -> None:
        size = self._plan.surge + self._plan.max_unavailable
        for start in range(0, len(nodes), size):
            self._step(nodes[start : start + size], is_retry=is_retry)

    def _step(self, nodes: Sequence[str], *, is_retry: bool) -> None:
        trial, objects = self._trial, self._trial.cluster.objects
        copies = self._copies(nodes[: self._plan.surge])
        done = drain(trial, nodes)
        self._evicted |= done.evicted
        blocked = tuple(pod for pod in done.kept if pod.is_blocked)
        stuck = {pod.node for pod in blocked}
        away = followed(trial.cluster, done.evicted, trial.causes)
        pending = Counter(move.workload or move.pod for move in away if move.kind == DISPLACED)

        def bring_back() -> None:
            for node in nodes:
                if node in copies and node not in stuck:
                    trial.causes.update((pod.uid, f"{node} is replaced") for pod in objects.pods_on(node))
                    objects.delete("Node", "", node)
                else:
                    objects.apply(cordoned(objects.node_manifests[node], is_cordoned=False))

        trial.change(bring_back)
        upgraded = tuple(node for node in nodes if node not in stuck)
        self.upgraded += upgraded
        self.left += [node for node in nodes if node in stuck]
        moves = followed(trial.cluster, done.evicted, trial.causes)
        self.steps.append(
            UpgradeStep(tuple(nodes), tuple(copies.values()), upgraded, moves, blocked, done.rounds, pending, is_retry)
        )

    def _copies(self, nodes: Sequence[str]) -> Mapping[str, str]:
        """Adds a fresh copy of each node that has none yet; names of all copies by node."""
        objects, known = self._trial.cluster.objects, dict(self._trial.cluster.objects.node_manifests)
        made, csi = [], []
        for node in nodes:
            if node not in self._copied:
                name = self._copied[node] = next(new_names(node, known))
                known[name] = node_copy(known[node], name)
                made.append(known[name])
                csi += csi_node_copies(self._trial.given.objects.others, node, [name])
        if made:
            self._trial.change(lambda: add_nodes(objects, made, csi))
        return {node: self._copied[node] for node in nodes}

    def _is_last(self, step: UpgradeStep, pod: KeptPod) -> bool:
        """Whether no later step has drained the pod's node again."""
        return not any(pod.node in later.nodes for later in self.steps[self.steps.index(step) + 1 :])
