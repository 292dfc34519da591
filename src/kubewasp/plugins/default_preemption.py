"""DefaultPreemption: room for a pod that fits nowhere, by evicting pods of lower priority.

Candidates are tried on the node table itself: pods are removed from a node, the filters run, and the pods put back.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.filtering import RejectedNodes
from kubewasp.framework.messages import fit_error, histogram
from kubewasp.framework.plugin import (
    Candidate,
    EnqueueExtensions,
    PostFilterPlugin,
    PostFilterResult,
    PreEnqueuePlugin,
    Registration,
    rejection,
)
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.resources import CPU, EPHEMERAL, MEMORY
from kubewasp.state.object_kinds import DISRUPTION_BUDGET

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.k8s.objects import DisruptionBudget
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable

_NOT_HELPFUL = rejection("Preemption is not helpful for scheduling", resolvable=False)
_NO_VICTIMS = rejection("No preemption victims found for incoming pod", resolvable=False)
_NOT_FINISHED = rejection("waiting for the preemption for this pod to be finished", resolvable=False)
_PRIORITY_OFFSET = 2**31


class DefaultPreemption(PostFilterPlugin, PreEnqueuePlugin, EnqueueExtensions):
    """Chooses the node with the least important victims, nominates the pod to it, and evicts them."""

    name = "DefaultPreemption"
    preempts = True

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        self._handle = handle
        self._random = handle.new_random()  # start of the search
        self._percentage = args.get("minCandidateNodesPercentage", 10)
        self._absolute = args.get("minCandidateNodesAbsolute", 100)

    def pre_enqueue(self, pod: Pod) -> Status:
        """Gates a preemptor until the API server has accepted all its evictions.

        While the victims terminate it may be tried, as it might fit elsewhere; it takes no more victims.
        """
        return _NOT_FINISHED if self._handle.is_preempting(pod.uid) else SUCCESS

    def is_shut(self, pod: Pod) -> bool:
        return self._handle.is_preempting(pod.uid)

    def events(self) -> Sequence[Registration]:
        return [Registration("Pod", Action.DELETE, lambda _pod, _old, _new: False)]

    def post_filter(
        self, state: CycleState, pod: Pod, table: NodeTable, statuses: Mapping[str, Status]
    ) -> PostFilterResult:
        reason = self._ineligible(pod, table, statuses)
        if reason:
            return PostFilterResult(rejection(f"preemption: {reason}", resolvable=True))
        if isinstance(statuses, RejectedNodes) and not table.pods.has_priority_below(pod.priority):
            return self._without_victims(table, statuses.number(Code.UNSCHEDULABLE))
        candidates, failures = self.candidates(state, pod, table, statuses)
        if not candidates:
            errors = [status.reason for _, status in failures if not status.is_rejected]
            if errors:
                text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
                return PostFilterResult(Status(Code.ERROR, f"preemption: {text}"))
            tried = dict(failures)
            told = [(tried.get(node.name, _NOT_HELPFUL), 1) for node in table.nodes if node is not None]
            text = fit_error(len(table), histogram(told))
            return PostFilterResult(rejection(f"preemption: {text}", resolvable=True), nominated_node="")
        best = pick(candidates)
        self._evict(pod, best)
        return PostFilterResult(SUCCESS, nominated_node=best.node, victims=best.victims, candidates=candidates)

    def _without_victims(self, table: NodeTable, tried: int) -> PostFilterResult:
        """The result where no pod has a lower priority: that of trying so many nodes, without doing so."""
        if tried:
            self._random.randrange(tried)
        told = [
            (status, count) for status, count in ((_NO_VICTIMS, tried), (_NOT_HELPFUL, len(table) - tried)) if count
        ]
        text = fit_error(len(table), histogram(told))
        return PostFilterResult(rejection(f"preemption: {text}", resolvable=True), nominated_node="")

    def _ineligible(self, pod: Pod, table: NodeTable, statuses: Mapping[str, Status]) -> str:
        if pod.spec.preemption_policy == "Never":
            return "not eligible due to preemptionPolicy=Never."
        row = table.row(pod.nominated_node) if pod.nominated_node else None
        if row is None:
            return ""
        status = statuses.get(pod.nominated_node)
        if status is None or status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return ""
        for other in table.pods_on[row].values():
            is_victim = (other.is_terminating and other.is_disrupted) or self._handle.is_evicted(other.uid)
            if other.priority < pod.priority and is_victim:
                return "not eligible due to a terminating pod on the nominated node."
        return ""

    # ------------------------------------------------------------------ candidates

    def candidates(
        self, state: CycleState, pod: Pod, table: NodeTable, statuses: Mapping[str, Status]
    ) -> tuple[list[Candidate], list[tuple[str, Status]]]:
        """Candidate nodes for preemption, and the reasons of rejected nodes."""
        names = [name for name, status in statuses.items() if status.code == Code.UNSCHEDULABLE]
        if not names:
            return [], []
        start = self._random.randrange(len(names))
        wanted = min(max(len(names) * self._percentage // 100, self._absolute), len(names))
        budgets = list(self._handle.store.all(DISRUPTION_BUDGET))
        known = AlikeNodes(pod, table) if not budgets and self._handle.judges_by_counts(state, pod) else None
        found: list[Candidate] = []
        failures: list[tuple[str, Status]] = []
        for name in names[start:] + names[:start]:
            row = table.row(name)
            if row is None:
                continue
            if known is None or self._handle.nominated_pods(name):
                result = self._try(state, pod, table, row, budgets)
            else:
                result = known.candidate(row, partial(self._try, state, pod, table, row, budgets))
            if isinstance(result, Status):
                failures.append((name, result))
                continue
            found.append(result)
            if len(found) >= wanted and any(not candidate.violations for candidate in found):
                break
        return found, failures

    def _try(
        self, state: CycleState, pod: Pod, table: NodeTable, row: int, budgets: Sequence[DisruptionBudget]
    ) -> Candidate | Status:
        lower = [other for other in table.pods_on[row].values() if other.priority < pod.priority]
        if not lower:
            return _NO_VICTIMS
        trial = state.clone()
        handle = self._handle
        gone: dict[str, Pod] = {}
        try:
            for other in lower:
                gone[other.uid] = other
                status = handle.take_off(trial, pod, other, row)
                if not status.is_success:
                    return status
            status = handle.check(trial, pod, row)
            if not status.is_success:
                return status
            lower.sort(key=_importance)
            violating, others = split_by_budgets(lower, budgets)
            violations = 0
            for place, other in enumerate([*violating, *others]):
                status = handle.put_on(trial, pod, other, row)
                if status.is_success and handle.check(trial, pod, row).is_success:
                    del gone[other.uid]
                    continue
                if status.is_success:
                    status = handle.take_off(trial, pod, other, row)
                if not status.is_success:
                    return status
                violations += place < len(violating)
            victims = tuple(sorted(gone.values(), key=_importance))
        finally:
            for other in gone.values():
                table.add_pod(other)
        node = table.node(row).name
        if not victims:
            return Status(Code.ERROR, f'expected at least one victim pod on node "{node}"')
        return Candidate(node, victims, violations)

    # ------------------------------------------------------------------ eviction

    def _evict(self, pod: Pod, best: Candidate) -> None:
        """Evicts the victims. After a failure the pod is tried again without waiting for them."""
        handle = self._handle
        for other in list(handle.nominated_pods(best.node)):
            if other.priority < pod.priority:
                handle.withdraw_nomination(other)
        victims = [
            victim
            for victim in best.victims
            if not victim.is_terminating and not handle.preempt_waiting_pod(victim.uid)
        ]
        if victims and handle.client.evict(victims, pod, best.node).code == Code.ERROR:
            handle.activate(pod)


class AlikeNodes:
    """Results of trials, shared by equal nodes. In most clusters many nodes are equal.

    Valid where all filters judge by counts and no disruption budget exists. Equal nodes have the same room, and pods of
    lower priority in the same order with the same requests of the resources that the pod needs.
    """

    def __init__(self, pod: Pod, table: NodeTable) -> None:
        self._priority = pod.priority
        self._table = table
        asked = pod.spec.resources.requests
        names = [CPU, MEMORY, EPHEMERAL, *asked.scalars]
        self._names = [name for name in names if asked.get(name)]
        self._columns = [(table.allocatable_of(name), table.requested_of(name)) for name in self._names]
        self._known: dict[Hashable, Status | tuple[int, ...]] = {}

    def candidate(self, row: int, tried: Callable[[], Candidate | Status]) -> Candidate | Status:
        """The candidate of a node; tried unless an equal node was."""
        table, names = self._table, self._names
        lower = [other for other in table.pods_on[row].values() if other.priority < self._priority]
        lower.sort(key=_importance)
        kind = (
            int(table.taint_ids[row]),
            bool(table.is_unschedulable[row]),
            int(table.max_pods[row] - table.pod_count[row]),
            tuple((int(there[row]), int(taken[row])) for there, taken in self._columns),
            tuple(tuple(other.resources.requests.get(name) for name in names) for other in lower),
        )
        known = self._known.get(kind)
        if known is None:
            result = tried()
            if isinstance(result, Status):
                if not result.is_rejected:  # names the node
                    return result
                known = result
            else:
                places = {other.uid: place for place, other in enumerate(lower)}
                known = tuple(places[victim.uid] for victim in result.victims)
            self._known[kind] = known
            return result
        if isinstance(known, Status):
            return known
        return Candidate(table.node(row).name, tuple(lower[place] for place in known), 0)


def split_by_budgets(pods: Sequence[Pod], budgets: Sequence[DisruptionBudget]) -> tuple[list[Pod], list[Pod]]:
    """The pods whose eviction violates a disruption budget, and the others."""
    allowed = [budget.disruptions_allowed for budget in budgets]
    violating: list[Pod] = []
    others: list[Pod] = []
    for pod in pods:
        breaks = False
        for place, budget in enumerate(budgets):
            if not _covers(budget, pod):
                continue
            allowed[place] -= 1
            breaks |= allowed[place] < 0
        (violating if breaks else others).append(pod)
    return violating, others


def _covers(budget: DisruptionBudget, pod: Pod) -> bool:
    if budget.namespace != pod.namespace or not pod.labels or pod.name in budget.disrupted_pods:
        return False
    selector = budget.selector
    return selector is not None and not selector.is_empty and selector.matches(pod.labels)


def pick(candidates: Sequence[Candidate]) -> Candidate:
    """The least harmful candidate; each rule breaks the ties of those before it."""

    def harm(candidate: Candidate) -> tuple[float, ...]:
        victims = candidate.victims
        top = victims[0].priority
        earliest = min(_started(victim) for victim in victims if victim.priority == top)
        return (
            candidate.violations,
            top,
            sum(victim.priority + _PRIORITY_OFFSET for victim in victims),
            len(victims),
            -earliest,
        )

    return min(candidates, key=harm)


def _importance(pod: Pod) -> tuple[int, float]:
    """Sort key, most important first: priority, then running time."""
    return -pod.priority, _started(pod)


def _started(pod: Pod) -> float:
    """Start time; a pod that has not started counts as the latest."""
    return float("inf") if pod.start_time is None else pod.start_time
