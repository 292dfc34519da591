"""Simulation from manifests to a result: the work of `kubewasp simulate`."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kubewasp.explain.explanation import Explainer, Explanation
from kubewasp.explain.plugin_logs import PluginLogs
from kubewasp.k8s.errors import ManifestError
from kubewasp.scheduler.composition import set_up
from kubewasp.scheduler.configuration import configure
from kubewasp.simulation import loading, scenario
from kubewasp.simulation.embedded_cluster import EmbeddedCluster, SimulatedClock
from kubewasp.simulation.error_log import ErrorLog
from kubewasp.simulation.result import SimulationResult, result_of, usage
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.guest_log import LOGGER_SINK
from kubewasp.wasm.repeatable import Repeatable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.framework.handle import Client
    from kubewasp.input_file import InputFile
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.attempt import Attempt, AttemptListener, DecisionRecorder
    from kubewasp.scheduler.configuration import AddedPlugin
    from kubewasp.simulation.loading import ClusterInput
    from kubewasp.wasm.guest_log import GuestLogSink


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """A simulation that has run: its result, the cluster at the end, timing, and the explanation of one pod.

    `explanations` are those of all pods that were watched.
    """

    cluster: EmbeddedCluster
    result: SimulationResult
    seconds: float
    attempts: int
    explanation: Explanation | None
    logs: PluginLogs
    explanations: Mapping[str, Explanation] = field(default_factory=dict)

    def placements(self) -> list[Pod]:
        """Pods placed by the simulation."""
        placed = self.cluster.objects.bindings
        return [pod for pod in self.cluster.pods.values() if pod.node and pod.uid in placed]

    def annotations_of(self, pod: Pod) -> Mapping[str, str]:
        """Annotations that plugins added to a pod with its binding."""
        return self.cluster.objects.binding_annotations.get(pod.uid, {})

    def plugin_seconds(self) -> dict[str, float]:
        """Time spent in each plugin."""
        spent: dict[str, float] = {}
        for framework in self.cluster.scheduler.frameworks.values():
            for name, seconds in framework.seconds.items():
                spent[name] = spent.get(name, 0.0) + seconds
        return spent

    def as_dict(self) -> dict[str, Any]:
        """The result as plain values, in the format of `kubewasp simulate -o json`."""
        result, spent = self.result, self.plugin_seconds()
        found: dict[str, Any] = {
            "placements": [
                {"pod": pod.key, "node": pod.node}
                | ({"annotations": dict(added)} if (added := self.annotations_of(pod)) else {})
                for pod in self.placements()
            ],
            "pending": [{"pod": item.pod, "message": item.message} for item in result.pending],
            "preempted": [{"pod": item.pod, "by": item.by, "node": item.node} for item in result.preempted],
            "errors": [cause.as_dict() for cause in result.errors],
            "nodes": [node.as_dict() for node in result.nodes],
            "timing": {
                "seconds": round(self.seconds, 6),
                "attempts": self.attempts,
                "us_per_attempt": round(self.seconds * 1e6 / max(self.attempts, 1), 1),
                "simulated_seconds": result.simulated_seconds,
                "plugins_ms": {name: round(seconds * 1e3, 3) for name, seconds in spent.items()},
            },
            "warnings": list(result.warnings),
            "logs": self.logs.as_dict(),
        }
        if self.explanation is not None:
            found["explanation"] = self.explanation.as_dict()
        return found


@dataclass(frozen=True, slots=True)
class SimulationInput:
    """Input of simulations that differ in their configuration only: objects, timeline, entropy and start time."""

    objects: ClusterInput
    timeline: scenario.Scenario | None
    seed: int
    real_entropy: bool
    start_time: float


def read_input(
    paths: Sequence[InputFile],
    *,
    timeline: InputFile | None = None,
    seed: int = 0,
    real_entropy: bool = False,
    start_time: float | None = None,
    strict: bool = False,
) -> SimulationInput:
    """Reads the input of simulations.

    Args:
        paths: Manifests, folders of manifests, dumps of a cluster.
        timeline: A scenario.
        seed: Seed of all random choices, also those of guests.
        real_entropy: Whether guests get random numbers and clock of this machine.
        start_time: Wall-clock time at the start, in seconds since 1970; that of the timeline or now without it.
        strict: Unknown fields and kinds are errors.
    """
    steps = scenario.load(timeline) if timeline is not None else None
    if strict and steps is not None:
        steps.mistakes.raise_if_any()
    if start_time is None and steps is not None:
        start_time = steps.start_time
    objects = loading.read(paths)
    if strict:
        objects.mistakes.raise_if_any()
    return SimulationInput(objects, steps, seed, real_entropy, time.time() if start_time is None else start_time)


class Simulation:
    """A simulation with its cluster loaded, ready to run.

    Args:
        given: The input.
        settings: The configuration.
        added: Names of its wasm plugins that were given as options.
        explained: Pod (`namespace/name`) to explain, by its last attempt.
        watched: More such pods, which need not have an attempt.
        logs: Keep all log lines of plugins, not only the last ones.
        listeners: Listeners for attempts.
    """

    def __init__(
        self,
        given: SimulationInput,
        settings: SchedulerConfig,
        added: Collection[str] = (),
        *,
        explained: str = "",
        watched: Collection[str] = (),
        logs: bool = False,
        listeners: Sequence[AttemptListener] = (),
    ) -> None:
        table = NodeTable()
        self._timeline = given.timeline
        self._explained = explained
        self._logs = PluginLogs(is_complete=logs)
        self._explainer, self._counter = Explainer(table, {*watched, *((explained,) if explained else ())}), _Counter()
        self._errors = ErrorLog(table)
        self.cluster, warnings = filled_cluster(
            settings,
            added,
            given.objects,
            seed=given.seed,
            real_entropy=given.real_entropy,
            start_time=given.start_time,
            table=table,
            recorder=self._explainer,
            listeners=[self._counter, self._explainer, self._errors, self._logs, *listeners],
            guest_logs=self._logs,
        )
        self.warnings = [*warnings, *(given.timeline.warnings if given.timeline is not None else ())]

    def run(self, drive: Callable[[], None] | None = None) -> SimulationReport:
        """Runs to the end. `drive` does so in place of the timeline: it changes the cluster, which settles."""
        cluster, explained = self.cluster, self._explained
        before, began = usage(cluster), time.perf_counter()
        if drive is not None:
            drive()
        elif self._timeline is None:
            cluster.settle()
        else:
            scenario.run(cluster, self._timeline)
        seconds = time.perf_counter() - began
        explanation = self._explainer.last.get(explained)
        if explained and explanation is None:
            raise ManifestError("", f"pod {explained} has no scheduling attempt: it does not exist or is not pending")
        result = ended(cluster, self._errors, before=before, warnings=self.warnings)
        attempts, found = self._counter.attempts, self._explainer.last
        return SimulationReport(cluster, result, seconds, attempts, explanation, self._logs, found)


def embedded_cluster(
    paths: Sequence[InputFile],
    config: InputFile | None,
    plugins: Sequence[AddedPlugin],
    plugin_configs: Mapping[str, str],
    *,
    seed: int = 0,
    real_entropy: bool = False,
    start_time: float | None = None,
    strict: bool = False,
    client: Client | None = None,
    guest_logs: GuestLogSink = LOGGER_SINK,
) -> tuple[EmbeddedCluster, list[str]]:
    """A cluster with the objects of the manifests before scheduling, and the warnings."""
    settings, added = configure(config, plugins, plugin_configs)
    given = read_input(paths, seed=seed, real_entropy=real_entropy, start_time=start_time, strict=strict)
    return filled_cluster(
        settings,
        added,
        given.objects,
        seed=given.seed,
        real_entropy=given.real_entropy,
        start_time=given.start_time,
        client=client,
        guest_logs=guest_logs,
    )


def filled_cluster(
    settings: SchedulerConfig,
    added: Collection[str],
    found: ClusterInput,
    *,
    seed: int = 0,
    real_entropy: bool = False,
    start_time: float | None = None,
    client: Client | None = None,
    table: NodeTable | None = None,
    recorder: DecisionRecorder | None = None,
    listeners: Sequence[AttemptListener] = (),
    guest_logs: GuestLogSink = LOGGER_SINK,
) -> tuple[EmbeddedCluster, list[str]]:
    """A cluster with these objects before scheduling, and the warnings. It starts now, or at the start time."""
    clock = SimulatedClock(time.time() if start_time is None else start_time)
    cluster = EmbeddedCluster(
        set_up(
            settings, added=added, guest_logs=guest_logs, repeatable=None if real_entropy else Repeatable(seed, clock)
        ),
        clock=clock,
        seed=seed,
        client=client,
        table=table,
        recorder=recorder,
        listeners=listeners,
    )
    loading.fill(cluster.objects, found)
    unused = ["extenders are configured, but a simulation does not call them"] if settings.extenders else []
    return cluster, [*settings.warnings, *unused, *found.warnings]


class _Counter:
    """Counter of attempts. Implements `AttemptListener`."""

    def __init__(self) -> None:
        self.attempts = 0

    def attempted(self, attempt: Attempt) -> None:  # noqa: ARG002 - interface
        self.attempts += 1


def ended(
    cluster: EmbeddedCluster, errors: ErrorLog, *, before: Mapping[str, Mapping[str, int]], warnings: Sequence[str]
) -> SimulationResult:
    """The result of a cluster that has run, with the errors that its scheduler's listener has logged."""
    errors.add_gated(cluster.scheduler.queue)
    return result_of(cluster, before=before, errors=errors.causes(), failed=frozenset(errors.failed), warnings=warnings)
