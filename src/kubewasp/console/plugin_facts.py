"""Facts on the plugins of frameworks: profiles with weights and points, work, guests."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubewasp.console.console_source import PluginFacts, PluginTime, ProfileFacts, ProfilePlugin
from kubewasp.console.profile_variants import origin_of
from kubewasp.wasm.download import without_credentials

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.framework.plugin import Plugin
    from kubewasp.framework.runtime import Framework


def profile_facts(frameworks: Iterable[Framework]) -> tuple[ProfileFacts, ...]:
    found = []
    for framework in frameworks:
        weights = {plugin.name: weight for plugin, weight in framework.score}
        points = _points(framework)
        plugins = tuple(ProfilePlugin(name, weights.get(name, 0), points[name]) for name in framework.plugins)
        found.append(ProfileFacts(framework.name, plugins))
    return tuple(found)


def plugin_times(frameworks: Iterable[Framework]) -> list[PluginTime]:
    """Time by plugin and extension point, the most expensive first; `calls` are pods or nodes judged."""
    sums: dict[tuple[str, str], tuple[int, float]] = {}
    for framework in frameworks:
        for use in framework.uses():
            calls, seconds = sums.get((use.plugin, use.point), (0, 0.0))
            sums[use.plugin, use.point] = calls + use.judged, seconds + use.seconds
    found = [PluginTime(name, point, *sums[name, point]) for name, point in sums if sums[name, point][1]]
    return sorted(found, key=lambda item: -item.seconds)


def plugin_facts(frameworks: Sequence[Framework], config: SchedulerConfig) -> list[PluginFacts]:
    """All plugins of the profiles, guests first. The source of a guest is as in the configuration."""
    plugins: dict[str, Plugin] = {}
    profiles: dict[str, list[str]] = {}
    weights: dict[str, int] = {}
    hooks: dict[str, dict[str, None]] = {}
    for framework in frameworks:
        weights |= {plugin.name: weight for plugin, weight in framework.score}
        for name, points in _points(framework).items():
            plugins[name] = framework.plugins[name]
            profiles.setdefault(name, []).append(framework.name)
            hooks.setdefault(name, {}).update(dict.fromkeys(points))
    seconds: dict[str, float] = {}
    calls: dict[str, int] = {}
    for item in plugin_times(frameworks):
        seconds[item.name] = seconds.get(item.name, 0.0) + item.seconds
        calls[item.name] = calls.get(item.name, 0) + item.calls
    sources = _sources(config)
    found = [
        PluginFacts(
            name,
            origin_of(plugin),
            tuple(profiles[name]),
            weights.get(name, 0),
            tuple(hooks[name]),
            source=sources.get(name, ""),
            calls=calls.get(name, 0),
            seconds=seconds.get(name, 0.0),
            **_of_guest(sources.get(name, "")),
        )
        for name, plugin in plugins.items()
    ]
    return sorted(found, key=lambda item: item.origin == "built-in")


def _points(framework: Framework) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {name: [] for name in framework.plugins}
    for point, enabled in framework.points.items():
        for plugin, _ in enabled:
            found[plugin.name].append(point)
    return {name: tuple(points) for name, points in found.items()}


def _sources(config: SchedulerConfig) -> Mapping[str, str]:
    """Addresses of guests, without credentials."""
    return {
        name: _shown(without_credentials(str(settings.guest_url)))
        for profile in config.profiles
        for name, settings in profile.wasm.items()
    }


def _shown(source: str) -> str:
    """A file below the working directory by its path from there, others as they are."""
    path = source.removeprefix("file://")
    if "://" in path or not path:
        return source
    here = Path.cwd()
    found = Path(os.path.normpath(here / path))
    return str(found.relative_to(here) if here != here.parent and found.is_relative_to(here) else found)


def _of_guest(source: str) -> Mapping[str, Any]:
    """Digest of a guest in a local file."""
    source = source.removeprefix("file://")
    if not source or "://" in source:
        return {}
    try:
        with Path(source).open("rb") as file:
            return {"digest": f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"}
    except OSError:
        return {}
