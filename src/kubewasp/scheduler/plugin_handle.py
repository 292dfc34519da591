"""Plugin handle: the scheduler as its plugins see it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from kubewasp.framework.status import Code, Status
from kubewasp.scheduler.cycle import verdict_on_one

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from kubewasp.clock import Clock
    from kubewasp.framework.cluster_events import RecordedEvent
    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import Client
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.binding import BindingCycle
    from kubewasp.scheduler.preemption import Evictions, Nominator
    from kubewasp.scheduler.profile_set import ActiveProfiles
    from kubewasp.scheduler.queue import SchedulingQueue
    from kubewasp.scheduler.waiting import WaitingPods
    from kubewasp.state.node_table import NodeTable
    from kubewasp.state.object_store import ObjectStore

_PREEMPTED: Final = Status(Code.ERROR, "waiting on permit for pod: preempted")


class PluginHandle:
    """Implements `SchedulerHandle`."""

    def __init__(
        self,
        *,
        clock: Clock,
        table: NodeTable,
        store: ObjectStore,
        client: Client,
        new_random: Callable[[], random.Random],
        queue: SchedulingQueue,
        profiles: ActiveProfiles,
        waiting: WaitingPods,
        binding: BindingCycle,
        nominator: Nominator,
        evictions: Evictions,
        record_event: Callable[[RecordedEvent], None],
    ) -> None:
        self.clock = clock
        self.table = table
        self.store = store
        self.client = client
        self._new_random = new_random
        self._queue = queue
        self._profiles = profiles
        self._waiting = waiting
        self._binding = binding
        self._nominator = nominator
        self._evictions = evictions
        self._record_event = record_event

    # ------------------------------------------------------------------ Handle: any thread

    def get_waiting_pod(self, uid: str) -> bytes | None:
        waiting = self._waiting.get(uid)
        return None if waiting is None else waiting.assumed.encoded

    def waiting_pods(self) -> Sequence[bytes]:
        return [waiting.assumed.encoded for waiting in self._waiting.all()]

    def allow_waiting_pod(self, uid: str, plugin: str) -> bool:
        return self._waiting.allow(uid, plugin)

    def reject_waiting_pod(self, uid: str, plugin: str = "", reason: str = "") -> bool:
        return self._waiting.reject(uid, Status(Code.UNSCHEDULABLE, reason or "removed", plugin))

    def record_event(self, event: RecordedEvent) -> None:
        self._record_event(event)

    # ------------------------------------------------------------------ SchedulerHandle: scheduler's thread

    def new_random(self) -> random.Random:
        return self._new_random()

    def check(self, state: CycleState, pod: Pod, row: int) -> Status:
        cycle = self._profiles.cycle_for(pod)
        return verdict_on_one(cycle.filter_rows(state, pod, np.array([row], np.int64)))

    def judges_by_counts(self, state: CycleState, pod: Pod) -> bool:
        return self._profiles.cycle_for(pod).framework.judges_by_counts(state)

    def put_on(self, state: CycleState, pod: Pod, other: Pod, row: int) -> Status:
        self.table.add_pod(other)
        return self._profiles.cycle_for(pod).framework.run_add_pod(state, pod, other, row, self.table)

    def take_off(self, state: CycleState, pod: Pod, other: Pod, row: int) -> Status:
        self.table.remove_pod(other)
        return self._profiles.cycle_for(pod).framework.run_remove_pod(state, pod, other, row, self.table)

    def is_evicted(self, uid: str) -> bool:
        return self._evictions.is_victim(uid)

    def is_preempting(self, uid: str) -> bool:
        return self._evictions.is_preempting(uid)

    def nominated_pods(self, node: str) -> Sequence[Pod]:
        return self._nominator.on(node)

    def withdraw_nomination(self, pod: Pod) -> None:
        self._nominator.withdraw(pod.uid)
        queued = self._queue.get(pod.uid)
        if queued is not None:
            queued.pod = replace(queued.pod, nominated_node="")
        self._queue.nomination_ended(pod)

    def preempt_waiting_pod(self, uid: str) -> bool:
        if uid not in self._waiting:
            return False
        waiting = self._waiting.remove(uid)
        if waiting is None:
            return False
        self._binding.decided(waiting, _PREEMPTED)
        return True

    def upcoming_pods(self, count: int) -> Sequence[Pod]:
        return self._queue.upcoming(count)

    def activate(self, pod: Pod) -> None:
        self._queue.activate(pod.uid)
