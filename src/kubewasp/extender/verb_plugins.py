"""Which plugins of a configuration an extender asks, where, and what that makes of the verbs it offers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kubewasp.framework.config.default_plugins import BUILT_IN
from kubewasp.framework.config.model import ConfigError, EnabledPlugin, Problem
from kubewasp.framework.plugin import EXTENSION_POINTS
from kubewasp.framework.runtime import Framework

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.config.model import Profile
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.registry import Registry

# What an extender can be asked comes to these extension points; the protocol has no others.
ASKED_POINTS: Final = ("preFilter", "filter", "preScore", "score")
# A profile must have one, though nobody queues here.
_QUEUE_SORT: Final = (EnabledPlugin("PrioritySort"),)


def asked(profiles: Sequence[Profile], *, all_plugins: bool, source: str = "") -> list[Profile]:
    """The profiles with the plugins that are asked: unless all are wanted, those that kube-scheduler does not have.

    Its own plugins it has asked already, before an extender.
    """
    found = []
    for profile in profiles:
        plugins = {
            point: tuple(item for item in profile.plugins[point] if all_plugins or item.name not in BUILT_IN)
            if point in ASKED_POINTS
            else ()
            for point in profile.plugins
        }
        found.append(replace(profile, plugins={**plugins, "queueSort": _QUEUE_SORT}))
    if not any(profile.plugins[point] for profile in found for point in ASKED_POINTS):
        points = ", ".join(ASKED_POINTS)
        text = (
            "no profile has a plugin for an extender to ask: built-in plugins are kube-scheduler's own. "
            f"Enable a wasm plugin that has one of {points}, or give --all-plugins"
        )
        raise ConfigError([Problem("profiles", text)], source=source)
    return found


def not_asked(profiles: Sequence[Profile]) -> dict[str, list[str]]:
    """The extension points of each plugin of one's own that an extender is never asked at."""
    found: dict[str, list[str]] = {}
    for profile in profiles:
        for point in EXTENSION_POINTS:
            if point not in ASKED_POINTS:
                for item in profile.plugins[point]:
                    if item.name not in BUILT_IN and point not in found.setdefault(item.name, []):
                        found[item.name].append(point)
    return {name: points for name, points in found.items() if points}


def needs_all_objects(profiles: Sequence[Profile]) -> bool:
    """Whether some plugin may look at more than nodes and pods: a guest cannot."""
    names = {item.name for profile in profiles for point in ASKED_POINTS for item in profile.plugins[point]}
    return any(name not in profile.wasm for profile in profiles for name in names)


def verbs(profiles: Sequence[Profile], *, bind: bool) -> tuple[str, ...]:
    """What the asked plugins can answer. PreFilter alone can turn a pod down, and so is a reason to be asked."""
    has = {point for profile in profiles for point in ASKED_POINTS if profile.plugins[point]}
    found = ["filter"] if has & {"preFilter", "filter"} else []
    found += ["prioritize"] if "score" in has else []
    found += ["preempt"] if "filter" in found else []
    return (*found, "bind") if bind else tuple(found)


def frameworks(registry: Registry, profiles: Sequence[Profile], handle: SchedulerHandle) -> Mapping[str, Framework]:
    return {
        profile.scheduler_name: Framework(profile.scheduler_name, registry.create(profile, handle))
        for profile in profiles
    }
