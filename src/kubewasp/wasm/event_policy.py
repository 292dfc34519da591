"""Events that a guest may record: about its pod and about nodes, with bounded texts, at a limited rate."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kubewasp.framework.cluster_events import ObjectReference
from kubewasp.k8s.codec import decode
from kubewasp.k8s.texts import shortened
from kubewasp.wasm.guest_runner import parsed_pod

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kubewasp.clock import Clock
    from kubewasp.framework.cluster_events import RecordedEvent
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_objects import Nodes
    from kubewasp.wasm.guest_runner import AnyPod

logger = logging.getLogger(__name__)

# Bytes of the fields of an events.k8s.io/v1 Event.
MAX_NOTE: Final = 1024
MAX_REASON: Final = 128
MAX_ACTION: Final = 128
_MAX_TYPE: Final = 16
# Events of a plugin: per second, and in a burst.
RATE: Final = 100.0
BURST: Final = 1000
# Seconds between two log lines about events that were left out.
_QUIET: Final = 60.0


class EventPolicy:
    """Events of one guest. Safe from any thread."""

    def __init__(self, plugin: str) -> None:
        self._plugin = plugin
        self._lock = threading.Lock()
        self._tokens = float(BURST)
        self._filled_at: float | None = None
        self._left_out: dict[str, int] = {}
        self._logged_at = float("-inf")

    def permitted(
        self, events: Sequence[RecordedEvent], pods: Iterable[AnyPod], nodes: Nodes, clock: Clock
    ) -> tuple[RecordedEvent, ...]:
        """The events that are recorded, with their texts cut. Others are counted in the log."""
        by_name = {(pod.namespace, pod.name): pod for pod in map(parsed_pod, pods)}
        found = []
        for event in events:
            regarding = _known(event.regarding, by_name, nodes)
            if regarding is None:
                self._leave_out("about neither its pod nor a node", clock)
            elif not event.reason or not event.action:
                self._leave_out("without a reason or an action", clock)
            elif not self._has_token(clock):
                self._leave_out(f"more than {RATE:g} per second", clock)
            else:
                related = _known(event.related, by_name, nodes) or ObjectReference()
                found.append(_cut(replace(event, regarding=regarding, related=related)))
        return tuple(found)

    def _has_token(self, clock: Clock) -> bool:
        with self._lock:
            now = clock.now()
            since = 0.0 if self._filled_at is None else max(now - self._filled_at, 0.0)
            self._filled_at = now
            self._tokens = min(self._tokens + since * RATE, float(BURST))
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True

    def _leave_out(self, cause: str, clock: Clock) -> None:
        with self._lock:
            self._left_out[cause] = self._left_out.get(cause, 0) + 1
            now = clock.now()
            if now - self._logged_at < _QUIET:
                return
            self._logged_at = now
            counts, self._left_out = self._left_out, {}
        for known, count in counts.items():
            logger.warning("Events not recorded", extra={"plugin": self._plugin, "cause": known, "count": count})


def _known(reference: ObjectReference, pods: Mapping[tuple[str, str], Pod], nodes: Nodes) -> ObjectReference | None:
    """The reference to a pod or node at hand, with its real uid; None for any other object."""
    if reference.kind == "Pod":
        pod = pods.get((reference.namespace, reference.name))
        return None if pod is None else ObjectReference("Pod", "v1", pod.name, pod.namespace, pod.uid)
    row = nodes.row(reference.name) if reference.kind == "Node" else None
    if row is None:
        return None
    uid = (decode("Node", nodes.encoded(row)).get("metadata") or {}).get("uid", "")
    return ObjectReference("Node", "v1", reference.name, "", uid)


def _cut(event: RecordedEvent) -> RecordedEvent:
    return replace(
        event,
        type=shortened(event.type, _MAX_TYPE),
        reason=shortened(event.reason, MAX_REASON),
        action=shortened(event.action, MAX_ACTION),
        note=shortened(event.note, MAX_NOTE),
    )
