"""`kubewasp what-if`: input, progress, and the exit codes of its questions."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from kubewasp.cli.folding import counted
from kubewasp.cli.options import ERROR_CODE, PENDING_CODE, FailOn
from kubewasp.cli.progress import Progress
from kubewasp.cli.simulate import fail, warn
from kubewasp.lab.experiments.experiment import Candidate
from kubewasp.lab.what_if.node_selection import selected_nodes
from kubewasp.lab.what_if.what_if_trial import Trial
from kubewasp.scheduler.configuration import configure
from kubewasp.simulation.simulator import read_input

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kubewasp.input_file import InputFile
    from kubewasp.scheduler.attempt import AttemptListener
    from kubewasp.scheduler.configuration import AddedPlugin
    from kubewasp.simulation.result import ErrorCause
    from kubewasp.simulation.simulator import SimulationInput


@dataclass(frozen=True, slots=True)
class Asked:
    """The options that all questions have."""

    paths: Sequence[InputFile]
    config: InputFile | None
    plugins: Sequence[AddedPlugin]
    plugin_configs: Mapping[str, str]
    seed: int
    start_time: float | None
    strict: bool

    def candidate(self) -> Candidate:
        settings, added = configure(self.config, self.plugins, self.plugin_configs)
        return Candidate("", settings, added)

    def read(self) -> SimulationInput:
        return read_input(self.paths, seed=self.seed, start_time=self.start_time, strict=self.strict)


@contextmanager
def trial(
    asked: Asked, listeners: Sequence[AttemptListener] = (), *, given: SimulationInput | None = None
) -> Iterator[tuple[Trial, Progress]]:
    """The cluster of the input with its pending pods scheduled, and the progress of the question.

    `given` is the input if it was read before.
    """
    candidate = asked.candidate()
    with Progress() as progress:
        progress.phase("loading and scheduling the input")
        made = Trial(asked.read() if given is None else given, candidate, listeners=(progress, *listeners))
        warn(made.warnings)
        progress.phase("changing the cluster")
        yield made, progress


def nodes_of(made: Trial, names: Sequence[str], zone: str, labels: Mapping[str, str]) -> list[str]:
    """The nodes of a question. At least one must be named in some way."""
    if not (names or zone or labels):
        raise typer.BadParameter("give nodes by NODE, --zone or --label", param_hint="NODE")
    return selected_nodes(made.cluster.objects.node_manifests, names=names, zone=zone, labels=labels)


def end(problems: Mapping[str, int], errors: Sequence[ErrorCause], fail_on: FailOn) -> None:
    """Ends the command with the exit code of a failure: errors of plugins, or pods with a problem by its name."""
    failed = {pod for cause in errors for pod in cause.pods}
    if failed and fail_on is not FailOn.NEVER:
        fail(f"plugins failed on {counted(len(failed), 'pod')}; with --fail-on never, this is no failure", ERROR_CODE)
    found = [f"{count:,} {name}" for name, count in problems.items() if count]
    if found and fail_on is FailOn.PENDING:
        fail(f"pods: {', '.join(found)}", PENDING_CODE)
