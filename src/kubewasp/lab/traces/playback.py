"""Run of a trace: pods arrive at their times, run on their nodes, and end; one at a time in memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from kubewasp.lab.traces.samples import Sample, Samples
from kubewasp.lab.traces.trace_errors import RowError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.k8s.pods import Pod
    from kubewasp.lab.traces.trace import BadRows, TracePod
    from kubewasp.simulation.embedded_cluster import EmbeddedCluster
    from kubewasp.simulation.pod_template import PodTemplate

_MOST_TEMPLATES: Final = 10_000


@dataclass(slots=True)
class TraceCounts:
    """Pods of a run: arrived, placed at least once, ended after their time, given up without a node."""

    arrived: int = 0
    placed: int = 0
    ended: int = 0
    given_up: int = 0
    wait_seconds: float = 0.0
    longest_wait: float = 0.0

    @property
    def mean_wait(self) -> float:
        """Mean time from arrival to placement in seconds."""
        return self.wait_seconds / self.placed if self.placed else 0.0


@dataclass(slots=True)
class _Known:
    """A pod of the trace that is in the cluster."""

    arrival: float
    duration: float | None
    is_placed: bool = False


@dataclass(slots=True)
class TraceRun:
    """A run. Implements `PlacementListener`.

    Args:
        cluster: The cluster, with its nodes.
        pods: Pods in order of arrival.
        bad: Rows that are skipped, among them pods whose name is taken; without it, these are errors.
        patience: Time after which a pod without a node is given up; 0: after its first attempt.
        resources: Resources to sample.
    """

    cluster: EmbeddedCluster
    pods: Iterator[TracePod]
    patience: float = math.inf
    resources: tuple[str, ...] = ()
    bad: BadRows | None = None
    counts: TraceCounts = field(default_factory=TraceCounts)
    samples: Samples = field(default_factory=Samples)
    _known: dict[str, _Known] = field(default_factory=dict)
    _templates: dict[tuple[str, int, int], tuple[PodTemplate, TracePod]] = field(default_factory=dict)
    _amounts: dict[str, int] = field(default_factory=dict)
    _origin: float = 0.0

    def run(self, until: float = math.inf) -> None:
        """Runs until all pods have arrived and nothing changes, or up to a time."""
        self._origin = self.cluster.clock.now()
        self._amounts = dict.fromkeys(self.resources, 0)
        self.cluster.objects.subscribe_placements(self)
        self._plan_next()
        self.cluster.settle(self._origin + until)
        self._sample()

    def placed(self, pod: Pod) -> None:
        known = self._known.get(pod.uid)
        if known is None:
            return
        now = self.cluster.clock.now()
        if not known.is_placed:
            known.is_placed = True
            waited = now - known.arrival
            self.counts.placed += 1
            self.counts.wait_seconds += waited
            self.counts.longest_wait = max(self.counts.longest_wait, waited)
        if known.duration is not None:
            self.cluster.at(now + known.duration, partial(self._end, pod.key, pod.uid))

    def _plan_next(self) -> None:
        """Only the next arrival is on the agenda: pods that have not arrived take no memory."""
        pod = next(self.pods, None)
        if pod is not None:
            self.cluster.at(self._origin + pod.arrival, partial(self._arrive, pod))

    def _arrive(self, pod: TracePod) -> None:
        key = pod.key
        if key in self.cluster.pods:
            self._refuse(pod)
            return
        now = self.cluster.clock.now()
        self.counts.arrived += 1
        uid = f"trace-{self.counts.arrived}"  # a later pod may have the same name
        self._known[uid] = _Known(now, pod.duration)
        created = self.cluster.objects.create_pod(self._template(pod), pod.name, uid, pod.annotations)
        requests = created.resources.requests
        for resource in self.resources:
            self._amounts[resource] += requests.get(resource)
        if self.patience < math.inf:
            self.cluster.at(now + self.patience, partial(self._give_up, key, uid))
        self._plan_next()
        if self.samples.offered():
            self.cluster.at(now, self._sample)

    def _template(self, pod: TracePod) -> PodTemplate:
        key = (pod.namespace, id(pod.labels), id(pod.spec))
        known = self._templates.get(key)
        if known is None:
            if len(self._templates) >= _MOST_TEMPLATES:
                self._templates.clear()
            made = self.cluster.objects.pod_template(pod.namespace, pod.labels, pod.spec)
            known = self._templates[key] = (made, pod)  # the pod keeps its labels and spec alive, so their ids stay
        return known[0]

    def _refuse(self, pod: TracePod) -> None:
        error = RowError(pod.place, pod.column, f"pod {pod.key} arrives while another one of that name is there")
        if self.bad is None:
            raise error
        self.bad.add(error)
        self._plan_next()

    def _end(self, key: str, uid: str) -> None:
        pod = self.cluster.pods.get(key)
        if pod is not None and pod.uid == uid:
            self.cluster.objects.finish_pod(pod)
            self.counts.ended += 1
            del self._known[uid]

    def _give_up(self, key: str, uid: str) -> None:
        pod = self.cluster.pods.get(key)
        if pod is not None and pod.uid == uid and not pod.node:
            self.cluster.objects.finish_pod(pod)
            self.counts.given_up += 1
            del self._known[uid]

    def _sample(self) -> None:
        table, scheduler = self.cluster.scheduler.table, self.cluster.scheduler
        rows = table.order()
        requested = {
            name: int(column[rows].sum()) if (column := table.requested.get(name)) is not None else 0
            for name in self.resources
        }
        running = int(table.pod_count[rows].sum())
        now = self.cluster.clock.now() - self._origin
        self.samples.add(
            Sample(now, self.counts.arrived, running, len(scheduler.queue), dict(self._amounts), requested)
        )
