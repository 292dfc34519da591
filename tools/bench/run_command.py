"""`kubewasp bench plugin` and `kubewasp bench scheduler`: a layer is measured, kept in a file, and told."""

from __future__ import annotations

import datetime as dt
import time
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from kubewasp.cli import output
from kubewasp.errors import KubewaspError
from tools.bench import machine, model
from tools.bench.model import Measurement, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from tools.bench.model import Skipped

    Step = Callable[[str], None]

# Where nobody watches a bar, a line now and then tells how far it is.
_LINE_SECONDS = 15.0


def plugin(*, quick: bool, forms: Sequence[str], nodes: Sequence[int], out: Path, as_json: bool) -> None:
    from tools.bench import peers, plugin_layer

    plan = plugin_layer.Plan.of(quick=quick, forms=forms, nodes=nodes)
    wants_peers = not forms or any(form in peers.FORMS for form in forms)
    steps = plugin_layer.steps(plan) + (peers.steps(plan.nodes) if wants_peers else 0)

    def measured(step: Step) -> Iterator[Measurement | Skipped]:
        yield from plugin_layer.measure(step, plan)
        if wants_peers:
            yield from peers.measure(step, plan.nodes)

    _run("plugin", steps, measured, out, as_json=as_json, is_whole=not forms and not nodes)


def scheduler(*, quick: bool, places: Sequence[str], workloads: Sequence[str], out: Path, as_json: bool) -> None:
    from tools.bench import scheduler_layer

    plan = scheduler_layer.Plan.of(quick=quick, places=places, workloads=workloads)
    steps = scheduler_layer.steps(plan)
    is_whole = set(places) == set(scheduler_layer.PLACES) and not workloads

    def measured(step: Step) -> Iterator[Measurement | Skipped]:
        return scheduler_layer.measure(step, plan)

    _run("scheduler", steps, measured, out, as_json=as_json, is_whole=is_whole)


def _run(
    layer: str,
    steps: int,
    measured: Callable[[Step], Iterable[Measurement | Skipped]],
    out: Path,
    *,
    as_json: bool,
    is_whole: bool,
) -> None:
    """Nothing is written unless all was measured: half a layer would look like a whole one."""
    fresh = new_result()
    kept = kept_in(out, fresh)
    began = time.monotonic()
    with progress(steps) as step:
        for found in measured(step):
            if isinstance(found, Measurement):
                fresh.measurements.append(found)
            else:
                fresh.skipped.append(found)
    fresh.seconds[layer] = round(time.monotonic() - began, 1)
    kept.put(layer, fresh, is_whole=is_whole)
    out.write_text(kept.as_json(), encoding="utf-8")
    if as_json:
        output.print_json({"format": model.FORMAT} | asdict(fresh))
    else:
        _tell(layer, fresh, out)


def kept_in(out: Path, fresh: Result) -> Result:
    """What the file has besides; what was measured elsewhere, or with other versions, is no part of one result."""
    kept = model.read(out) if out.exists() else Result()
    _check_writable(out)
    if kept.measurements and (kept.machine, kept.versions) != (fresh.machine, fresh.versions):
        output.warn(f"{out} is of another machine or other versions: what is in it is not kept")
        return Result()
    return kept


def _check_writable(out: Path) -> None:
    """Makes its folder, and tries: to hear of it after all was measured is too late."""
    is_new = not out.exists()
    try:
        if not out.parent.exists():
            out.parent.mkdir(parents=True)
        with out.open("ab"):
            pass
        if is_new:
            out.resolve().unlink()  # of a link that leads nowhere yet, what it leads to
    except OSError as error:
        raise KubewaspError(f"{out}: cannot be written: {error.strerror}") from None


def _tell(layer: str, result: Result, out: Path) -> None:
    from tools.bench import run_output

    run_output.print_ratios(result)
    run_output.print_skipped(result)
    minutes, seconds = divmod(round(result.seconds[layer]), 60)
    where = output.printable(str(out))
    output.write(f"{len(result.measurements):,} figures in {minutes}:{seconds:02} min, kept in {where}\n")
    output.write(f"a page of it: kubewasp bench report {where}\n")


def new_result() -> Result:
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    return Result(machine=machine.machine(), versions=machine.versions(), measured_on=today)


@contextmanager
def progress(steps: int) -> Iterator[Step]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    screen = output.console(stderr=True)
    if not screen.is_terminal:
        yield _lines(steps)
        return
    columns = (
        TextColumn("{task.description:44.44}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, transient=True) as progress:
        task = progress.add_task("", total=steps)
        yield lambda what: progress.update(task, advance=1, description=what)


def _lines(steps: int) -> Step:
    import sys

    began = time.monotonic()
    told = done = 0.0

    def step(what: str) -> None:
        nonlocal told, done
        done += 1
        now = time.monotonic() - began
        if now - told >= _LINE_SECONDS or done == 1:
            told = now
            print(f"{now:5.0f} s  {done:.0f} of {steps}: {what}", file=sys.stderr, flush=True)

    return step
