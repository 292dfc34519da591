"""Simulation from manifests to a result: the work of `kubewasp simulate`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubewasp.explain.explanation import Explainer, Explanation
from kubewasp.explain.plugin_logs import PluginLogs
from kubewasp.k8s.errors import ManifestError
from kubewasp.scheduler.composition import set_up
from kubewasp.scheduler.configuration import configure
from kubewasp.simulation import loading, scenario
from kubewasp.simulation.embedded_cluster import EmbeddedCluster, SimulatedClock
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.guest_log import LOGGER_SINK
from kubewasp.wasm.repeatable import Repeatable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

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
    """Result of a simulation: placements, pending pods, preemptions, node usage, timing."""

    cluster: EmbeddedCluster
    before: dict[str, dict[str, int]]
    seconds: float
    attempts: int
    explanation: Explanation | None
    warnings: Sequence[str]
    logs: PluginLogs

    def placements(self) -> list[Pod]:
        """Pods placed by the simulation."""
        placed = {pod.uid for _, pod in self.cluster.objects.bindings}
        return [pod for pod in self.cluster.pods.values() if pod.node and pod.uid in placed]

    def pending(self) -> list[tuple[Pod, str]]:
        """Pods without a node, with the reasons."""
        return [(pod, self.cluster.why_pending(pod)) for pod in self.cluster.pods.values() if not pod.node]

    def nodes(self) -> list[dict[str, Any]]:
        """All nodes: allocatable resources, and requests before and after."""
        return _nodes(self.cluster, self.before)

    def as_dict(self) -> dict[str, Any]:
        """The result as plain values, in the format of `kubewasp simulate -o json`."""
        spent: dict[str, float] = {}
        for framework in self.cluster.scheduler.frameworks.values():
            for name, seconds in framework.seconds.items():
                spent[name] = spent.get(name, 0.0) + seconds
        preemptions = self.cluster.objects.preemptions
        found: dict[str, Any] = {
            "placements": [{"pod": pod.key, "node": pod.node} for pod in self.placements()],
            "pending": [{"pod": pod.key, "message": message} for pod, message in self.pending()],
            "preempted": [{"pod": item.pod.key, "by": item.by.key, "node": item.node} for item in preemptions],
            "nodes": self.nodes(),
            "timing": {
                "seconds": round(self.seconds, 6),
                "attempts": self.attempts,
                "us_per_attempt": round(self.seconds * 1e6 / max(self.attempts, 1), 1),
                "simulated_seconds": self.cluster.clock.now(),
                "plugins_ms": {name: round(seconds * 1e3, 3) for name, seconds in spent.items()},
            },
            "warnings": list(self.warnings),
            "logs": self.logs.as_dict(),
        }
        if self.explanation is not None:
            found["explanation"] = self.explanation.as_dict()
        return found


class Simulation:
    """A simulation with its cluster loaded, ready to run.

    Args:
        paths: Manifests, folders of manifests, dumps of a cluster.
        config: A KubeSchedulerConfiguration; the default profile without it.
        plugins: Wasm plugins to add to all profiles.
        plugin_configs: `guestConfig` of these plugins, by name.
        timeline: A scenario.
        explained: Pod (`namespace/name`) to explain, by its last attempt.
        seed: Seed of all random choices, also those of guests.
        real_entropy: Whether guests get random numbers and clock of this machine.
        start_time: Wall-clock time at the start, in seconds since 1970; that of the timeline or now without it.
        logs: Keep all log lines of plugins, not only the last ones.
        strict: Unknown fields and kinds are errors.
    """

    def __init__(
        self,
        paths: Sequence[InputFile],
        *,
        config: InputFile | None = None,
        plugins: Sequence[AddedPlugin] = (),
        plugin_configs: Mapping[str, str] | None = None,
        timeline: InputFile | None = None,
        explained: str = "",
        seed: int = 0,
        real_entropy: bool = False,
        start_time: float | None = None,
        logs: bool = False,
        strict: bool = False,
    ) -> None:
        self._steps = scenario.load(timeline) if timeline is not None else None
        if strict and self._steps is not None:
            self._steps.mistakes.raise_if_any()
        if start_time is None and self._steps is not None:
            start_time = self._steps.start_time
        table = NodeTable()
        self._explained = explained
        self._logs = PluginLogs(is_complete=logs)
        self._explainer, self._counter = Explainer(table, {explained} if explained else ()), _Counter()
        self.cluster, self.warnings = embedded_cluster(
            paths,
            config,
            plugins,
            plugin_configs or {},
            seed=seed,
            real_entropy=real_entropy,
            start_time=start_time,
            strict=strict,
            table=table,
            recorder=self._explainer,
            listeners=[self._counter, self._explainer, self._logs],
            guest_logs=self._logs,
        )
        if self._steps is not None:
            self.warnings += self._steps.warnings

    def run(self) -> SimulationReport:
        """Runs to the end."""
        cluster, explained = self.cluster, self._explained
        before, began = _usage(cluster), time.perf_counter()
        if self._steps is None:
            cluster.settle()
        else:
            scenario.run(cluster, self._steps)
        seconds = time.perf_counter() - began
        explanation = self._explainer.last.get(explained)
        if explained and explanation is None:
            raise ManifestError("", f"pod {explained} has no scheduling attempt: it does not exist or is not pending")
        attempts = self._counter.attempts
        return SimulationReport(cluster, before, seconds, attempts, explanation, self.warnings, self._logs)


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
    table: NodeTable | None = None,
    recorder: DecisionRecorder | None = None,
    listeners: Sequence[AttemptListener] = (),
    guest_logs: GuestLogSink = LOGGER_SINK,
) -> tuple[EmbeddedCluster, list[str]]:
    """A cluster with the objects of the manifests before scheduling, and the warnings."""
    settings, added = configure(config, plugins, plugin_configs)
    found = loading.read(paths)
    if strict:
        found.mistakes.raise_if_any()
    return filled_cluster(
        settings,
        added,
        found,
        seed=seed,
        real_entropy=real_entropy,
        start_time=start_time,
        client=client,
        table=table,
        recorder=recorder,
        listeners=listeners,
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


def _usage(cluster: EmbeddedCluster) -> dict[str, dict[str, int]]:
    table = cluster.scheduler.table
    usage = {}
    for row in table.order().tolist():
        amounts = {name: int(column[row]) for name, column in table.requested.items() if column[row]}
        usage[table.node(row).name] = {"pods": int(table.pod_count[row]), **amounts}
    return usage


def _nodes(cluster: EmbeddedCluster, before: dict[str, dict[str, int]]) -> list[dict[str, Any]]:
    table = cluster.scheduler.table
    after = _usage(cluster)
    found = []
    for name in sorted(after):
        row = table.row(name)
        if row is None:
            continue
        allocatable = {key: int(column[row]) for key, column in table.allocatable.items() if column[row]}
        found.append(
            {
                "name": name,
                "allocatable": {"pods": int(table.max_pods[row]), **allocatable},
                "before": before.get(name, {"pods": 0}),
                "after": after[name],
            }
        )
    return found
