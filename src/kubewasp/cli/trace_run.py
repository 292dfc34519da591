"""`kubewasp trace run`: a trace in a simulated cluster, and its numbers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from kubewasp.cli import output
from kubewasp.cli.folding import by_reason, counted
from kubewasp.cli.options import seconds
from kubewasp.cli.progress import Progress
from kubewasp.cli.simulate import warn
from kubewasp.cli.simulate_output import duration_fact
from kubewasp.k8s.duration import format_duration
from kubewasp.k8s.resources import amount_text
from kubewasp.lab.traces import trace_map
from kubewasp.lab.traces.trace_map import PRESETS
from kubewasp.lab.traces.trace_simulation import Inflation, TraceOptions, TraceSimulation
from kubewasp.scheduler.configuration import configure
from kubewasp.simulation.simulator import read_input

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.input_file import InputFile
    from kubewasp.lab.traces.trace_map import TraceMap
    from kubewasp.lab.traces.trace_simulation import TraceReport
    from kubewasp.scheduler.configuration import AddedPlugin

_MOST_REASONS: Final = 10
_DEFAULT_RESOURCE: Final = "cpu"


def mapping_of(text: str) -> TraceMap:
    """The map of a preset or a file."""
    return PRESETS[text] if text in PRESETS else trace_map.load(Path(text))


def options(
    pods: InputFile,
    mapping: str,
    nodes: InputFile | None,
    *,
    sort: bool,
    shuffle: bool,
    shuffle_nodes: bool,
    inflate: str,
    until: str,
    patience: str,
    stays: bool,
    skip: bool,
) -> TraceOptions:
    """The options of the command, checked."""
    return TraceOptions(
        pods,
        mapping_of(mapping),
        nodes,
        skip=skip,
        sort=sort,
        shuffle=shuffle,
        shuffle_nodes=shuffle_nodes,
        inflation=_inflation(inflate) if inflate else None,
        until=seconds(until, "--until") if until else math.inf,
        patience=seconds(patience, "--patience") if patience else math.inf,
        stays=stays,
    )


def run(
    trace: TraceOptions,
    paths: Sequence[InputFile],
    *,
    config: InputFile | None,
    plugins: Sequence[AddedPlugin],
    plugin_configs: Mapping[str, str],
    seed: int,
    strict: bool,
) -> TraceReport:
    settings, added = configure(config, plugins, plugin_configs)
    with Progress() as progress:
        progress.phase("loading")
        given = read_input(paths, seed=seed, start_time=0.0, strict=strict)
        simulation = TraceSimulation(trace, given, settings, added, listeners=(progress,))
        warn(simulation.warnings)
        progress.phase("running the trace")
        report = simulation.run()
    if report.bad.count:
        output.warn(str(report.bad))
    return report


def show(report: TraceReport, *, form: str) -> None:
    if form == "table":
        _print(report)
    else:
        output.print_document(report.as_dict(), form)


def _print(report: TraceReport) -> None:
    counts, result = report.counts, report.simulation.result
    rows = [
        (
            name,
            amount_text(name, report.capacity[name]),
            _percent(report.mean_share(name)),
            _percent(report.last_share(name)),
        )
        for name in report.capacity
    ]
    columns = ("RESOURCE", "ALLOCATABLE", "MEAN", "AT THE END")
    output.print_table(columns, rows, right=columns[1:])
    output.write("\n")
    if result.pending:
        reasons = [(f"{len(pods):,}", message) for message, pods in by_reason(result.pending)[:_MOST_REASONS]]
        output.print_table(("PENDING", "REASON"), reasons, right=("PENDING",))
        output.write("\n")
    simulated = result.simulated_seconds
    facts = [
        ("arrived", f"{counted(counts.arrived, 'pod')} in {format_duration(round(simulated))}"),
        (
            "placed",
            f"{counts.placed:,}, waited {_wait(counts.mean_wait)} on average, {_wait(counts.longest_wait)} at most",
        ),
        ("ended", f"{counts.ended:,}"),
        ("without a node", f"{len(result.pending):,} pending, {counts.given_up:,} given up"),
        ("preempted", f"{len(result.preempted):,}"),
    ]
    facts.append(duration_fact(report.simulation))
    output.print_facts(facts)
    for cause in result.errors[:_MOST_REASONS]:
        output.print_facts([("error", cause.message), ("", f"× {counted(len(cause.pods), 'pod')}")])


def _inflation(text: str) -> Inflation:
    written, _, resource = text.partition(":")
    try:
        ratio = float(written)
    except ValueError:
        ratio = math.nan
    if not 0 < ratio <= 1000:
        raise typer.BadParameter(f"expected a ratio such as 1.3, got {written!r}", param_hint="--inflate")
    return Inflation(ratio, resource or _DEFAULT_RESOURCE)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f}%"


def _wait(seconds: float) -> str:
    return format_duration(round(seconds, 1))
