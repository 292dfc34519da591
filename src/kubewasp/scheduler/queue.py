"""Scheduling queue: active pods, pods that back off, and unschedulable pods that wait for an event.

Gated pods wait among the unschedulable ones. All times come from the clock: simulated hours pass in milliseconds.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.observer import (
    ATTEMPT_FAILED,
    BACKOFF_OVER,
    FORCED,
    POD_ADDED,
    POPPED_EARLY,
    RELOADED,
    TIMED_OUT,
    SchedulerObserver,
)
from kubewasp.framework.unexpected import UnexpectedErrors
from kubewasp.scheduler.queued_pod import ClusterChange, QueuedPod
from kubewasp.scheduler.subqueues import (
    ACTIVE,
    BACKOFF,
    IN_FLIGHT,
    UNSCHEDULABLE,
    ActiveQueue,
    AfterAllKeys,
    BackoffQueue,
    InFlightEvents,
    UnschedulablePods,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubewasp.clock import Clock
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.profile_change import ProfileSwap
    from kubewasp.scheduler.profile_set import ActiveProfiles
    from kubewasp.scheduler.queueing_hints import KnownHints

# Maximum wait for an event, in seconds; then the pod is retried without one.
FLUSH_AFTER: Final = 5 * 60.0


class SchedulingQueue:
    """All pods without a node, by uid, each in one part of the queue or in flight.

    It has a method per event and per move between the parts, and so more than 25.
    """

    def __init__(self, profiles: ActiveProfiles, clock: Clock, observer: SchedulerObserver) -> None:
        self._profiles = profiles
        self._clock = clock
        self._observer = observer
        self._unexpected = UnexpectedErrors(observer)
        self._pods: dict[str, QueuedPod] = {}
        self._active = ActiveQueue()
        self._backoff = BackoffQueue()
        self._unschedulable = UnschedulablePods()
        self._in_flight = InFlightEvents()
        self._errors: Counter[int] = Counter()  # pods by the number of their errors in a row, from 1 on

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[QueuedPod]:
        """A copy of all pods. Safe from any thread."""
        return iter(list(self._pods.values()))

    def get(self, uid: str) -> QueuedPod | None:
        return self._pods.get(uid)

    def upcoming(self, count: int) -> list[Pod]:
        """Up to `count` pods from the head of the active queue, in order."""
        return self._active.upcoming(count)

    def events_in_flight(self) -> Counter[str]:
        """Events kept for pods in flight, by label. Safe from any thread."""
        return self._in_flight.counts()

    # ------------------------------------------------------------------ in and out

    def add(self, pod: Pod) -> QueuedPod:
        """Adds a pod; replaces one with the same uid."""
        self.delete(pod.uid)
        now = self._clock.now()
        queued = QueuedPod(pod, timestamp=now, added_at=now, last_flush=now)
        self._pods[pod.uid] = queued
        self._activate(queued, POD_ADDED)
        return queued

    def update(self, pod: Pod, action: Action, old: Pod) -> None:
        """Updates a pod to its new state."""
        queued = self._pods.get(pod.uid)
        if queued is None:
            self.add(pod)
            return
        queued.pod = pod
        change = ClusterChange("UnschedulablePod", action, old, pod)
        if queued.place == IN_FLIGHT:
            self._in_flight.add(change)
        elif queued.place == UNSCHEDULABLE and self._profiles.hints.wake(queued, change):
            self._requeue(queued, change.label)

    def delete(self, uid: str) -> None:
        """Removes a scheduled or deleted pod."""
        queued = self._pods.pop(uid, None)
        if queued is not None:
            self._unschedulable.remove(queued)
            self._count_errors(queued, 0)
            queued.place = ""
            self.done(uid)

    def pop(self) -> QueuedPod | None:
        """The next pod to schedule. Without active pods, the head of the backoff queue comes early."""
        for queued in self._backoff.pop_expired(self._clock.now()):
            self._active.push(queued)
            self._observer.queue_incoming(ACTIVE, BACKOFF_OVER)
        found = self._active.pop()
        if found is None:
            found = self._backoff.pop_early()
            if found is None:
                return None
            self._observer.queue_incoming(ACTIVE, POPPED_EARLY)
        return self._begun(found)

    def take(self, uid: str, *, instead_of: QueuedPod | None = None) -> QueuedPod | None:
        """A certain pod, ready or not, to schedule; `instead_of` was popped and becomes active again."""
        if instead_of is not None:
            instead_of.attempts -= 1
            self.done(instead_of.pod.uid)
            self._active.push(instead_of)
        queued = self._pods.get(uid)
        if queued is None or queued.place == IN_FLIGHT:
            return None
        self._unschedulable.remove(queued)
        return self._begun(queued)

    def _begun(self, queued: QueuedPod) -> QueuedPod:
        queued.place = IN_FLIGHT
        queued.attempts += 1
        queued.began = time.perf_counter()
        self._in_flight.begin(queued.pod.uid)
        return queued

    def done(self, uid: str) -> None:
        """Ends the pod's scheduling cycle: later events need not be kept for it."""
        self._in_flight.end(uid)

    def give_back(self, queued: QueuedPod, rejected_by: frozenset[str]) -> None:
        """Returns a pod after a failed attempt. Without a rejecting plugin it is retried after its backoff."""
        uid = queued.pod.uid
        if self._pods.get(uid) is not queued:
            self.done(uid)
            return
        if queued.pod.spec.scheduler_name not in self._profiles.frameworks:  # its profile was removed meanwhile
            self.delete(uid)
            return
        queued.timestamp = queued.last_flush = self._clock.now()
        queued.rejected_by = rejected_by
        queued.was_flushed = False
        if rejected_by:
            queued.unschedulable_count += 1
            self._count_errors(queued, 0)
        else:
            self._count_errors(queued, queued.errors + 1)
        changes = self._in_flight.since_start(uid)
        self.done(uid)
        # A failure during binding is no verdict on the cluster: the pod waits for no event.
        waits = bool(rejected_by) and changes is not None
        if not waits or any(self._profiles.hints.wake(queued, change) for change in changes or ()):
            self._requeue(queued, ATTEMPT_FAILED)
        else:
            self._park(queued, ATTEMPT_FAILED)

    # ------------------------------------------------------------------ checkpoints

    def in_order(self) -> list[QueuedPod]:
        """All pods, those of each part in its order: restored one after the other, they make the same queue."""
        found = dict.fromkeys([*self._active.in_order(), *self._backoff.in_order(), *self._unschedulable])
        return [*found, *(queued for queued in self._pods.values() if queued not in found)]

    def restore(self, queued: QueuedPod) -> None:
        """Adds a pod with its history, in its place."""
        self._pods[queued.pod.uid] = queued
        queued.sort_key = self._sort_key(queued)
        if queued.place == ACTIVE:
            self._active.push(queued)
        elif queued.place == BACKOFF:
            self._backoff.push(queued, queued.ready_at)
        elif queued.place == UNSCHEDULABLE:
            self._unschedulable.add(queued)
        elif queued.place == IN_FLIGHT:
            self._in_flight.begin(queued.pod.uid)

    # ------------------------------------------------------------------ events

    def move(self, change: ClusterChange, condition: Callable[[Pod], bool] = lambda _pod: True) -> None:
        """Requeues the unschedulable pods that a change of the cluster may help."""
        if not self._profiles.hints.concern(change):
            return
        if self._in_flight:
            self._in_flight.add(change)
        label = change.label
        if change.is_wildcard:
            concerned = list(self._unschedulable)
        else:
            concerned = self._unschedulable.rejected_by(self._profiles.hints.plugins(change))
        known: KnownHints = {}
        for queued in concerned:
            if condition(queued.pod) and self._profiles.hints.wake(queued, change, known):
                self._requeue(queued, label)

    def nomination_ended(self, pod: Pod) -> None:
        """Requeues pods of no higher priority that the nomination may have blocked."""
        change = ClusterChange("AssignedPod", Action.DELETE, pod, None)
        self.move(change, lambda other: other.priority <= pod.priority)

    def activate(self, uid: str) -> None:
        """Retries a pod without an event."""
        queued = self._pods.get(uid)
        if queued is None or queued.place == ACTIVE:
            return
        if queued.place == IN_FLIGHT:
            self._in_flight.add(ClusterChange("*", Action.ALL))
        else:
            self._activate(queued, FORCED)

    def flush_stuck(self) -> None:
        """Requeues pods that have waited too long for an event."""
        now = self._clock.now()
        for queued in self._unschedulable.flushed_before(now - FLUSH_AFTER):
            self._unschedulable.flushed(queued, now)
            queued.was_flushed = True
            self._requeue(queued, TIMED_OUT)

    def has_errors(self, below: int) -> bool:
        """Whether a pod's last attempts ended with an error, fewer than `below` in a row."""
        return any(count < below for count in self._errors)

    def next_backoff(self) -> float | None:
        """End of the next backoff; None if no pod backs off."""
        return self._backoff.next_end()

    def next_flush(self) -> float | None:
        """Time of the next requeueing without an event; None if no pod waits for one."""
        oldest = self._unschedulable.oldest_flush()
        return None if oldest is None else oldest + FLUSH_AFTER + 1.0

    # ------------------------------------------------------------------ other profiles

    def profiles_swapped(self, swap: ProfileSwap) -> list[QueuedPod]:
        """Follows a swap of the profiles; returns the pods to be reconsidered, which may be done bit by bit.

        A pod of a profile that is gone leaves the queue. A failed pod in flight is tried again at once: its rejection
        is one of the plugins before.
        """
        for uid in [uid for uid, queued in self._pods.items() if self._is_homeless(queued)] if swap.removed else ():
            self.delete(uid)
        if self._in_flight:
            self._in_flight.add(ClusterChange("*", Action.ALL))
        if swap.sorts_anew:
            self._sort_anew()
        changes = {side: change for side, change in swap.changes().items() if change}
        if not changes:
            return []
        if any(change.gates or change.retries_all for change in changes.values()):
            concerned = list(self._pods.values())
        else:
            concerned = self._unschedulable.rejected_by({name for item in changes.values() for name in item.plugins})
        found = []
        for queued in concerned:
            change = changes.get(swap.side(queued.pod))
            if change is None or queued.place == IN_FLIGHT:
                continue
            waits = queued.place == UNSCHEDULABLE
            if change.gates or (waits and (change.retries_all or not change.plugins.isdisjoint(queued.rejected_by))):
                found.append(queued)
        return found

    def reconsider(self, queued: QueuedPod) -> None:
        """Asks the gates about a pod again and, if it waits for an event, requeues it."""
        if self._pods.get(queued.pod.uid) is not queued or queued.place == IN_FLIGHT:
            return
        if queued.place == UNSCHEDULABLE:
            self._requeue(queued, RELOADED)
        else:
            self._passes_gates(queued, RELOADED)

    def _is_homeless(self, queued: QueuedPod) -> bool:
        known = queued.pod.spec.scheduler_name in self._profiles.frameworks
        return not known and queued.place != IN_FLIGHT

    def _sort_anew(self) -> None:
        """New sort keys for all pods with one. Keys of two plugins have no common order."""
        for queued in self._pods.values():
            if queued.place in (ACTIVE, BACKOFF):
                queued.sort_key = self._sort_key(queued)
        self._active.rebuild()
        self._backoff.rebuild()

    # ------------------------------------------------------------------ moves between the parts

    def _activate(self, queued: QueuedPod, event: str) -> None:
        if self._passes_gates(queued, event):
            self._push_active(queued, event)

    def _requeue(self, queued: QueuedPod, event: str) -> None:
        if not self._passes_gates(queued, event):
            return
        ends = self._backoff_end(queued)
        if ends is None or ends < math.floor(self._clock.now()):
            self._push_active(queued, event)
            return
        queued.sort_key = self._sort_key(queued)
        self._backoff.push(queued, ends)
        self._observer.queue_incoming(BACKOFF, event)

    def _push_active(self, queued: QueuedPod, event: str) -> None:
        if queued.ready_since is None:
            queued.ready_since = self._clock.now()
        queued.sort_key = self._sort_key(queued)
        self._active.push(queued)
        self._observer.queue_incoming(ACTIVE, event)

    def _sort_key(self, queued: QueuedPod) -> object:
        framework = self._profiles.frameworks[queued.pod.spec.scheduler_name]
        try:
            return framework.queue_sort.sort_key(queued.pod, queued.timestamp)
        except Exception as error:  # noqa: BLE001 - the pod comes last
            self._unexpected.report("QueueSort", error, plugin=framework.queue_sort.name, pod=queued.pod.key)
            return AfterAllKeys(queued.timestamp)

    def _passes_gates(self, queued: QueuedPod, event: str) -> bool:
        """PreEnqueue. A pod that stays gated by the same plugin stays in its place."""
        profiles = self._profiles
        framework = profiles.frameworks[queued.pod.spec.scheduler_name]
        if profiles.canary is not None:
            framework = profiles.canary.framework_for(queued.pod) or framework
        status = framework.run_pre_enqueue(queued.pod, queued.gated_by)
        queued.gate_failed = not status.is_success and not status.is_rejected
        if queued.place == UNSCHEDULABLE and queued.gated_by == status.plugin != "":
            queued.gate_reason = status.reason
            return False
        was_parked = self._unschedulable.remove(queued)
        queued.gated_by, queued.gate_reason = status.plugin, status.reason
        if status.is_success:
            return True
        self._park(queued, "" if was_parked else event)
        return False

    def _count_errors(self, queued: QueuedPod, errors: int) -> None:
        before, queued.errors = queued.errors, errors
        if before:
            self._errors[before] -= 1
            if not self._errors[before]:
                del self._errors[before]
        if errors:
            self._errors[errors] += 1

    def _park(self, queued: QueuedPod, event: str) -> None:
        if event:
            self._observer.queue_incoming(UNSCHEDULABLE, event)
        self._unschedulable.add(queued)

    def _backoff_end(self, queued: QueuedPod) -> float | None:
        count, tuning = queued.errors or queued.unschedulable_count, self._profiles.stable.tuning
        if not count or not tuning.max_backoff:
            return None
        duration = min(tuning.initial_backoff * 2 ** min(count - 1, 62), tuning.max_backoff)
        return float(math.floor(queued.timestamp + duration))


def pending_pods(queue: SchedulingQueue) -> dict[str, int]:
    """Pods by part of the queue. Safe from any thread."""
    found = dict.fromkeys((ACTIVE, BACKOFF, UNSCHEDULABLE, "gated"), 0)
    for queued in queue:
        place = "gated" if queued.gated_by else queued.place
        if place in found:
            found[place] += 1
    return found


def rejected_pods(queue: SchedulingQueue) -> Counter[tuple[str, str]]:
    """Pods by the plugin that rejected or gated them, and profile. Safe from any thread."""
    found: Counter[tuple[str, str]] = Counter()
    for queued in queue:
        if queued.place != IN_FLIGHT:
            for plugin in queued.rejected_by | ({queued.gated_by} - {""}):
                found[plugin, queued.pod.spec.scheduler_name] += 1
    return found
