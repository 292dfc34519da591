"""Client of a live scheduler: binds, evictions and volume updates, sent by the event loop without blocking."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kubewasp.apiserver.errors import ApiError
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s import timestamps

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from kubewasp.apiserver.writes import ClusterWrites
    from kubewasp.clock import Clock
    from kubewasp.framework.handle import ClientListener
    from kubewasp.k8s.pods import Pod
    from kubewasp.live.event_recorder import EventRecorder
    from kubewasp.live.inbox import Inbox
    from kubewasp.live.outbox import Outbox, StatusPatches

logger = logging.getLogger(__name__)

_DEPOSED: Final = Status(Code.ERROR, "this scheduler is no longer the leader")
_UPDATE_TIMEOUT: Final = 30.0
_WAIT: Final = Status(Code.WAIT)


class Dispatcher:
    """Implements `framework.handle.Client`. Results reach the listeners on the scheduler's thread, by its inbox."""

    def __init__(
        self,
        *,
        writes: ClusterWrites,
        outbox: Outbox,
        inbox: Inbox,
        patches: StatusPatches,
        events: EventRecorder,
        clock: Clock,
        may_write: Callable[[], bool],
    ) -> None:
        self._writes = writes
        self._outbox = outbox
        self._inbox = inbox
        self._patches = patches
        self._events = events
        self._clock = clock
        self._may_write = may_write
        self._listeners: list[ClientListener] = []

    def subscribe(self, listener: ClientListener) -> None:
        self._listeners.append(listener)

    # ------------------------------------------------------------------ binding

    def bind(self, pod: Pod, node: str, annotations: Mapping[str, str] | None = None) -> Status:
        self._outbox.put(self._bind(pod, node, annotations or {}))
        return _WAIT

    async def _bind(self, pod: Pod, node: str, annotations: Mapping[str, str]) -> None:
        await self._patches.sent(pod)  # a condition without a node must not follow the bind
        status = await self._written(lambda: self._writes.bind(pod, node, annotations))
        for listener in self._listeners:
            self._inbox.post(partial(listener.bound, pod.uid, status))

    # ------------------------------------------------------------------ volumes

    def update(self, manifest: Mapping[str, Any]) -> Status:
        """Blocks until the response: updates are rare, and the pod depends on them."""
        written = self._written(lambda: self._writes.update(manifest))
        future = asyncio.run_coroutine_threadsafe(written, self._outbox.loop)
        try:
            return future.result(_UPDATE_TIMEOUT)
        except TimeoutError:
            future.cancel()
            return Status(Code.ERROR, f"the API server did not answer within {_UPDATE_TIMEOUT:g} s")

    # ------------------------------------------------------------------ eviction

    def evict(self, victims: Sequence[Pod], preemptor: Pod, node: str) -> Status:
        for victim in victims:
            for listener in self._listeners:
                listener.evicting(victim, preemptor)
        self._outbox.put(self._evict_all(victims, preemptor))
        note = f"Preempted by pod {preemptor.uid} on node {node}"
        for victim in victims:
            self._events.pod_event("Normal", "Preempted", "Preempting", victim, note)
        return _WAIT

    async def _evict_all(self, victims: Sequence[Pod], preemptor: Pod) -> None:
        """Evicts the last victim after all others: its deletion is the event that requeues the preemptor."""
        *others, last = victims
        await asyncio.gather(*(self._evict(victim, preemptor) for victim in others))
        await self._evict(last, preemptor)

    async def _evict(self, pod: Pod, preemptor: Pod) -> None:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{preemptor.spec.scheduler_name}: preempting to accommodate a higher priority pod",
            "lastTransitionTime": timestamps.in_seconds(int(self._clock.wall())),
        }
        status = await self._written(lambda: self._writes.patch_status(pod, {"conditions": [condition]}))
        if status.is_success:
            status = await self._written(lambda: self._writes.delete(pod))
        if not status.is_success:
            logger.error("Eviction failed", extra={"pod": pod.key, "err": status.reason})
        for listener in self._listeners:
            ended = listener.evicted if status.is_success else listener.not_evicted
            self._inbox.post(partial(ended, pod, preemptor))

    async def _written(self, write: Callable[[], Awaitable[None]]) -> Status:
        """Result of a write. A deposed leader sends nothing."""
        if not self._may_write():
            return _DEPOSED
        try:
            await write()
        except ApiError as error:
            return Status(Code.ERROR, str(error))
        return SUCCESS
