"""Simulation of a trace: the cluster of manifests and of the trace, its pods after all changes, and the report."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kubewasp.lab.experiments.occupancy import capacity
from kubewasp.lab.traces import workload
from kubewasp.lab.traces.playback import TraceRun
from kubewasp.lab.traces.trace import Trace, in_order
from kubewasp.lab.traces.trace_errors import TraceError
from kubewasp.simulation.simulator import Simulation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.input_file import InputFile
    from kubewasp.lab.traces.playback import TraceCounts
    from kubewasp.lab.traces.samples import Sample
    from kubewasp.lab.traces.trace import BadRows, TracePod
    from kubewasp.lab.traces.trace_map import TraceMap
    from kubewasp.scheduler.attempt import AttemptListener
    from kubewasp.simulation.simulator import SimulationInput, SimulationReport


@dataclass(frozen=True, slots=True)
class Inflation:
    """Copies of pods until all pods together request a share of what the nodes have of a resource."""

    ratio: float
    resource: str


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """A trace and its changes.

    Args:
        pods: File with a row per pod.
        mapping: Meaning of the columns.
        nodes: File with a row per node.
        skip: Skip bad rows, and count them.
        sort: Sort the pods by arrival, which reads all of them first.
        shuffle: Random order, with the times of arrival as they are.
        shuffle_nodes: Nodes of the trace in random order, with names of that order.
        inflation: Copies of pods.
        since: Leave out pods that arrive before; the run begins there.
        before: Leave out pods that arrive then or later.
        until: End of the run in seconds.
        patience: Seconds after which a pod without a node leaves; 0: after its first attempt.
        stays: Pods never end, whatever the trace says.
    """

    pods: InputFile
    mapping: TraceMap
    nodes: InputFile | None = None
    skip: bool = False
    sort: bool = False
    shuffle: bool = False
    shuffle_nodes: bool = False
    inflation: Inflation | None = None
    since: float = 0.0
    before: float = math.inf
    until: float = math.inf
    patience: float = math.inf
    stays: bool = False

    @property
    def reads_all(self) -> bool:
        """Whether all pods are read before the first arrives."""
        return self.sort or self.shuffle or self.inflation is not None


@dataclass(frozen=True, slots=True)
class TraceReport:
    """A trace that has run."""

    simulation: SimulationReport
    counts: TraceCounts
    samples: Sequence[Sample]
    bad: BadRows
    capacity: Mapping[str, int]

    def mean_share(self, resource: str) -> float | None:
        """Mean over time of the requested share of a resource; None without the resource or without time."""
        total = self.capacity.get(resource)
        weighted = [(later.at - sample.at, sample.requested[resource]) for sample, later in pairwise(self.samples)]
        seconds = sum(span for span, _ in weighted)
        return sum(span * amount for span, amount in weighted) / seconds / total if total and seconds else None

    def last_share(self, resource: str) -> float | None:
        """Requested share of a resource at the end."""
        total = self.capacity.get(resource)
        return self.samples[-1].requested[resource] / total if total else None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, in the format of `kubewasp trace run -o json`."""
        counts = self.counts
        return {
            "trace": {
                "arrived": counts.arrived,
                "placed": counts.placed,
                "ended": counts.ended,
                "givenUp": counts.given_up,
                "meanWaitSeconds": counts.mean_wait,
                "longestWaitSeconds": counts.longest_wait,
                "badRows": {"count": self.bad.count, "first": list(self.bad.first)},
                "capacity": dict(self.capacity),
                "meanShare": {name: self.mean_share(name) for name in self.capacity},
                "samples": [sample.as_dict() for sample in self.samples],
            },
            **self.simulation.as_dict(),
        }


class TraceSimulation:
    """A trace with its cluster loaded, ready to run.

    Args:
        options: The trace.
        given: Objects besides those of the trace, seed and start time.
        settings: The configuration.
        added: Names of its wasm plugins that were given as options.
        watched: Pods (`namespace/name`) whose last attempts are in the `explanations` of the report.
        listeners: Listeners for attempts.
    """

    def __init__(
        self,
        options: TraceOptions,
        given: SimulationInput,
        settings: SchedulerConfig,
        added: Collection[str] = (),
        *,
        watched: Collection[str] = (),
        listeners: Sequence[AttemptListener] = (),
    ) -> None:
        self._options = options
        self._trace = Trace(options.pods, options.mapping, options.nodes, skip=options.skip)
        self._simulation = Simulation(given, settings, added, watched=watched, listeners=listeners)
        self.cluster = cluster = self._simulation.cluster
        chance = random.Random(given.seed)  # noqa: S311 - no secret
        nodes = self._trace.nodes()
        for node in workload.shuffled_nodes(list(nodes), chance) if options.shuffle_nodes else nodes:
            cluster.objects.apply(node)
        self.warnings = self._simulation.warnings
        self._capacity = capacity(cluster)
        if not len(cluster.scheduler.table):
            raise TraceError(f"{options.pods}: no nodes to run on; give them as manifests, or with --nodes")
        pods = self._changed(chance)
        skipped = self._trace.bad if options.skip else None
        self._run = TraceRun(cluster, pods, options.patience, tuple(self._capacity), skipped)

    def run(self) -> TraceReport:
        """Runs to the end."""
        report = self._simulation.run(lambda: self._run.run(self._options.until))
        return TraceReport(report, self._run.counts, self._run.samples.kept, self._trace.bad, self._capacity)

    def _changed(self, chance: random.Random) -> Iterator[TracePod]:
        options = self._options
        pods: Iterator[TracePod] = self._trace.pods()
        if options.since or options.before < math.inf:
            pods = workload.between(pods, options.since, options.before)
        if options.stays:
            pods = map(workload.staying, pods)
        if not options.reads_all:
            return in_order(pods, str(options.pods))
        found = list(pods)
        if options.sort:
            found.sort(key=lambda pod: pod.arrival)
        else:
            found = list(in_order(iter(found), str(options.pods)))
        if options.shuffle:
            found = workload.shuffled(found, chance)
        if options.inflation is not None:
            resource = options.inflation.resource
            amount = math.floor(options.inflation.ratio * self._capacity.get(resource, 0))
            if not amount:
                raise TraceError(f"no node has {resource}: the trace cannot be inflated to a share of it")
            found = workload.inflated(found, chance, resource=resource, amount=amount)
        return iter(found)
