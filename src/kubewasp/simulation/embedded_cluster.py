"""Embedded cluster: objects in memory, a scheduler, and simulated time."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from kubewasp.scheduler.attempt import NoRecorder
from kubewasp.scheduler.composition import Environment
from kubewasp.simulation.cluster_objects import ClusterObjects
from kubewasp.state.node_table import NodeTable
from kubewasp.state.object_store import ObjectStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.framework.cluster_events import RecordedEvent
    from kubewasp.framework.handle import Client
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.attempt import AttemptListener, DecisionRecorder
    from kubewasp.scheduler.composition import Setup
    from kubewasp.scheduler.scheduler import Scheduler

# Some pods fail in every attempt, by an error or an expired permission. A real scheduler retries forever; a
# simulation stops after this many attempts without a placement.
_MAX_ERRORS: Final = 3
_MAX_TRIES: Final = 10
# Flushes of pods that wait for an event, before time advances to the next action on the agenda.
_MAX_FLUSHES: Final = 3
_MAX_EVENTS: Final = 10_000


class SimulatedClock:
    """Clock advanced by `advance_to` only. `epoch` is the wall-clock time at its start."""

    def __init__(self, epoch: float = 0.0) -> None:
        self._epoch = epoch
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def wall(self) -> float:
        return self._epoch + self._now

    def advance_to(self, when: float) -> None:
        self._now = max(self._now, when)


class EmbeddedCluster:
    """A cluster in memory with its scheduler. By default, the scheduler's `client` is the cluster itself."""

    def __init__(
        self,
        setup: Setup,
        *,
        clock: SimulatedClock | None = None,
        seed: int = 0,
        client: Client | None = None,
        table: NodeTable | None = None,
        recorder: DecisionRecorder | None = None,
        listeners: Sequence[AttemptListener] = (),
    ) -> None:
        self.clock = SimulatedClock() if clock is None else clock
        self.objects = ClusterObjects(self.clock, ObjectStore())
        self.recorded: list[RecordedEvent] = []
        self.scheduler: Scheduler = setup.scheduler(
            Environment(
                clock=self.clock,
                client=self.objects if client is None else client,
                table=NodeTable() if table is None else table,
                store=self.objects.store,
                recorder=NoRecorder() if recorder is None else recorder,
                listeners=listeners,
                record_event=self._record_event,
                seed=seed,
            )
        )
        self.objects.subscribe(self.scheduler.events)
        self.objects.subscribe_placements(self)
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._tries: Counter[str] = Counter()
        self._is_stuck = False
        self._flushes = 0

    @property
    def pods(self) -> Mapping[str, Pod]:
        """All pods by `namespace/name`."""
        return self.objects.pods

    def apply(self, manifest: Mapping[str, Any]) -> None:
        """Creates or updates an object; the manifest must be valid."""
        self.objects.apply(manifest)
        self.scheduler.settle()

    def delete(self, kind: str, namespace: str, name: str) -> bool:
        """Deletes an object; returns whether it existed."""
        existed = self.objects.delete(kind, namespace, name)
        self.scheduler.settle()
        return existed

    def why_pending(self, pod: Pod) -> str:
        """The reason why a pod has no node."""
        waiting = self.scheduler.waiting.get(pod.uid)
        if waiting is not None:
            return f"waiting on Permit for node {waiting.assumed.node}"
        queued = self.scheduler.queue.get(pod.uid)
        if queued is None:
            return f"no profile has the schedulerName {pod.spec.scheduler_name}"
        return queued.gate_reason or queued.message

    # ------------------------------------------------------------------ time

    def at(self, when: float, action: Callable[[], None]) -> None:
        """Puts an action on the agenda; actions of the same time run in the order of the calls."""
        heapq.heappush(self._agenda, (when, next(self._order), action))

    def settle(self, until: float = math.inf) -> None:
        """Schedules until nothing changes; idle time is skipped to the next event, up to `until`."""
        while True:
            self._schedule()
            when = self._next_moment()
            if when is None or when > until:
                break
            self.clock.advance_to(when)
            self.scheduler.tick()
            self.scheduler.flush_stuck()
            if self._agenda and self._agenda[0][0] <= self.clock.now():
                self._reset_tries()
                heapq.heappop(self._agenda)[2]()

    def placed(self, pod: Pod) -> None:  # noqa: ARG002 - interface
        """Implements `PlacementListener`."""
        self._reset_tries()

    def _schedule(self) -> None:
        while not self._is_stuck and (attempt := self.scheduler.schedule_one()) is not None:
            if not attempt.node or attempt.is_waiting:
                self._tries[attempt.pod.uid] += 1
                self._is_stuck = self._tries[attempt.pod.uid] >= _MAX_TRIES
        self.scheduler.settle()

    def _reset_tries(self) -> None:
        """Allows further attempts after a change."""
        self._tries.clear()
        self._is_stuck = False
        self._flushes = 0

    def _next_moment(self) -> float | None:
        """Time of the next event: an expiry, the end of a backoff, an action on the agenda."""
        queue = self.scheduler.queue
        times = [self.scheduler.next_tick(), self._agenda[0][0] if self._agenda else None]
        if not self._is_stuck and queue.has_errors(_MAX_ERRORS):
            times.append(queue.next_backoff())
        flush = queue.next_flush()
        if self._agenda and self._flushes < _MAX_FLUSHES and flush is not None and flush < self._agenda[0][0]:
            times.append(flush)
        when = min((when for when in times if when is not None), default=None)
        if when is not None and when == flush:
            self._flushes += 1
        return when

    def _record_event(self, event: RecordedEvent) -> None:
        if len(self.recorded) < _MAX_EVENTS:
            self.recorded.append(event)
