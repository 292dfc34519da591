"""Disruption controller of a simulated cluster: allowed disruptions of PodDisruptionBudgets."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s.objects import DisruptionBudget, parse_budget
from kubewasp.state.object_kinds import DISRUPTION_BUDGET

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kubewasp.k8s.pods import Pod
    from kubewasp.state.object_store import ObjectStore

_PERCENTAGE: Final = re.compile(r"[0-9]{1,9}%")


@dataclass(frozen=True, slots=True)
class BudgetState:
    """A budget with its pods: all, healthy ones, and the number that must stay healthy.

    A pod is healthy if it is bound, not terminating, and not known to be unready.
    """

    namespace: str
    name: str
    pods: int
    healthy: int
    desired: int
    evicts_unhealthy: bool  # always, by its unhealthyPodEvictionPolicy

    @property
    def allowed(self) -> int:
        """Number of healthy pods that may be evicted now."""
        return max(0, self.healthy - self.desired)

    def allows(self, pod: Pod) -> bool:
        """Whether the pod may be evicted now. An unhealthy one may, as long as the healthy ones are enough."""
        if is_healthy(pod):
            return self.allowed > 0
        return self.evicts_unhealthy or (self.healthy >= self.desired and self.desired > 0) or self.allowed > 0


def is_healthy(pod: Pod) -> bool:
    return bool(pod.node) and not pod.is_terminating and not pod.is_unready


@dataclass(slots=True)
class _Watched:
    """A budget with the numbers of its pods and of those that run."""

    budget: DisruptionBudget
    spec: Mapping[str, Any]
    pods: int = 0
    running: int = 0

    def state(self) -> BudgetState:
        if self.spec.get("maxUnavailable") is not None:
            desired = max(0, self.pods - _share(self.spec["maxUnavailable"], self.pods))
        else:
            minimum = self.spec.get("minAvailable")
            desired = _share(1 if minimum is None else minimum, self.pods)
        always = self.spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
        return BudgetState(self.budget.namespace, self.budget.name, self.pods, self.running, desired, always)

    def covers(self, pod: Pod) -> bool:
        budget = self.budget
        return pod.namespace == budget.namespace and budget.selector is not None and budget.selector.matches(pod.labels)


class DisruptionController:
    """Updates `disruptionsAllowed` of budgets; a status in the manifest stays unchanged."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._watched: dict[tuple[str, str], _Watched] = {}

    def take(self, manifest: Mapping[str, Any], pods: Iterable[Pod]) -> None:
        """Handles a new or changed budget."""
        budget = parse_budget(manifest)
        key = (budget.namespace, budget.name)
        self._watched.pop(key, None)
        if "disruptionsAllowed" in (manifest.get("status") or {}):
            return
        watched = self._watched[key] = _Watched(budget, manifest.get("spec") or {})
        for pod in pods:
            self._count(watched, pod, 1)
        self._publish(watched)

    def drop(self, namespace: str, name: str) -> None:
        self._watched.pop((namespace, name), None)

    def moved(self, before: Pod | None, after: Pod | None) -> None:
        """Handles a new, changed or deleted pod."""
        for watched in self._watched.values():
            counted = (watched.pods, watched.running)
            if before is not None:
                self._count(watched, before, -1)
            if after is not None:
                self._count(watched, after, 1)
            if counted != (watched.pods, watched.running):
                self._publish(watched)

    def of(self, pod: Pod) -> list[BudgetState]:
        """The budgets of a pod, now; without those that have a status in their manifest."""
        return [watched.state() for watched in self._watched.values() if watched.covers(pod)]

    def _count(self, watched: _Watched, pod: Pod, sign: int) -> None:
        if watched.covers(pod):
            watched.pods += sign
            watched.running += sign * is_healthy(pod)

    def _publish(self, watched: _Watched) -> None:
        budget = replace(watched.budget, disruptions_allowed=watched.state().allowed)
        if self._store.get(DISRUPTION_BUDGET, budget.name, budget.namespace) != budget:
            self._store.put_parsed(DISRUPTION_BUDGET, (budget.namespace, budget.name), budget)


def _share(value: Any, total: int) -> int:
    """A number, or a percentage of the total, rounded up."""
    if isinstance(value, str) and _PERCENTAGE.fullmatch(value):
        return -(-total * int(value[:-1]) // 100)
    return value if isinstance(value, int) else 0
