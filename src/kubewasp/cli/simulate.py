"""`kubewasp simulate`: a scheduler on a cluster in memory."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Self

from kubewasp.cli import output
from kubewasp.explain.explanation import Explainer, Explanation
from kubewasp.framework.config.reading import default_config, load_config
from kubewasp.k8s.errors import ManifestError
from kubewasp.scheduler import profiles
from kubewasp.simulation import loading as cluster_input
from kubewasp.simulation import scenario
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from kubewasp.wasm.limits import limits_problem
from kubewasp.wasm.source import without_credentials

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.scheduler import Attempt


@dataclass(slots=True)
class Result:
    """What came of a simulation."""

    cluster: EmbeddedCluster
    before: dict[str, dict[str, int]]
    seconds: float = 0.0
    attempts: int = 0
    explanation: Explanation | None = None
    warnings: list[str] = field(default_factory=list)

    def placements(self) -> list[Pod]:
        placed = {pod.uid for _, pod in self.cluster.placed}
        return [pod for pod in self.cluster.pods.values() if pod.node and pod.uid in placed]

    def pending(self) -> list[tuple[Pod, str]]:
        return [(pod, self.cluster.why_pending(pod)) for pod in self.cluster.pods.values() if not pod.node]

    def nodes(self) -> list[dict[str, Any]]:
        """Every node: what it has to give, what was requested of it before and after."""
        return _nodes(self.cluster, self.before)

    def as_dict(self) -> dict[str, Any]:
        frameworks = self.cluster.scheduler.frameworks.values()
        spent: dict[str, float] = {}
        for framework in frameworks:
            for name, seconds in framework.seconds.items():
                spent[name] = spent.get(name, 0.0) + seconds
        found: dict[str, Any] = {
            "placements": [{"pod": pod.key, "node": pod.node} for pod in self.placements()],
            "pending": [{"pod": pod.key, "message": message} for pod, message in self.pending()],
            "preempted": [
                {"pod": item.pod.key, "by": item.by.key, "node": item.node} for item in self.cluster.preemptions
            ],
            "nodes": self.nodes(),
            "timing": {
                "seconds": round(self.seconds, 6),
                "attempts": self.attempts,
                "us_per_attempt": round(self.seconds * 1e6 / max(self.attempts, 1), 1),
                "simulated_seconds": self.cluster.clock.now(),
                "plugins_ms": {name: round(seconds * 1e3, 3) for name, seconds in spent.items()},
            },
            "warnings": self.warnings,
        }
        if self.explanation is not None:
            found["explanation"] = self.explanation.as_dict()
        return found


def simulate(
    paths: Sequence[Path],
    *,
    config: Path | None = None,
    plugins: Sequence[str] = (),
    plugin_configs: Mapping[str, str] | None = None,
    timeline: Path | None = None,
    explained: str = "",
    seed: int = 0,
    start_time: float | None = None,
) -> Result:
    """Runs a simulation to its end. It begins at the given time, else at that of its timeline, else now."""
    steps = scenario.load(timeline) if timeline is not None else None
    if start_time is None and steps is not None:
        start_time = steps.start_time
    cluster, warnings = filled_cluster(paths, config, plugins, plugin_configs or {}, seed=seed, start_time=start_time)
    if steps is not None:
        warnings += steps.warnings
    result = Result(cluster, _usage(cluster), warnings=warnings)
    began = time.perf_counter()
    with _Progress(sum(not pod.node for pod in cluster.pods.values())) as progress:

        def note(attempt: Attempt) -> None:
            result.attempts += 1
            progress.show(len(cluster.placed))
            explainer.take(attempt)

        explainer = Explainer(cluster.scheduler, {explained} if explained else ())
        cluster.on_attempt = note
        if steps is None:
            cluster.settle()
        else:
            scenario.run(cluster, steps)
    result.seconds = time.perf_counter() - began
    result.explanation = explainer.last.get(explained)
    if explained and result.explanation is None:
        raise ManifestError("", f"pod {explained} was not tried: it is not there, or it does not wait for a node")
    return result


def filled_cluster(
    paths: Sequence[Path],
    config: Path | None,
    plugins: Sequence[str],
    plugin_configs: Mapping[str, str],
    *,
    seed: int = 0,
    start_time: float | None = None,
) -> tuple[EmbeddedCluster, list[str]]:
    """A cluster filled with the manifests, its scheduler ready to go, and what to warn of."""
    settings, named = configured(config, plugins, plugin_configs)
    found = cluster_input.read(paths)
    cluster = EmbeddedCluster(time.time() if start_time is None else start_time)
    profiles.start(cluster.scheduler, settings, added=named, seed=seed)
    cluster_input.fill(cluster, found)
    unused = ["extenders are configured, but a simulation does not call them"] if settings.extenders else []
    return cluster, [*settings.warnings, *unused, *found.warnings]


def configured(
    config: Path | None, plugins: Sequence[str], plugin_configs: Mapping[str, str]
) -> tuple[SchedulerConfig, Collection[str]]:
    """The configuration with the plugins that were named on the command line, and the names of these."""
    settings = load_config(config, check_limits=limits_problem) if config is not None else default_config()
    named = _named(plugins)
    for name, guest in named.items():
        settings = settings.with_wasm_plugin(name, guest, plugin_configs.get(name))
    unknown = [name for name in plugin_configs if name not in named]
    if unknown:
        there = f"there are {', '.join(named)}" if named else "there is none"
        raise ManifestError("", f"--plugin-config {unknown[0]}: there is no --plugin of that name; {there}")
    return settings, named


def _named(plugins: Sequence[str]) -> dict[str, str]:
    """`--plugin GUEST`: a guest with default settings, named after its file."""
    named: dict[str, str] = {}
    for guest in plugins:
        name = PurePath(without_credentials(guest).split("?")[0]).stem
        if name in named:
            raise ManifestError("", f"--plugin {guest} and {named[name]} have the same name; configure them in a file")
        named[name] = guest
    return named


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


class _Progress:
    """A bar on the terminal, beyond a second of work."""

    def __init__(self, total: int) -> None:
        self._began = time.perf_counter()
        self._total = total
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, placed: int) -> None:
        if self._bar is None:
            if time.perf_counter() - self._began < 1 or not sys.stderr.isatty():
                return
            self._bar = _bar()
            self._bar.add_task("scheduling", total=self._total or None)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=placed)


def _bar() -> Any:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=output.console(stderr=True), transient=True)
