"""Events of reloads and rollouts, for log, metrics and the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from kubewasp.rollout.trials import PluginTrial
    from kubewasp.scheduler.shadow import Comparison

RELOADED: Final = "Reloaded"
RELOAD_FAILED: Final = "ReloadFailed"
STAGE_STARTED: Final = "RolloutStageStarted"
ROLLED_BACK: Final = "RolledBack"
BOUND_BROKEN: Final = "BoundBroken"
ABORTED: Final = "RolloutAborted"
ACCEPTED: Final = "VersionAccepted"


@dataclass(frozen=True, slots=True)
class RolloutEvent:
    """One event. `plugin` and `digest` are empty for a configuration as a whole; `stage` is that of a trial."""

    reason: str
    message: str
    plugin: str = ""
    digest: str = ""
    stage: str = ""

    @property
    def is_warning(self) -> bool:
        return self.reason in (RELOAD_FAILED, ROLLED_BACK, BOUND_BROKEN)


class RolloutListener(Protocol):
    """Listener of a rollout. Called on the scheduler's thread or the thread that stages: must be quick."""

    def happened(self, event: RolloutEvent) -> None: ...

    def swapped(self, seconds: float) -> None:
        """A swap of the profiles took so long, between two pods."""

    def compared(self, trial: PluginTrial, found: Comparison) -> None:
        """A shadow has looked at a pod."""

    def canary_decides(self, trial: PluginTrial) -> None:
        """A pod is decided by a canary."""
