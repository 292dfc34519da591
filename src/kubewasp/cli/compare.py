"""`kubewasp compare`: candidates on one input, the page with pictures, and the exit code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import typer

from kubewasp.cli import output
from kubewasp.cli.console_options import LOOPBACK
from kubewasp.cli.folding import counted
from kubewasp.cli.options import DIFFERENCE_CODE, ERROR_CODE, PENDING_CODE
from kubewasp.cli.progress import Progress
from kubewasp.cli.simulate import fail, warn
from kubewasp.lab.comparisons import candidate_comparison
from kubewasp.lab.comparisons.candidate_comparison import CompareError
from kubewasp.lab.comparisons.experiment_runner import LocalRunner
from kubewasp.lab.comparisons.pod_differences import DifferenceKind
from kubewasp.lab.experiments import node_prices
from kubewasp.lab.experiments.experiment import LabInput
from kubewasp.lab.experiments.node_prices import NodePrices
from kubewasp.simulation.simulator import read_input

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kubewasp.cli.compare_commands import CompareFailOn
    from kubewasp.input_file import InputFile
    from kubewasp.lab.comparisons.candidate_comparison import CandidateComparison, Standing
    from kubewasp.lab.experiments.candidates import CandidateSource
    from kubewasp.lab.experiments.experiment import Candidate
    from kubewasp.lab.traces.trace_simulation import TraceOptions

_TRACES: Final = (".csv", ".csv.gz", ".parquet")


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison, and what was compared."""

    comparison: CandidateComparison
    given: LabInput
    candidates: Sequence[Candidate]


def is_trace(path: Path) -> bool:
    return path.name.endswith(_TRACES)


def node_prices_of(file: InputFile | None, label: str) -> NodePrices | None:
    """Prices of --prices or --price-label."""
    if file is not None and label:
        raise typer.BadParameter("not allowed together with --prices", param_hint="--price-label")
    return node_prices.load(file) if file is not None else NodePrices((label,)) if label else None


def run(
    sources: Sequence[CandidateSource],
    paths: Sequence[InputFile],
    trace: TraceOptions | None,
    *,
    timeline: InputFile | None,
    prices: NodePrices | None,
    seeds: Sequence[int],
    processes: int,
    start_time: float | None,
    strict: bool,
    explained: int,
) -> Compared:
    candidates = [source.candidate() for source in sources]
    with Progress() as progress:
        progress.phase("loading")
        given = read_input(paths, timeline=timeline, start_time=start_time, strict=strict)
        if trace is None and timeline is None and not given.objects.nodes:
            raise CompareError(f"{', '.join(map(str, paths))}: no nodes to run on")
        lab_input = LabInput(given, trace, prices)
        found = candidate_comparison.compare(
            lab_input,
            candidates,
            seeds,
            LocalRunner(processes, lambda runs: progress.phase("running", runs), progress.moved),
            explained=explained,
        )
    _warn(found)
    return Compared(found, lab_input, candidates)


def open_console(compared: Compared, name: str) -> None:
    """Runs the candidates once more for their histories, and serves the console."""
    from kubewasp.cli import console
    from kubewasp.console.compared_source import compared_source

    with Progress() as progress:
        progress.phase("recording the runs")
        source = compared_source(name, compared.comparison, compared.given, compared.candidates)
    console.show(source, html=None, listen=LOOPBACK, opened=True)


def _warn(found: CandidateComparison) -> None:
    warn(dict.fromkeys(warning for standing in found.ran for warning in standing.warnings))
    for standing in found.standings:
        if standing.error:
            output.warn(f"{standing.name}: left out: {standing.error}")
        elif failed := failed_pods(standing):
            output.warn(f"{standing.name}: plugins failed on {counted(len(failed), 'pod')}")


def failed_pods(standing: Standing) -> set[str]:
    """Pods that plugins failed on, in any run."""
    return {pod for run in standing.runs for cause in run.errors for pod in cause.pods}


def write_page(found: CandidateComparison, name: str, path: Path) -> None:
    """Writes the page with pictures."""
    from kubewasp.lab.comparisons.report_page import page

    path.write_text(page(found, name), encoding="utf-8")


def end(found: CandidateComparison, fail_on: CompareFailOn) -> None:
    """Ends the command with the exit code of a failure, and its reason on stderr."""
    others = found.standings[1:]
    if fail_on == "never":
        return
    for standing in others:
        if standing.error:
            fail(f"{standing.name}: {standing.error}", ERROR_CODE)
        if failed := failed_pods(standing):
            fail(f"{standing.name}: plugins failed on {counted(len(failed), 'pod')}", ERROR_CODE)
    if fail_on == "error":
        return
    for standing in others:
        more = sum(standing.changes[name].mean for name in ("pods.pending", "pods.givenUp"))
        if more > 0:
            fail(f"{standing.name}: {more:,.10g} more pods without a node than {found.baseline.name}", PENDING_CODE)
    if fail_on == "pending":
        return
    for standing in others:
        moved = sum(each.kind is DifferenceKind.MOVED for each in standing.differences)
        if moved:
            fail(
                f"{standing.name}: {counted(moved, 'pod')} on other nodes than with {found.baseline.name}",
                DIFFERENCE_CODE,
            )
