"""The scheduling queue: which pod is next, and what makes a pod that did not fit worth another try.

Three pools: active (a heap), backing off (a heap by the end of the backoff), unschedulable (waiting for an event).
Gated pods wait among the unschedulable ones. All times come from the clock: simulated hours pass in milliseconds.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.observer import (
    ATTEMPT_FAILED,
    BACKOFF_OVER,
    FORCED,
    NOBODY,
    POD_ADDED,
    POPPED_EARLY,
    TIMED_OUT,
    SchedulerObserver,
)
from kubewasp.framework.plugin import Registration
from kubewasp.scheduler.queued import ClusterChange, QueuedPod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kubewasp.clock import Clock
    from kubewasp.framework.runtime import Framework
    from kubewasp.k8s.pods import Pod

    _Hints = dict[str, list[Registration]]

FLUSH_AFTER = 5 * 60.0
_ACTIVE, _BACKOFF, _UNSCHEDULABLE, _IN_FLIGHT = "active", "backoff", "unschedulable", "in flight"


class SchedulingQueue:
    """The pods that are not scheduled yet."""

    def __init__(
        self,
        frameworks: Mapping[str, Framework],
        clock: Clock,
        *,
        initial_backoff: float = 1.0,
        max_backoff: float = 10.0,
    ) -> None:
        self.observer: SchedulerObserver = NOBODY
        self._frameworks = frameworks
        self._clock = clock
        self._initial, self._max = initial_backoff, max_backoff
        self._pods: dict[str, QueuedPod] = {}
        self._waiting: dict[str, QueuedPod] = {}
        self._waiting_for: dict[str, dict[str, QueuedPod]] = {}
        self._active: list[tuple[Any, int, QueuedPod]] = []
        self._backoff: list[tuple[float, Any, int, QueuedPod]] = []
        self._count = itertools.count()
        self._changes: deque[ClusterChange] = deque()
        self._in_flight: dict[str, int] = {}
        self._changes_dropped = 0
        self._hints = {name: _hints(framework) for name, framework in frameworks.items()}
        self._hints_by_event: dict[tuple[str, int], dict[str, _Hints]] = {}
        self._registered = {
            resource for hints in self._hints.values() for found in hints.values() for resource in _resources(found)
        }

    # ------------------------------------------------------------------ in and out

    def add(self, pod: Pod) -> QueuedPod:
        """A new pod that has no node; one that is here under its uid makes way."""
        self.delete(pod.uid)
        now = self._clock.now()
        queued = QueuedPod(pod, timestamp=now, added_at=now, last_flush=now)
        self._pods[pod.uid] = queued
        self._activate(queued, POD_ADDED)
        return queued

    def update(self, pod: Pod, action: Action, old: Pod) -> None:
        """A pod that waits has changed."""
        queued = self._pods.get(pod.uid)
        if queued is None:
            self.add(pod)
            return
        queued.pod = pod
        change = ClusterChange("UnschedulablePod", action, old, pod)
        if queued.place == _IN_FLIGHT:
            self._changes.append(change)
        elif queued.place == _UNSCHEDULABLE and self._wakes(queued, change):
            self._requeue(queued, change.label)

    def delete(self, uid: str) -> None:
        queued = self._pods.pop(uid, None)
        if queued is not None:
            self._unpark(queued)
            queued.place = ""
            self.done(uid)

    def pop(self) -> QueuedPod | None:
        """The next pod to schedule, or None. With nothing active, the head of the backoff pool need not wait."""
        self._flush_backoff()
        queued = self._pop_active() or self._pop_backoff()
        if queued is None:
            return None
        queued.place = _IN_FLIGHT
        queued.attempts += 1
        queued.began = time.perf_counter()
        self._in_flight[queued.pod.uid] = self._changes_dropped + len(self._changes)
        return queued

    def done(self, uid: str) -> None:
        """The pod is no longer being scheduled: what happened meanwhile need not be remembered for it."""
        if self._in_flight.pop(uid, None) is None:
            return
        oldest = min(self._in_flight.values(), default=self._changes_dropped + len(self._changes))
        while self._changes_dropped < oldest:
            self._changes.popleft()
            self._changes_dropped += 1

    def scheduled(self, uid: str) -> None:
        """The pod has a node."""
        self.delete(uid)

    def give_back(self, queued: QueuedPod, rejected_by: frozenset[str]) -> None:
        """After a failed attempt. Without a plugin that rejected it, the pod is tried again after its backoff."""
        uid = queued.pod.uid
        since = self._in_flight.get(uid)
        if self._pods.get(uid) is not queued:
            self.done(uid)
            return
        queued.timestamp = queued.last_flush = self._clock.now()
        queued.rejected_by = rejected_by
        queued.was_flushed = False
        if rejected_by:
            queued.unschedulable_count += 1
            queued.errors = 0
        else:
            queued.errors += 1
        # What failed while it was bound is no verdict on the cluster: the pod waits for no event.
        waits = bool(rejected_by) and since is not None
        meanwhile = list(self._changes_since(since))
        self.done(uid)
        if not waits or any(self._wakes(queued, change) for change in meanwhile):
            self._requeue(queued, ATTEMPT_FAILED)
        else:
            self._park(queued, ATTEMPT_FAILED)

    # ------------------------------------------------------------------ events

    def move(self, change: ClusterChange, condition: Callable[[Pod], bool] = lambda _pod: True) -> None:
        """Something changed: pods that it may help are tried again."""
        if not change.is_wildcard and self._registered.isdisjoint((change.resource, "*")):
            return
        if self._in_flight:
            self._changes.append(change)
        label = change.label
        for queued in self._concerned(change):
            if condition(queued.pod) and self._wakes(queued, change):
                self._requeue(queued, label)

    def activate(self, uid: str) -> None:
        """Tries a pod again whatever it waits for."""
        queued = self._pods.get(uid)
        if queued is None or queued.place == _ACTIVE:
            return
        if queued.place == _IN_FLIGHT:
            self._changes.append(ClusterChange("*", Action.ALL))
        else:
            self._activate(queued, FORCED)

    def flush_stuck(self) -> None:
        """Pods that have waited long for an event are tried again without one."""
        now = self._clock.now()
        for queued in list(self._waiting.values()):
            if now - queued.last_flush > FLUSH_AFTER:
                queued.last_flush = now
                queued.was_flushed = True
                self._requeue(queued, TIMED_OUT)

    def next_backoff(self) -> float | None:
        """When the next pod's backoff is over; None if none backs off."""
        ends = [ready_at for ready_at, _, _, queued in self._backoff if queued.place == _BACKOFF]
        return math.floor(min(ends)) + 1.0 if ends else None

    def next_flush(self) -> float | None:
        """When the next pod has waited so long for an event that it is tried without one."""
        times = [queued.last_flush for queued in self._waiting.values()]
        return min(times) + FLUSH_AFTER + 1.0 if times else None

    # ------------------------------------------------------------------ looking

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())

    def get(self, uid: str) -> QueuedPod | None:
        return self._pods.get(uid)

    def upcoming(self, count: int) -> list[Pod]:
        """At most so many of the pods that come next if nothing else happens."""
        heap = self._active
        found: list[Pod] = []
        front = [(heap[0], 0)] if heap else []
        for _ in range(2 * count):  # some may have left their place
            if not front or len(found) == count:
                break
            entry, place = heapq.heappop(front)
            if self._is_due(entry):
                found.append(entry[-1].pod)
            for below in (2 * place + 1, 2 * place + 2):
                if below < len(heap):
                    heapq.heappush(front, (heap[below], below))
        return found

    def pending(self) -> dict[str, int]:
        """How many pods wait in each part of the queue. This and the next two may be asked from any thread."""
        found = dict.fromkeys((_ACTIVE, _BACKOFF, _UNSCHEDULABLE, "gated"), 0)
        for queued in list(self._pods.values()):
            place = "gated" if queued.gated_by else queued.place
            if place in found:
                found[place] += 1
        return found

    def blamed(self) -> Counter[tuple[str, str]]:
        """How many pods each plugin turned down at their last try, by plugin and profile."""
        found: Counter[tuple[str, str]] = Counter()
        for queued in list(self._pods.values()):
            if queued.place != _IN_FLIGHT:
                for plugin in queued.rejected_by | ({queued.gated_by} - {""}):
                    found[plugin, queued.pod.spec.scheduler_name] += 1
        return found

    def events_in_flight(self) -> Counter[str]:
        """The events that are remembered for pods which are being tried, and these pods."""
        found = Counter(change.label for change in list(self._changes))
        found["PodPopped"] = len(self._in_flight)
        return found

    # ------------------------------------------------------------------ inside

    def _framework(self, queued: QueuedPod) -> Framework:
        return self._frameworks[queued.pod.spec.scheduler_name]

    def _activate(self, queued: QueuedPod, event: str) -> None:
        if self._passes_gates(queued, event):
            self._push_active(queued, event)

    def _requeue(self, queued: QueuedPod, event: str) -> None:
        if not self._passes_gates(queued, event):
            return
        ends = self._backoff_end(queued)
        if ends is not None and ends >= math.floor(self._clock.now()):
            queued.place = _BACKOFF
            queued.ready_at = ends
            queued.sort_key = self._framework(queued).queue_sort.sort_key(queued.pod, queued.timestamp)
            heapq.heappush(self._backoff, (ends, queued.sort_key, next(self._count), queued))
            self.observer.queue_incoming(_BACKOFF, event)
        else:
            self._push_active(queued, event)

    def _push_active(self, queued: QueuedPod, event: str) -> None:
        queued.place = _ACTIVE
        if queued.ready_since is None:
            queued.ready_since = self._clock.now()
        queued.sort_key = self._framework(queued).queue_sort.sort_key(queued.pod, queued.timestamp)
        heapq.heappush(self._active, (queued.sort_key, next(self._count), queued))
        self.observer.queue_incoming(_ACTIVE, event)

    def _passes_gates(self, queued: QueuedPod, event: str) -> bool:
        status = self._framework(queued).run_pre_enqueue(queued.pod, queued.gated_by)
        if queued.place == _UNSCHEDULABLE and queued.gated_by == status.plugin != "":  # it stays where it is
            queued.gate_reason = status.reason
            return False
        was_parked = self._unpark(queued)
        queued.gated_by, queued.gate_reason = status.plugin, status.reason
        if status.is_success:
            return True
        self._park(queued, "" if was_parked else event)
        return False

    def _park(self, queued: QueuedPod, event: str) -> None:
        """Among those that wait for an event, to be found by the plugins that turned the pod down."""
        if event:
            self.observer.queue_incoming(_UNSCHEDULABLE, event)
        queued.place = _UNSCHEDULABLE
        uid = queued.pod.uid
        self._waiting[uid] = queued
        for plugin in _blamed(queued):
            self._waiting_for.setdefault(plugin, {})[uid] = queued

    def _unpark(self, queued: QueuedPod) -> bool:
        uid = queued.pod.uid
        if self._waiting.pop(uid, None) is None:
            return False
        for plugin in _blamed(queued):
            self._waiting_for.get(plugin, {}).pop(uid, None)
        return True

    def _concerned(self, change: ClusterChange) -> list[QueuedPod]:
        """The waiting pods that the change may help, judged by the plugins alone."""
        if change.is_wildcard:
            return list(self._waiting.values())
        found = dict(self._waiting_for.get("", {}))
        for hints in self._hints_for(change).values():
            for plugin in hints:
                found |= self._waiting_for.get(plugin, {})
        return list(found.values())

    def _hints_for(self, change: ClusterChange) -> dict[str, _Hints]:
        """By profile: the plugins that want to hear of such a change, and with which hints."""
        key = (change.resource, int(change.action))
        if key not in self._hints_by_event:
            self._hints_by_event[key] = {name: _matching(hints, change) for name, hints in self._hints.items()}
        return self._hints_by_event[key]

    def _backoff_end(self, queued: QueuedPod) -> float | None:
        count = queued.errors or queued.unschedulable_count
        if not count or not self._max:
            return None
        duration = min(self._initial * 2 ** min(count - 1, 62), self._max)
        return float(math.floor(queued.timestamp + duration))

    def _flush_backoff(self) -> None:
        now = math.floor(self._clock.now())
        while self._backoff and (self._backoff[0][3].place != _BACKOFF or self._backoff[0][0] < now):
            ends, _, _, queued = heapq.heappop(self._backoff)
            if queued.place == _BACKOFF and queued.ready_at == ends and self._is_here(queued):
                queued.place = _ACTIVE
                heapq.heappush(self._active, (queued.sort_key, next(self._count), queued))
                self.observer.queue_incoming(_ACTIVE, BACKOFF_OVER)

    def _pop_active(self) -> QueuedPod | None:
        while self._active:
            entry = heapq.heappop(self._active)
            if self._is_due(entry):
                return entry[-1]
        return None

    def _is_due(self, entry: tuple[Any, int, QueuedPod]) -> bool:
        """Whether that is still the pod's place in the heap of active pods."""
        key, _, queued = entry
        return queued.place == _ACTIVE and queued.sort_key == key and self._is_here(queued)

    def _pop_backoff(self) -> QueuedPod | None:
        """Pods that failed by an error keep waiting; the others may be tried early."""
        waiting = []
        found = None
        while self._backoff:
            entry = heapq.heappop(self._backoff)
            queued = entry[3]
            if queued.place != _BACKOFF or queued.ready_at != entry[0] or not self._is_here(queued):
                continue
            if queued.errors:
                waiting.append(entry)
                continue
            found = queued
            self.observer.queue_incoming(_ACTIVE, POPPED_EARLY)
            break
        for entry in waiting:
            heapq.heappush(self._backoff, entry)
        return found

    def _is_here(self, queued: QueuedPod) -> bool:
        return self._pods.get(queued.pod.uid) is queued

    def _changes_since(self, mark: int | None) -> Iterator[ClusterChange]:
        if mark is not None:
            yield from itertools.islice(self._changes, mark - self._changes_dropped, None)

    def _wakes(self, queued: QueuedPod, change: ClusterChange) -> bool:
        if change.is_wildcard:
            return True
        hints = self._hints_for(change)[queued.pod.spec.scheduler_name]
        plugins = queued.rejected_by
        if queued.gated_by:
            if queued.gated_by not in hints or self._framework(queued).gates[queued.gated_by].is_shut(queued.pod):
                return False
            plugins |= {queued.gated_by}
        if not plugins:
            return True
        return any(
            self._helps(plugin, hint, change, queued.pod) for plugin in plugins for hint in hints.get(plugin, ())
        )

    def _helps(self, plugin: str, hint: Registration, change: ClusterChange, pod: Pod) -> bool:
        if not self.observer.samples():
            return _helps(hint, change, pod)
        began = time.perf_counter()
        helps = _helps(hint, change, pod)
        self.observer.hint(plugin, change.label, "Queue" if helps else "QueueSkip", time.perf_counter() - began)
        return helps


def _blamed(queued: QueuedPod) -> tuple[str, ...]:
    """The plugins whose events may help a pod; an empty name stands for any event."""
    return (queued.gated_by,) if queued.gated_by else tuple(queued.rejected_by) or ("",)


def _matching(hints: _Hints, change: ClusterChange) -> _Hints:
    found = {plugin: [hint for hint in listed if _matches(hint, change)] for plugin, listed in hints.items()}
    return {plugin: listed for plugin, listed in found.items() if listed}


def _hints(framework: Framework) -> _Hints:
    found: _Hints = {}
    for name, registration in framework.registrations():
        found.setdefault(name, []).append(registration)
    for registrations in found.values():
        actions = Action.NONE
        for registration in registrations:
            if registration.resource == "Node":
                actions |= registration.actions
        if actions & Action.ADD and not actions & Action.UPDATE_NODE_TAINT:
            registrations.append(Registration("Node", Action.UPDATE_NODE_TAINT))
    return found


def _resources(registrations: list[Registration]) -> Iterator[str]:
    for registration in registrations:
        if registration.resource == "Pod":
            yield from ("AssignedPod", "UnschedulablePod")
        yield registration.resource


def _helps(registration: Registration, change: ClusterChange, pod: Pod) -> bool:
    if registration.event_hint is not None:
        return registration.event_hint(pod, change.resource, change.action, change.old, change.new)
    return registration.hint is None or registration.hint(pod, change.old, change.new)


def _matches(registration: Registration, change: ClusterChange) -> bool:
    if registration.resource == "Pod":
        if change.resource not in ("Pod", "AssignedPod", "UnschedulablePod"):
            return False
    elif registration.resource not in ("*", change.resource):
        return False
    return bool(registration.actions & change.action) and change.action <= registration.actions
