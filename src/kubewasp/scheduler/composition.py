"""Composition of a scheduler: from a configuration to connected parts."""

from __future__ import annotations

import gc
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from kubewasp.framework.config.default_plugins import plugins_at
from kubewasp.framework.config.model import PluginSet
from kubewasp.framework.observer import NO_OBSERVER
from kubewasp.framework.registry import Registry
from kubewasp.framework.runtime import Framework
from kubewasp.framework.unexpected import UnexpectedErrors
from kubewasp.scheduler.assumed_pods import AssumedPods
from kubewasp.scheduler.attempt import NoRecorder
from kubewasp.scheduler.binding import BindingCycle
from kubewasp.scheduler.events import ClusterEvents
from kubewasp.scheduler.failure_handler import FailureHandler
from kubewasp.scheduler.plugin_handle import PluginHandle
from kubewasp.scheduler.preemption import Evictions, Nominator
from kubewasp.scheduler.profile_set import ActiveProfiles, ProfileBuilder, Tuning
from kubewasp.scheduler.queue import SchedulingQueue
from kubewasp.scheduler.retirement import Retirement
from kubewasp.scheduler.sampling import Rotation
from kubewasp.scheduler.scheduler import Scheduler
from kubewasp.scheduler.waiting import WaitingPods
from kubewasp.state.node_table import NodeTable
from kubewasp.state.object_store import ObjectStore
from kubewasp.wasm.guest_loader import GuestLoader
from kubewasp.wasm.guest_log import LOGGER_SINK
from kubewasp.wasm.purity import CHECK_EVERY
from kubewasp.wasm.source import GuestSources

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from kubewasp.clock import Clock
    from kubewasp.framework.cluster_events import RecordedEvent
    from kubewasp.framework.config.model import Profile, ProfileConfig, SchedulerConfig
    from kubewasp.framework.handle import Client, SchedulerHandle
    from kubewasp.framework.observer import SchedulerObserver
    from kubewasp.scheduler.attempt import AttemptListener, DecisionRecorder
    from kubewasp.wasm.guest_log import GuestLogSink
    from kubewasp.wasm.repeatable import Repeatable

# Python's defaults are 700, 10, 10. Hardly any garbage of a scheduler is cyclic.
_COLLECTOR_THRESHOLDS: Final = (20_000, 20, 20)


def tune_garbage_collector() -> None:
    """Sets the thresholds for a scheduler process."""
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Environment of a scheduler: time, cluster and listeners. `wake` wakes its thread; safe from any thread."""

    clock: Clock
    client: Client
    table: NodeTable = field(default_factory=NodeTable)
    store: ObjectStore = field(default_factory=ObjectStore)
    recorder: DecisionRecorder = field(default_factory=NoRecorder)
    listeners: Sequence[AttemptListener] = ()
    record_event: Callable[[RecordedEvent], None] = lambda _event: None
    wake: Callable[[], None] = lambda: None
    seed: int = 0
    make_random: Callable[[int], random.Random] = random.Random


@dataclass(frozen=True, slots=True)
class Setup:
    """A configuration with its guests loaded: the profiles in effect, and the registry that makes their plugins."""

    registry: Registry
    profiles: Sequence[Profile]
    tuning: Tuning
    observer: SchedulerObserver

    def scheduler(self, environment: Environment) -> Scheduler:
        """A scheduler for all profiles, with the observer of the guests."""
        return compose(environment, self.frameworks, self.tuning, self.observer)

    def frameworks(self, handle: SchedulerHandle) -> Iterator[Framework]:
        """New frameworks for all profiles."""
        for profile in self.profiles:
            yield Framework(profile.scheduler_name, self.registry.create(profile, handle), self.observer)


def set_up(
    config: SchedulerConfig,
    *,
    added: Collection[str] = (),
    observer: SchedulerObserver = NO_OBSERVER,
    guest_logs: GuestLogSink = LOGGER_SINK,
    repeatable: Repeatable | None = None,
    guests: GuestLoader | None = None,
    sources: GuestSources | None = None,
    check_every: int = CHECK_EVERY,
) -> Setup:
    """Loads the guests of a configuration and resolves its profiles.

    `added` are wasm plugins added by file only: one with a queue sort replaces the default queue sort, as a profile has
    exactly one. `guest_logs` takes log lines, output and recorded events of guests; `repeatable` replaces their random
    numbers and their clock. `sources` loads them; by default with the registries and the trust of the configuration.
    `guests` has them loaded already. One of `check_every` pods is a check of pure guests.
    """
    if guests is None:
        sources = sources or GuestSources(config.registries, config.trust)
        guests = GuestLoader(observer, guest_logs, repeatable, sources, check_every)
    registry = Registry(wasm=guests)
    if added:
        config = replace(config, profiles=tuple(_sorted_by(added, item, guests) for item in config.profiles))
    profiles = registry.profiles(config)
    tuning = Tuning(
        {profile.scheduler_name: profile.percentage_of_nodes_to_score for profile in profiles},
        config.pod_initial_backoff_seconds,
        config.pod_max_backoff_seconds,
    )
    return Setup(registry, profiles, tuning, observer)


def _sorted_by(added: Collection[str], profile: ProfileConfig, guests: GuestLoader) -> ProfileConfig:
    """The profile without the default queue sort, if an added plugin sorts the queue."""
    if not any("queueSort" in guests.points(name, profile.wasm[name]) for name in added):
        return profile
    given = profile.plugins.get("queueSort", PluginSet())
    without_default = replace(given, disabled=(*given.disabled, *plugins_at("queueSort")))
    return replace(profile, plugins={**profile.plugins, "queueSort": without_default})


def compose(
    environment: Environment,
    make_frameworks: Callable[[SchedulerHandle], Iterable[Framework]] = lambda _handle: (),
    tuning: Tuning | None = None,
    observer: SchedulerObserver = NO_OBSERVER,
) -> Scheduler:
    """A scheduler with its plugins; without profiles by default.

    Plugins call the handle, and the handle uses the frameworks of the plugins: `profiles` closes this circle. It is
    filled here, before scheduling starts, and replaced as a whole by a reload.
    """
    clock, table = environment.clock, environment.table
    tuning = Tuning() if tuning is None else tuning
    nominator, evictions, assumed = Nominator(), Evictions(), AssumedPods(table)
    builder = ProfileBuilder(table, nominator, Rotation(), observer)
    profiles = ActiveProfiles(builder.build((), tuning))
    waiting = WaitingPods(environment.wake)
    queue = SchedulingQueue(profiles, clock, observer)
    failures = FailureHandler(queue, nominator, observer)
    binding = BindingCycle(queue, assumed, failures, clock, observer)
    handle = PluginHandle(
        clock=clock,
        table=table,
        store=environment.store,
        client=environment.client,
        new_random=lambda: environment.make_random(environment.seed),
        queue=queue,
        profiles=profiles,
        waiting=waiting,
        binding=binding,
        nominator=nominator,
        evictions=evictions,
        record_event=environment.record_event,
    )
    profiles.replace(builder.build(make_frameworks(handle), tuning), None)
    events = ClusterEvents(
        table=table,
        queue=queue,
        nominator=nominator,
        evictions=evictions,
        assumed=assumed,
        waiting=waiting,
        binding=binding,
        profiles=profiles,
        observer=observer,
    )
    environment.store.subscribe(events.object_changed)
    return Scheduler(
        clock=clock,
        table=table,
        store=environment.store,
        events=events,
        queue=queue,
        profiles=profiles,
        builder=builder,
        waiting=waiting,
        binding=binding,
        failures=failures,
        assumed=assumed,
        nominator=nominator,
        evictions=evictions,
        handle=handle,
        retirement=Retirement(observer),
        recorder=environment.recorder,
        unexpected=UnexpectedErrors(observer),
        listeners=environment.listeners,
    )
