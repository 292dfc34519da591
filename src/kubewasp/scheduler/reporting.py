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
from typing import TYPE_CHECKING, Any

from kubewasp.cluster.api.event_series import EventKey, EventSeries, Reference
from kubewasp.k8s import timestamps

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from kubewasp.cluster.api.event_series import Write
    from kubewasp.cluster.api.writes import ClusterWrites
    from kubewasp.framework.events import ObjectReference, RecordedEvent
    from kubewasp.framework.handle import Clock
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.live import LiveScheduler

logger = logging.getLogger(__name__)

_LONGEST_UPDATE = 30.0
_EVENTS_DUE_EVERY = 60.0
# Events that wait to be written; when there are more, the newest are dropped: a pod's condition tells the same.
_MOST_EVENTS = 5000


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
        self._conditions: dict[str, tuple[str, str, str]] = {}
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
        error = await self._writes.bind(pod, node) if self._may_write() else "this scheduler is no longer the leader"
        self.live.post(lambda: self.live.scheduler.bound(pod.uid, error))

    def update(self, manifest: Mapping[str, Any]) -> str:
        """Waits for the answer: the pod at hand cannot go on without, and there are few of these."""
        if not self._may_write():
            return "this scheduler is no longer the leader"
        future = asyncio.run_coroutine_threadsafe(self._writes.update(manifest), self._loop)
        try:
            return future.result(_LONGEST_UPDATE)
        except TimeoutError:
            future.cancel()
            return f"the API server did not answer within {_LONGEST_UPDATE:g} s"

    def evict(self, pod: Pod, preemptor: Pod, node: str) -> str:
        self._put(self._evict(pod, preemptor))
        note = f"Preempted by pod {preemptor.uid} on node {node}"
        self._record("Normal", "Preempted", "Preempting", pod, note)
        return ""

    async def _evict(self, pod: Pod, preemptor: Pod) -> None:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{preemptor.spec.scheduler_name}: preempting to accommodate a higher priority pod",
            "lastTransitionTime": self._time(),
        }
        error = "" if self._may_write() else "this scheduler is no longer the leader"
        error = error or await self._writes.patch_status(pod, {"conditions": [condition]})
        error = error or await self._writes.delete(pod)
        if error:
            logger.error("cannot preempt pod %s: %s", pod.key, error)
            self.live.post(lambda: self.live.scheduler.activate(preemptor))

    # ------------------------------------------------------------------ live.Reporter

    def scheduled(self, pod: Pod, node: str) -> None:
        self._conditions.pop(pod.uid, None)
        self._record("Normal", "Scheduled", "Binding", pod, f"Successfully assigned {pod.key} to {node}")

    def deleting(self, pod: Pod, message: str) -> None:
        self._record("Warning", "FailedScheduling", "Scheduling", pod, message)

    def failed(self, pod: Pod, reason: str, message: str) -> None:
        self._record("Warning", "FailedScheduling", "Scheduling", pod, message)
        told = (reason, message, pod.nominated_node)
        before = self._conditions.get(pod.uid)
        if told == before:
            return
        self._conditions[pod.uid] = told
        condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        if before is None:
            condition["lastTransitionTime"] = self._time()
        status: dict[str, Any] = {"conditions": [condition]}
        if (before[2] if before else "") != pod.nominated_node:
            status["nominatedNodeName"] = pod.nominated_node or None
        self._put(self._patch(pod, status))

    async def _patch(self, pod: Pod, status: Mapping[str, Any]) -> None:
        error = await self._writes.patch_status(pod, status) if self._may_write() else ""
        if error:
            self._conditions.pop(pod.uid, None)  # it is written with the next try
            logger.warning("cannot write the status of pod %s: %s", pod.key, error)

    def forget(self, pod: Pod) -> None:
        """The pod is gone."""
        self._conditions.pop(pod.uid, None)

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
