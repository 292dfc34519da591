"""The commands `plugin` and `scheduler`: measure one layer, write it to the result file, print a summary."""

from __future__ import annotations

import datetime as dt
import time
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from kubewasp.cli import output
from kubewasp.errors import KubewaspError
from tools.bench import machine, model
from tools.bench.labels import PROG
from tools.bench.model import Measurement, Result
from tools.bench.ratios import TIMES, ratios

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from tools.bench.model import Skipped
    from tools.bench.ratios import Ratio

    Step = Callable[[str], None]

# Without a terminal: one progress line per interval instead of a bar.
_LINE_SECONDS: float = 15.0


def plugin(*, quick: bool, forms: Sequence[str], nodes: Sequence[int], out: Path, form: str) -> None:
    from tools.bench import plugin_layer
    from tools.bench.peers import peer_layer

    plan = plugin_layer.Plan.of(quick=quick, forms=forms, nodes=nodes)
    wants_peers = not forms or any(form in peer_layer.FORMS for form in forms)
    steps = plugin_layer.steps(plan) + (peer_layer.steps(plan.nodes) if wants_peers else 0)

    def measured(step: Step) -> Iterator[Measurement | Skipped]:
        yield from plugin_layer.measure(step, plan)
        if wants_peers:
            yield from peer_layer.measure(step, plan.nodes)

    _run("plugin", steps, measured, out, form=form, is_whole=not forms and not nodes)


def scheduler(*, quick: bool, places: Sequence[str], workloads: Sequence[str], out: Path, form: str) -> None:
    from tools.bench import scheduler_layer

    plan = scheduler_layer.Plan.of(quick=quick, places=places, workloads=workloads)
    steps = scheduler_layer.steps(plan)
    is_whole = set(places) == set(scheduler_layer.PLACES) and not workloads

    def measured(step: Step) -> Iterator[Measurement | Skipped]:
        return scheduler_layer.measure(step, plan)

    _run("scheduler", steps, measured, out, form=form, is_whole=is_whole)


def _run(
    layer: str,
    steps: int,
    measured: Callable[[Step], Iterable[Measurement | Skipped]],
    out: Path,
    *,
    form: str,
    is_whole: bool,
) -> None:
    """Nothing is written before the end: half a layer would look like a whole one."""
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
    if form != "table":
        output.print_document({"format": model.FORMAT} | asdict(fresh), form)
    else:
        _print_summary(layer, fresh, out)


def kept_in(out: Path, fresh: Result) -> Result:
    """Earlier content of the file. Figures of another machine or other versions are dropped with a warning."""
    kept = model.read(out) if out.exists() else Result()
    _check_writable(out)
    if kept.measurements and (kept.machine, kept.versions) != (fresh.machine, fresh.versions):
        output.warn(f"{out}: figures of another machine or other versions are dropped")
        return Result()
    return kept


def _check_writable(out: Path) -> None:
    """Fails before the measurement, not after it. Creates the folder."""
    is_new = not out.exists()
    try:
        if not out.parent.exists():
            out.parent.mkdir(parents=True)
        with out.open("ab"):
            pass
        if is_new:
            out.resolve().unlink()  # of a dangling link, its target
    except OSError as error:
        raise KubewaspError(f"{out}: cannot be written: {error.strerror}") from None


def _print_summary(layer: str, result: Result, out: Path) -> None:
    _print_ratios(result)
    _print_skipped(result)
    minutes, seconds = divmod(round(result.seconds[layer]), 60)
    where = output.printable(str(out))
    output.write(f"{len(result.measurements):,} figures in {minutes}:{seconds:02} min, written to {where}\n")
    output.write(f"report: {PROG} report {where}\n")


def _print_ratios(result: Result) -> None:
    """The ratios with figures in this result."""
    found = [ratio for ratio in ratios(result) if ratio.range is not None]
    if found:
        rows = [(ratio.name, _measured(ratio), _bar(ratio), _verdict(ratio)) for ratio in found]
        output.print_table(("WHAT", "MEASURED", "BAR", ""), rows, right=("MEASURED", "BAR"))


def _print_skipped(result: Result) -> None:
    for skipped in result.skipped:
        output.warn(f"not measured: {skipped.what}: {skipped.why}")


def _measured(ratio: Ratio) -> str:
    found = ratio.range
    if found is None:
        return "-"
    return f"{found.median:,.3g}x" if ratio.kind == TIMES else f"{found.median * 100:+.1f} %"


def _bar(ratio: Ratio) -> str:
    if ratio.bar is None:
        return ""
    return f">= {ratio.bar:g}x" if ratio.kind == TIMES else f"<= {ratio.bar * 100:g} %"


def _verdict(ratio: Ratio) -> str:
    if ratio.reached is None:
        return ""
    return "ok" if ratio.reached else "MISSED" if ratio.binding else "below"


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

    if not output.has_progress():
        yield _lines(steps)
        return
    columns = (
        TextColumn("{task.description:44.44}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=output.console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=steps)
        yield lambda what: progress.update(task, advance=1, description=what)


def _lines(steps: int) -> Step:
    import sys

    began = time.monotonic()
    printed = done = 0.0

    def step(what: str) -> None:
        nonlocal printed, done
        done += 1
        now = time.monotonic() - began
        if now - printed >= _LINE_SECONDS or done == 1:
            printed = now
            print(f"{now:5.0f} s  {done:.0f} of {steps}: {what}", file=sys.stderr, flush=True)

    return step
