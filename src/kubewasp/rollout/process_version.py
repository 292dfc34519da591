"""Versions of a process: a configuration with the releases of its wasm plugins, and the profiles made of both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kubewasp.framework.runtime import Framework
from kubewasp.rollout.release import ReleaseHost
from kubewasp.scheduler.composition import set_up
from kubewasp.scheduler.shadow import SHADOW_POINTS, ShadowCycle
from kubewasp.scheduler.shadow_handle import ShadowHandle
from kubewasp.wasm.plugin import WasmPlugin

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kubewasp.framework.config.model import PluginSet, Profile, ProfileConfig, SchedulerConfig
    from kubewasp.framework.observer import SchedulerObserver
    from kubewasp.framework.plugin import Plugin
    from kubewasp.rollout.release import Release
    from kubewasp.scheduler.composition import Setup
    from kubewasp.scheduler.profile_set import ProfileSet
    from kubewasp.scheduler.scheduler import Scheduler

    Releases = Mapping[tuple[str, str], Release]  # by profile and plugin


@dataclass(frozen=True, eq=False, slots=True)
class Version:
    """A resolved configuration. `config` is as written, `setup` has what is in effect."""

    config: SchedulerConfig
    releases: Releases
    setup: Setup

    def release_of(self, plugin: str) -> Release | None:
        """The release of a plugin, in the first profile that has it."""
        return next((release for (_, name), release in self.releases.items() if name == plugin), None)

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each wasm plugin, by name."""
        return {plugin: release.digest for (_, plugin), release in reversed(list(self.releases.items()))}


@dataclass(frozen=True, slots=True)
class LeaderVersions:
    """Versions of the leader of several replicas, by plugin: digests in use, what their addresses meant, bad ones."""

    digests: Mapping[str, str]
    references: Mapping[str, str]
    bad: Mapping[str, Sequence[str]]


def resolved(
    config: SchedulerConfig, releases: Releases, observer: SchedulerObserver, *, added: Collection[str] = ()
) -> Version:
    """The version of a configuration with those releases; plugins without one are left out. Raises ConfigError.

    Any thread: no plugin is made, but modules of plugins are imported. `added` as in `set_up`.
    """
    profiles = tuple(_with_releases(profile, releases) for profile in config.profiles)
    host = ReleaseHost(releases)
    setup = set_up(replace(config, profiles=profiles), added=added, observer=observer, guests=host)
    for profile in setup.profiles:
        setup.registry.load_classes(profile)
    return Version(config, releases, setup)


def _with_releases(profile: ProfileConfig, releases: Releases) -> ProfileConfig:
    name = profile.scheduler_name
    missing = {plugin for plugin in profile.wasm if (name, plugin) not in releases and plugin in profile.plugin_names}
    plugins = profile.plugins
    if missing:
        plugins = {point: _without(given, missing) for point, given in plugins.items()}
    wasm = {
        plugin: releases[name, plugin].settings if (name, plugin) in releases else settings
        for plugin, settings in profile.wasm.items()
        if plugin not in missing
    }
    return replace(profile, plugins=plugins, wasm=wasm)


def _without(given: PluginSet, missing: set[str]) -> PluginSet:
    return replace(given, enabled=tuple(plugin for plugin in given.enabled if plugin.name not in missing))


# ---------------------------------------------------------------------- profiles; on the scheduler's thread


def built(
    version: Version, scheduler: Scheduler, base: ProfileSet, earlier: Version, also: ProfileSet | None = None
) -> ProfileSet:
    """The profiles of a version for a scheduler. Plugins in `base`, of the earlier version, that have not changed go on
    in them; and guests in `also` with their plugins.
    """
    frameworks = []
    for profile in version.setup.profiles:
        name = profile.scheduler_name
        old = base.frameworks.get(name)
        kept = _kept_guests(name, version, also)
        if old is not None:
            kept |= _kept(profile, old, version, earlier)
        points = version.setup.registry.create(profile, scheduler.handle, kept)
        if old is not None and old.has_same_plugins(points):
            frameworks.append(old)
        else:
            frameworks.append(Framework(name, points, version.setup.observer, before=old))
    return scheduler.builder.build(frameworks, version.setup.tuning)


def shadows(
    candidate: Version, plugin: str, scheduler: Scheduler, base: ProfileSet, stable: Version
) -> dict[str, ShadowCycle]:
    """The comparisons of a plugin, by profile. Other wasm plugins run as copies that have no effect."""
    handle, found = ShadowHandle(scheduler.handle), {}
    for profile in candidate.setup.profiles:
        name = profile.scheduler_name
        if (name, plugin) not in candidate.releases:
            continue
        same = _kept(profile, base.frameworks[name], candidate, stable)
        kept = {other: made for other, made in same.items() if not isinstance(made, WasmPlugin)}
        points = candidate.setup.registry.create(profile, handle, kept)
        judging = {point: points[point] for point in SHADOW_POINTS}
        found[name] = ShadowCycle(plugin, judging, base.cycles[name], scheduler.table, scheduler.nominator)
    return found


def unchanged(profile: Profile, old: Framework | None, version: Version, before: Version) -> dict[str, Plugin]:
    """The plugins of a framework that go on in the new profile, by name."""
    return {} if old is None else _kept(profile, old, version, before)


def _kept_guests(profile: str, version: Version, also: ProfileSet | None) -> dict[str, Plugin]:
    old = None if also is None else also.frameworks.get(profile)
    if old is None:
        return {}
    return {
        name: plugin
        for name, plugin in old.plugins.items()
        if isinstance(plugin, WasmPlugin)
        and (release := version.releases.get((profile, name))) is not None
        and release.guest is plugin.guest
    }


def _kept(profile: Profile, old: Framework, version: Version, before: Version) -> dict[str, Plugin]:
    """The plugins of a framework that are the same in the new profile, by name."""
    earlier = next((item for item in before.setup.profiles if item.scheduler_name == old.name), None)
    if earlier is None:
        return {}
    found = {}
    for name, plugin in old.plugins.items():
        release = version.releases.get((old.name, name))
        if isinstance(plugin, WasmPlugin):
            is_same = release is not None and plugin.guest is release.guest
        else:
            is_same = release is None and dict(earlier.args.get(name, {})) == dict(profile.args.get(name, {}))
        if is_same:
            found[name] = plugin
    return found
