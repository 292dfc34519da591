"""`kubewasp tune`: a search, its front, and the configuration file of the best trial."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson
import typer

from kubewasp.cli import output
from kubewasp.cli.folding import counted, in_short
from kubewasp.cli.options import seconds
from kubewasp.cli.progress import Progress
from kubewasp.cli.sweep import results_folder
from kubewasp.cli.sweep_output import figure
from kubewasp.lab.experiments.experiment_pool import ExperimentPool, available_processes, figures
from kubewasp.lab.studies import search_space, tuned_configuration, tuning_file, tuning_picture
from kubewasp.lab.studies.run_store import RunStore, write_file
from kubewasp.lab.studies.tuning import TuningPlan, TuningRun, importance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from kubewasp.cli.inputs import Inputs
    from kubewasp.input_file import InputFile
    from kubewasp.lab.studies.objectives import Objective
    from kubewasp.lab.studies.tuning import Standing, Trial, TuningResults

_FAILED: Final = 1
_MOST_ROWS: Final = 5
_MOST_WIDTH: Final = 80
_TRIALS: Final = "trials.jsonl"


def run(
    file: InputFile,
    inputs: Inputs,
    *,
    out: Path | None,
    processes: int | None,
    trials: int | None,
    time: str,
    chosen: int | None,
    write: Path | None,
    picture: Path | None,
    form: str,
) -> None:
    tuning = tuning_file.load(file)
    if trials is not None:
        tuning = replace(tuning, trials=trials)
    if time:
        tuning = replace(tuning, seconds=seconds(time, "--time"))
    folder = results_folder(file, out)
    with Progress() as progress:
        progress.phase("loading")
        plan = TuningPlan.of(tuning, lambda text: str(inputs.guest(text)))
        progress.phase("searching", (tuning.trials + 1) * len(plan.training) + len(plan.held_out))
        given = {name: found.given for name, found in plan.inputs.items()}
        with ExperimentPool(given, figures, processes or available_processes()) as engine:
            search = TuningRun(plan, RunStore(folder), engine, finished=lambda: progress.moved(1))
            try:
                results = search.run()
            except KeyboardInterrupt:
                done = counted(len(search.results.trials), "trial")
                sys.stderr.write(f"interrupted: {done} begun; results are in {folder}; the same command goes on\n")
                raise
    best = _chosen(results, chosen)
    write_file(folder / _TRIALS, b"".join(orjson.dumps(entry) + b"\n" for entry in _trials(results)))
    if picture is not None:
        write_file(picture, tuning_picture.svg(results).encode())
    if write is not None and best is not None:
        settings = plan.candidate(best.point, "").settings
        write_file(write, tuned_configuration.text(settings, _comment(results, best)).encode())
    if form == "table":
        _print(results, best, folder, write)
    else:
        output.print_document(_document(results, best, folder), form)
    if best is None:
        raise typer.Exit(_FAILED)


def _chosen(results: TuningResults, number: int | None) -> Trial | None:
    if number is None:
        return results.best()
    if number >= len(results.trials) or results.trials[number].error:
        raise typer.BadParameter(f"there is no trial {number} with a result", param_hint="--trial")
    return results.trials[number]


def _comment(results: TuningResults, trial: Trial) -> str:
    plan = results.plan
    standing = plan.standing(trial, plan.training)
    lines = ["Written by kubewasp tune: " + ("the base" if trial.point is None else f"trial {trial.number}")]
    if trial.point is not None:
        lines.append(search_space.described(plan.tuning.parameters, trial.point))
    if standing.values is not None:
        lines.append(_values(plan.tuning.objectives, standing.values))
    return "\n".join(lines)


# ---------------------------------------------------------------------- documents


def _trials(results: TuningResults) -> Iterator[dict[str, Any]]:
    plan = results.plan
    names = [parameter.name for parameter in plan.tuning.parameters]
    for trial in results.trials:
        standing = plan.standing(trial, plan.training)
        held = plan.standing(trial, plan.held_out) if plan.held_out else None
        yield {
            "trial": trial.number,
            "parameters": None if trial.point is None else dict(zip(names, trial.point, strict=True)),
            "objectives": _by_name(plan.tuning.objectives, standing),
            "violated": list(standing.violated),
            "heldOut": _by_name(plan.tuning.objectives, held) if held is not None else None,
            "heldOutViolated": list(held.violated) if held is not None else [],
            "error": trial.error or None,
        }


def _by_name(objectives: Sequence[Objective], standing: Standing) -> dict[str, float] | None:
    if standing.values is None:
        return None
    return {objective.name: value for objective, value in zip(objectives, standing.values, strict=True)}


def _document(results: TuningResults, best: Trial | None, folder: Path) -> dict[str, Any]:
    return {
        "trials": list(_trials(results)),
        "front": [trial.number for trial, _ in results.front()],
        "best": None if best is None else best.number,
        "heldOut": _verdict(results, best)[1] if best is not None else None,
        "importance": dict(importance(results)),
        "results": str(folder),
    }


# ---------------------------------------------------------------------- output


def _print(results: TuningResults, best: Trial | None, folder: Path, write: Path | None) -> None:
    plan = results.plan
    tuning = plan.tuning
    ranked = results.front() if len(tuning.objectives) > 1 else results.complete()
    shown = [trial for trial, _ in ranked[:_MOST_ROWS]]
    if results.trials[0] not in shown:
        shown.append(results.trials[0])
    columns = ["TRIAL"]
    for objective in tuning.objectives:
        columns.append(objective.name.upper())
        if plan.held_out:
            columns.append("HELD OUT" if len(tuning.objectives) == 1 else f"{objective.name.upper()} HELD OUT")
    rows = [_row(results, trial) for trial in shown]
    names, cells = _parameters(results, shown, columns)
    output.print_table(
        (*columns, *names), [[*row, *more] for row, more in zip(rows, cells, strict=True)], right=columns[1:]
    )
    output.write("\n")
    output.print_facts(_facts(results, best, folder, write))
    errors = [trial for trial in results.trials if trial.error]
    for trial in errors[:3]:
        output.print_facts([("error", f"trial {trial.number}: {in_short(trial.error)}")])


def _parameters(
    results: TuningResults, shown: Sequence[Trial], columns: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    """A column for each parameter, or one for all if they are too wide."""
    parameters = results.plan.tuning.parameters
    names = [parameter.name.upper() for parameter in parameters]
    cells = [
        [""] * len(names) if trial.point is None else list(map(search_space.written, trial.point)) for trial in shown
    ]
    widths = [max(map(len, column)) + 2 for column in zip(names, *cells, strict=True)]
    if sum(widths) + sum(len(name) + 2 for name in columns) <= _MOST_WIDTH and not {*names} & {*columns}:
        return names, cells
    texts = ["" if trial.point is None else search_space.described(parameters, trial.point) for trial in shown]
    return ["PARAMETERS"], [[text] for text in texts]


def _row(results: TuningResults, trial: Trial) -> list[str]:
    plan = results.plan
    cells = ["base" if trial.point is None else str(trial.number)]
    trained, held = plan.standing(trial, plan.training), plan.standing(trial, plan.held_out)
    for place, objective in enumerate(plan.tuning.objectives):
        mark = "" if trained.is_feasible or trained.values is None else " !"
        cells.append((_value(objective, trained.values[place]) if trained.values else "-") + mark)
        if plan.held_out:
            cells.append(_value(objective, held.values[place]) if held.values else "-")
    return cells


def _facts(results: TuningResults, best: Trial | None, folder: Path, write: Path | None) -> Iterator[tuple[str, str]]:
    plan = results.plan
    tuning = plan.tuning
    tried = results.trials[1:]
    failed = sum(bool(trial.error) for trial in tried)
    violating = sum(bool(plan.standing(trial, plan.training).violated) for trial in tried)
    stopped = sum(not trial.error and plan.standing(trial, plan.training).values is None for trial in tried)
    notes = [(failed, "failed"), (violating, "violate a constraint"), (stopped, "given up early")]
    text = "".join(f", {count:,} {what}" for count, what in notes if count)
    yield "trials", f"{len(tried):,} {tuning.strategy}{text}"
    yield "runs", f"{counted(len(plan.training), 'run')} per trial for training, {len(plan.held_out)} held out"
    base = plan.standing(results.trials[0], plan.training)
    if base.violated:
        yield "base", f"violates {', '.join(base.violated)}"
    if best is None:
        yield "best", "none: no trial fulfils the constraints"
    elif best.point is None:
        yield "best", "the base: no trial is better"
    else:
        standing = plan.standing(best, plan.training)
        yield "best", f"trial {best.number}: {_values(tuning.objectives, standing.values or ())}"
    if best is not None:
        yield "held out", _verdict(results, best)[0]
    shares = importance(results)
    if shares:
        yield "importance", ", ".join(f"{name} {share:.0%}" for name, share in shares[:5])
    yield "results", str(folder / _TRIALS)
    if write is not None and best is not None:
        yield "written", str(write)


def _verdict(results: TuningResults, best: Trial) -> tuple[str, str]:
    """Whether the gain of the best trial over the base is there on the hold-out too: a text, and a word."""
    plan = results.plan
    if not plan.held_out:
        return "nothing: the figures are those that the choice was made by", "none"
    if best.point is None:
        return "the best is the base", "same"
    held, base = plan.standing(best, plan.held_out), plan.standing(results.trials[0], plan.held_out)
    if held.values is None or held.losses is None or base.values is None or base.losses is None:
        return "not known: a run failed", "failed"
    if held.violated:
        return f"trial {best.number} violates {', '.join(held.violated)}", "violated"
    pairs = [
        f"{objective.name} {_value(objective, mine)} instead of {_value(objective, other)}"
        for objective, mine, other in zip(plan.tuning.objectives, held.values, base.values, strict=True)
    ]
    if base.violated or any(mine < other for mine, other in zip(held.losses, base.losses, strict=True)):
        return f"better than the base: {', '.join(pairs)}", "better"
    return f"NOT better than the base: {', '.join(pairs)}", "not better"


def _values(objectives: Sequence[Objective], values: Sequence[float]) -> str:
    return ", ".join(
        f"{objective.name} {_value(objective, value)}" for objective, value in zip(objectives, values, strict=True)
    )


def _value(objective: Objective, value: float) -> str:
    """With the unit of a measure; a sum has none."""
    if len(objective.terms) == 1 and next(iter(objective.terms.values())) == 1:
        return figure(next(iter(objective.terms)), value)
    return f"{value:,.4g}"
