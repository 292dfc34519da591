"""Metrics read at each scrape: state of scheduler, plugins, guests, reflectors and leadership."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kubewasp.scheduler.queue import pending_pods, rejected_pods
from kubewasp.wasm.plugin import WasmPlugin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kubewasp.apiserver.reflector import Reflector
    from kubewasp.framework.runtime import Framework
    from kubewasp.scheduler.scheduler import Scheduler
    from kubewasp.server.instruments import Labels
    from kubewasp.server.metrics import Metrics


def add_scheduler(metrics: Metrics, scheduler: Scheduler) -> None:
    """Queue, events in flight, binds in progress and size of the state."""
    queue = scheduler.queue
    metrics.gauge("scheduler_pending_pods", lambda: {(part,): count for part, count in pending_pods(queue).items()})
    metrics.gauge("scheduler_unschedulable_pods", lambda: dict(rejected_pods(queue).items()))
    metrics.gauge("scheduler_inflight_events", lambda: {(name,): n for name, n in queue.events_in_flight().items()})
    metrics.gauge("scheduler_goroutines", lambda: {("binding",): len(scheduler.binding)})
    metrics.gauge("scheduler_cache_size", lambda: _cache_size(scheduler))


def add_plugins(metrics: Metrics, frameworks: Mapping[str, Framework]) -> None:
    """Evaluations of all plugins; instances, memory and cache hits of guests."""
    plugins = _wasm_plugins(frameworks)
    guests = list({id(plugin.guest): plugin.guest for plugin in plugins}.values())  # shared between profiles
    metrics.read_counter("scheduler_plugin_evaluation_total", lambda: _evaluations(frameworks))
    metrics.gauge(
        "kubewasp_guest_memory_bytes", lambda: _sums(((guest.name,), guest.pool.memory_bytes) for guest in guests)
    )
    metrics.read_counter(
        "kubewasp_guest_instances_created_total",
        lambda: _sums(((guest.name,), guest.stats.created) for guest in guests),
    )
    metrics.read_counter(
        "kubewasp_guest_instances_broken_total", lambda: _sums(((guest.name,), guest.stats.broken) for guest in guests)
    )
    metrics.read_counter(
        "kubewasp_guest_instances_recycled_total",
        lambda: _sums(((guest.name,), guest.stats.recycled) for guest in guests),
    )
    metrics.read_counter(
        "kubewasp_guest_cache_hits_total",
        lambda: _sums(
            [((guest.name, "compiled"), guest.module.from_cache) for guest in guests]
            + [((plugin.name, "answers"), plugin.shared_answers) for plugin in plugins]
        ),
    )


def add_leadership(metrics: Metrics, lease: str, leads: Callable[[], bool]) -> None:
    """Leadership of this process, by lease name."""
    metrics.gauge("leader_election_master_status", lambda: {(lease,): float(leads())})


def add_reflectors(metrics: Metrics, reflectors: Sequence[Reflector]) -> None:
    """Lists, watches, restarts and events by resource."""

    def add(name: str, count: Callable[[Reflector], int]) -> None:
        metrics.read_counter(name, lambda: {(item.resource.name,): count(item) for item in reflectors})

    add("kubewasp_reflector_lists_total", lambda item: item.counters.lists)
    add("kubewasp_reflector_watches_total", lambda item: item.counters.watches)
    add("kubewasp_reflector_restarts_total", lambda item: item.counters.restarts)
    add("kubewasp_reflector_events_total", lambda item: item.counters.events)


def _wasm_plugins(frameworks: Mapping[str, Framework]) -> list[WasmPlugin]:
    found = (plugin for framework in frameworks.values() for plugin in framework.plugins.values())
    return [plugin for plugin in found if isinstance(plugin, WasmPlugin)]


def _sums(pairs: Iterable[tuple[Labels, float]]) -> Mapping[Labels, float]:
    """Sums by labels: plugins of several profiles may have the same name."""
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
