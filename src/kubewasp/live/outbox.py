"""Requests from the scheduler's thread to the event loop that sends them."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from kubewasp.apiserver.writes import ClusterWrites
    from kubewasp.k8s.pods import Pod


class Outbox:
    """Coroutines for an event loop, which is woken once for a batch."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._requests: deque[Coroutine[Any, Any, None]] = deque()
        self._lock = threading.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def under_way(self) -> int:
        """Number of requests in progress."""
        return len(self._tasks) + len(self._requests)

    def put(self, request: Coroutine[Any, Any, None]) -> None:
        """Hands a request over. Safe from any thread."""
        with self._lock:
            is_first = not self._requests
            self._requests.append(request)
        if is_first:
            try:
                self.loop.call_soon_threadsafe(self._send)
            except RuntimeError:  # the loop is closed: the process has ended
                with self._lock:
                    while self._requests:
                        self._requests.popleft().close()

    async def drained(self, timeout: float) -> bool:
        """Waits for requests in progress, at the end of the process; returns whether all have ended."""
        self._send()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout)
        return not self._tasks

    def _send(self) -> None:
        with self._lock:
            requests, self._requests = self._requests, deque()
        for request in requests:
            task = self.loop.create_task(request)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


class StatusPatches:
    """Patches of pod statuses, one after the other for each pod. For the event loop."""

    def __init__(self, writes: ClusterWrites, may_write: Callable[[], bool]) -> None:
        self._writes = writes
        self._may_write = may_write
        self._last: dict[str, asyncio.Task[Any] | None] = {}

    async def send(self, pod: Pod, status: Mapping[str, Any]) -> None:
        """Patches a status; ApiError on failure. A deposed leader sends nothing."""
        before, this = self._last.get(pod.uid), asyncio.current_task()
        self._last[pod.uid] = this
        try:
            if before is not None:
                await asyncio.wait([before])
            if self._may_write():
                await self._writes.patch_status(pod, status)
        finally:
            if self._last.get(pod.uid) is this:
                del self._last[pod.uid]

    async def sent(self, pod: Pod) -> None:
        """Waits for the pod's last patch."""
        last = self._last.get(pod.uid)
        if last is not None:
            await asyncio.wait([last])
