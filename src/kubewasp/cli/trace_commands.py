"""Options and help of `kubewasp trace`. The work is in trace_run.py, trace_generate.py and trace_shapes.py."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.command_group import CommandGroup
from kubewasp.cli.options import ConfigFile, Format, Output, PluginConfigs, Plugins, Strict, plugin_texts, utf8
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

app = CommandGroup(help="Workloads from traces: run them in memory, generate them, count their shapes.")

PodsFile = Annotated[
    Path,
    typer.Argument(
        metavar="PODS",
        help="Trace: CSV, also .csv.gz, or Parquet; a row per pod; - is CSV from standard input.",
        show_default=False,
    ),
]


class Arrivals(StrEnum):
    """Times of arrival."""

    POISSON = "poisson"
    DIURNAL = "diurnal"
    BURSTS = "bursts"


class Durations(StrEnum):
    """Times that pods run."""

    EXPONENTIAL = "exponential"
    HEAVY = "heavy"
    CONSTANT = "constant"


@app.command()
def run(
    pods: PodsFile,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Manifests of the cluster, as for simulate.", show_default=False),
    ] = None,
    mapping: Map = DEFAULT_MAP,
    nodes: Nodes = None,
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    sort: Sort = False,
    shuffle: Shuffle = False,
    shuffle_nodes: ShuffleNodes = False,
    inflate: Inflate = "",
    until: Until = "",
    patience: Patience = "",
    stay: Stay = False,
    skip_bad_rows: Skip = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of random choices.")] = 0,
    strict: Strict = False,
    output: Format = Output.TABLE,
) -> None:
    """Run a trace on a cluster in memory: pods arrive, run and end at their times.

    Rows are read one at a time, so a trace may have millions. Prints numbers of
    pods, their waits, and the requested shares of resources; -o json has
    samples over time.

    Example: kubewasp trace run examples/traces/pods.csv --nodes examples/traces/nodes.csv
    """
    from kubewasp.cli import trace_run as command
    from kubewasp.cli.inputs import Inputs

    inputs = Inputs()
    report = command.run(
        command.options(
            inputs.file(pods),
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
        ),
        inputs.files(paths),
        config=inputs.optional(config),
        plugins=inputs.plugins(plugin),
        plugin_configs=plugin_texts(plugin_config, inputs),
        seed=seed,
        strict=strict,
    )
    command.show(report, form=output.value)


@app.command()
def generate(
    pods: Annotated[int, typer.Option(metavar="N", min=0, help="Number of pods.")] = 1000,
    rate: Annotated[float, typer.Option(metavar="N", help="Mean number of pods per second.")] = 1.0,
    arrivals: Annotated[
        Arrivals,
        typer.Option(
            metavar="|".join(Arrivals), help="Independent arrivals, more by day than by night, or many at once."
        ),
    ] = Arrivals.POISSON,
    durations: Annotated[
        Durations, typer.Option(metavar="|".join(Durations), help="Times that pods run; heavy: a few very long ones.")
    ] = Durations.EXPONENTIAL,
    mean_duration: Annotated[str, typer.Option(metavar="DURATION", help="Mean of them.", callback=utf8)] = "1h",
    namespaces: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of namespaces; the first ones have more pods.")
    ] = 1,
    gpus: Annotated[bool, typer.Option("--gpus", help="Some pods request GPUs.")] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed: the same one gives the same trace.")] = 0,
) -> None:
    """Print a random trace as CSV, with the columns of the preset `generic`.

    Example: kubewasp trace generate --pods 10000 --arrivals diurnal > pods.csv
    """
    from kubewasp.cli import trace_generate

    trace_generate.run(
        pods=pods,
        rate=rate,
        arrivals=arrivals.value,
        durations=durations.value,
        mean_duration=mean_duration,
        namespaces=namespaces,
        gpus=gpus,
        seed=seed,
    )


@app.command()
def shapes(
    pods: PodsFile,
    mapping: Map = DEFAULT_MAP,
    share: Annotated[
        float,
        typer.Option(
            metavar="PERCENT", min=0, max=100, help="The most frequent shapes that make up this share of pods."
        ),
    ] = 95.0,
    resource: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Resource that counts for a shape. Repeatable. Default: all.", callback=utf8),
    ] = None,
    skip_bad_rows: Skip = False,
    output: Format = Output.TABLE,
) -> None:
    """Count the shapes of the pods in a trace: equal requests and node affinity.

    Prints the most frequent first; CPU is in millicores. The shapes in -o json
    are what the example plugin gpu-share takes as its workload.

    Example: kubewasp trace shapes examples/traces/pods.csv --resource cpu
    """
    from kubewasp.cli import trace_shapes
    from kubewasp.cli.inputs import Inputs

    trace_shapes.run(
        Inputs().file(pods), mapping, share=share / 100, resources=resource or (), skip=skip_bad_rows, form=output.value
    )
