"""Scheduler interface of a plugin: clock, nodes, waiting pods, and pending actions.

Actions (events, annotations, allowed and rejected pods) are collected and sent when the hook returns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kubewasp_sdk.node_info import Nodes, NotWantedError
from kubewasp_sdk.recorded_events import Event, ObjectReference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp_sdk.objects import KubernetesObject, Pod

_MOST_EVENTS = 1000


@dataclass
class Scheduler:
    """Received data, and actions to send after the hook."""

    nodes: Nodes = field(default_factory=Nodes)
    seconds: float | None = None
    waiting: dict[str, Pod] | None = field(default_factory=dict)
    allowed: list[str] = field(default_factory=list)
    rejected: list[tuple[str, str]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    may_annotate: bool = False
    annotations: dict[str, str] = field(default_factory=dict)

    def now(self) -> datetime:
        return datetime.now(UTC) if self.seconds is None else datetime.fromtimestamp(self.seconds, UTC)

    def waiting_pods(self) -> Sequence[Pod]:
        return tuple(self._waiting().values())

    def allow(self, uid: str) -> bool:
        is_waiting = uid in self._waiting()
        if is_waiting:
            self.allowed.append(uid)
        return is_waiting

    def reject(self, uid: str, reason: str) -> bool:
        is_waiting = uid in self._waiting()
        if is_waiting:
            self.rejected.append((uid, reason))
        return is_waiting

    def annotate(self, key: str, value: str) -> None:
        if not self.may_annotate:
            raise RuntimeError("annotate: only reserve and pre_bind may annotate the pod")
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"annotate: expected two texts, got {key!r:.60} and {value!r:.60}")
        self.annotations[key] = value

    def take_annotations(self) -> dict[str, str]:
        """Annotations since the last call."""
        taken, self.annotations = self.annotations, {}
        return taken

    def record_event(
        self,
        regarding: KubernetesObject,
        related: KubernetesObject | None,
        *,
        kind: str,
        reason: str,
        action: str,
        note: str,
    ) -> None:
        if len(self.events) >= _MOST_EVENTS:
            return
        about, beside = ObjectReference.of(regarding), None if related is None else ObjectReference.of(related)
        self.events.append(Event(kind, reason, note, action, about, beside))

    def _waiting(self) -> dict[str, Pod]:
        if self.waiting is None:
            raise NotWantedError("waiting_pods", "the waiting pods")
        return self.waiting
