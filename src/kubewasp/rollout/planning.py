"""Plan of a reload: which releases decide for all pods now, which one goes through stages, which are on probation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kubewasp.framework.config.model import ConfigError, Problem
from kubewasp.rollout.process_version import resolved
from kubewasp.rollout.trials import PluginTrial, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.framework.config.rollout import RolloutSettings
    from kubewasp.framework.observer import SchedulerObserver
    from kubewasp.rollout.ledger import Ledger
    from kubewasp.rollout.process_version import Version
    from kubewasp.rollout.release import Release, ReleaseKey

    Releases = Mapping[tuple[str, str], Release]

# Sections that a running process cannot take over, with the reasons.
_FIXED = {"leaderElection": "the lease is held with them", "clientConnection": "the watches are connected with them"}


@dataclass(frozen=True, slots=True)
class Running:
    """State of a rollout: `version` decides; `staged` is in shadow or canary, with the version it would make."""

    version: Version
    staged: PluginTrial | None = None
    candidate: Version | None = None
    probations: tuple[PluginTrial, ...] = ()

    @property
    def trials(self) -> tuple[PluginTrial, ...]:
        return self.probations if self.staged is None else (self.staged, *self.probations)

    def trial_of(self, plugin: str) -> PluginTrial | None:
        return next((trial for trial in self.trials if trial.plugin == plugin), None)

    def releases(self) -> list[Release]:
        """All releases that are used or may be used again."""
        found = list(self.version.releases.values())
        for trial in self.trials:
            found += [trial.candidate, *([] if trial.previous is None else [trial.previous])]
        return found


def check_fixed(running: SchedulerConfig, config: SchedulerConfig) -> None:
    """ConfigError for changes that need a restart."""
    before = {"leaderElection": running.leader_election, "clientConnection": running.client_connection}
    after = {"leaderElection": config.leader_election, "clientConnection": config.client_connection}
    problems = [
        Problem(name, f"cannot change while the scheduler runs, {reason}: restart it")
        for name, reason in _FIXED.items()
        if before[name] != after[name]
    ]
    if problems:
        raise ConfigError(problems, source=config.source)


def planned(running: Running, config: SchedulerConfig, releases: Releases, observer: SchedulerObserver) -> Running:
    """The state after a reload with those releases. Raises ConfigError. Any thread."""
    stable: dict[tuple[str, str], Release] = {}
    rolled_out: dict[str, Release] = {}
    for place, release in releases.items():
        current = running.version.releases.get(place)
        in_use = _keys(running.version, release.plugin)
        if current is not None and current.key == release.key:
            stable[place] = current.with_settings(release.settings, release.trust)
        elif release.settings.rollout.has_stages and release.key not in in_use:
            rolled_out.setdefault(release.plugin, release)
            if current is not None:
                stable[place] = current
        else:
            stable[place] = release
    version = resolved(config, stable, observer)
    staged, candidate = _staged(running, version, releases, rolled_out, observer)
    return Running(version, staged, candidate, _probations(running, version))


def _keys(version: Version, plugin: str) -> set[ReleaseKey]:
    return {release.key for (_, name), release in version.releases.items() if name == plugin}


def _staged(
    running: Running,
    version: Version,
    releases: Releases,
    rolled_out: Mapping[str, Release],
    observer: SchedulerObserver,
) -> tuple[PluginTrial | None, Version | None]:
    """The trial that goes on or begins. One at a time, so that a comparison is about one plugin; others wait."""
    before, plugin = running.staged, next(iter(rolled_out), "")
    if before is not None and before.plugin in rolled_out:
        plugin = before.plugin
    if not plugin:
        return None, None
    release = rolled_out[plugin]
    profiles = frozenset(profile for profile, name in releases if name == plugin)
    settings = release.settings.rollout
    if before is not None and before.plugin == plugin and before.candidate.key == release.key:
        # The same version: its shares and bounds may have changed, its counts go on.
        release = before.candidate.with_settings(release.settings, release.trust)
        stage = before.stage if _has_stage(settings, before.stage) else _first_stage(settings)
        trial = PluginTrial(plugin, release, version.release_of(plugin), stage, settings, profiles)
        if stage is before.stage:
            trial = replace(before, candidate=release, settings=settings, profiles=profiles)
    else:
        trial = PluginTrial(plugin, release, version.release_of(plugin), _first_stage(settings), settings, profiles)
    return trial, candidate_of(version, trial, observer)


def candidate_of(version: Version, trial: PluginTrial, observer: SchedulerObserver) -> Version:
    """The version with the release on trial in place of the one in use."""
    places = {(profile, trial.plugin): trial.candidate for profile in trial.profiles}
    return resolved(version.config, {**version.releases, **places}, observer)


def without_candidate(version: Version, trial: PluginTrial, observer: SchedulerObserver) -> Version:
    """The version with the release before the trial, or without the plugin if it was new."""
    kept = {place: release for place, release in version.releases.items() if place[1] != trial.plugin}
    if trial.previous is not None:
        kept |= {place: trial.previous for place in version.releases if place[1] == trial.plugin}
    return resolved(version.config, kept, observer)


def _first_stage(settings: RolloutSettings) -> Stage:
    return Stage.SHADOW if settings.shadow else Stage.CANARY


def _has_stage(settings: RolloutSettings, stage: Stage) -> bool:
    return bool(settings.shadow) if stage is Stage.SHADOW else settings.canary is not None


def _probations(running: Running, version: Version) -> tuple[PluginTrial, ...]:
    """Trials of the versions that decide for all pods and are not proven yet."""
    found = []
    for plugin in dict.fromkeys(name for _, name in version.releases):
        release = version.release_of(plugin)
        current = running.version.release_of(plugin)
        known = next((trial for trial in running.probations if trial.plugin == plugin), None)
        if release is None:
            continue
        profiles = frozenset(profile for profile, name in version.releases if name == plugin)
        if current is not None and current.key == release.key:
            if known is not None:
                found.append(replace(known, candidate=release, settings=release.settings.rollout, profiles=profiles))
        elif release.settings.rollout.rollback_within:
            # A version that replaces an unproven one goes back to the last that was proven, if there is one.
            previous = current if known is None or not known.can_go_back else known.previous
            settings = release.settings.rollout
            found.append(PluginTrial(plugin, release, previous, Stage.PROBATION, settings, profiles))
    return tuple(found)


def probation_of(trial: PluginTrial) -> Sequence[PluginTrial]:
    """The probation after a swap, if the settings have one."""
    return (trial.entered(Stage.PROBATION),) if trial.settings.rollback_within else ()


def started(version: Version, ledger: Ledger, last_good: Callable[[Release], Release | None]) -> Running:
    """The state at the start of a process: a version that is not known as good is on probation.

    `last_good` loads the last good version of a plugin, if there is one: the way back takes no time then.
    """
    found = []
    for plugin in dict.fromkeys(name for _, name in version.releases):
        release = version.release_of(plugin)
        if release is None:
            continue
        if not release.settings.rollout.rollback_within:
            ledger.accept(plugin, release.key, release.reference)
            continue
        good = ledger.good(plugin)
        if good is not None and good.key == release.key:
            continue
        previous = None if good is None else last_good(release)
        profiles = frozenset(profile for profile, name in version.releases if name == plugin)
        settings = release.settings.rollout
        is_known = previous is not None
        trial = PluginTrial(plugin, release, previous, Stage.PROBATION, settings, profiles, can_go_back=is_known)
        found.append(trial)
    return Running(version, probations=tuple(found))
