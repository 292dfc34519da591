"""Event recorder: Kubernetes Events about pods and other objects, written as series."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from typing import TYPE_CHECKING, Final

from kubewasp.apiserver.errors import ApiError
from kubewasp.apiserver.event_series import EventKey, EventSeries, Reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kubewasp.apiserver.event_series import Write
    from kubewasp.apiserver.writes import ClusterWrites
    from kubewasp.clock import Clock
    from kubewasp.framework.cluster_events import ObjectReference, RecordedEvent
    from kubewasp.k8s.pods import Pod
    from kubewasp.live.outbox import Outbox

logger = logging.getLogger(__name__)

_SERIES_PERIOD: Final = 60.0
_TYPES: Final = ("Normal", "Warning")
# Types that are named in the log, and the characters shown of one.
_MAX_REFUSED: Final = 100
_SHOWN: Final = 80
# Events not yet written. Further ones are dropped, as the pod's condition has the same content.
_MAX_WAITING: Final = 5000


class EventRecorder:
    """Recorder of events. Safe from any thread. `controller` is the reporter of plugin events."""

    def __init__(
        self,
        writes: ClusterWrites,
        outbox: Outbox,
        clock: Clock,
        *,
        controller: str,
        may_write: Callable[[], bool],
        hostname: str = "",
    ) -> None:
        self.dropped = 0
        self._writes = writes
        self._outbox = outbox
        self._controller = controller
        self._may_write = may_write
        self._hostname = hostname or socket.gethostname()
        self._lock = threading.Lock()
        self._series = EventSeries(clock.wall)
        self._refused: set[str] = set()
        self._waiting = 0
        self._creations: dict[tuple[str, str], asyncio.Event] = {}  # in progress, by namespace and name

    def pod_event(self, kind: str, reason: str, action: str, pod: Pod, note: str) -> None:
        """Records an event of the scheduler about a pod."""
        controller = pod.spec.scheduler_name
        about = Reference("Pod", pod.namespace, pod.name, pod.uid)
        self._record(EventKey(kind, reason, action, controller, f"{controller}-{self._hostname}", about), note)

    def own_event(self, kind: str, reason: str, action: str, about: Reference, note: str) -> None:
        """Records an event of the scheduler about itself: its pod, or its lease."""
        instance = f"{self._controller}-{self._hostname}"
        self._record(EventKey(kind, reason, action, self._controller, instance, about), note)

    def plugin_event(self, event: RecordedEvent) -> None:
        """An event that a plugin recorded. A type that the API server refuses is not sent, and logged once."""
        kind = event.type or "Normal"
        if kind not in _TYPES:
            self._refuse(kind, event.reason)
            return
        related = _reference(event.related)
        key = EventKey(
            kind,
            event.reason,
            event.action,
            self._controller,
            f"{self._controller}-{self._hostname}",
            _reference(event.regarding),
            related if related.name else None,
        )
        self._record(key, event.note)

    def _refuse(self, kind: str, reason: str) -> None:
        with self._lock:
            is_new = kind not in self._refused and len(self._refused) < _MAX_REFUSED
            if is_new:
                self._refused.add(kind)
        if is_new:
            text = "Plugin events of this type are not recorded: it must be Normal or Warning"
            logger.warning(text, extra={"type": kind[:_SHOWN], "reason": reason[:_SHOWN]})

    async def write_series(self) -> None:
        """Writes the counts of repeated events until cancelled."""
        while True:
            await asyncio.sleep(_SERIES_PERIOD)
            self.write_due()

    def write_due(self) -> None:
        """Writes the due counts of repeated events."""
        with self._lock:
            self._put(self._series.due())

    def _record(self, key: EventKey, note: str) -> None:
        with self._lock:
            write = self._series.record(key, note)
            if write is not None:
                self._put((write,))

    def _put(self, writes: Iterable[Write]) -> None:
        for write in writes:
            if self._waiting >= _MAX_WAITING:
                if not self.dropped:
                    logger.warning("Events dropped: too many wait to be written", extra={"waiting": self._waiting})
                self.dropped += 1
            else:
                self._waiting += 1
                self._outbox.put(self._send(write))

    async def _send(self, write: Write) -> None:
        """Sends a write. A count waits for the creation of its event: requests may overtake each other."""
        name = write.namespace, write.name
        creation = self._creations.get(name)
        if creation is None and not write.is_patch:
            creation = self._creations[name] = asyncio.Event()
        try:
            if write.is_patch and creation is not None:
                await creation.wait()
            if self._may_write():
                await self._writes.event(write)
        except ApiError as error:
            logger.warning("Event not written", extra={"err": str(error)})
        finally:
            if creation is not None and not write.is_patch:
                creation.set()
                self._creations.pop(name, None)
            with self._lock:
                self._waiting -= 1


def _reference(item: ObjectReference) -> Reference:
    return Reference(item.kind, item.namespace, item.name, item.uid, item.api_version or "v1")
