"""Connects a scheduler and its metrics: who tells what, and where gauges are read."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Protocol

from kubewasp.wasm.plugin import WasmPlugin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kubewasp.apiserver.reflector import Reflector
    from kubewasp.framework.runtime import Framework
    from kubewasp.scheduler.scheduler import Scheduler
    from kubewasp.server.instruments import Labels
    from kubewasp.server.metrics import Metrics


class NodeCounts(Protocol):
    """Counts of nodes that came with extender requests."""

    known: int
    read: int


def connect(scheduler: Scheduler, metrics: Metrics) -> None:
    """To be called once, when the scheduler has been started with its profiles."""
    scheduler.observer = metrics
    scheduler.queue.observer = metrics
    metrics.pending_pods.read = lambda: {(queue,): count for queue, count in scheduler.queue.pending().items()}
    metrics.unschedulable_pods.read = lambda: dict(scheduler.queue.blamed().items())
    metrics.inflight_events.read = lambda: {(name,): n for name, n in scheduler.queue.events_in_flight().items()}
    metrics.goroutines.read = lambda: {("binding",): len(scheduler.binding)}
    metrics.cache_size.read = lambda: _cache_size(scheduler)
    connect_plugins(scheduler.frameworks, metrics)


def connect_plugins(frameworks: Mapping[str, Framework], metrics: Metrics) -> None:
    """What plugins do, whoever asks them."""
    for framework in frameworks.values():
        framework.observer = metrics
    plugins = _wasm_plugins(frameworks)
    guests = list({id(plugin.guest): plugin.guest for plugin in plugins}.values())  # profiles may share one
    for guest in guests:
        guest.observer = metrics  # type: ignore[misc] # until GuestLoader gets the metrics when it is made
    metrics.evaluations.read = lambda: _evaluations(frameworks)
    metrics.guest_memory.read = lambda: _sums(((guest.name,), guest.pool.memory_bytes) for guest in guests)
    metrics.guests_created.read = lambda: _sums(((guest.name,), guest.stats.created) for guest in guests)
    metrics.guests_broken.read = lambda: _sums(((guest.name,), guest.stats.broken) for guest in guests)
    metrics.guests_recycled.read = lambda: _sums(((guest.name,), guest.stats.recycled) for guest in guests)
    metrics.guest_cache_hits.read = lambda: _sums(
        [((guest.name, "compiled"), guest.module.from_cache) for guest in guests]
        + [((plugin.name, "answers"), plugin.shared_answers) for plugin in plugins]
    )


def show_leadership(metrics: Metrics, lease: str, is_leader: Callable[[], bool]) -> None:
    """Tells whether this process has the lease of that name."""
    metrics.is_leader.read = lambda: {(lease,): float(is_leader())}


def show_reflectors(metrics: Metrics, reflectors: Sequence[Reflector]) -> None:
    """Tells how the cluster is followed; the reflectors may come later."""
    metrics.reflector_lists.read = lambda: {(item.resource.name,): item.counters.lists for item in reflectors}
    metrics.reflector_watches.read = lambda: {(item.resource.name,): item.counters.watches for item in reflectors}
    metrics.reflector_restarts.read = lambda: {(item.resource.name,): item.counters.restarts for item in reflectors}
    metrics.reflector_events.read = lambda: {(item.resource.name,): item.counters.events for item in reflectors}


def show_sent_nodes(metrics: Metrics, sent: NodeCounts) -> None:
    """Tells how many nodes came with requests to an extender."""
    metrics.extender_sent_nodes.read = lambda: {("known",): sent.known, ("read",): sent.read}


def _wasm_plugins(frameworks: Mapping[str, Framework]) -> list[WasmPlugin]:
    found = (plugin for framework in frameworks.values() for plugin in framework.plugins.values())
    return [plugin for plugin in found if isinstance(plugin, WasmPlugin)]


def _sums(pairs: Iterable[tuple[Labels, float]]) -> Mapping[Labels, float]:
    """Several profiles may have a plugin of one name."""
    found: defaultdict[Labels, float] = defaultdict(float)
    for labels, value in pairs:
        found[labels] += value
    return found


def _cache_size(scheduler: Scheduler) -> Mapping[Labels, float]:
    pods = sum(map(len, list(scheduler.table.pods_on)))
    assumed = len(scheduler.waiting) + len(scheduler.binding)
    return {("nodes",): len(scheduler.table), ("pods",): pods, ("assumed_pods",): assumed}


def _evaluations(frameworks: Mapping[str, Framework]) -> Mapping[Labels, float]:
    return {
        (use.plugin, use.point, profile): use.judged
        for profile, framework in list(frameworks.items())
        for use in framework.uses()
        if use.judged
    }
