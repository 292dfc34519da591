"""Client of a live scheduler: binds, evictions and volume updates, sent by the event loop without blocking."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s import timestamps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.apiserver.writes import ClusterWrites
    from kubewasp.clock import Clock
    from kubewasp.framework.handle import ClientListener
    from kubewasp.k8s.pods import Pod
    from kubewasp.live.event_recorder import EventRecorder
    from kubewasp.live.inbox import Inbox
    from kubewasp.live.outbox import Outbox, StatusPatches

logger = logging.getLogger(__name__)

_DEPOSED: Final = "this scheduler is no longer the leader"
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

    def bind(self, pod: Pod, node: str) -> Status:
        self._outbox.put(self._bind(pod, node))
        return _WAIT

    async def _bind(self, pod: Pod, node: str) -> None:
        await self._patches.sent(pod)  # a condition without a node must not follow the bind
        error = await self._writes.bind(pod, node) if self._may_write() else _DEPOSED
        status = _status(error)
        for listener in self._listeners:
            self._inbox.post(partial(listener.bound, pod.uid, status))

    # ------------------------------------------------------------------ volumes

    def update(self, manifest: Mapping[str, Any]) -> Status:
        """Blocks until the response: updates are rare, and the pod depends on them."""
        if not self._may_write():
            return _status(_DEPOSED)
        future = asyncio.run_coroutine_threadsafe(self._writes.update(manifest), self._outbox.loop)
        try:
            return _status(future.result(_UPDATE_TIMEOUT))
        except TimeoutError:
            future.cancel()
            return _status(f"the API server did not answer within {_UPDATE_TIMEOUT:g} s")

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
        error = "" if self._may_write() else _DEPOSED
        error = error or await self._writes.patch_status(pod, {"conditions": [condition]})
        error = error or await self._writes.delete(pod)
        if error:
            logger.error("Eviction failed", extra={"pod": pod.key, "err": error})
        for listener in self._listeners:
            self._inbox.post(partial(listener.not_evicted if error else listener.evicted, pod, preemptor))


def _status(error: str) -> Status:
    return Status(Code.ERROR, error) if error else SUCCESS
