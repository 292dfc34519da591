"""Options and help of `kubewasp compare`. The work is in compare.py."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.cluster_commands import AllLines, StartTime, epoch
from kubewasp.cli.console_options import Open
from kubewasp.cli.options import Format, Output, Strict, plugin_texts, utf8
from kubewasp.cli.trace_options import (
    DEFAULT_MAP,
    Inflate,
    Map,
    Nodes,
    Patience,
    Shuffle,
    ShuffleNodes,
    Skip,
    Sort,
    Stay,
    Until,
)


class CompareFailOn(StrEnum):
    """Results of a comparison with an exit code other than 0."""

    MOVED = "moved"
    PENDING = "pending"
    ERROR = "error"
    NEVER = "never"


def compare(
    candidates: Annotated[
        list[str],
        typer.Argument(
            metavar="CANDIDATE",
            help="Two or more: a configuration file, a guest, or `default`, each with weights if wanted: "
            "[NAME=]BASE[,PLUGIN=WEIGHT]. The first is the baseline.",
            show_default=False,
        ),
    ],
    path: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT", help="Manifests, as for simulate, or a trace: .csv, .csv.gz, .parquet.", show_default=False
        ),
    ],
    manifests: Annotated[
        list[Path] | None,
        typer.Option("--manifests", metavar="PATH", help="More manifests, such as the nodes of a trace. Repeatable."),
    ] = None,
    scenario: Annotated[Path | None, typer.Option(metavar="FILE", help="Timeline of changes to the cluster.")] = None,
    seeds: Annotated[
        int, typer.Option(metavar="N", min=1, max=10_000, help="Number of seeds; each candidate runs with all of them.")
    ] = 1,
    seed: Annotated[int, typer.Option(metavar="N", help="The first seed.")] = 0,
    processes: Annotated[int, typer.Option(metavar="N", min=1, max=1024, help="Processes that runs share.")] = 1,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Configuration of candidates that are a guest or `default`, or -."),
    ] = None,
    plugin_config: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=TEXT",
            help="Configuration of a guest among the candidates, or @FILE. Repeatable.",
            callback=utf8,
        ),
    ] = None,
    prices: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Prices of nodes per hour: a file of kind NodePrices.")
    ] = None,
    price_label: Annotated[
        str, typer.Option(metavar="LABEL", help="Label of nodes with their price per hour.", callback=utf8)
    ] = "",
    mapping: Map = DEFAULT_MAP,
    nodes: Nodes = None,
    sort: Sort = False,
    shuffle: Shuffle = False,
    shuffle_nodes: ShuffleNodes = False,
    inflate: Inflate = "",
    until: Until = "",
    patience: Patience = "",
    stay: Stay = False,
    skip_bad_rows: Skip = False,
    start_time: StartTime = "",
    strict: Strict = False,
    explained: Annotated[
        int,
        typer.Option(
            "--explained", metavar="N", min=0, max=10_000, help="Differing pods per candidate to find the cause of."
        ),
    ] = 20,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with pictures to this file.")
    ] = None,
    fail_on: Annotated[
        CompareFailOn,
        typer.Option(
            metavar="|".join(CompareFailOn),
            help="Results that are a failure: moved pods, more pending pods than the baseline, errors of plugins, "
            "or none.",
        ),
    ] = CompareFailOn.NEVER,
    all_lines: AllLines = False,
    output: Format = Output.TABLE,
    opened: Open = False,
) -> None:
    """Compare configurations, plugins or weights on the same input.

    Shows what differs from the baseline: measures such as pending pods, time to
    bind, utilization, fragmentation and cost, and the pods that go elsewhere,
    with the plugin that made the difference. With --seeds 10, changes have
    intervals, and those in parentheses are not significant.

    Exit codes: 0 success; 1 invalid input; 2 usage error; with --fail-on: 3 a
    plugin failed on a pod; 4 more pods are pending; 5 pods moved.

    Example: kubewasp compare default default,ImageLocality=5 examples/clusters/small.yaml

    Example: kubewasp compare default nodenumber.wasm examples/traces/pods.csv --nodes examples/traces/nodes.csv
    """
    from kubewasp.cli import candidate_texts, compare_output, trace_run
    from kubewasp.cli import compare as command
    from kubewasp.cli.inputs import Inputs

    if len(candidates) < 2:
        raise typer.BadParameter("expected two candidates or more, and the input after them", param_hint="CANDIDATE")
    if html is not None and not html.parent.is_dir():
        raise typer.BadParameter(f"{html.parent} is no folder", param_hint="--html")
    inputs = Inputs()
    sources = candidate_texts.read(
        candidates, inputs, config=inputs.optional(config), plugin_configs=plugin_texts(plugin_config, inputs)
    )
    is_trace = command.is_trace(path)
    changes = (mapping != DEFAULT_MAP, nodes, sort, shuffle, shuffle_nodes, inflate, until, patience, stay)
    if not is_trace and (any(changes) or skip_bad_rows):
        raise typer.BadParameter("the options of traces are for INPUT that ends with .csv, .csv.gz or .parquet")
    if is_trace and scenario is not None:
        raise typer.BadParameter("not for a trace, which has its own times", param_hint="--scenario")
    trace = None
    if is_trace:
        trace = trace_run.options(
            inputs.file(path),
            mapping,
            inputs.optional(nodes),
            sort=sort,
            shuffle=shuffle,
            shuffle_nodes=shuffle_nodes,
            inflate=inflate,
            until=until,
            patience=patience,
            stays=stay,
            skip=skip_bad_rows,
        )
    paths = inputs.files([*(() if is_trace else (path,)), *(manifests or ())])
    compared = command.run(
        sources,
        paths,
        trace,
        timeline=inputs.optional(scenario),
        prices=command.node_prices_of(inputs.optional(prices), price_label),
        seeds=range(seed, seed + seeds),
        processes=processes,
        start_time=epoch(start_time),
        strict=strict,
        explained=explained,
    )
    found = compared.comparison
    if html is not None:
        command.write_page(found, str(path), html)
    compare_output.show(found, form=output.value, is_all=all_lines)
    if opened:
        command.open_console(compared, str(path))
    command.end(found, fail_on)


def register(app: typer.Typer) -> None:
    app.command()(compare)
