"""Options and help of `kubewasp console`, and those of the commands that open it. The work is in console.py."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.cluster_commands import RealEntropy, Seed, StartTime, epoch
from kubewasp.cli.console_options import Html, Listen, Open, html_file
from kubewasp.cli.options import AllowedHosts, ConfigFile, PluginConfigs, Plugins, Strict, listen_address, plugin_texts
from kubewasp.cli.trace_options import DEFAULT_MAP, Map, Nodes


def console(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="INPUT",
            help="Manifests, as for simulate; a snapshot; the folder of a recording; or a trace: .csv or .parquet.",
            show_default=False,
        ),
    ],
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    scenario: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Timeline of changes to the cluster of manifests.")
    ] = None,
    manifests: Annotated[
        list[Path] | None,
        typer.Option("--manifests", metavar="PATH", help="Manifests beside a trace, such as nodes. Repeatable."),
    ] = None,
    mapping: Map = DEFAULT_MAP,
    nodes: Nodes = None,
    start_time: StartTime = "",
    seed: Seed = 0,
    real_entropy: RealEntropy = False,
    strict: Strict = False,
    listen: Listen = "127.0.0.1:0",
    allowed_host: AllowedHosts = None,
    opened: Open = False,
    html: Html = None,
) -> None:
    """Show a cluster in a browser: queue, pending pods, map, timeline, and every decision.

    Manifests and traces are simulated; the timeline goes from their first to
    their last moment. A snapshot is shown as it was taken. A recording is
    replayed; with --config or --plugin, its differences are marked. Serves on
    loopback until Ctrl-C, or writes one file with --html and ends.

    Example: kubewasp console examples/clusters/small.yaml --open

    Example: kubewasp console examples/recordings/churn --html churn.html
    """
    from kubewasp.cli import console as command
    from kubewasp.cli.inputs import Inputs

    html = html_file(html)
    address = listen_address(listen)
    inputs = Inputs()
    source = command.source_of(
        paths,
        inputs,
        config=inputs.optional(config),
        plugins=inputs.plugins(plugin),
        plugin_configs=plugin_texts(plugin_config, inputs),
        timeline=inputs.optional(scenario),
        manifests=manifests or (),
        mapping=mapping,
        trace_nodes=inputs.optional(nodes),
        start_time=epoch(start_time),
        seed=seed,
        real_entropy=real_entropy,
        strict=strict,
    )
    is_served = opened or html is None
    command.show(source, html=html, listen=address if is_served else None, opened=opened, allowed_hosts=allowed_host)


def register(app: typer.Typer) -> None:
    app.command()(console)
