"""Options and help of `kubewasp replay`. The work is in `replay.py`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.console_options import LOOPBACK, Html, Open, html_file
from kubewasp.cli.options import (
    DIFFERENCE_CODE,
    ConfigFile,
    Format,
    Output,
    PluginConfigs,
    Plugins,
    ShowLogs,
    plugin_texts,
)


class ReplayFailOn(StrEnum):
    """Results of a replay with an exit code other than 0."""

    DIFFERENCE = "difference"
    NEVER = "never"


def replay(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of `kubewasp run --record`.")],
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    logs: ShowLogs = False,
    fail_on: Annotated[
        ReplayFailOn, typer.Option(metavar="|".join(ReplayFailOn), help="Results that are a failure.")
    ] = ReplayFailOn.NEVER,
    all_lines: Annotated[bool, typer.Option("--all", help="Show every difference, not the first ones only.")] = False,
    output: Format = Output.TABLE,
    opened: Open = False,
    html: Html = None,
) -> None:
    """Decide the recorded pods of a cluster again, and show every difference.

    Each recorded decision is made again in the recorded state of the cluster,
    without a cluster and without waiting. The configuration and the guests are
    those of the recording; --config replaces them, --plugin adds or replaces a
    guest. After a difference the state follows the recording, so that each
    difference stands for itself.

    Exit codes: 0 success; 1 invalid input; 2 usage error; 5 decisions differ,
    with --fail-on difference.

    Example: kubewasp replay examples/recordings/churn --plugin examples/guests/nodenumber.wat
    """
    from kubewasp.cli import replay as command
    from kubewasp.cli.inputs import Inputs

    html = html_file(html)
    watched = None
    if opened or html is not None:
        from kubewasp.console.recorded_source import RecordedRun

        watched = RecordedRun()
    inputs = Inputs()
    report, plugin_logs = command.run(
        folder,
        config=inputs.optional(config),
        plugins=inputs.plugins(plugin),
        plugin_configs=plugin_texts(plugin_config, inputs),
        logs=logs,
        observer=watched,
    )
    command.show(report, plugin_logs, form=output.value, is_all=all_lines)
    if watched is not None:
        from kubewasp.cli import console

        console.show(
            watched.source(console.title_of(folder)), html=html, listen=LOOPBACK if opened else None, opened=opened
        )
    if fail_on is ReplayFailOn.DIFFERENCE and len(report.differences):
        raise typer.Exit(DIFFERENCE_CODE)


def register(app: typer.Typer) -> None:
    app.command()(replay)
