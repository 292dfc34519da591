"""`kubewasp simulate`: a simulation, its baseline, and the exit code."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import typer

from kubewasp.cli import output
from kubewasp.cli.folding import counted
from kubewasp.cli.options import ERROR_CODE, PENDING_CODE, FailOn
from kubewasp.cli.progress import Progress
from kubewasp.lab.experiments.experiment import Candidate
from kubewasp.scheduler.configuration import baseline_of, configure
from kubewasp.simulation.comparison import Comparison, compare
from kubewasp.simulation.simulator import Simulation, read_input

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kubewasp.console.history_recorder import HistoryRecorder
    from kubewasp.console.played_run import PlayedRun
    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.input_file import InputFile
    from kubewasp.scheduler.configuration import AddedPlugin
    from kubewasp.simulation.result import SimulationResult
    from kubewasp.simulation.simulator import SimulationReport


@dataclass(frozen=True, slots=True)
class Simulated:
    """A simulation and, if wanted, its baseline."""

    report: SimulationReport
    baseline: Baseline | None = None
    played: PlayedRun | None = None  # for the console


@dataclass(frozen=True, slots=True)
class Baseline:
    """A second simulation of the same input: its name, and the comparison with it."""

    name: str
    report: SimulationReport
    comparison: Comparison


def run(
    paths: Sequence[InputFile],
    *,
    config: InputFile | None,
    plugins: Sequence[AddedPlugin],
    plugin_configs: Mapping[str, str],
    timeline: InputFile | None,
    explained: str,
    seed: int,
    real_entropy: bool,
    start_time: float | None,
    logs: bool,
    strict: bool,
    baseline: bool,
    baseline_config: InputFile | None,
    is_recorded: bool = False,
) -> Simulated:
    """Runs the simulation, and with `baseline` or `baseline_config` the same input a second time.

    With `is_recorded`, for the console too.
    """
    settings, added = configure(config, plugins, plugin_configs)
    other: SchedulerConfig | None = None
    name = ""
    if baseline_config is not None:
        (other, _), name = configure(baseline_config), str(baseline_config)
    elif baseline:
        other, name = baseline_of(config, plugins)
    with Progress() as progress:
        progress.phase("loading")
        given = read_input(
            paths, timeline=timeline, seed=seed, real_entropy=real_entropy, start_time=start_time, strict=strict
        )
        listeners = (progress,)
        simulation = Simulation(given, settings, added, explained=explained, logs=logs, listeners=listeners)
        warn(simulation.warnings)
        recorder = _recorder(simulation) if is_recorded else None
        report = _run(simulation, progress, "scheduling")
        played = None
        if recorder is not None:
            from kubewasp.console import played_run

            frameworks = list(simulation.cluster.scheduler.frameworks.values())
            candidate = Candidate(", ".join(map(str, paths)), settings, tuple(added))
            played = played_run.played(recorder, candidate, seed, frameworks, real_entropy=real_entropy)
        if other is None:
            return Simulated(report, played=played)
        progress.phase("loading the baseline")
        compared = Simulation(given, other, listeners=listeners)
        warn(warning for warning in compared.warnings if warning not in simulation.warnings)
        before = _run(compared, progress, "scheduling the baseline")
        return Simulated(report, Baseline(name, before, compare(before.result, report.result)), played)


def _recorder(simulation: Simulation) -> HistoryRecorder:
    from kubewasp.console.history_recorder import HistoryRecorder

    return HistoryRecorder.of_cluster(simulation.cluster)


def end(result: SimulationResult, fail_on: FailOn) -> None:
    """Ends the command with the exit code of a failure, and its reason on stderr."""
    failed = {pod for cause in result.errors for pod in cause.pods}
    if failed and fail_on is not FailOn.NEVER:
        fail(f"plugins failed on {counted(len(failed), 'pod')}; with --fail-on never, this is no failure", ERROR_CODE)
    if result.pending and fail_on is FailOn.PENDING:
        fail(f"{counted(len(result.pending), 'pod')} pending", PENDING_CODE)


def fail(reason: str, code: int) -> NoReturn:
    """Ends a command that has printed its result, with the reason of a failure on stderr."""
    sys.stdout.flush()
    sys.stderr.write(f"error: {output.printable(reason)}\n")
    raise typer.Exit(code)


def _run(simulation: Simulation, progress: Progress, phase: str) -> SimulationReport:
    progress.phase(phase, sum(not pod.node for pod in simulation.cluster.pods.values()))
    return simulation.run()


def warn(warnings: Iterable[str]) -> None:
    """Printed before the run, which may fail because of them."""
    for warning in warnings:
        output.warn(warning)
