"""The scheduler: takes in what happens in the cluster, schedules one pod after the other, and binds them.

The scheduling cycle is sequential. Everything outside (the cluster, time, binding) comes through the clock and the
client, so that the same code runs in a simulation and against an API server.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.messages import fit_error
from kubewasp.framework.observer import NOBODY, SchedulerObserver, event_label
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.pods import placed_on
from kubewasp.scheduler.changes import node_actions, pod_actions
from kubewasp.scheduler.cycle import Rotation, SchedulingCycle, one_objection
from kubewasp.scheduler.nominator import Nominator
from kubewasp.scheduler.queue import SchedulingQueue
from kubewasp.scheduler.queued import ClusterChange, QueuedPod
from kubewasp.scheduler.waiting import PRE_BIND_RETRY, Binding, WaitingPod, timeout_text
from kubewasp.state.node_table import NodeTable
from kubewasp.state.object_store import ObjectStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from kubewasp.clock import Clock
    from kubewasp.framework.cluster_events import RecordedEvent
    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.decision_record import DecisionRecord
    from kubewasp.framework.filtering import Objection
    from kubewasp.framework.handle import Client
    from kubewasp.framework.runtime import Framework
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.cycle import Choice

_MAX_EVENTS = 10_000
# For the garbage collector of a process that schedules. Python's own are 700, 10, 10; next to nothing of what a
# scheduler makes is in cycles.
COLLECT_AFTER = (20_000, 20, 20)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of one pod. `node` is set when it was bound, is being bound, or waits for permission.

    Else `message` tells why not, and `objections` what is wrong with the nodes that were looked at.
    """

    pod: Pod
    node: str = ""
    message: str = ""
    is_waiting: bool = False
    is_binding: bool = False
    is_error: bool = False
    nominated_node: str = ""
    victims: tuple[Pod, ...] = ()
    objections: Sequence[Objection] = ()
    feasible: int = 0
    seconds: float = 0.0


class Scheduler:
    """Implements `SchedulerHandle` for its plugins. Make it, make the frameworks with it, then `start` it."""

    def __init__(self, clock: Clock, client: Client) -> None:
        self.clock = clock
        self.client = client
        self.table = NodeTable()
        self.store = ObjectStore()
        self.nominator = Nominator()
        self.observer: SchedulerObserver = NOBODY
        self.recorded: list[RecordedEvent] = []
        # What happens to an event that a plugin records; it is kept, if nobody wants it.
        self.on_event: Callable[[RecordedEvent], None] = self._keep_event
        self.waiting: dict[str, WaitingPod] = {}
        self.binding: dict[str, Binding] = {}
        self._held_up: dict[str, Binding] = {}  # those of them that wait before they can be bound
        self.frameworks: Mapping[str, Framework] = {}
        self.queue = SchedulingQueue({}, clock)
        # Asked before each attempt; a record that it returns is filled.
        self.record_for: Callable[[Pod], DecisionRecord | None] = lambda _pod: None
        # Told what became of a pod that waited, when a plugin has decided.
        self.on_settled: Callable[[Attempt], None] = lambda _attempt: None
        self._cycles: dict[str, SchedulingCycle] = {}
        self._assumed: dict[str, Pod] = {}
        self._decided: dict[str, tuple[WaitingPod, Status]] = {}
        self._evicted: set[str] = set()  # uids of victims whose deletion is under way, until they are gone
        self._preempting: dict[str, set[str]] = {}  # by preemptor: those of them that the API server has not heard of
        self._is_busy = False
        self.store.subscribe(self._object_changed)

    def start(
        self,
        frameworks: Sequence[Framework],
        *,
        percentages: Mapping[str, int | None] | None = None,
        initial_backoff: float = 1.0,
        max_backoff: float = 10.0,
    ) -> None:
        """Takes the profiles; before this, no pod may be added."""
        self.frameworks = {framework.name: framework for framework in frameworks}
        self.queue = SchedulingQueue(
            self.frameworks, self.clock, initial_backoff=initial_backoff, max_backoff=max_backoff
        )
        rotation, shares = Rotation(), percentages or {}
        self._cycles = {
            name: SchedulingCycle(framework, self.table, self.nominator, rotation, percentage=shares.get(name))
            for name, framework in self.frameworks.items()
        }

    # ------------------------------------------------------------------ what happens in the cluster

    def put_node(self, node: Node) -> None:
        began = time.perf_counter()
        row = self.table.row(node.name)
        before = None if row is None else self.table.nodes[row]
        with self._busy():
            self.table.put_node(node)
            for action in node_actions(before, node):
                self.queue.move(ClusterChange("Node", action, before, node))
                self._handled("Node", action, began)

    def delete_node(self, name: str) -> None:
        row = self.table.row(name)
        if row is not None:
            before = self.table.node(row)
            began = time.perf_counter()
            with self._busy():
                self.table.remove_node(name)
                self.queue.move(ClusterChange("Node", Action.DELETE, before, None))
                self._handled("Node", Action.DELETE, began)

    def put_pod(self, pod: Pod, before: Pod | None = None) -> None:
        """A pod that is new, or has changed."""
        began = time.perf_counter()
        with self._busy():
            if pod.is_finished:
                if before is not None:
                    self.delete_pod(before)
            elif pod.node:
                self._put_assigned(pod, before)
                is_new = before is None or not before.node
                self._handled("AssignedPod", Action.ADD if is_new else Action.UPDATE, began)
            elif pod.uid in self._assumed:
                self._put_assumed(pod, before)
            elif pod.spec.scheduler_name in self.frameworks:
                is_new = self.queue.get(pod.uid) is None
                self._put_pending(pod, before)
                self._handled("UnschedulablePod", Action.ADD if is_new else Action.UPDATE, began)

    def _put_pending(self, pod: Pod, before: Pod | None) -> None:
        known = self.queue.get(pod.uid)
        if known is None:
            if not self.queue.add(pod).gated_by:  # as in kube-scheduler: room is kept for it once it has changed
                self.nominator.nominate(pod, pod.nominated_node)
            return
        before = before or known.pod
        if before.resource_version and (before.resource_version, before.encoded) == (pod.resource_version, pod.encoded):
            return
        nominated = self.nominator.node_of(pod.uid)
        if nominated and not before.nominated_node and not pod.nominated_node:
            pod = replace(pod, nominated_node=nominated)  # whoever wrote this had not heard of the nomination
        self.nominator.nominate(pod, pod.nominated_node)
        for action in pod_actions(before, pod):
            self.queue.update(pod, action, before)
        if nominated and nominated != pod.nominated_node:
            self._nomination_ended(replace(before, nominated_node=nominated))

    def _put_assumed(self, pod: Pod, before: Pod | None) -> None:
        """It has changed on its way to a node: should it not get there, it is tried again as it is now."""
        known = self.queue.get(pod.uid)
        if known is not None:
            before = before or known.pod
            for action in pod_actions(before, pod):
                self.queue.update(pod, action, before)

    def _put_assigned(self, pod: Pod, before: Pod | None) -> None:
        assumed = self._assumed.pop(pod.uid, None)
        if assumed is not None and assumed.node != pod.node:
            self.table.remove_pod(assumed)
        self.table.add_pod(pod)
        self.nominator.withdraw(pod.uid)
        if before is None or not before.node:
            self.queue.scheduled(pod.uid)
            self.queue.move(ClusterChange("AssignedPod", Action.ADD, None, pod))
        else:
            for action in pod_actions(before, pod):
                self.queue.move(ClusterChange("AssignedPod", action, before, pod))

    def delete_pod(self, pod: Pod) -> None:
        began = time.perf_counter()
        with self._busy():
            self._delete_pod(pod)
            self._handled("AssignedPod" if pod.node else "UnschedulablePod", Action.DELETE, began)

    def _delete_pod(self, pod: Pod) -> None:
        self.queue.delete(pod.uid)  # first: what is undone below is not to come back
        self._evicted.discard(pod.uid)
        self._preempting.pop(pod.uid, None)
        waiting = self._decided[pod.uid][0] if pod.uid in self._decided else self.waiting.get(pod.uid)
        if waiting is not None:
            self._reject(waiting, Status(Code.UNSCHEDULABLE, "removed"))
        if self.is_held_up(pod.uid):  # a bind that is under way has the last word
            binding = self.binding.pop(pod.uid)
            del self._held_up[pod.uid]
            status = Status(Code.UNSCHEDULABLE, "removed")
            self._undone(binding.queued, binding.framework, binding.assumed, binding.state, status)
        nominated = self.nominator.node_of(pod.uid)
        self.nominator.withdraw(pod.uid)
        assumed = self._assumed.pop(pod.uid, None)
        placed = pod if pod.node else assumed
        if placed is not None:
            self.table.remove_pod(placed)
            self.queue.move(ClusterChange("AssignedPod", Action.DELETE, placed, None))
        elif nominated:
            self._nomination_ended(replace(pod, nominated_node=nominated))

    def _nomination_ended(self, pod: Pod) -> None:
        """To pods that are no more important, a nominated pod was as good as on its node."""
        change = ClusterChange("AssignedPod", Action.DELETE, pod, None)
        self.queue.move(change, lambda other: other.priority <= pod.priority)

    def _object_changed(self, kind: str, before: Any, after: Any) -> None:
        action = Action.ADD if before is None else Action.DELETE if after is None else Action.UPDATE
        began = time.perf_counter()
        with self._busy():
            self.queue.move(ClusterChange(kind, action, before, after))
            self._handled(kind, action, began)

    def _handled(self, resource: str, action: Action, began: float) -> None:
        self.observer.event_handled(event_label(resource, action), time.perf_counter() - began)

    def flush_stuck(self) -> None:
        """Pods that have waited long for an event are tried again without one."""
        with self._busy():
            self.queue.flush_stuck()

    # ------------------------------------------------------------------ scheduling

    def schedule_one(self) -> Attempt | None:
        """Tries the next pod; None when there is none now."""
        queued = self.queue.pop()
        if queued is None:
            return None
        if queued.pod.is_terminating:  # a nomination stands until the pod is gone: see delete_pod
            self.queue.delete(queued.pod.uid)
            return Attempt(queued.pod, message=f"skip schedule deleting pod: {queued.pod.key}")
        with self._busy():
            return self._attempt(queued)

    def look(self, pod: Pod, record: DecisionRecord) -> Choice:
        """What would come of an attempt of that pod now; the pod stays where it is."""
        with self._busy():
            return self._cycles[pod.spec.scheduler_name].choose(pod, record)

    def _attempt(self, queued: QueuedPod) -> Attempt:
        began = time.perf_counter()
        pod = queued.pod
        framework = self.frameworks[pod.spec.scheduler_name]
        choice = self._cycles[framework.name].choose(pod, self.record_for(pod))
        choice.state.chosen()
        result = self._place(queued, framework, choice) if choice.node else self._failed(queued, choice)
        return replace(result, feasible=choice.feasible, seconds=time.perf_counter() - began)

    def _place(self, queued: QueuedPod, framework: Framework, choice: Choice) -> Attempt:
        pod, node, state = queued.pod, choice.node, choice.state
        assumed = placed_on(pod, node)
        self._assumed[pod.uid] = assumed
        self.table.add_pod(assumed)
        self.nominator.withdraw(pod.uid)
        status = framework.run_reserve(state, assumed, node)
        if not status.is_success:
            self._forget(assumed, state)
            return self._returned(queued, status)
        status, timeouts = framework.run_permit(state, assumed, node)
        if status.code == Code.WAIT:
            self.waiting[pod.uid] = WaitingPod(queued, assumed, state, self.clock.now(), timeouts)
            return Attempt(pod, node=node, is_waiting=True)
        if not status.is_success:
            framework.run_unreserve(state, assumed, node)
            self._forget(assumed, state)
            return self._returned(queued, status)
        return self._bind(queued, framework, assumed, state)

    def _bind(self, queued: QueuedPod, framework: Framework, assumed: Pod, state: CycleState) -> Attempt:
        self.queue.done(assumed.uid)
        return self._go_on(Binding(queued, framework, assumed, state))

    def _go_on(self, binding: Binding) -> Attempt:
        """PreBind and Bind, as far as they get: what has to wait for the cluster goes on later."""
        framework, assumed, state = binding.framework, binding.assumed, binding.state
        status = framework.run_pre_bind(state, assumed, assumed.node, binding.prepared)
        if status.code == Code.WAIT:
            binding.retry_at = self.clock.now() + PRE_BIND_RETRY
            self._held_up[assumed.uid] = binding
        else:
            self._held_up.pop(assumed.uid, None)
        if status.is_success:
            binding.retry_at = None
            status = framework.run_bind(state, assumed, assumed.node)
        if status.code == Code.WAIT:
            self.binding[assumed.uid] = binding
            return Attempt(binding.queued.pod, node=assumed.node, is_binding=True)
        return self._ended(binding, status)

    def _ended(self, binding: Binding, status: Status) -> Attempt:
        queued, framework, assumed, state = binding.queued, binding.framework, binding.assumed, binding.state
        if not status.is_success:
            return self._undone(queued, framework, assumed, state, status)
        self._tried(queued, "scheduled")
        ready_since = self.clock.now() if queued.ready_since is None else queued.ready_since
        waited = self.clock.now() - ready_since
        self.observer.scheduled(queued.attempts, waited, after_flush=queued.was_flushed)
        framework.run_post_bind(state, assumed, assumed.node)
        self.queue.scheduled(assumed.uid)
        state.close()
        return Attempt(queued.pod, node=assumed.node)

    def bound(self, uid: str, error: str) -> None:
        """What came of a bind that was under way."""
        binding = self.binding.pop(uid, None)
        if binding is None:
            return
        status = Status(Code.ERROR, f'running Bind plugin "DefaultBinder": {error}') if error else SUCCESS
        with self._busy():
            self.on_settled(self._ended(binding, status))

    def evicting(self, victim: Pod, preemptor: Pod) -> None:
        """The deletion of a victim of preemption is under way."""
        self._evicted.add(victim.uid)
        self._preempting.setdefault(preemptor.uid, set()).add(victim.uid)

    def evicted(self, victim: Pod, preemptor: Pod) -> None:
        """The API server has heard of a victim. After the last one, the pod that needs the room may be tried again."""
        left = self._preempting.get(preemptor.uid)
        if left is None:
            return
        left.discard(victim.uid)
        if left:
            return
        del self._preempting[preemptor.uid]
        if victim.uid not in self._evicted:  # it went while nobody could hear of it
            change = ClusterChange("AssignedPod", Action.DELETE, victim, None)
            with self._busy():
                self.queue.move(change, lambda pod: pod.uid == preemptor.uid)

    def not_evicted(self, victim: Pod, preemptor: Pod) -> None:
        """A victim could not be deleted: the pod that needs its room looks for another."""
        self._evicted.discard(victim.uid)
        self._preempting.pop(preemptor.uid, None)
        self.activate(preemptor)

    def is_preempting(self, uid: str) -> bool:
        return uid in self._preempting

    def retry_bindings(self) -> None:
        """Asks again the PreBind plugins that wait for something in the cluster, such as a volume."""
        now = self.clock.now()
        due = [item for item in self._held_up.values() if item.retry_at is not None and item.retry_at <= now]
        for binding in due:
            del self.binding[binding.assumed.uid]
            with self._busy():
                attempt = self._go_on(binding)
                if not attempt.is_binding:
                    self.on_settled(attempt)

    def is_held_up(self, uid: str) -> bool:
        """Whether a PreBind plugin waits for something in the cluster before that pod can be bound."""
        return uid in self._held_up

    def is_left_waiting(self, uid: str) -> bool:
        """Whether that pod is in the queue and not on its way to a node."""
        return uid not in self._assumed and self.queue.get(uid) is not None

    def next_retry(self) -> float | None:
        return min((item.retry_at for item in self._held_up.values() if item.retry_at is not None), default=None)

    def _undone(
        self, queued: QueuedPod, framework: Framework, assumed: Pod, state: CycleState, status: Status
    ) -> Attempt:
        """After binding failed, or the permission to bind was refused. Others were tried meanwhile: they hear of it."""
        framework.run_unreserve(state, assumed, assumed.node)
        self._forget(assumed, state)
        gone = ClusterChange("AssignedPod", Action.DELETE, assumed, None)
        if not status.is_rejected:
            self.queue.move(gone)
            return self._returned(queued, status)
        result = self._returned(queued, status)
        self.queue.move(gone, lambda other: other.uid != assumed.uid)
        return result

    def _forget(self, assumed: Pod, state: CycleState) -> None:
        state.close()
        if self._assumed.pop(assumed.uid, None) is not None:  # else the cluster has told meanwhile where it is
            self.table.remove_pod(assumed)

    def _returned(self, queued: QueuedPod, status: Status) -> Attempt:
        """A pod that had a node goes back to the queue."""
        self._tried(queued, "unschedulable" if status.is_rejected else "error")
        if status.is_rejected:
            message = fit_error(1, dict.fromkeys(status.reasons, 1))
            rejected_by = frozenset((status.plugin,)) - {""}
        else:
            message, rejected_by = status.reason, frozenset()
        queued.message = message
        self._give_back(queued, rejected_by, nominated_node="")
        return Attempt(queued.pod, message=message, is_error=not status.is_rejected)

    def _failed(self, queued: QueuedPod, choice: Choice) -> Attempt:
        self._tried(queued, "error" if choice.is_error else "unschedulable")
        queued.message = choice.message
        choice.state.close()
        if choice.is_error:
            self._give_back(queued, frozenset(), nominated_node="")
        else:
            self._give_back(queued, choice.rejected_by, nominated_node=choice.nominated_node)
        return Attempt(
            queued.pod,
            message=choice.message,
            is_error=choice.is_error,
            nominated_node=choice.nominated_node or "",
            victims=tuple(choice.victims),
            objections=choice.objections,
        )

    def _tried(self, queued: QueuedPod, result: str) -> None:
        """By the machine's clock, as all that takes time; how long pods waited is by the scheduler's."""
        self.observer.attempt(result, queued.pod.spec.scheduler_name, time.perf_counter() - queued.began)

    def _give_back(self, queued: QueuedPod, rejected_by: frozenset[str], nominated_node: str | None) -> None:
        before = queued.pod
        if nominated_node is not None:
            if nominated_node != before.nominated_node:
                queued.pod = replace(before, nominated_node=nominated_node)
            self.nominator.nominate(queued.pod, nominated_node)
        self.queue.give_back(queued, rejected_by)
        if before.nominated_node and queued.pod is not before:
            self._nomination_ended(before)

    # ------------------------------------------------------------------ waiting pods

    def _decide(self, waiting: WaitingPod, status: Status) -> None:
        with self._busy():
            del self.waiting[waiting.assumed.uid]
            self._decided[waiting.assumed.uid] = waiting, status

    def _settle(self) -> None:
        """Binds or gives back the pods that plugins have decided about; they may decide about more on the way."""
        while self._decided:
            waiting, status = self._decided.pop(next(iter(self._decided)))
            self._waited(waiting, status)
            framework = self.frameworks[waiting.assumed.spec.scheduler_name]
            settle = self._bind if status.is_success else partial(self._undone, status=status)
            self.on_settled(settle(waiting.queued, framework, waiting.assumed, waiting.state))

    @contextmanager
    def _busy(self) -> Iterator[None]:
        """What plugins decide about waiting pods meanwhile is done at the end: never in the middle of a hook."""
        if self._is_busy:
            yield
            return
        self._is_busy = True
        try:
            yield
            self._settle()
        finally:
            self._is_busy = False

    def expire_waiting(self) -> list[Attempt]:
        """Rejects the waiting pods whose time is up."""
        now = self.clock.now()
        results = []
        with self._busy():
            for waiting in [waiting for waiting in self.waiting.values() if waiting.deadline <= now]:
                if waiting.assumed.uid in self.waiting:
                    seconds, plugin = waiting.first_timeout()
                    status = Status(Code.UNSCHEDULABLE, timeout_text(seconds, plugin), plugin)
                    results.append(self._reject(waiting, status))
        return results

    def next_deadline(self) -> float | None:
        return min((waiting.deadline for waiting in self.waiting.values()), default=None)

    def _waited(self, waiting: WaitingPod, status: Status) -> None:
        self.observer.permit_wait(status.label, self.clock.now() - waiting.started)

    def _reject(self, waiting: WaitingPod, status: Status) -> Attempt:
        self._waited(waiting, status)
        self.waiting.pop(waiting.assumed.uid, None)
        self._decided.pop(waiting.assumed.uid, None)
        framework = self.frameworks[waiting.assumed.spec.scheduler_name]
        return self._undone(waiting.queued, framework, waiting.assumed, waiting.state, status)

    # ------------------------------------------------------------------ SchedulerHandle

    def get_waiting_pod(self, uid: str) -> bytes | None:
        waiting = self.waiting.get(uid)
        return None if waiting is None else waiting.assumed.encoded

    def waiting_pods(self) -> Sequence[bytes]:
        return [waiting.assumed.encoded for waiting in self.waiting.values()]

    def allow_waiting_pod(self, uid: str, plugin: str) -> bool:
        """When no plugin holds the pod back any more, it is bound."""
        waiting = self.waiting.get(uid)
        if waiting is None:
            return False
        waiting.timeouts.pop(plugin, None)
        if not waiting.timeouts:
            self._decide(waiting, SUCCESS)
        return True

    def reject_waiting_pod(self, uid: str, plugin: str = "", reason: str = "") -> bool:
        waiting = self.waiting.get(uid)
        if waiting is None:
            return False
        self._decide(waiting, Status(Code.UNSCHEDULABLE, reason or "removed", plugin))
        return True

    def preempt_waiting_pod(self, uid: str) -> bool:
        waiting = self.waiting.get(uid)
        if waiting is None:
            return False
        self._reject(waiting, Status(Code.ERROR, "waiting on permit for pod: preempted"))
        return True

    def record_event(self, event: RecordedEvent) -> None:
        self.on_event(event)

    def _keep_event(self, event: RecordedEvent) -> None:
        if len(self.recorded) < _MAX_EVENTS:
            self.recorded.append(event)

    def check(self, state: CycleState, pod: Pod, row: int) -> Status:
        cycle = self._cycles[pod.spec.scheduler_name]
        return one_objection(cycle.filter_rows(state, pod, np.array([row], np.int32)))

    def judges_by_counts(self, state: CycleState, pod: Pod) -> bool:
        return self.frameworks[pod.spec.scheduler_name].judges_by_counts(state)

    def put_on(self, state: CycleState, pod: Pod, other: Pod, row: int) -> Status:
        self.table.add_pod(other)
        return self.frameworks[pod.spec.scheduler_name].run_add_pod(state, pod, other, row, self.table)

    def take_off(self, state: CycleState, pod: Pod, other: Pod, row: int) -> Status:
        self.table.remove_pod(other)
        return self.frameworks[pod.spec.scheduler_name].run_remove_pod(state, pod, other, row, self.table)

    def is_evicted(self, uid: str) -> bool:
        return uid in self._evicted

    def nominated_pods(self, node: str) -> Sequence[Pod]:
        return self.nominator.on(node)

    def withdraw_nomination(self, pod: Pod) -> None:
        self.nominator.withdraw(pod.uid)
        queued = self.queue.get(pod.uid)
        if queued is not None:
            queued.pod = replace(queued.pod, nominated_node="")
        self._nomination_ended(pod)

    def upcoming_pods(self, count: int) -> Sequence[Pod]:
        return self.queue.upcoming(count)

    def activate(self, pod: Pod) -> None:
        with self._busy():
            self.queue.activate(pod.uid)
