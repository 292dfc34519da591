"""`kubewasp sweep`: many experiments, their table, and means over seeds."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from kubewasp.cli import output, sweep_output
from kubewasp.cli.progress import Progress
from kubewasp.lab.experiments.experiment_pool import ExperimentPool, available_processes, figures
from kubewasp.lab.studies import sweep_file, sweep_table, sweeping
from kubewasp.lab.studies.run_store import RunStore
from kubewasp.lab.studies.sweeping import SweepPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubewasp.cli.inputs import Inputs
    from kubewasp.input_file import InputFile
    from kubewasp.lab.studies.stored_runs import Engine
    from kubewasp.lab.studies.sweep_file import SweepRun
    from kubewasp.lab.studies.sweeping import SweepResults

_SHARD: Final = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")
_FAILED: Final = 1


@dataclass(frozen=True, slots=True)
class Where:
    """Where runs are done: by processes here, or by a cluster at an address; `part` is a shard of them."""

    processes: int | None = None
    dask: str = ""
    ray: str = ""
    part: tuple[int, int] | None = None

    def engine(self, plan: SweepPlan) -> Engine:
        inputs = {name: found.given for name, found in plan.inputs.items()}
        if self.dask or self.ray:
            from kubewasp.lab.experiments.cluster_engines import DaskEngine, RayEngine

            return DaskEngine(self.dask, inputs) if self.dask else RayEngine(self.ray, inputs)
        return ExperimentPool(inputs, figures, self.processes or available_processes())


def where(processes: int | None, dask: str, ray: str, shard: str) -> Where:
    """The options of the command, checked."""
    if sum((processes is not None, bool(dask), bool(ray))) > 1:
        raise typer.BadParameter("--processes, --dask and --ray exclude each other")
    return Where(processes, dask, ray, _part(shard) if shard else None)


def run(
    file: InputFile,
    inputs: Inputs,
    place: Where,
    *,
    out: Path | None,
    table: str,
    records: bool,
    collect: Sequence[Path],
    form: str,
) -> None:
    if place.part is not None and collect:
        raise typer.BadParameter("--shard and --collect exclude each other")
    sweep = sweep_file.load(file)
    sweep_table.check_format(table)
    folder = results_folder(file, out)
    with Progress() as progress:
        progress.phase("loading")
        plan = SweepPlan.of(sweep, lambda text: str(inputs.guest(text)))
        if place.part is not None:
            plan = plan.part(*place.part)
        store = RunStore(folder, collect)
        results = sweeping.stored(plan, store)
        progress.phase("running", len(plan.sweep.runs))

        def done(run: SweepRun) -> None:
            progress.moved(1)
            if records and run in results.records:
                output.write(results.records[run].line().decode())

        for run in results.records:
            done(run)
        if collect:
            for record in results.records.values():
                store.put(record)
        elif results.known < len(plan.sweep.runs):
            _execute(plan, place.engine(plan), results, folder=folder, done=done)
    path = None if place.part is not None else sweep_table.write(folder, plan, results, table)
    if not records:
        sweep_output.show(plan, results, path or folder, form)
    if len(results.records) < len(plan.sweep.runs):
        for failure in results.failures if records else ():
            output.warn(f"{failure.run}: {failure.error}")
        raise typer.Exit(_FAILED)


def print_job(file: InputFile, *, pods: int, image: str, claim: str) -> None:
    """Prints the manifests of an indexed Job, with the commands to collect its results as a comment."""
    from kubewasp.lab.studies import sweep_job

    if not isinstance(file, Path):
        raise typer.BadParameter("--job: the sweep must be a file")
    documents = sweep_job.manifests(
        sweep_file.load(file), file, pods=pods, image=image or sweep_job.default_image(), claim=claim
    )
    name = sweep_job.job_name(documents)
    wait = f"kubectl wait --for=condition=Complete --timeout=24h job/{name}"
    lines = [wait]
    if claim:
        lines.append(f"kubewasp sweep {file} --collect RESULTS    # a copy of the folder results of the claim")
    else:
        logs = f"kubectl logs --tail=-1 -l batch.kubernetes.io/job-name={name} --max-log-requests={pods}"
        lines += [f"{logs} > records.jsonl", f"kubewasp sweep {file} --collect records.jsonl"]
    output.write(
        "# Apply with --server-side: a ConfigMap may be too large for the annotation of kubectl apply. Then:\n"
        + "".join(f"#   {line}\n" for line in lines)
    )
    output.print_yaml(documents)


def _execute(
    plan: SweepPlan, engine: Engine, results: SweepResults, *, folder: Path, done: Callable[[SweepRun], None]
) -> None:
    try:
        for run in sweeping.execute(plan, RunStore(folder), engine, results):
            done(run)
    except KeyboardInterrupt:
        count, all_runs = len(results.records), len(plan.sweep.runs)
        sys.stderr.write(f"interrupted: {count:,} of {all_runs:,} runs are in {folder}; the same command goes on\n")
        raise


def _part(text: str) -> tuple[int, int]:
    found = _SHARD.fullmatch(text)
    if found is None or not int(found[1]) < int(found[2]):
        raise typer.BadParameter(f"expected I/N such as 0/8, got {text[:40]!r}", param_hint="--shard")
    return int(found[1]), int(found[2])


def results_folder(file: InputFile, out: Path | None) -> Path:
    """The folder of --out, or one with the name of the file."""
    if out is not None:
        return out
    return Path(f"{file.stem if isinstance(file, Path) else 'standard-input'}.results")
