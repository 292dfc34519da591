"""From a configuration to running frameworks."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from kubewasp.framework.registry import Registry
from kubewasp.framework.runtime import Framework
from kubewasp.plugins.default_preemption import DefaultPreemption
from kubewasp.wasm.plugin import GuestLoader

if TYPE_CHECKING:
    from kubewasp.framework.config import SchedulerConfig
    from kubewasp.scheduler.scheduler import Scheduler


def start(scheduler: Scheduler, config: SchedulerConfig, *, seed: int | None = None) -> None:
    """Makes all plugins of all profiles and starts the scheduler with them. With a seed, chance decides repeatably."""
    registry = Registry(wasm=GuestLoader())
    profiles = registry.profiles(config)
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
