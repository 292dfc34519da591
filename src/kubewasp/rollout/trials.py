"""Trials of new versions: what the scheduler's attempts say about them, stage by stage.

HOT PATH (guard: make bars) while a trial runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from kubewasp.framework.config.rollout import is_in_share
from kubewasp.framework.unexpected import UnexpectedErrors
from kubewasp.rollout.tally import Tally
from kubewasp.scheduler.shadow import Comparison

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.framework.config.rollout import Bounds, RolloutSettings
    from kubewasp.framework.decision_record import DecisionRecord
    from kubewasp.framework.observer import SchedulerObserver
    from kubewasp.k8s.pods import Pod
    from kubewasp.rollout.release import Release
    from kubewasp.scheduler.cycle import Choice, SchedulingCycle
    from kubewasp.scheduler.profile_set import Canary
    from kubewasp.scheduler.shadow import ShadowCycle


class Stage(StrEnum):
    """Stages of a new version, in order: compared only, for some pods, for all pods but not yet proven."""

    SHADOW = "shadow"
    CANARY = "canary"
    PROBATION = "probation"


@dataclass(slots=True)
class PluginTrial:
    """A version of one plugin on trial. `previous` is what comes back; None if the plugin is new.

    `profiles` are those that have the plugin. A process that starts without a good version has no way back.
    """

    plugin: str
    candidate: Release
    previous: Release | None
    stage: Stage
    settings: RolloutSettings
    profiles: frozenset[str]
    can_go_back: bool = True
    tally: Tally = field(default_factory=Tally)
    window: int | None = field(init=False)  # pods of the stage; None: until it is promoted by hand
    bounds: Bounds = field(init=False)
    _errors_before: int = -1
    _timeouts_before: int = -1

    def __post_init__(self) -> None:
        is_swapped, settings = self.stage is Stage.PROBATION, self.settings
        self.window = settings.rollback_within if is_swapped else settings.promote_after
        self.bounds = settings.rollback_bounds if is_swapped else settings.promote_bounds
        if self._timeouts_before < 0:  # else a copy of a trial that goes on
            meter = self.candidate.meter
            self._errors_before, self._timeouts_before = meter.errors, meter.timeouts

    def entered(self, stage: Stage) -> PluginTrial:
        """The same trial at the beginning of a stage."""
        return PluginTrial(self.plugin, self.candidate, self.previous, stage, self.settings, self.profiles)

    def failures(self) -> int:
        meter = self.candidate.meter
        return meter.errors + meter.timeouts

    def count_failures(self) -> None:
        """Takes the failures of the guest since the stage began, of binding hooks as well."""
        meter = self.candidate.meter
        self.tally.errors = meter.errors - self._errors_before
        self.tally.timeouts = meter.timeouts - self._timeouts_before

    def count_error_status(self) -> None:
        """Counts an error that the guest has returned, in its right mind."""
        self._errors_before -= 1


class RolloutTrial:
    """All trials of a scheduler: at most one in stages, and any number in probation. Implements `Trial`."""

    def __init__(
        self,
        *,
        staged: PluginTrial | None,
        shadows: Mapping[str, ShadowCycle],
        canary: Canary | None,
        probations: Sequence[PluginTrial],
        observer: SchedulerObserver,
        on_broken: Callable[[PluginTrial, str], None],
        on_passed: Callable[[PluginTrial], None],
        on_compared: Callable[[PluginTrial, Comparison], None],
        on_canary: Callable[[PluginTrial], None],
    ) -> None:
        """The listeners of bounds are called between two pods, at most one per attempt."""
        self._staged = staged
        self._shadows = shadows
        self._canary = canary
        self._probations = probations
        self._unexpected = UnexpectedErrors(observer)
        self._on_broken = on_broken
        self._on_passed = on_passed
        self._on_compared = on_compared
        self._on_canary = on_canary
        self._all = (*probations,) if staged is None else (staged, *probations)
        self._deciding: list[tuple[PluginTrial, float, int]] = []
        self._failed_by = ""

    def choose(self, cycle: SchedulingCycle, pod: Pod, record: DecisionRecord | None) -> Choice:
        profile, self._failed_by = pod.spec.scheduler_name, ""
        if self._probations:
            self._deciding = [
                (trial, trial.candidate.meter.seconds, trial.failures())
                for trial in self._probations
                if profile in trial.profiles
            ]
        staged, canary = self._staged, self._canary
        if staged is not None and canary is not None and canary.profiles.cycles.get(profile) is cycle:
            self._deciding.append((staged, staged.candidate.meter.seconds, staged.failures()))
            self._on_canary(staged)
        shadow = self._shadows.get(profile)
        if staged is None or shadow is None or not is_in_share(pod.uid, staged.settings.shadow):
            choice = cycle.choose(pod, record)
        else:
            choice = self._shadowed(staged, shadow, cycle, pod, record)
        self._failed_by = choice.failed_by
        return choice

    def _shadowed(
        self, staged: PluginTrial, shadow: ShadowCycle, cycle: SchedulingCycle, pod: Pod, record: DecisionRecord | None
    ) -> Choice:
        candidate, trace = staged.candidate.meter, shadow.trace()
        failures = candidate.errors + candidate.timeouts
        stable = staged.previous.meter if staged.previous is not None else None
        before, stable_before = candidate.seconds, 0.0 if stable is None else stable.seconds
        choice = cycle.choose(pod, record, trace)
        if choice.is_error or choice.victims or choice.nominated_node:
            return choice  # without a decision to compare with, or on a cluster that has just changed
        try:
            found = shadow.compare(pod, choice, trace)
        except Exception as error:  # noqa: BLE001 - of the comparison: the pod has its choice
            found = Comparison(pod.key, choice.node, error=self._unexpected.report("shadow", error, pod=pod.key))
        if found.error and candidate.errors + candidate.timeouts == failures:
            staged.count_error_status()
        found.seconds = candidate.seconds - before
        found.stable_seconds = 0.0 if stable is None else stable.seconds - stable_before
        staged.tally.compared(found)
        self._on_compared(staged, found)
        return choice

    def attempted(self) -> None:
        for trial, seconds, failures in self._deciding:
            if self._failed_by == trial.plugin and trial.failures() == failures:
                trial.count_error_status()
            trial.tally.attempted(trial.candidate.meter.seconds - seconds)
        self._deciding.clear()
        for trial in self._all:
            trial.count_failures()
            tally, window = trial.tally, trial.window
            broken = tally.broken_bound(trial.bounds, window)
            if broken:
                self._on_broken(trial, broken)
                return
            if window is not None and tally.pods >= window:
                self._on_passed(trial)
                return
