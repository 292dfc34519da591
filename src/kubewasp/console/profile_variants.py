"""Variants of a profile for one decision: other weights, plugins left out. The plugins are the same objects."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from kubewasp.framework.runtime import Framework
from kubewasp.k8s.spelling import did_you_mean, nearest
from kubewasp.scheduler.cycle import SchedulingCycle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.plugin import Plugin
    from kubewasp.scheduler.profile_set import ProfileSet
    from kubewasp.scheduler.scheduler import Scheduler

_KEPT_POINTS: Final = frozenset(("queueSort", "bind"))  # a profile needs them


class StudyError(KubewaspError):
    """A decision that cannot be made; the text has the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Changes of the profile for one decision: weights by plugin (0: it does not score), plugins left out."""

    weights: Mapping[str, int] = field(default_factory=dict)
    without: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.weights or self.without)

    @property
    def key(self) -> tuple[object, ...]:
        return tuple(sorted(self.weights.items())), self.without


AS_IS: Final = WhatIf()


@dataclass(frozen=True, slots=True)
class StudiedPlugin:
    """A plugin of the pod's profile. `weight` is that of this decision."""

    name: str
    points: tuple[str, ...]
    weight: int
    origin: str
    is_removed: bool = False


def changed_profile(
    profiles: ProfileSet, profile: str, what_if: WhatIf
) -> tuple[Sequence[StudiedPlugin], Framework | None]:
    """The plugins of a profile with the changes, and the framework of a changed one: the same plugin objects."""
    framework = profiles.frameworks[profile]
    weights = {plugin.name: weight for plugin, weight in framework.score}
    for name in (*what_if.weights, *what_if.without):
        if name not in framework.plugins:
            meant = did_you_mean(nearest(name, framework.plugins))
            raise StudyError(f"profile {profile} has no plugin {name}{meant}")
    for name in what_if.weights:
        if name not in weights:
            raise StudyError(f"plugin {name} does not score in profile {profile}: it has no weight")
    points: dict[str, list[tuple[Plugin, int]]] = {}
    where: dict[str, list[str]] = {}
    for point, enabled in framework.points.items():
        for plugin, weight in enabled:
            where.setdefault(plugin.name, []).append(point)
            changed = what_if.weights.get(plugin.name, weight) if point == "score" else weight
            is_out = plugin.name in what_if.without and point not in _KEPT_POINTS
            if not is_out and not (point == "score" and what_if.weights.get(plugin.name) == 0):
                points.setdefault(point, []).append((plugin, changed))
    weights |= what_if.weights
    listed = [
        StudiedPlugin(name, tuple(where[name]), weights.get(name, 0), origin_of(plugin), name in what_if.without)
        for name, plugin in framework.plugins.items()
    ]
    return listed, Framework(framework.name, points, framework.observer) if what_if else None


def with_profile(scheduler: Scheduler, framework: Framework) -> ProfileSet:
    stable = scheduler.profiles.stable
    cycle = SchedulingCycle(
        framework,
        scheduler.table,
        scheduler.nominator,
        scheduler.builder.rotation,
        percentage=stable.cycles[framework.name].percentage,
    )
    return replace(
        stable,
        frameworks={**stable.frameworks, framework.name: framework},
        cycles={**stable.cycles, framework.name: cycle},
    )


def origin_of(plugin: Plugin) -> str:
    """`built-in`, `wasm` or `python`."""
    module = type(plugin).__module__
    if module.startswith("kubewasp.plugins."):
        return "built-in"
    return "wasm" if module.startswith("kubewasp.wasm.") else "python"
