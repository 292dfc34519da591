"""Options and help of `python -m tools.bench`. The commands themselves are in run_command.py and its neighbours."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.command_group import CommandGroup
from kubewasp.cli.options import Format, Output

app = CommandGroup(help="Benchmarks of plugins and whole scheduling on this machine, beside their peers.")

Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="Result file; other layers in it are kept.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer sizes and repetitions: a minute, and coarse figures.")]
ResultFile = Annotated[Path, typer.Argument(metavar="RESULT.json", help="Result file of `plugin` and `scheduler`.")]
TinyGo = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Guests that TinyGo built, POLICY.wasm, where `tinygo` is not on the PATH."),
]
_LATEST = Path("bench-result.json")


class Part(StrEnum):
    """Parts with bars."""

    CODEC = "codec"
    HOST = "host"
    INTERRUPTION = "interruption"
    CYCLE = "cycle"
    SDK = "sdk"
    ROLLOUT = "rollout"
    RECORDING = "recording"
    LAB = "lab"
    CONSOLE = "console"
    CONSOLE_LIVE = "console_live"
    WEB = "web"
    REGISTRY = "registry"
    TRUST = "trust"


@app.command()
def plugin(
    quick: Quick = False,
    form: Annotated[
        list[str] | None,
        typer.Option(metavar="FORM", help="Only this form, e.g. go, rust, in-process, extender-names. Repeatable."),
    ] = None,
    nodes: Annotated[
        list[int] | None, typer.Option(metavar="N", min=1, max=100_000, help="Only this number of nodes. Repeatable.")
    ] = None,
    tinygo: TinyGo = None,
    out: Out = _LATEST,
    output: Format = Output.TABLE,
) -> None:
    """Measure three policies in every form: built in, Python, guests of each language, wasm text, callbacks, extender.

    Loading, the first cycle, cycles with nothing changed and with 1 % of the nodes changed, for 100 to 20,000 nodes;
    time breakdown, memory and fuel; beside them the same guest on a Go host. Guests are built first, once.

    Example: python -m tools.bench plugin --quick
    """
    from tools.bench import guests, run_command

    guests.use_tinygo_guests(tinygo)
    run_command.plugin(quick=quick, forms=form or (), nodes=nodes or (), out=out, form=output.value)


@app.command()
def scheduler(
    quick: Quick = False,
    embedded: Annotated[bool, typer.Option("--embedded", help="Only without an API server.")] = False,
    real: Annotated[bool, typer.Option("--real", help="Only on a real API server, beside kube-scheduler.")] = False,
    workload: Annotated[
        list[str] | None,
        typer.Option(metavar="WORKLOAD", help="Only this one, e.g. basic, preemption, mixed-churn. Repeatable."),
    ] = None,
    out: Out = _LATEST,
    output: Format = Output.TABLE,
) -> None:
    """Measure whole scheduling, embedded and on a real API server: pods per second, attempt times, CPU, memory.

    With no plugin, a built-in one, 1, 2 and 5 wasm plugins; beside them kube-scheduler, alone and with an extender. The
    API server and kube-scheduler are built from their sources first, once: that takes some minutes and needs Go.

    Example: python -m tools.bench scheduler --quick --embedded
    """
    from tools.bench import run_command

    if embedded and real:
        raise typer.BadParameter("leave both out to measure both", param_hint="--embedded and --real")
    places = ("embedded",) if embedded else ("real",) if real else ("embedded", "real")
    run_command.scheduler(quick=quick, places=places, workloads=workload or (), out=out, form=output.value)


@app.command()
def counts(
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this policy, form or path, e.g. nodenumber, go, extender. Repeatable."),
    ] = None,
    check: Annotated[
        Path | None, typer.Option(metavar="BASELINE.json", help="Exit with 1 if a count is above the baseline.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the counts to this file.")] = None,
    output: Format = Output.TABLE,
) -> None:
    """Count machine-independent costs: fuel, bytes copied, calls across the boundary, Python calls, allocations.

    Cycles with guests, and every other hot path: built-in plugins, node and pod updates, wire codec, watch stream,
    extender, web handlers, guest log. The same program gives the same counts on every machine.

    Example: python -m tools.bench counts --check tools/bench/counts.json
    """
    from tools.bench import counts_command

    if not counts_command.run(only=only or (), check=check, out=out, form=output.value):
        raise typer.Exit(1)


@app.command()
def languages(
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this language, e.g. go, rust-tiny, zig, or collectors. Repeatable."),
    ] = None,
    tinygo: TinyGo = None,
    docs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Page whose tables are replaced, e.g. docs/languages.md.")
    ] = None,
) -> None:
    """Measure the example policy nodenumber in every language, and kinds of collectors, as Markdown tables.

    Size, load, cost per node in the first cycle and later ones, and memory, on 5,000 nodes, as `kubewasp plugin bench`
    measures them. Guests are built first, once; that takes some minutes.

    Example: python -m tools.bench languages --only go --only rust
    """
    from tools.bench import guests, languages_command

    guests.use_tinygo_guests(tinygo)
    languages_command.run(only or (), docs=docs)


@app.command()
def compare(
    before: Annotated[Path, typer.Argument(metavar="A.json", help="A result.", show_default=False)],
    after: Annotated[Path, typer.Argument(metavar="B.json", help="Another one.", show_default=False)],
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if something became worse.")] = False,
    output: Format = Output.TABLE,
) -> None:
    """Show the changes from A to B beyond the noise of both.

    Example: python -m tools.bench compare before.json after.json
    """
    from tools.bench import compare_command

    if not compare_command.run(before, after, check=check, form=output.value):
        raise typer.Exit(1)


@app.command()
def report(
    result: ResultFile,
    docs: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of benchmarks.md and its charts.")] = Path(
        "docs"
    ),
) -> None:
    """Write a page and charts of a result.

    Example: python -m tools.bench report bench-result.json --docs /tmp/report
    """
    from kubewasp.cli import output
    from tools.bench import model
    from tools.bench.report import documents

    for path in documents.write(model.read(result), docs):
        output.write(f"{output.printable(str(path))}\n")


@app.command()
def interruption(
    guest: Annotated[Path, typer.Argument(metavar="GUEST.wasm", help="A core module that scores.", show_default=False)],
    nodes: Annotated[
        list[int] | None, typer.Option(metavar="N", min=1, max=100_000, help="Only this number of nodes. Repeatable.")
    ] = None,
    severity: Annotated[int, typer.Option(metavar="N", help="Log lines below this severity are left out.")] = 3,
) -> None:
    """Measure a guest with load checks, with epochs and without any check, side by side: CPU time per node.

    Example: python -m tools.bench interruption guest.wasm --nodes 500
    """
    from kubewasp.cli import output
    from tools.bench.bars import interruption as measured

    rows = measured.rows(guest.read_bytes(), nodes or (100, 500, 1000, 5000), severity)
    output.print_table(("NODES", "NO CHECKS", "LOADS", "EPOCHS"), rows, right=("NODES", "NO CHECKS", "LOADS", "EPOCHS"))


@app.command()
def bars(
    only: Annotated[
        list[Part] | None, typer.Option(metavar="PART", help=f"Only this part: {', '.join(Part)}. Repeatable.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if a bar is missed three times.")] = False,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File of the measured values.")] = Path(
        ".build/bench/bars.json"
    ),
) -> None:
    """Measure the speed and memory bars of single parts, as ratios side by side where possible.

    Example: python -m tools.bench bars --check --only codec
    """
    from tools.bench import bars_command

    attempts = 3 if check else 1
    if not bars_command.run([part.value for part in only or Part], out=out, attempts=attempts) and check:
        raise typer.Exit(1)
