"""Pods that have a node and wait: for the permission to go there, or for the cluster to take them there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kubewasp.k8s.duration import format_duration

if TYPE_CHECKING:
    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.runtime import Framework
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.queued import QueuedPod


@dataclass(eq=False, slots=True)
class WaitingPod:
    """One such pod: `timeouts` has the plugins that have not allowed it yet, and how long each of them waits."""

    queued: QueuedPod
    assumed: Pod
    state: CycleState
    started: float
    timeouts: dict[str, float] = field(default_factory=dict)

    def first_timeout(self) -> tuple[float, str]:
        """The shortest, and whose it is."""
        return min((seconds, plugin) for plugin, seconds in self.timeouts.items())

    @property
    def deadline(self) -> float:
        return self.started + self.first_timeout()[0]


@dataclass(eq=False, slots=True)
class Binding:
    """A pod on its way: `prepared` has the PreBind plugins that are through, `retry_at` says when to ask again."""

    queued: QueuedPod
    framework: Framework
    assumed: Pod
    state: CycleState
    prepared: set[str] = field(default_factory=set)
    retry_at: float | None = None


# How often a PreBind plugin that waits is asked again, in seconds.
PRE_BIND_RETRY = 1.0


def timeout_text(seconds: float, plugin: str) -> str:
    """What a pod is told whose time is up."""
    return f"rejected due to timeout after waiting {format_duration(seconds)} at plugin {plugin}"
