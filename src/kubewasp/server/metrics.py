"""The metrics of a scheduler: hears of everything as its observer, tells Prometheus. HOT PATH (guard: make counts)."""

from __future__ import annotations

import platform
import random
from importlib.metadata import version
from typing import TYPE_CHECKING, Final, TypeVar

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder

from kubewasp import __version__
from kubewasp.server.instruments import Counter, Gauge, Histogram, ReadCounter
from kubewasp.server.metric_list import METRICS

if TYPE_CHECKING:
    from collections import defaultdict
    from collections.abc import Callable

    from kubewasp.server.instruments import Distribution, Labels

# The share of cycles in which plugins are timed one by one: that of kube-scheduler.
SAMPLED: Final = 0.1
_MANY_ATTEMPTS = 15
_INFO = {metric.name: metric for metric in METRICS}
Instrument = TypeVar("Instrument", Counter, ReadCounter, Histogram, Gauge)


class Metrics:
    """Implements `SchedulerObserver`. Has a registry of its own, so that two schedulers in a process do not mix."""

    def __init__(self, *, chance: Callable[[], float] = random.random) -> None:
        self.registry = CollectorRegistry()
        self._chance = chance
        self._attempts = self._counter("scheduler_schedule_attempts_total")
        self._attempt_seconds = self._histogram("scheduler_scheduling_attempt_duration_seconds")
        self._algorithm_seconds = self._histogram("scheduler_scheduling_algorithm_duration_seconds")[()]
        self._sli_seconds = self._histogram("scheduler_pod_scheduling_sli_duration_seconds")
        self._pod_attempts = self._histogram("scheduler_pod_scheduling_attempts")[()]
        self._after_flush = self._counter("scheduler_pod_scheduled_after_flush_total")
        self._point_seconds = self._histogram("scheduler_framework_extension_point_duration_seconds")
        self._plugin_seconds = self._histogram("scheduler_plugin_execution_duration_seconds")
        self._incoming = self._counter("scheduler_queue_incoming_pods_total")
        self._hint_seconds = self._histogram("scheduler_queueing_hint_execution_duration_seconds")
        self._preemptions = self._counter("scheduler_preemption_attempts_total")
        self._victims = self._histogram("scheduler_preemption_victims")[()]
        self._permit_seconds = self._histogram("scheduler_permit_wait_duration_seconds")
        self._event_seconds = self._histogram("scheduler_event_handling_duration_seconds")
        # Told by the thread that makes requests, through RequestMetrics.
        self.requests = self._counter("rest_client_requests_total")
        self.request_seconds = self._histogram("rest_client_request_duration_seconds")
        self.limiter_seconds = self._histogram("rest_client_rate_limiter_duration_seconds")
        self.request_bytes = self._histogram("rest_client_request_size_bytes")
        self.response_bytes = self._histogram("rest_client_response_size_bytes")
        self.request_retries = self._counter("rest_client_request_retries_total")
        self._guest_calls = self._counter("kubewasp_guest_calls_total")
        self._guest_seconds = self._histogram("kubewasp_guest_call_duration_seconds")
        self._guest_failures = self._counter("kubewasp_guest_failures_total")
        # Told by the event loop that answers requests.
        self.extender_requests = self._counter("kubewasp_extender_requests_total")
        self.extender_seconds = self._histogram("kubewasp_extender_request_duration_seconds")
        # Read when Prometheus asks; sources.py says from where.
        self.pending_pods = self._gauge("scheduler_pending_pods")
        self.unschedulable_pods = self._gauge("scheduler_unschedulable_pods")
        self.inflight_events = self._gauge("scheduler_inflight_events")
        self.goroutines = self._gauge("scheduler_goroutines")
        self.cache_size = self._gauge("scheduler_cache_size")
        self.is_leader = self._gauge("leader_election_master_status")
        self.guest_memory = self._gauge("kubewasp_guest_memory_bytes")
        self.evaluations = self._read_counter("scheduler_plugin_evaluation_total")
        self.guests_created = self._read_counter("kubewasp_guest_instances_created_total")
        self.guests_broken = self._read_counter("kubewasp_guest_instances_broken_total")
        self.guests_recycled = self._read_counter("kubewasp_guest_instances_recycled_total")
        self.guest_cache_hits = self._read_counter("kubewasp_guest_cache_hits_total")
        self.reflector_lists = self._read_counter("kubewasp_reflector_lists_total")
        self.reflector_watches = self._read_counter("kubewasp_reflector_watches_total")
        self.reflector_restarts = self._read_counter("kubewasp_reflector_restarts_total")
        self.reflector_events = self._read_counter("kubewasp_reflector_events_total")
        self.extender_sent_nodes = self._read_counter("kubewasp_extender_sent_nodes_total")
        built: dict[Labels, float] = {(__version__, platform.python_version(), version("wasmtime")): 1.0}
        self._gauge("kubewasp_build_info").read = lambda: built
        ProcessCollector(registry=self.registry)

    def exposed(self, accept: str = "") -> tuple[bytes, str]:
        """All metrics in the format that the reader asks for, text or OpenMetrics, and the name of that format."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type

    # ------------------------------------------------------------------ SchedulerObserver

    def samples(self) -> bool:
        return self._chance() < SAMPLED

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        labels = (result, profile)
        self._attempts[labels] += 1
        self._attempt_seconds[labels].add(seconds)

    def algorithm(self, seconds: float) -> None:
        self._algorithm_seconds.add(seconds)

    def scheduled(self, attempts: int, seconds: float, *, after_flush: bool) -> None:
        self._pod_attempts.add(attempts)
        self._sli_seconds[(str(attempts) if attempts < _MANY_ATTEMPTS else f"{_MANY_ATTEMPTS}+",)].add(seconds)
        if after_flush:
            self._after_flush[()] += 1

    def extension_point(self, point: str, profile: str, status: str, seconds: float) -> None:
        self._point_seconds[point, status, profile].add(seconds)

    def plugin(self, plugin: str, point: str, status: str, seconds: float) -> None:
        self._plugin_seconds[plugin, point, status].add(seconds)

    def queue_incoming(self, queue: str, event: str) -> None:
        self._incoming[queue, event] += 1

    def hint(self, plugin: str, event: str, result: str, seconds: float) -> None:
        self._hint_seconds[plugin, event, result].add(seconds)

    def preemption(self, victims: int) -> None:
        self._preemptions[()] += 1
        if victims:
            self._victims.add(victims)

    def permit_wait(self, result: str, seconds: float) -> None:
        self._permit_seconds[(result,)].add(seconds)

    def event_handled(self, event: str, seconds: float) -> None:
        self._event_seconds[(event,)].add(seconds)

    def guest_call(self, plugin: str, hook: str, seconds: float, failure: str) -> None:
        self._guest_calls[plugin, hook, "failure" if failure else "success"] += 1
        self._guest_seconds[plugin, hook].add(seconds)
        if failure:
            self.guest_failed(plugin, hook, failure)

    def guest_failed(self, plugin: str, hook: str, kind: str) -> None:
        self._guest_failures[plugin, hook, kind] += 1

    # ------------------------------------------------------------------ inside

    # The numbers themselves: what is fed often should not be looked for each time.

    def _counter(self, name: str) -> defaultdict[Labels, float]:
        return self._registered(Counter(_INFO[name])).values

    def _read_counter(self, name: str) -> ReadCounter:
        return self._registered(ReadCounter(_INFO[name]))

    def _histogram(self, name: str) -> defaultdict[Labels, Distribution]:
        return self._registered(Histogram(_INFO[name])).values

    def _gauge(self, name: str) -> Gauge:
        return self._registered(Gauge(_INFO[name]))

    def _registered(self, collector: Instrument) -> Instrument:
        self.registry.register(collector)
        return collector
