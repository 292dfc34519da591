"""Metrics read at each scrape: state of scheduler, plugins, guests, reflectors and leadership."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Final

from kubewasp.scheduler.queue import pending_pods, rejected_pods
from kubewasp.wasm.plugin import WasmPlugin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kubewasp.apiserver.reflector import Reflector
    from kubewasp.framework.plugin import Plugin
    from kubewasp.framework.runtime import Framework
    from kubewasp.live.recording.writer import RecordingWriter
    from kubewasp.scheduler.scheduler import Scheduler
    from kubewasp.server.instruments import Labels
    from kubewasp.server.metrics import Metrics
    from kubewasp.wasm.guest import Guest

    Count = Callable[[Sequence[WasmPlugin]], Iterable[tuple[Labels, float]]]


def add_scheduler(metrics: Metrics, scheduler: Scheduler) -> None:
    """Queue, events in flight, binds in progress and size of the state."""
    queue = scheduler.queue
    metrics.gauge("scheduler_pending_pods", lambda: {(part,): count for part, count in pending_pods(queue).items()})
    metrics.gauge("scheduler_unschedulable_pods", lambda: dict(rejected_pods(queue).items()))
    metrics.gauge("scheduler_inflight_events", lambda: {(name,): n for name, n in queue.events_in_flight().items()})
    metrics.gauge("scheduler_goroutines", lambda: {("binding",): len(scheduler.binding)})
    metrics.gauge("scheduler_cache_size", lambda: _cache_size(scheduler))


def add_recording(metrics: Metrics, writer: RecordingWriter) -> None:
    """Size and state of the recording of this process."""
    metrics.read_counter("kubewasp_recording_bytes_total", lambda: {(): writer.bytes_written})
    metrics.read_counter("kubewasp_recording_entries_total", lambda: {(): writer.entries})
    metrics.gauge("kubewasp_recording_active", lambda: {(): float(writer.is_on)})


class PluginGauges:
    """Evaluations of all plugins; instances, memory and cache hits of guests, also of those that are closed by now."""

    def __init__(self, metrics: Metrics, plugins: Callable[[], Iterable[Plugin]]) -> None:
        """`plugins` are those in use, read at each scrape."""
        self._plugins = plugins
        self._ended: defaultdict[tuple[str, Labels], float] = defaultdict(float)
        metrics.gauge("kubewasp_guest_memory_bytes", self._memory)
        for name, count in _COUNTS.items():
            metrics.read_counter(name, partial(self._totals, name, count))
        metrics.read_counter("kubewasp_guest_cache_hits_total", partial(self._totals, _CACHE_HITS, _cache_hits))

    def ended(self, plugins: Iterable[Plugin]) -> None:
        """Keeps the counts of plugins that are out of use: counters do not fall."""
        gone = [plugin for plugin in plugins if isinstance(plugin, WasmPlugin)]
        in_use = {id(plugin.guest) for plugin in self._wasm()}
        for name, count in {**_COUNTS, _CACHE_HITS: _cache_hits}.items():
            for labels, value in count([plugin for plugin in gone if id(plugin.guest) not in in_use]):
                self._ended[name, labels] += value

    def _wasm(self) -> list[WasmPlugin]:
        return [plugin for plugin in self._plugins() if isinstance(plugin, WasmPlugin)]

    def _memory(self) -> Mapping[Labels, float]:
        return _sums(((guest.name,), guest.pool.memory_bytes) for guest in _guests(self._wasm()))

    def _totals(self, name: str, count: Count) -> Mapping[Labels, float]:
        ended = [(labels, value) for (known, labels), value in list(self._ended.items()) if known == name]
        return _sums([*ended, *count(self._wasm())])


def add_evaluations(metrics: Metrics, frameworks: Callable[[], Mapping[str, Framework]]) -> None:
    """Evaluations by the plugins of the profiles in use."""
    metrics.read_counter("scheduler_plugin_evaluation_total", lambda: _evaluations(frameworks()))


def add_plugins(metrics: Metrics, scheduler: Scheduler) -> None:
    """Evaluations of all plugins, and state of all guests, of a scheduler whose profiles may be replaced."""
    profiles, retirement = scheduler.profiles, scheduler.retirement

    def plugins() -> Iterable[Plugin]:
        made = [plugin for profiles_in_use in profiles.sets() for plugin in profiles_in_use.plugins()]
        return {id(plugin): plugin for plugin in (*made, *retirement.in_use())}.values()

    add_evaluations(metrics, lambda: profiles.frameworks)
    retirement.subscribe(PluginGauges(metrics, plugins).ended)


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


def _guests(plugins: Iterable[WasmPlugin]) -> list[Guest]:
    """Guests of plugins, once each: they may be shared between profiles."""
    return list({id(plugin.guest): plugin.guest for plugin in plugins}.values())


def _cache_hits(plugins: Sequence[WasmPlugin]) -> list[tuple[Labels, float]]:
    compiled = [((guest.name, "compiled"), float(guest.module.from_cache)) for guest in _guests(plugins)]
    return [*compiled, *(((plugin.name, "answers"), float(plugin.shared_answers)) for plugin in plugins)]


def _stats(name: str) -> Count:
    return lambda plugins: [((guest.name,), float(getattr(guest.stats, name))) for guest in _guests(plugins)]


_CACHE_HITS: Final = "kubewasp_guest_cache_hits_total"
_COUNTS: Final[Mapping[str, Count]] = {
    f"kubewasp_guest_instances_{name}_total": _stats(name) for name in ("created", "broken", "recycled")
}


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
