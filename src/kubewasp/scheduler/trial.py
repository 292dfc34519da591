"""Interface of a trial: an observer of attempts that may end with other profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kubewasp.framework.decision_record import DecisionRecord
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.cycle import Choice, SchedulingCycle


class Trial(Protocol):
    """A new version of a plugin on trial. Called on the scheduler's thread, for every attempt."""

    def choose(self, cycle: SchedulingCycle, pod: Pod, record: DecisionRecord | None) -> Choice:
        """The choice of the cycle; whatever else runs for comparison has no influence on it."""

    def attempted(self) -> None:
        """The end of an attempt, between two pods: a trial that ends may install other profiles here."""
