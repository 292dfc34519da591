"""`kubewasp bench`: options and help of its commands. The work is done in run_command.py and its neighbours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.options import Output

app = typer.Typer(
    help="Measure what plugins and whole scheduling cost on this machine, beside their peers.", no_args_is_help=True
)

Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="Put the figures there; other layers in it are kept.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer sizes and repetitions: a minute, and coarse figures.")]
Format = Annotated[Output, typer.Option("-o", "--output", help="How to print the results.")]
ResultFile = Annotated[Path, typer.Argument(metavar="RESULT.json", help="What `bench plugin` and `scheduler` wrote.")]
_LATEST = Path("bench-result.json")


@app.command()
def plugin(
    quick: Quick = False,
    form: Annotated[
        list[str] | None,
        typer.Option(metavar="FORM", help="Only this form, e.g. go, wat, in-process, extender-names; repeatable."),
    ] = None,
    nodes: Annotated[
        list[int] | None, typer.Option(min=1, max=100_000, help="Only this number of nodes; repeatable.")
    ] = None,
    out: Out = _LATEST,
    output: Format = Output.TABLE,
) -> None:
    """Measure three policies in every form: built in, Python, Go and Python guests, wasm text, callbacks, extender.

    Loading, the first cycle, cycles with nothing changed and with 1 % of the nodes changed, for 100 to 20,000 nodes;
    where the time goes, memory and fuel; beside them the same guest on a Go host. Guests are built first, once.

    Example: kubewasp bench plugin --quick
    """
    from tools.bench import run_command

    run_command.plugin(quick=quick, forms=form or (), nodes=nodes or (), out=out, as_json=output is Output.JSON)


@app.command()
def scheduler(
    quick: Quick = False,
    embedded: Annotated[bool, typer.Option("--embedded", help="Only without an API server.")] = False,
    real: Annotated[bool, typer.Option("--real", help="Only on a real API server, beside kube-scheduler.")] = False,
    workload: Annotated[
        list[str] | None,
        typer.Option(metavar="WORKLOAD", help="Only this one, e.g. basic, preemption, mixed-churn; repeatable."),
    ] = None,
    out: Out = _LATEST,
    output: Format = Output.TABLE,
) -> None:
    """Measure whole scheduling, embedded and on a real API server: pods a second, attempt times, CPU, memory.

    With no plugin, a built-in one, 1, 2 and 5 wasm plugins; beside them kube-scheduler, alone and with an extender. The
    API server and kube-scheduler are built from their sources first, once: that takes some minutes and needs Go.

    Example: kubewasp bench scheduler --quick --embedded
    """
    from tools.bench import run_command

    if embedded and real:
        raise typer.BadParameter("leave both out to measure both", param_hint="--embedded and --real")
    places = ("embedded",) if embedded else ("real",) if real else ("embedded", "real")
    run_command.scheduler(quick=quick, places=places, workloads=workload or (), out=out, as_json=output is Output.JSON)


@app.command()
def counts(
    check: Annotated[
        Path | None, typer.Option(metavar="BASELINE.json", help="Exit with 1 if something costs more than there.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Put the counts there.")] = None,
    output: Format = Output.TABLE,
) -> None:
    """Count what does not depend on the machine: fuel, bytes copied, calls across the boundary, allocations.

    The same guest gives the same counts everywhere, so a change that makes plugins costlier shows at once.

    Example: kubewasp bench counts --check tools/bench/counts.json
    """
    from tools.bench import counts_command

    if not counts_command.run(check=check, out=out, as_json=output is Output.JSON):
        raise typer.Exit(1)


@app.command()
def compare(
    before: Annotated[Path, typer.Argument(metavar="A.json", help="A result.", show_default=False)],
    after: Annotated[Path, typer.Argument(metavar="B.json", help="Another one.", show_default=False)],
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if something became worse.")] = False,
    output: Format = Output.TABLE,
) -> None:
    """Say what changed from A to B beyond the noise of both.

    Example: kubewasp bench compare before.json after.json
    """
    from tools.bench import compare_command

    if not compare_command.run(before, after, check=check, as_json=output is Output.JSON):
        raise typer.Exit(1)


@app.command()
def report(
    result: ResultFile,
    docs: Annotated[Path, typer.Option(metavar="FOLDER", help="Where benchmarks.md and its pictures go.")] = Path(
        "docs"
    ),
    readme: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A page whose block of benchmarks is written anew.")
    ] = None,
) -> None:
    """Make a page and pictures of a result.

    Example: kubewasp bench report bench-result.json --docs /tmp/report
    """
    from tools.bench import report_command

    report_command.run(result, docs, readme)
