"""Queue entries, and the cluster changes that move them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubewasp.framework.observer import FORCED, event_label

if TYPE_CHECKING:
    from kubewasp.framework.cluster_events import Action
    from kubewasp.k8s.pods import Pod


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """A change of one object: kind, action, old and new state."""

    resource: str
    action: Action
    old: Any = None
    new: Any = None

    @property
    def is_wildcard(self) -> bool:
        return self.resource == "*"

    @property
    def label(self) -> str:
        return FORCED if self.is_wildcard else event_label(self.resource, self.action)


@dataclass(eq=False, slots=True)
class QueuedPod:
    """A pod in the queue and its history.

    `ready_since` is the time of the first activation by the scheduler's clock, `began` the start of the last attempt by
    the machine's. `was_flushed` marks a last attempt without an event.
    """

    pod: Pod
    timestamp: float
    added_at: float
    attempts: int = 0
    unschedulable_count: int = 0
    errors: int = 0
    rejected_by: frozenset[str] = frozenset()
    gated_by: str = ""
    gate_reason: str = ""
    gate_failed: bool = False  # PreEnqueue ended with an error, not with a rejection
    place: str = ""
    sort_key: Any = None
    ready_at: float = 0.0
    message: str = ""
    last_flush: float = 0.0
    ready_since: float | None = None
    began: float = 0.0
    was_flushed: bool = False
