"""Profiles in use: frameworks, cycles and event registrations, replaced as a whole between two pods.

HOT PATH (guard: make counts): read for every pod.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kubewasp.scheduler.cycle import SchedulingCycle
from kubewasp.scheduler.queueing_hints import QueueingHints

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kubewasp.framework.observer import SchedulerObserver
    from kubewasp.framework.plugin import Plugin
    from kubewasp.framework.runtime import Framework
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.preemption import Nominator
    from kubewasp.scheduler.queued_pod import ClusterChange, QueuedPod
    from kubewasp.scheduler.queueing_hints import KnownHints
    from kubewasp.scheduler.sampling import Rotation
    from kubewasp.state.node_table import NodeTable


@dataclass(frozen=True, slots=True)
class Tuning:
    """Settings of a configuration that concern the scheduler as a whole; percentages are by profile."""

    percentages: Mapping[str, int | None] = field(default_factory=dict)
    initial_backoff: float = 1.0
    max_backoff: float = 10.0


class Hints(Protocol):
    """Decisions whether an event may help a pod; see `QueueingHints`."""

    def concern(self, change: ClusterChange) -> bool: ...

    def plugins(self, change: ClusterChange) -> Iterator[str]: ...

    def wake(self, queued: QueuedPod, change: ClusterChange, known: KnownHints | None = None) -> bool: ...


@dataclass(frozen=True, slots=True)
class ProfileSet:
    """The profiles of one configuration by scheduler name, complete with their plugins."""

    frameworks: Mapping[str, Framework]
    cycles: Mapping[str, SchedulingCycle]
    hints: QueueingHints
    tuning: Tuning = field(default_factory=Tuning)

    def plugins(self) -> Iterator[Plugin]:
        """The plugins of all profiles. One object may be in several sets."""
        for framework in self.frameworks.values():
            yield from framework.plugins.values()


class ProfileBuilder:
    """Makes profile sets for one scheduler. `load` of the registrations may raise: a plugin's own code runs."""

    def __init__(self, table: NodeTable, nominator: Nominator, rotation: Rotation, observer: SchedulerObserver) -> None:
        self._table = table
        self._nominator = nominator
        self.rotation = rotation
        self._observer = observer

    def build(self, frameworks: Iterable[Framework], tuning: Tuning) -> ProfileSet:
        by_name = {framework.name: framework for framework in frameworks}
        cycles = {
            name: SchedulingCycle(
                framework, self._table, self._nominator, self.rotation, percentage=tuning.percentages.get(name)
            )
            for name, framework in by_name.items()
        }
        hints = QueueingHints(by_name, self._observer)
        hints.load()  # a plugin whose registrations fail ends the start, not the scheduler later
        return ProfileSet(by_name, cycles, hints, tuning)


class PodSelection(Protocol):
    """Choice of pods that depends on the pod alone, so that a pod stays on its side."""

    def takes(self, pod: Pod) -> bool: ...


@dataclass(frozen=True, slots=True)
class Canary:
    """Profiles that decide for some of the pods, in place of those in use. The queue's order is not theirs."""

    profiles: ProfileSet
    selection: PodSelection

    def framework_for(self, pod: Pod) -> Framework | None:
        framework = self.profiles.frameworks.get(pod.spec.scheduler_name)
        return framework if framework is not None and self.selection.takes(pod) else None

    def cycle_for(self, pod: Pod) -> SchedulingCycle | None:
        cycle = self.profiles.cycles.get(pod.spec.scheduler_name)
        return cycle if cycle is not None and self.selection.takes(pod) else None


class SplitHints:
    """Hints while a canary decides for some pods: each pod has those of its side."""

    def __init__(self, stable: QueueingHints, canary: Canary) -> None:
        self._stable = stable
        self._canary = canary
        self._other = canary.profiles.hints

    def concern(self, change: ClusterChange) -> bool:
        return self._stable.concern(change) or self._other.concern(change)

    def plugins(self, change: ClusterChange) -> Iterator[str]:
        yield from self._stable.plugins(change)
        yield from self._other.plugins(change)

    def wake(self, queued: QueuedPod, change: ClusterChange, known: KnownHints | None = None) -> bool:  # noqa: ARG002
        """Answers are not shared: those of the two sides may differ."""
        hints = self._stable if self._canary.framework_for(queued.pod) is None else self._other
        return hints.wake(queued, change)


class ActiveProfiles:
    """The profile set in use, and the canary beside it. Replaced on the scheduler's thread; readable from any."""

    def __init__(self, stable: ProfileSet) -> None:
        self.replace(stable, None)

    def replace(self, stable: ProfileSet, canary: Canary | None) -> None:
        self.stable = stable
        self.canary = canary
        self.frameworks = stable.frameworks
        self.cycles = stable.cycles
        self.hints: Hints = stable.hints if canary is None else SplitHints(stable.hints, canary)

    def framework_for(self, pod: Pod) -> Framework | None:
        """The framework that decides for the pod; None if its profile is not there."""
        found = None if self.canary is None else self.canary.framework_for(pod)
        return self.frameworks.get(pod.spec.scheduler_name) if found is None else found

    def cycle_for(self, pod: Pod) -> SchedulingCycle:
        found = None if self.canary is None else self.canary.cycle_for(pod)
        return self.cycles[pod.spec.scheduler_name] if found is None else found

    def sets(self) -> tuple[ProfileSet, ...]:
        return (self.stable,) if self.canary is None else (self.stable, self.canary.profiles)
