"""Parts of the scheduling queue: active, backoff and unschedulable pods, and the events of pods in flight."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter, OrderedDict, deque
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.queued_pod import ClusterChange, QueuedPod

# Places of a pod.
ACTIVE: Final = "active"
BACKOFF: Final = "backoff"
UNSCHEDULABLE: Final = "unschedulable"
IN_FLIGHT: Final = "in flight"


class AfterAllKeys:
    """Sort key after the keys of any plugin; among each other by time."""

    __slots__ = ("_time",)
    __hash__ = None  # type: ignore[assignment] # compared only

    def __init__(self, time: float) -> None:
        self._time = time

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AfterAllKeys) and self._time == other._time

    def __lt__(self, other: object) -> bool:
        return isinstance(other, AfterAllKeys) and self._time < other._time

    def __gt__(self, other: object) -> bool:
        return not isinstance(other, AfterAllKeys) or self._time > other._time


class ActiveQueue:
    """Heap of the pods to schedule, by sort key. Stale entries are skipped."""

    def __init__(self) -> None:
        self._heap: list[tuple[Any, int, QueuedPod]] = []
        self._order = itertools.count()

    def push(self, queued: QueuedPod) -> None:
        queued.place = ACTIVE
        heapq.heappush(self._heap, (queued.sort_key, next(self._order), queued))

    def pop(self) -> QueuedPod | None:
        while self._heap:
            entry = heapq.heappop(self._heap)
            if _is_valid(entry):
                return entry[2]
        return None

    def rebuild(self) -> None:
        """Orders the pods by their new sort keys. Of a pod that was pushed twice, one entry is left."""
        kept = {id(entry[2]): entry for entry in self._heap if entry[2].place == ACTIVE}
        self._heap = [(queued.sort_key, order, queued) for _, order, queued in kept.values()]
        heapq.heapify(self._heap)

    def in_order(self) -> list[QueuedPod]:
        return [entry[2] for entry in sorted(self._heap, key=lambda entry: entry[:2]) if _is_valid(entry)]

    def upcoming(self, count: int) -> list[Pod]:
        """Up to `count` pods from the head, in order."""
        heap = self._heap
        found: list[Pod] = []
        front = [(heap[0], 0)] if heap else []
        for _ in range(2 * count):  # some entries may be invalid
            if not front or len(found) == count:
                break
            entry, place = heapq.heappop(front)
            if _is_valid(entry):
                found.append(entry[2].pod)
            for below in (2 * place + 1, 2 * place + 2):
                if below < len(heap):
                    heapq.heappush(front, (heap[below], below))
        return found


def _is_valid(entry: tuple[Any, int, QueuedPod]) -> bool:
    key, _, queued = entry
    return queued.place == ACTIVE and bool(queued.sort_key == key)


class BackoffQueue:
    """Heap of the pods in backoff, by its end. Stale entries are skipped."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, Any, int, QueuedPod]] = []
        self._order = itertools.count()

    def push(self, queued: QueuedPod, ends: float) -> None:
        queued.place = BACKOFF
        queued.ready_at = ends
        heapq.heappush(self._heap, (ends, queued.sort_key, next(self._order), queued))

    def pop_expired(self, now: float) -> Iterator[QueuedPod]:
        """The pods whose backoff ended before that second."""
        heap, second = self._heap, math.floor(now)
        while heap and (heap[0][3].place != BACKOFF or heap[0][0] < second):
            ends, _, _, queued = heapq.heappop(heap)
            if queued.place == BACKOFF and queued.ready_at == ends:
                yield queued

    def pop_early(self) -> QueuedPod | None:
        """The head, before the end of its backoff. Pods after an error keep waiting."""
        waiting = []
        found = None
        while self._heap:
            entry = heapq.heappop(self._heap)
            queued = entry[3]
            if queued.place != BACKOFF or queued.ready_at != entry[0]:
                continue
            if queued.errors:
                waiting.append(entry)
                continue
            found = queued
            break
        for entry in waiting:
            heapq.heappush(self._heap, entry)
        return found

    def rebuild(self) -> None:
        """Orders the pods by their new sort keys."""
        kept = {id(entry[3]): entry for entry in self._heap if entry[3].place == BACKOFF}
        self._heap = [(queued.ready_at, queued.sort_key, order, queued) for _, _, order, queued in kept.values()]
        heapq.heapify(self._heap)

    def in_order(self) -> list[QueuedPod]:
        listed = sorted(self._heap, key=lambda entry: entry[:3])
        return [entry[3] for entry in listed if entry[3].place == BACKOFF and entry[3].ready_at == entry[0]]

    def next_end(self) -> float | None:
        heap = self._heap
        while heap and (heap[0][3].place != BACKOFF or heap[0][3].ready_at != heap[0][0]):
            heapq.heappop(heap)
        return math.floor(heap[0][0]) + 1.0 if heap else None


class UnschedulablePods:
    """Pods waiting for an event, by the plugins that rejected or gated them, and in the order of their last flush."""

    def __init__(self) -> None:
        self._pods: OrderedDict[str, QueuedPod] = OrderedDict()
        self._by_plugin: dict[str, dict[str, QueuedPod]] = {}

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())

    def add(self, queued: QueuedPod) -> None:
        queued.place = UNSCHEDULABLE
        uid = queued.pod.uid
        latest = next(reversed(self._pods.values()), queued)
        self._pods[uid] = queued
        if queued.last_flush < latest.last_flush:  # rare: a gate that shut later
            self._pods = OrderedDict(sorted(self._pods.items(), key=lambda item: item[1].last_flush))
        for plugin in _plugins_of(queued):
            self._by_plugin.setdefault(plugin, {})[uid] = queued

    def remove(self, queued: QueuedPod) -> bool:
        """Removes a pod; returns whether it was here. Must precede a change of its rejecting or gating plugins."""
        uid = queued.pod.uid
        if self._pods.pop(uid, None) is None:
            return False
        for plugin in _plugins_of(queued):
            self._by_plugin.get(plugin, {}).pop(uid, None)
        return True

    def rejected_by(self, plugins: Iterable[str]) -> list[QueuedPod]:
        """Pods rejected by one of the plugins, and pods without a rejecting plugin."""
        if not self._pods:
            return []
        found = dict(self._by_plugin.get("", {}))
        for plugin in plugins:
            found |= self._by_plugin.get(plugin, {})
        return list(found.values())

    def oldest_flush(self) -> float | None:
        """The earliest time of a last flush."""
        return next(iter(self._pods.values())).last_flush if self._pods else None

    def flushed_before(self, when: float) -> list[QueuedPod]:
        """Pods whose last flush was before a time, the earliest first."""
        return list(itertools.takewhile(lambda queued: queued.last_flush < when, self._pods.values()))

    def flushed(self, queued: QueuedPod, now: float) -> None:
        """Notes a flush of a pod."""
        queued.last_flush = now
        self._pods.move_to_end(queued.pod.uid)


def _plugins_of(queued: QueuedPod) -> tuple[str, ...]:
    """The plugins whose events may help the pod; an empty name stands for any event."""
    return (queued.gated_by,) if queued.gated_by else tuple(queued.rejected_by) or ("",)


class InFlightEvents:
    """Events during scheduling cycles: a failed pod is checked against those since its start."""

    def __init__(self) -> None:
        self._starts: dict[str, int] = {}
        self._changes: deque[ClusterChange] = deque()
        self._dropped = 0

    def __bool__(self) -> bool:
        return bool(self._starts)

    def begin(self, uid: str) -> None:
        self._starts[uid] = self._dropped + len(self._changes)

    def add(self, change: ClusterChange) -> None:
        self._changes.append(change)

    def since_start(self, uid: str) -> list[ClusterChange] | None:
        """Events since the start of the pod's cycle; None if it is not in flight."""
        start = self._starts.get(uid)
        return None if start is None else list(itertools.islice(self._changes, start - self._dropped, None))

    def end(self, uid: str) -> None:
        if self._starts.pop(uid, None) is None:
            return
        oldest = min(self._starts.values(), default=self._dropped + len(self._changes))
        while self._dropped < oldest:
            self._changes.popleft()
            self._dropped += 1

    def counts(self) -> Counter[str]:
        """Events by label, and the number of pods in flight. Safe from any thread."""
        found = Counter(change.label for change in list(self._changes))
        found["PodPopped"] = len(self._starts)
        return found
