"""A pod in the queue, and a change of the cluster that may wake it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kubewasp.framework.observer import FORCED, event_label

if TYPE_CHECKING:
    from kubewasp.framework.cluster_events import Action
    from kubewasp.k8s.pods import Pod


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """Something happened in the cluster: to which kind of object, what, and how it was before and after."""

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

    `ready_since` is when it first could be tried, `began` when the last try did, by the machine's own clock.
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
    place: str = ""
    sort_key: Any = None
    ready_at: float = 0.0
    message: str = ""
    last_flush: float = field(default=0.0)
    ready_since: float | None = None
    began: float = 0.0
    was_flushed: bool = False  # it was last tried without an event
