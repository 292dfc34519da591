"""From the scheduler's thread to the API server: binds, events, conditions. Nothing here blocks the scheduler for long.

Implements what the scheduler wants of its client, and what is told of each pod. Requests are made on the event loop,
many at a time; what came of a bind is posted back to the scheduler.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections import deque
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kubewasp.apiserver.event_series import EventKey, EventSeries, Reference
from kubewasp.k8s import timestamps
from kubewasp.k8s.codec import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from kubewasp.apiserver.event_series import Write
    from kubewasp.apiserver.writes import ClusterWrites
    from kubewasp.clock import Clock
    from kubewasp.framework.cluster_events import ObjectReference, RecordedEvent
    from kubewasp.k8s.pods import Pod
    from kubewasp.live.inbox import LiveScheduler

logger = logging.getLogger(__name__)

_DEPOSED = "this scheduler is no longer the leader"
_LONGEST_UPDATE = 30.0
_EVENTS_DUE_EVERY = 60.0
# A status that could not be written, after some quick tries, is written again later: 5 s, then longer.
_FIRST_PATCH_PAUSE, _LONGEST_PATCH_PAUSE = 5.0, 300.0
# Events that wait to be written; when there are more, the newest are dropped: a pod's condition tells the same.
_MOST_EVENTS = 5000


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What a pod's status says of its scheduling."""

    status: str
    reason: str
    message: str
    generation: int
    nominated_node: str


class ClusterReporter:
    """Implements `framework.handle.Client` and `live.Reporter`."""

    def __init__(
        self,
        writes: ClusterWrites,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        *,
        may_write: Callable[[], bool],
        hostname: str = "",
    ) -> None:
        self._writes = writes
        self._loop = loop
        self._clock = clock
        self._may_write = may_write
        self._hostname = hostname or socket.gethostname()
        self._series = EventSeries(clock.wall)
        self._verdicts: dict[str, _Verdict] = {}  # what was written of pods that may not have come back to us yet
        self._patches: dict[str, asyncio.Task[Any] | None] = {}  # the last one of each pod; the event loop's
        self._outbox: deque[Coroutine[Any, Any, None]] = deque()
        self._outbox_lock = threading.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._events_waiting = 0
        self.events_dropped = 0
        self.live: LiveScheduler  # set once there is one

    @property
    def under_way(self) -> int:
        """How many requests have not ended yet."""
        return len(self._tasks) + len(self._outbox)

    async def drained(self, timeout: float) -> bool:
        """Waits for what is under way, as when the process ends; returns whether all of it has ended."""
        self._send()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout)
        return not self._tasks

    async def write_due_events(self) -> None:
        """Writes the counts of events that repeat; runs until it is cancelled."""
        while True:
            await asyncio.sleep(_EVENTS_DUE_EVERY)
            self.live.post(self._put_due_events)  # the series are the scheduler thread's

    def _put_due_events(self) -> None:
        for write in self._series.due():
            self._put_event(write)

    # ------------------------------------------------------------------ framework.handle.Client

    def bind(self, pod: Pod, node: str) -> None:
        self._put(self._bind(pod, node))

    async def _bind(self, pod: Pod, node: str) -> None:
        await self._patched(pod)
        error = await self._writes.bind(pod, node) if self._may_write() else _DEPOSED
        self.live.post(lambda: self.live.scheduler.bound(pod.uid, error))

    def update(self, manifest: Mapping[str, Any]) -> str:
        """Waits for the answer: the pod at hand cannot go on without, and there are few of these."""
        if not self._may_write():
            return _DEPOSED
        future = asyncio.run_coroutine_threadsafe(self._writes.update(manifest), self._loop)
        try:
            return future.result(_LONGEST_UPDATE)
        except TimeoutError:
            future.cancel()
            return f"the API server did not answer within {_LONGEST_UPDATE:g} s"

    def evict(self, victims: Sequence[Pod], preemptor: Pod, node: str) -> str:
        for victim in victims:
            self.live.scheduler.evicting(victim, preemptor)
        self._put(self._evict_all(victims, preemptor))
        note = f"Preempted by pod {preemptor.uid} on node {node}"
        for victim in victims:
            self._record("Normal", "Preempted", "Preempting", victim, note)
        return ""

    async def _evict_all(self, victims: Sequence[Pod], preemptor: Pod) -> None:
        """The last one after all others: when it is gone there is room, and the pod that needs it is tried then."""
        *others, last = victims
        await asyncio.gather(*(self._evict(victim, preemptor) for victim in others))
        await self._evict(last, preemptor)

    async def _evict(self, pod: Pod, preemptor: Pod) -> None:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{preemptor.spec.scheduler_name}: preempting to accommodate a higher priority pod",
            "lastTransitionTime": self._time(),
        }
        error = "" if self._may_write() else _DEPOSED
        error = error or await self._writes.patch_status(pod, {"conditions": [condition]})
        error = error or await self._writes.delete(pod)
        if error:
            logger.error("cannot preempt pod %s: %s", pod.key, error)
            self.live.post(lambda: self.live.scheduler.not_evicted(pod, preemptor))
        else:
            self.live.post(lambda: self.live.scheduler.evicted(pod, preemptor))

    # ------------------------------------------------------------------ live.Reporter

    def scheduled(self, pod: Pod, node: str) -> None:
        self._verdicts.pop(pod.uid, None)
        self._record("Normal", "Scheduled", "Binding", pod, f"Successfully assigned {pod.key} to {node}")

    def deleting(self, pod: Pod, message: str) -> None:
        self._record("Warning", "FailedScheduling", "Scheduling", pod, message)

    def failed(self, pod: Pod, reason: str, message: str) -> None:
        self._record("Warning", "FailedScheduling", "Scheduling", pod, message)
        manifest = decode("Pod", pod.encoded)
        generation = (manifest.get("metadata") or {}).get("generation") or 0
        told = _Verdict("False", reason, message, generation, pod.nominated_node)
        before = self._verdicts.get(pod.uid) or _verdict_in(manifest.get("status") or {})
        if told == before:
            return
        self._verdicts[pod.uid] = told
        condition: dict[str, Any] = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        if generation:
            condition["observedGeneration"] = generation
        if before.status != told.status:
            condition["lastTransitionTime"] = self._time()
        status: dict[str, Any] = {"conditions": [condition]}
        if before.nominated_node != told.nominated_node:
            status["nominatedNodeName"] = told.nominated_node or None
        self._put(self._patch(pod, status, told, _FIRST_PATCH_PAUSE))

    def expected(self, pod: Pod, node: str) -> None:
        """Others that look at the cluster see the room as taken, and whoever takes over goes on with that node."""
        before = self._verdicts.get(pod.uid) or _verdict_in(decode("Pod", pod.encoded).get("status") or {})
        if before.nominated_node != node:
            told = self._verdicts[pod.uid] = replace(before, nominated_node=node)
            self._put(self._patch(pod, {"nominatedNodeName": node}, told, _FIRST_PATCH_PAUSE))

    async def _patch(self, pod: Pod, status: Mapping[str, Any], told: _Verdict, pause: float) -> None:
        before, this = self._patches.get(pod.uid), asyncio.current_task()
        self._patches[pod.uid] = this
        if before is not None:
            await asyncio.wait([before])
        error = await self._writes.patch_status(pod, status) if self._may_write() else ""
        if self._patches.get(pod.uid) is this:
            del self._patches[pod.uid]
        if error:
            logger.warning("cannot write the status of pod %s: %s", pod.key, error)
            if self._verdicts.get(pod.uid) is told:
                del self._verdicts[pod.uid]
            again = partial(self._patch_again, pod, status, told, min(2 * pause, _LONGEST_PATCH_PAUSE))
            self._loop.call_later(pause, self.live.post, again)

    def _patch_again(self, pod: Pod, status: Mapping[str, Any], told: _Verdict, pause: float) -> None:
        """The pod may not be tried for a long time. But if it is, or was, what is told then is newer."""
        if pod.uid not in self._verdicts and self.live.scheduler.is_left_waiting(pod.uid):
            self._verdicts[pod.uid] = told
            self._put(self._patch(pod, status, told, pause))

    async def _patched(self, pod: Pod) -> None:
        """Waits for what is being written of a pod: that it has no node must not be said after its bind."""
        patch = self._patches.get(pod.uid)
        if patch is not None:
            await asyncio.wait([patch])

    def forget(self, pod: Pod) -> None:
        """The pod is gone."""
        self._verdicts.pop(pod.uid, None)

    # ------------------------------------------------------------------ events

    def record(self, event: RecordedEvent, controller: str) -> None:
        """An event that a plugin recorded."""
        related = _reference(event.related)
        instance = f"{controller}-{self._hostname}"
        key = EventKey(
            event.type or "Normal",
            event.reason,
            event.action,
            controller,
            instance,
            _reference(event.regarding),
            related if related.name else None,
        )
        self._write_event(key, event.note)

    def _record(self, kind: str, reason: str, action: str, pod: Pod, note: str) -> None:
        controller = pod.spec.scheduler_name
        about = Reference("Pod", pod.namespace, pod.name, pod.uid)
        self._write_event(EventKey(kind, reason, action, controller, f"{controller}-{self._hostname}", about), note)

    def _write_event(self, key: EventKey, note: str) -> None:
        write = self._series.record(key, note)
        if write is not None:
            self._put_event(write)

    def _put_event(self, write: Write) -> None:
        if self._events_waiting >= _MOST_EVENTS:
            self.events_dropped += 1
            return
        self._events_waiting += 1
        self._put(self._event(write))

    async def _event(self, write: Write) -> None:
        try:
            error = await self._writes.event(write) if self._may_write() else ""
        finally:
            self._events_waiting -= 1
        if error:
            logger.warning("cannot write an event: %s", error)

    # ------------------------------------------------------------------ from thread to loop

    def _put(self, request: Coroutine[Any, Any, None]) -> None:
        """Hands a request to the loop, which is woken once for many."""
        with self._outbox_lock:
            is_first = not self._outbox
            self._outbox.append(request)
        if is_first:
            self._loop.call_soon_threadsafe(self._send)

    def _send(self) -> None:
        with self._outbox_lock:
            requests, self._outbox = self._outbox, deque()
        for request in requests:
            task = self._loop.create_task(request)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _time(self) -> str:
        return timestamps.in_seconds(int(self._clock.wall()))


def _reference(item: ObjectReference) -> Reference:
    return Reference(item.kind, item.namespace, item.name, item.uid, item.api_version or "v1")


def _verdict_in(status: Mapping[str, Any]) -> _Verdict:
    found: Mapping[str, Any] = next(
        (item for item in status.get("conditions") or () if item.get("type") == "PodScheduled"), {}
    )
    return _Verdict(
        found.get("status") or "",
        found.get("reason") or "",
        found.get("message") or "",
        found.get("observedGeneration") or 0,
        status.get("nominatedNodeName") or "",
    )
