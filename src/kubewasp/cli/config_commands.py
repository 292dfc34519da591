"""Options and help of `kubewasp config`. The work is in config_check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.command_group import CommandGroup
from kubewasp.cli.options import FORMATS, Output

app = CommandGroup(help="Check and print scheduler configurations.")


@app.command()
def check(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="KubeSchedulerConfiguration, YAML or JSON, or -.", show_default=False)
    ],
    output: Annotated[
        Output,
        typer.Option("-o", "--output", metavar=FORMATS, help="Tables, or the effective configuration as JSON or YAML."),
    ] = Output.TABLE,
) -> None:
    """Check a configuration file and print its effect: settings, plugins per extension point, plugin args.

    Guests of wasm plugins are loaded to find their extension points. JSON and
    YAML output is a complete KubeSchedulerConfiguration. Exit code 1: errors in
    the file, each with its path.

    Example: kubewasp config check scheduler.yaml
    """
    from kubewasp.cli import config_check as command
    from kubewasp.cli.inputs import Inputs

    command.check(Inputs().file(file), form=output.value)


@app.command()
def default() -> None:
    """Print the default configuration as YAML, as a start for your own.

    Comments explain the list of plugins.

    Example: kubewasp config default > scheduler.yaml
    """
    from kubewasp.cli import config_check as command

    command.print_default()
