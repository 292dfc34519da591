"""Difference of two profile sets, as queued pods see it: rejections that end, gates and order that are new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.framework.plugin import Plugin
    from kubewasp.framework.runtime import Framework
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.profile_set import Canary, ProfileSet


@dataclass(frozen=True, slots=True)
class ProfileChange:
    """`plugins`: those whose rejections count no longer; `gates`: PreEnqueue is asked again; `retries_all`: a new way
    to help pods (PostFilter) is worth a try of every pod.
    """

    plugins: frozenset[str] = frozenset()
    gates: bool = False
    retries_all: bool = False

    def __bool__(self) -> bool:
        return bool(self.plugins or self.gates or self.retries_all)


NO_CHANGE: Final = ProfileChange()


def difference(old: Framework, new: Framework) -> ProfileChange:
    """Plugins are compared by identity: an unchanged plugin is the same object in both."""
    if old is new:
        return NO_CHANGE
    before, after = _rejecting(old), _rejecting(new)
    changed = frozenset(
        name for name in {*before, *after} if before.get(name, frozenset()) != after.get(name, frozenset())
    )
    gates = [id(plugin) for plugin in old.pre_enqueue] != [id(plugin) for plugin in new.pre_enqueue]
    helpers = {id(plugin) for plugin in new.post_filter} - {id(plugin) for plugin in old.post_filter}
    return ProfileChange(changed, gates, bool(helpers))


def _rejecting(framework: Framework) -> dict[str, frozenset[tuple[str, int]]]:
    """By plugin: the points at which it may reject a pod, with its identity."""
    points: dict[str, list[Plugin]] = {
        "preEnqueue": list(framework.pre_enqueue),
        "preFilter": list(framework.pre_filter),
        "filter": list(framework.filter),
        "reserve": list(framework.reserve),
        "permit": list(framework.permit),
        "preBind": list(framework.pre_bind),
        "bind": list(framework.bind),
    }
    found: dict[str, set[tuple[str, int]]] = {}
    for point, plugins in points.items():
        for plugin in plugins:
            found.setdefault(plugin.name, set()).add((point, id(plugin)))
    return {name: frozenset(places) for name, places in found.items()}


@dataclass(frozen=True, slots=True)
class ProfileSwap:
    """Two profile sets with their canaries, before and after."""

    old: ProfileSet
    old_canary: Canary | None
    new: ProfileSet
    new_canary: Canary | None

    @property
    def added(self) -> frozenset[str]:
        """New scheduler names."""
        return frozenset(self.new.frameworks) - frozenset(self.old.frameworks)

    @property
    def removed(self) -> frozenset[str]:
        """Scheduler names that are gone."""
        return frozenset(self.old.frameworks) - frozenset(self.new.frameworks)

    @property
    def sorts_anew(self) -> bool:
        """Whether a queue sort plugin is another one."""
        kept = self.old.frameworks.keys() & self.new.frameworks.keys()
        return any(self.old.frameworks[name].queue_sort is not self.new.frameworks[name].queue_sort for name in kept)

    def changes(self) -> dict[tuple[str, bool, bool], ProfileChange]:
        """The changes by profile and by the pod's side, canary or not, before and after."""
        found = {}
        for name in self.old.frameworks.keys() & self.new.frameworks.keys():
            for was_canary, old in _sides(name, self.old, self.old_canary):
                for is_canary, new in _sides(name, self.new, self.new_canary):
                    found[name, was_canary, is_canary] = difference(old, new)
        return found

    def side(self, pod: Pod) -> tuple[str, bool, bool]:
        """The key of a pod in `changes`."""
        was = self.old_canary is not None and self.old_canary.framework_for(pod) is not None
        is_now = self.new_canary is not None and self.new_canary.framework_for(pod) is not None
        return pod.spec.scheduler_name, was, is_now

    def ended(self) -> list[Plugin]:
        """The plugins that no pod begins with any more."""
        kept = {id(plugin) for plugin in _plugins(self.new, self.new_canary)}
        ended = {id(plugin): plugin for plugin in _plugins(self.old, self.old_canary) if id(plugin) not in kept}
        return list(ended.values())

    def old_frameworks(self) -> list[Framework]:
        found = list(self.old.frameworks.values())
        return found if self.old_canary is None else [*found, *self.old_canary.profiles.frameworks.values()]


def _sides(name: str, stable: ProfileSet, canary: Canary | None) -> Iterator[tuple[bool, Framework]]:
    yield False, stable.frameworks[name]
    if canary is not None and name in canary.profiles.frameworks:
        yield True, canary.profiles.frameworks[name]


def _plugins(stable: ProfileSet, canary: Canary | None) -> Iterator[Plugin]:
    yield from stable.plugins()
    if canary is not None:
        yield from canary.profiles.plugins()
