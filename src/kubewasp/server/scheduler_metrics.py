"""Metrics of a scheduler, updated through its observer interface.  HOT PATH (guard: make counts)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.server.instruments import Distribution, Labels
    from kubewasp.server.metrics import Metrics

# Share of cycles with timing of single plugins, as in kube-scheduler.
SAMPLED: Final = 0.1
_MANY_ATTEMPTS: Final = 15


class SchedulerMetrics:
    """Metrics of one scheduler. Implements `SchedulerObserver`."""

    def __init__(self, metrics: Metrics, *, chance: Callable[[], float] = random.random) -> None:
        self._chance = chance
        self._attempts = metrics.counter("scheduler_schedule_attempts_total")
        self._attempt_seconds = metrics.histogram("scheduler_scheduling_attempt_duration_seconds")
        self._algorithm_seconds = metrics.histogram("scheduler_scheduling_algorithm_duration_seconds")[()]
        self._sli_seconds = metrics.histogram("scheduler_pod_scheduling_sli_duration_seconds")
        self._pod_attempts = metrics.histogram("scheduler_pod_scheduling_attempts")[()]
        self._after_flush = metrics.counter("scheduler_pod_scheduled_after_flush_total")
        self._point_seconds = metrics.histogram("scheduler_framework_extension_point_duration_seconds")
        self._plugin_seconds = metrics.histogram("scheduler_plugin_execution_duration_seconds")
        self._incoming = metrics.counter("scheduler_queue_incoming_pods_total")
        self._hint_seconds = metrics.histogram("scheduler_queueing_hint_execution_duration_seconds")
        self._preemptions = metrics.counter("scheduler_preemption_attempts_total")
        self._victims = metrics.histogram("scheduler_preemption_victims")[()]
        self._permit_seconds = metrics.histogram("scheduler_permit_wait_duration_seconds")
        self._event_seconds = metrics.histogram("scheduler_event_handling_duration_seconds")
        self._unexpected = metrics.counter("kubewasp_unexpected_errors_total")
        self._guest_calls = metrics.counter("kubewasp_guest_calls_total")
        self._guest_seconds = metrics.histogram("kubewasp_guest_call_duration_seconds")
        self._guest_failures = metrics.counter("kubewasp_guest_failures_total")

    def plugin_times(self) -> dict[Labels, Distribution]:
        """Seconds by plugin and extension point, of guests by hook; of built-in plugins in the sampled cycles only.
        Any thread.
        """
        found = {(plugin, point): times for (plugin, point, _), times in self._plugin_seconds.copy().items()}
        return found | self._guest_seconds.copy()

    def guest_failures(self) -> dict[Labels, float]:
        """Failures by plugin, hook and kind. Any thread."""
        return self._guest_failures.copy()

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

    def unexpected_error(self, where: str) -> None:
        self._unexpected[(where,)] += 1

    def guest_call(self, plugin: str, hook: str, seconds: float, failure: str) -> None:
        self._guest_calls[plugin, hook, "failure" if failure else "success"] += 1
        self._guest_seconds[plugin, hook].add(seconds)
        if failure:
            self.guest_failed(plugin, hook, failure)

    def guest_failed(self, plugin: str, hook: str, kind: str) -> None:
        self._guest_failures[plugin, hook, kind] += 1
