"""`kubewasp simulate`: a simulation with a progress bar."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

from kubewasp.cli import output
from kubewasp.simulation.simulator import Simulation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.input_file import InputFile
    from kubewasp.scheduler.attempt import Attempt
    from kubewasp.scheduler.configuration import AddedPlugin
    from kubewasp.simulation.simulator import SimulationReport


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
) -> SimulationReport:
    simulation = Simulation(
        paths,
        config=config,
        plugins=plugins,
        plugin_configs=plugin_configs,
        timeline=timeline,
        explained=explained,
        seed=seed,
        real_entropy=real_entropy,
        start_time=start_time,
        logs=logs,
        strict=strict,
    )
    for warning in simulation.warnings:  # before the run, which may fail because of them
        output.warn(warning)
    with _Progress(sum(not pod.node for pod in simulation.cluster.pods.values())) as progress:
        simulation.cluster.scheduler.subscribe(progress)
        return simulation.run()


class _Progress:
    """Bar on the terminal after a second of work: pods placed, of those pending at the start."""

    def __init__(self, total: int) -> None:
        self._began = time.perf_counter()
        self._total = total
        self._placed = 0
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def attempted(self, attempt: Attempt) -> None:
        """Implements `AttemptListener`."""
        self._placed += bool(attempt.node) and not attempt.is_waiting
        if self._bar is None:
            if time.perf_counter() - self._began < 1 or not output.has_progress():
                return
            self._bar = _bar()
            self._bar.add_task("scheduling", total=self._total or None)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=self._placed)


def _bar() -> Any:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=output.console(stderr=True), transient=True)
