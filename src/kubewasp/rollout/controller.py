"""Controller of a rollout: the state of a scheduler's versions, changed between two pods.

All methods but those under "any thread" are for the scheduler's thread. Disk and guests to be closed are left to the
thread that stages, by `background`.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from kubewasp.rollout import rollout_events as events
from kubewasp.rollout.ledger import BadVersion
from kubewasp.rollout.planning import Running, candidate_of, planned, probation_of, without_candidate
from kubewasp.rollout.process_version import built, shadows
from kubewasp.rollout.rollout_events import RolloutEvent
from kubewasp.rollout.trials import RolloutTrial, Stage
from kubewasp.scheduler.profile_set import Canary
from kubewasp.wasm.plugin import WasmPlugin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.framework.observer import SchedulerObserver
    from kubewasp.framework.plugin import Plugin
    from kubewasp.rollout.ledger import Ledger
    from kubewasp.rollout.process_version import LeaderVersions
    from kubewasp.rollout.release import Release
    from kubewasp.rollout.rollout_events import RolloutListener
    from kubewasp.rollout.trials import PluginTrial
    from kubewasp.scheduler.profile_set import ProfileSet
    from kubewasp.scheduler.scheduler import Scheduler
    from kubewasp.scheduler.shadow import Comparison, ShadowCycle

logger = logging.getLogger(__name__)
_BY_LEADER: Final = "rolled back by the leader"


class NothingToDoError(KubewaspError):
    """There is no rollout to promote or abort."""


class RolloutController:
    """Versions of one scheduler. `requeue` gets the names of new profiles, whose pods may be waiting in the cluster."""

    def __init__(
        self,
        scheduler: Scheduler,
        running: Running,
        *,
        observer: SchedulerObserver,
        ledger: Ledger,
        background: Callable[[Callable[[], None]], None],
        reload: Callable[[], None],
        requeue: Callable[[frozenset[str]], None] = lambda _added: None,
        listeners: Sequence[RolloutListener] = (),
    ) -> None:
        self.running = running
        self._scheduler = scheduler
        self._observer = observer
        self._ledger = ledger
        self._background = background
        self._reload = reload
        self._requeue = requeue
        self._listeners = listeners
        self._loaded = list({id(release.guest): release for release in running.releases()}.values())
        scheduler.retirement.subscribe(self._retired)
        if running.probations:
            self._install(running)

    # ------------------------------------------------------------------ any thread

    def plan(self, config: SchedulerConfig, releases: Mapping[tuple[str, str], Release]) -> tuple[Running, Running]:
        """The state that a reload begins with, and the one that it would lead to."""
        basis = self.running
        return basis, planned(basis, config, releases, self._observer)

    # ------------------------------------------------------------------ reload

    def apply(
        self, basis: Running, new: Running, config: SchedulerConfig, releases: Mapping[tuple[str, str], Release]
    ) -> None:
        """Takes a planned state over. A plan with an old basis is made again: a trial has ended meanwhile."""
        before = self.running
        if basis is not before:
            new = planned(before, config, releases, self._observer)
        self._loaded += releases.values()
        self._install(new)
        self._tell(events.RELOADED, "Configuration reloaded")
        for plugin, digest in new.version.digests.items():
            if before.version.digests.get(plugin) != digest:
                self._tell(events.RELOADED, f"Plugin {plugin} replaced, digest {digest}", plugin, digest)
                release = new.version.release_of(plugin)
                if release is not None and new.trial_of(plugin) is None:
                    self._note_good(release)
        staged = new.staged
        if staged is not None and (before.staged is None or staged.candidate.key != before.staged.candidate.key):
            self._tell_stage(staged)

    # ------------------------------------------------------------------ trials

    def promote(self, plugin: str = "") -> str:
        """Ends the stage of a trial, of the only one or of that plugin; returns a sentence about it."""
        trial = self._trial(plugin)
        if trial.stage is Stage.PROBATION:
            self._accept(trial, "accepted by hand")
            return f"{trial.plugin}: {trial.candidate.short} is accepted"
        self._advance(trial)
        now = self.running.staged
        where = "decides for all pods" if now is None else f"is in stage {now.stage}"
        return f"{trial.plugin}: {trial.candidate.short} {where}"

    def abort(self, plugin: str = "") -> str:
        """Ends a trial with the version before; returns a sentence about it."""
        trial = self._trial(plugin)
        if not trial.can_go_back:
            raise NothingToDoError(f"plugin {trial.plugin} has no earlier version to go back to")
        self._roll_back(trial, "aborted by hand", events.ABORTED)
        return f"{trial.plugin}: {trial.candidate.short} is out of use, and not tried again"

    def follow(self, leader: LeaderVersions) -> None:
        """Follows a leader that has decided on a version: a standby has the same, and no pods to judge by."""
        for trial in self.running.trials:
            if trial.candidate.digest in leader.bad.get(trial.plugin, ()):
                if trial.can_go_back:
                    self._roll_back(trial, _BY_LEADER, events.ROLLED_BACK)
                else:
                    self._replace_by_leaders(trial, leader)
            elif trial is self.running.staged and leader.digests.get(trial.plugin) == trial.candidate.digest:
                self._swap(trial)

    def _replace_by_leaders(self, trial: PluginTrial, leader: LeaderVersions) -> None:
        """Loads the leader's version in place of a bad one that this process has started with."""
        digest, reference = leader.digests.get(trial.plugin), leader.references.get(trial.plugin, "")
        candidate = trial.candidate
        if digest and digest != candidate.digest:
            bad = BadVersion(candidate.key, candidate.reference, _BY_LEADER, self._scheduler.clock.wall())
            good = replace(candidate.key, digest=digest)
            self._background(partial(self._ledger.condemn, trial.plugin, bad))
            self._background(partial(self._ledger.accept, trial.plugin, good, reference))
            self._reload()

    def _trial(self, plugin: str) -> PluginTrial:
        running = self.running
        if plugin:
            found = running.trial_of(plugin)
            if found is None:
                raise NothingToDoError(f"plugin {plugin} has no version on trial")
            return found
        if running.staged is not None:
            return running.staged
        if len(running.probations) != 1:
            names = ", ".join(trial.plugin for trial in running.probations)
            text = f"several plugins are on trial: name one of {names}" if names else "no version is on trial"
            raise NothingToDoError(text)
        return running.probations[0]

    def _broken(self, trial: PluginTrial, bound: str) -> None:
        self._roll_back(trial, bound, events.ROLLED_BACK)

    def _passed(self, trial: PluginTrial) -> None:
        if trial.stage is Stage.PROBATION:
            self._accept(trial, f"{trial.tally.pods} pods within the bounds")
        else:
            self._advance(trial)

    def _advance(self, trial: PluginTrial) -> None:
        if trial.stage is Stage.SHADOW and trial.settings.canary is not None:
            following = trial.entered(Stage.CANARY)
            self._install(replace(self.running, staged=following))
            self._tell_stage(following)
        else:
            self._swap(trial)

    def _swap(self, trial: PluginTrial) -> None:
        """Gives all pods to the version of a staged trial."""
        running = self.running
        version = candidate_of(running.version, trial, self._observer)
        others = tuple(item for item in running.probations if item.plugin != trial.plugin)
        self._install(Running(version, None, None, (*others, *probation_of(trial))))
        text = f"Plugin {trial.plugin} replaced, digest {trial.candidate.digest}"
        self._tell(events.RELOADED, text, trial.plugin, trial.candidate.digest)
        if not trial.settings.rollback_within:
            self._note_good(trial.candidate)
        self._reload()  # other plugins may be waiting

    def _accept(self, trial: PluginTrial, reason: str) -> None:
        running = self.running
        self._install(replace(running, probations=tuple(item for item in running.probations if item is not trial)))
        self._note_good(trial.candidate)
        self._tell(events.ACCEPTED, f"Version accepted: {reason}", trial.plugin, trial.candidate.digest, trial.stage)

    def _note_good(self, release: Release) -> None:
        self._background(partial(self._ledger.accept, release.plugin, release.key, release.reference))

    def _roll_back(self, trial: PluginTrial, reason: str, told: str) -> None:
        """Brings the version before back, and remembers the bad one."""
        running, candidate = self.running, trial.candidate
        probations = tuple(item for item in running.probations if item is not trial)
        if not trial.can_go_back:
            self._install(replace(running, probations=probations))
            text = f"Plugin {trial.plugin} stays, although it breaks a bound: no earlier version is known; {reason}"
            self._tell(events.BOUND_BROKEN, text, trial.plugin, candidate.digest, trial.stage)
            return
        if trial.stage is Stage.PROBATION:
            try:
                version = without_candidate(running.version, trial, self._observer)
                staged = running.staged
                newer = None if staged is None else candidate_of(version, staged, self._observer)
            except KubewaspError as error:
                logger.error("No way back from a version", extra={"plugin": trial.plugin, "err": str(error)})  # noqa: TRY400
                self._install(replace(running, probations=probations))
                return
            self._install(Running(version, staged, newer, probations))
        else:
            self._install(Running(running.version, None, None, probations))
        bad = BadVersion(candidate.key, candidate.reference, reason, self._scheduler.clock.wall())
        self._background(partial(self._ledger.condemn, trial.plugin, bad))
        back = "no version" if trial.previous is None else trial.previous.short
        text = f"Plugin {trial.plugin} is back to {back}: {reason}"
        self._tell(told, text, trial.plugin, candidate.digest, trial.stage)
        self._reload()

    # ------------------------------------------------------------------ swap

    def _install(self, new: Running) -> None:
        """Builds the profiles of a state and swaps them in. An error leaves everything as it was."""
        scheduler, before = self._scheduler, self.running
        began = time.perf_counter()
        earlier_canary = scheduler.profiles.canary
        also = None if earlier_canary is None else earlier_canary.profiles
        profiles = built(new.version, scheduler, scheduler.profiles.stable, before.version, also)
        canary, compared = self._trial_cycles(new, profiles, also)
        trial = None
        if new.staged is not None or new.probations:
            trial = RolloutTrial(
                staged=new.staged,
                shadows=compared,
                canary=canary,
                probations=new.probations,
                observer=self._observer,
                on_broken=self._broken,
                on_passed=self._passed,
                on_compared=self._compared,
                on_canary=self._canary_decides,
            )
        self._mark(new)
        swap = scheduler.install(profiles, canary=canary, trial=trial)
        self.running = new
        seconds = time.perf_counter() - began
        if swap.added:
            self._requeue(swap.added)
        for listener in self._listeners:
            listener.swapped(seconds)
        self._sweep()

    def _trial_cycles(
        self, new: Running, profiles: ProfileSet, also: ProfileSet | None
    ) -> tuple[Canary | None, dict[str, ShadowCycle]]:
        staged, candidate = new.staged, new.candidate
        if staged is None or candidate is None:
            return None, {}
        if staged.stage is Stage.SHADOW or staged.settings.canary is None:
            return None, shadows(candidate, staged.plugin, self._scheduler, profiles, new.version)
        made = built(candidate, self._scheduler, profiles, new.version, also)
        return Canary(made, staged.settings.canary), {}

    def _mark(self, new: Running) -> None:
        for release in new.version.releases.values():
            release.enter("")
        if new.staged is not None:
            new.staged.candidate.enter(new.staged.stage, decides=new.staged.stage is not Stage.SHADOW)

    def _sweep(self) -> None:
        """Leaves guests to be closed that no version and no pod needs any more."""
        retired = (plugin for plugin in self._scheduler.retirement.in_use() if isinstance(plugin, WasmPlugin))
        needed = {id(release.guest) for release in self.running.releases()} | {id(item.guest) for item in retired}
        ended = [release for release in self._loaded if id(release.guest) not in needed]
        if ended:
            self._loaded = [release for release in self._loaded if id(release.guest) in needed]
            self._background(partial(_close, ended))
        self._loaded = list({id(release.guest): release for release in self._loaded}.values())

    def _retired(self, _plugins: Sequence[Plugin]) -> None:
        self._sweep()

    # ------------------------------------------------------------------ listeners

    def _tell(self, reason: str, message: str, plugin: str = "", digest: str = "", stage: str = "") -> None:
        event = RolloutEvent(reason, message, plugin, digest, stage)
        for listener in self._listeners:
            listener.happened(event)

    def _tell_stage(self, trial: PluginTrial) -> None:
        text = f"Version {trial.candidate.digest} is in stage {trial.stage}"
        self._tell(events.STAGE_STARTED, text, trial.plugin, trial.candidate.digest, trial.stage)

    def _compared(self, trial: PluginTrial, found: Comparison) -> None:
        for listener in self._listeners:
            listener.compared(trial, found)

    def _canary_decides(self, trial: PluginTrial) -> None:
        for listener in self._listeners:
            listener.canary_decides(trial)


def _close(releases: Sequence[Release]) -> None:
    for release in releases:
        release.guest.close()
