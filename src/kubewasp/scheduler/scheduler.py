"""Scheduler: takes one pod after the other from the queue, chooses a node and starts its binding.

The scheduling cycle is sequential, on one thread. Cluster, time and writes come through `events`, the clock and the
client, so that the same code runs in a simulation and against an API server. `composition.py` builds it.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kubewasp.framework.binding_annotations import values
from kubewasp.framework.cluster_events import Action
from kubewasp.framework.status import Code, Status
from kubewasp.scheduler.attempt import Attempt
from kubewasp.scheduler.profile_change import ProfileSwap
from kubewasp.scheduler.queued_pod import ClusterChange, QueuedPod
from kubewasp.scheduler.waiting import WaitingPod

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.clock import Clock
    from kubewasp.framework.decision_record import DecisionRecord
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.runtime import Framework
    from kubewasp.framework.unexpected import UnexpectedErrors
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.assumed_pods import AssumedPods
    from kubewasp.scheduler.attempt import AttemptListener, DecisionRecorder
    from kubewasp.scheduler.binding import BindingCycle
    from kubewasp.scheduler.cycle import Choice
    from kubewasp.scheduler.events import ClusterEvents
    from kubewasp.scheduler.failure_handler import FailureHandler
    from kubewasp.scheduler.preemption import Evictions, Nominator
    from kubewasp.scheduler.profile_set import ActiveProfiles, Canary, ProfileBuilder, ProfileSet
    from kubewasp.scheduler.queue import SchedulingQueue
    from kubewasp.scheduler.retirement import Retirement
    from kubewasp.scheduler.trial import Trial
    from kubewasp.scheduler.waiting import WaitingPods
    from kubewasp.state.node_table import NodeTable
    from kubewasp.state.object_store import ObjectStore

# Pods that a swap of the profiles concerns, per tick.
_RECONSIDERED_AT_ONCE: Final = 100


class Scheduler:
    """Composes cluster events, queue, cycles, waiting pods and binding. Also a `ClientListener`."""

    def __init__(
        self,
        *,
        clock: Clock,
        table: NodeTable,
        store: ObjectStore,
        events: ClusterEvents,
        queue: SchedulingQueue,
        profiles: ActiveProfiles,
        builder: ProfileBuilder,
        waiting: WaitingPods,
        binding: BindingCycle,
        failures: FailureHandler,
        assumed: AssumedPods,
        nominator: Nominator,
        evictions: Evictions,
        handle: SchedulerHandle,
        retirement: Retirement,
        recorder: DecisionRecorder,
        unexpected: UnexpectedErrors,
        listeners: Sequence[AttemptListener] = (),
    ) -> None:
        self.clock = clock
        self.table = table
        self.store = store
        self.events = events
        self.queue = queue
        self.waiting = waiting
        self.binding = binding
        self.nominator = nominator
        self.handle = handle
        self.profiles = profiles
        self.builder = builder
        self.retirement = retirement
        self._trial: Trial | None = None
        self.reconsidered: deque[QueuedPod] = deque()
        self._failures = failures
        self.assumed = assumed
        self.evictions = evictions
        self._recorder = recorder
        self._unexpected = unexpected
        self._listeners = list(listeners)

    @property
    def frameworks(self) -> Mapping[str, Framework]:
        """The profiles by scheduler name."""
        return self.profiles.frameworks

    def subscribe(self, listener: AttemptListener) -> None:
        self._listeners.append(listener)

    # ------------------------------------------------------------------ a pod's way

    def schedule_one(self) -> Attempt | None:
        """Schedules the next pod; None if no pod is ready."""
        self.settle()
        queued = self.queue.pop()
        return None if queued is None else self.schedule(queued)

    def schedule(self, queued: QueuedPod) -> Attempt:
        """Schedules a pod that was taken from the queue."""
        attempt = self._skip(queued) if queued.pod.is_terminating else self._attempt(queued)
        self._notify(attempt)
        self.settle()
        if self._trial is not None:
            self._trial.attempted()  # may end the trial, with a swap
        return attempt

    def _skip(self, queued: QueuedPod) -> Attempt:
        """Skips a terminating pod. Its nomination stays until its deletion."""
        self.queue.delete(queued.pod.uid)
        return Attempt(queued.pod, message=f"skip schedule deleting pod: {queued.pod.key}")

    def _attempt(self, queued: QueuedPod) -> Attempt:
        began = time.perf_counter()
        pod = queued.pod
        cycle = self.profiles.cycles[pod.spec.scheduler_name]
        try:
            if self._trial is None:
                choice = cycle.choose(pod, self._recorder.record_for(pod))
            else:
                cycle = self.profiles.cycle_for(pod)
                choice = self._trial.choose(cycle, pod, self._recorder.record_for(pod))
            choice.state.chosen()
        except Exception as error:  # noqa: BLE001 - one pod's: it backs off, and the next one has its turn
            return self._crashed(queued, "attempt", error)
        has_node = bool(choice.node)
        attempt = self.place(queued, cycle.framework, choice) if has_node else self._failures.no_node(queued, choice)
        return replace(attempt, feasible=choice.feasible, score=choice.score, seconds=time.perf_counter() - began)

    def place(self, queued: QueuedPod, framework: Framework, choice: Choice) -> Attempt:
        """Runs Assume, Reserve and Permit, then binds the pod or lets it wait."""
        pod, node, state = queued.pod, choice.node, choice.state
        assumed = self.assumed.assume(pod, node)
        self.nominator.withdraw(pod.uid)
        try:
            status = framework.run_reserve(state, assumed, node)
            if not status.is_success:
                self.binding.forget(assumed, state)
                return self._failures.not_placed(queued, status)
            if state.annotations:
                assumed = self.assumed.annotate(assumed, values(state.annotations))
            status, timeouts = framework.run_permit(state, assumed, node)
        except Exception as error:  # noqa: BLE001 - as in `_attempt`
            framework.run_unreserve(state, assumed, node)
            self.binding.forget(assumed, state)
            return self._crashed(queued, "attempt", error)
        if status.code == Code.WAIT:
            self.waiting.add(WaitingPod(queued, framework, assumed, state, self.clock.now(), timeouts))
            return Attempt(pod, node=node, is_waiting=True, annotations=tuple(state.annotations.values()))
        if not status.is_success:
            framework.run_unreserve(state, assumed, node)
            self.binding.forget(assumed, state)
            return self._failures.not_placed(queued, status)
        return self.binding.bind(queued, framework, assumed, state)

    def _crashed(self, queued: QueuedPod, where: str, error: Exception) -> Attempt:
        text = self._unexpected.report(where, error, pod=queued.pod.key)
        return self._failures.not_placed(queued, Status(Code.ERROR, f"unexpected error: {text}"))

    def evaluate(self, pod: Pod, record: DecisionRecord) -> Choice:
        """The choice that an attempt of the pod would make now; the pod stays in the queue."""
        return self.profiles.cycle_for(pod).choose(pod, record)

    # ------------------------------------------------------------------ other profiles

    def install(self, profiles: ProfileSet, *, canary: Canary | None = None, trial: Trial | None = None) -> ProfileSwap:
        """Replaces the profiles, between two pods. On the scheduler's thread.

        Pods that wait or are being bound finish with the framework that they began with. Pods that a changed plugin
        had rejected or gated are tried again, some now and the rest with the next ticks: there may be many.
        """
        self.settle()
        swap = ProfileSwap(self.profiles.stable, self.profiles.canary, profiles, canary)
        self.profiles.replace(profiles, canary)
        self._trial = trial
        for queued in self.queue if swap.removed else ():
            if queued.pod.spec.scheduler_name in swap.removed:
                self.nominator.withdraw(queued.pod.uid)
        self.reconsidered.extend(self.queue.profiles_swapped(swap))
        ended = swap.ended()
        self.table.cache.forget(ended)
        self.retirement.add(swap.old_frameworks(), ended)
        self._reconsider()
        self.settle()
        return swap

    def _reconsider(self) -> None:
        for _ in range(min(len(self.reconsidered), _RECONSIDERED_AT_ONCE)):
            self.queue.reconsider(self.reconsidered.popleft())

    # ------------------------------------------------------------------ between two pods

    def settle(self) -> None:
        """Processes the decisions on waiting pods, including those that plugins add meanwhile."""
        while (decision := self.waiting.next_decision()) is not None:
            self._notify(self.binding.decided(decision.waiting, decision.status))

    def tick(self) -> None:
        """Processes expired permissions and due PreBind retries."""
        while self.waiting.expire(self.clock.now()):
            self.settle()
        for attempt in self.binding.retry():
            self._notify(attempt)
            self.settle()
        if self.reconsidered:
            self._reconsider()
        if self.retirement:
            self.retirement.end(self.waiting, self.binding)

    def flush_stuck(self) -> None:
        """Requeues pods that have waited too long for an event."""
        self.queue.flush_stuck()
        self.settle()

    def next_tick(self) -> float | None:
        """Time of the next expiry or retry."""
        if self.reconsidered:
            return self.clock.now()
        times = (self.waiting.next_deadline(), self.binding.next_retry())
        return min((when for when in times if when is not None), default=None)

    def is_left_waiting(self, uid: str) -> bool:
        """Whether the pod is in the queue and not in its binding cycle."""
        return uid not in self.assumed and self.queue.get(uid) is not None

    def _notify(self, attempt: Attempt) -> None:
        for listener in self._listeners:
            try:
                listener.attempted(attempt)
            except Exception as error:  # noqa: BLE001 - one listener's: the others follow
                self._unexpected.report("listener", error, pod=attempt.pod.key)

    # ------------------------------------------------------------------ ClientListener

    def bound(self, uid: str, status: Status) -> None:
        attempt = self.binding.finish(uid, status)
        if attempt is not None:
            self._notify(attempt)
        self.settle()

    def evicting(self, victim: Pod, preemptor: Pod) -> None:
        self.evictions.sent(victim, preemptor)

    def evicted(self, victim: Pod, preemptor: Pod) -> None:
        """After the last eviction, requeues the preemptor if the victim is already deleted."""
        if self.evictions.accepted(victim, preemptor) and not self.evictions.is_victim(victim.uid):
            gone = ClusterChange("AssignedPod", Action.DELETE, victim, None)
            self.queue.move(gone, lambda pod: pod.uid == preemptor.uid)
            self.settle()

    def not_evicted(self, victim: Pod, preemptor: Pod) -> None:
        """Requeues the preemptor for another node."""
        self.evictions.failed(victim, preemptor)
        self.queue.activate(preemptor.uid)
        self.settle()
