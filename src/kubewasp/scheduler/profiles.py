"""From a configuration to running frameworks."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from kubewasp.framework.config.model import PluginSet
from kubewasp.framework.registry import Registry
from kubewasp.framework.runtime import Framework
from kubewasp.plugins.default_preemption import DefaultPreemption
from kubewasp.wasm.guest_loader import GuestLoader

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kubewasp.framework.config.model import Profile, ProfileConfig, SchedulerConfig
    from kubewasp.scheduler.scheduler import Scheduler


def start(
    scheduler: Scheduler, config: SchedulerConfig, *, added: Collection[str] = (), seed: int | None = None
) -> Sequence[Profile]:
    """Makes all plugins of all profiles and starts the scheduler with them; returns the profiles as they take effect.

    With a seed, chance decides repeatably.
    """
    registry, profiles = resolve(config, added=added)
    frameworks = [Framework(profile.scheduler_name, registry.create(profile, scheduler)) for profile in profiles]
    scheduler.start(
        frameworks,
        percentages={profile.scheduler_name: profile.percentage_of_nodes_to_score for profile in profiles},
        initial_backoff=config.pod_initial_backoff_seconds,
        max_backoff=config.pod_max_backoff_seconds,
    )
    if seed is not None:
        for framework in frameworks:
            for plugin in framework.plugins.values():
                if isinstance(plugin, DefaultPreemption):
                    plugin.random = random.Random(seed)  # noqa: S311 - not a secret
    return profiles


def resolve(config: SchedulerConfig, *, added: Collection[str] = ()) -> tuple[Registry, Sequence[Profile]]:
    """The profiles as they take effect, and what makes their plugins. Guests are loaded.

    `added` are wasm plugins that were put into the configuration by their file alone: one that sorts the queue does so
    instead of the default plugin, as a profile has one such plugin.
    """
    guests = GuestLoader()
    registry = Registry(wasm=guests)
    if added:
        config = replace(config, profiles=tuple(_sorted_by(added, item, guests) for item in config.profiles))
    return registry, registry.profiles(config)


def _sorted_by(added: Collection[str], profile: ProfileConfig, guests: GuestLoader) -> ProfileConfig:
    """The profile, its queue being sorted by the added plugin that does so, if there is one."""
    if not any("queueSort" in guests.points(name, profile.wasm[name]) for name in added):
        return profile
    given = profile.plugins.get("queueSort", PluginSet())
    without_default = replace(given, disabled=(*given.disabled, "PrioritySort"))
    return replace(profile, plugins={**profile.plugins, "queueSort": without_default})
