"""Connects a scheduler and its metrics: who tells what, and where gauges are read."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kubewasp.wasm.plugin import WasmPlugin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kubewasp.scheduler.scheduler import Scheduler
    from kubewasp.serve.instruments import Labels
    from kubewasp.serve.metrics import Metrics


def connect(scheduler: Scheduler, metrics: Metrics) -> None:
    """To be called once, when the scheduler has been started with its profiles."""
    scheduler.queue.observer = metrics
    for framework in scheduler.frameworks.values():
        framework.observer = metrics
    plugins = _guests(scheduler)
    for plugin in plugins:
        plugin.guest.observer = metrics
    metrics.pending_pods.read = lambda: {(queue,): count for queue, count in scheduler.queue.pending().items()}
    metrics.unschedulable_pods.read = scheduler.queue.blamed
    metrics.inflight_events.read = lambda: {(name,): n for name, n in scheduler.queue.events_in_flight().items()}
    metrics.goroutines.read = lambda: {("binding",): len(scheduler.binding)}
    metrics.cache_size.read = lambda: _cache_size(scheduler)
    metrics.evaluations.read = lambda: _evaluations(scheduler)
    metrics.guest_memory.read = _summed(plugins, lambda plugin: {(): plugin.guest.pool.memory_bytes})
    metrics.guests_created.read = _summed(plugins, lambda plugin: {(): plugin.guest.stats.created})
    metrics.guests_broken.read = _summed(plugins, lambda plugin: {(): plugin.guest.stats.broken})
    metrics.guests_recycled.read = _summed(plugins, lambda plugin: {(): plugin.guest.stats.recycled})
    metrics.guest_cache_hits.read = _summed(plugins, _cache_hits)


def show_leadership(metrics: Metrics, lease: str, is_leader: Callable[[], bool]) -> None:
    """Tells whether this process has the lease of that name."""
    metrics.is_leader.read = lambda: {(lease,): float(is_leader())}


def _guests(scheduler: Scheduler) -> list[WasmPlugin]:
    """The wasm plugins; one whose guest is in several profiles stands for it once, as its answers are its own."""
    found = (plugin for framework in scheduler.frameworks.values() for plugin in framework.plugins.values())
    return [plugin for plugin in found if isinstance(plugin, WasmPlugin)]


def _summed(
    plugins: list[WasmPlugin], read: Callable[[WasmPlugin], Mapping[Labels, float]]
) -> Callable[[], Mapping[Labels, float]]:
    """By the plugin's name: several profiles may have a plugin of that name."""

    def total() -> Mapping[Labels, float]:
        found: Counter[Labels] = Counter()
        for plugin in plugins:
            for labels, value in read(plugin).items():
                found[plugin.name, *labels] += value  # type: ignore[assignment] # counts may be floats
        return found

    return total


def _cache_hits(plugin: WasmPlugin) -> Mapping[Labels, float]:
    return {("compiled",): float(plugin.guest.program.from_cache), ("answers",): plugin.shared_answers}


def _cache_size(scheduler: Scheduler) -> Mapping[Labels, float]:
    pods = sum(map(len, list(scheduler.table.pods_on)))
    assumed = len(scheduler.waiting) + len(scheduler.binding)
    return {("nodes",): len(scheduler.table), ("pods",): pods, ("assumed_pods",): assumed}


def _evaluations(scheduler: Scheduler) -> Mapping[Labels, float]:
    return {
        (plugin, point, profile): count
        for profile, framework in list(scheduler.frameworks.items())
        for (point, plugin), count in framework.times.evaluated()
    }
