"""Selection of the plugins that an extender runs, and of its verbs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kubewasp.framework.config.default_plugins import BUILT_IN, plugins_at
from kubewasp.framework.config.model import ConfigError, EnabledPlugin, Problem
from kubewasp.framework.observer import NO_OBSERVER
from kubewasp.framework.plugin import EXTENSION_POINTS
from kubewasp.framework.runtime import Framework

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.config.model import Profile
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.observer import SchedulerObserver
    from kubewasp.framework.registry import Registry

# Extension points behind the verbs of the protocol.
VERB_POINTS: Final = ("preFilter", "filter", "preScore", "score")
# A profile requires a queue sort; an extender has no queue.
_QUEUE_SORT: Final = tuple(EnabledPlugin(name) for name in plugins_at("queueSort"))


def restricted(profiles: Sequence[Profile], *, all_plugins: bool, source: str = "") -> list[Profile]:
    """The profiles with the plugins to run: by default those that kube-scheduler lacks."""
    found = []
    for profile in profiles:
        plugins = {
            point: tuple(item for item in profile.plugins[point] if all_plugins or item.name not in BUILT_IN)
            if point in VERB_POINTS
            else ()
            for point in profile.plugins
        }
        found.append(replace(profile, plugins={**plugins, "queueSort": _QUEUE_SORT}))
    if not any(profile.plugins[point] for profile in found for point in VERB_POINTS):
        points = ", ".join(VERB_POINTS)
        text = (
            "no profile has a plugin for an extender: built-in plugins are kube-scheduler's own. "
            f"Enable a wasm plugin that has one of {points}, or give --all-plugins"
        )
        raise ConfigError([Problem("profiles", text)], source=source)
    return found


def unused_points(profiles: Sequence[Profile]) -> dict[str, list[str]]:
    """Extension points of custom plugins without a verb."""
    found: dict[str, list[str]] = {}
    for profile in profiles:
        for point in EXTENSION_POINTS:
            if point not in VERB_POINTS:
                for item in profile.plugins[point]:
                    if item.name not in BUILT_IN and point not in found.setdefault(item.name, []):
                        found[item.name].append(point)
    return {name: points for name, points in found.items() if points}


def needs_all_objects(profiles: Sequence[Profile]) -> bool:
    """Whether a plugin may read objects other than nodes and pods; guests cannot."""
    names = {item.name for profile in profiles for point in VERB_POINTS for item in profile.plugins[point]}
    return any(name not in profile.wasm for profile in profiles for name in names)


def verbs(profiles: Sequence[Profile], *, bind: bool) -> tuple[str, ...]:
    """Verbs of the plugins. PreFilter can reject a pod, so it implies `filter`."""
    has = {point for profile in profiles for point in VERB_POINTS if profile.plugins[point]}
    found = ["filter"] if has & {"preFilter", "filter"} else []
    found += ["prioritize"] if "score" in has else []
    found += ["preempt"] if "filter" in found else []
    return (*found, "bind") if bind else tuple(found)


def frameworks(
    registry: Registry, profiles: Sequence[Profile], handle: SchedulerHandle, observer: SchedulerObserver = NO_OBSERVER
) -> Mapping[str, Framework]:
    """The frameworks of the profiles, by scheduler name."""
    return {
        profile.scheduler_name: Framework(profile.scheduler_name, registry.create(profile, handle), observer)
        for profile in profiles
    }
