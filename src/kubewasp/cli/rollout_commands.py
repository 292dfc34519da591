"""Options and help of `kubewasp rollout`; requests in rollout_client.py, tables in rollout_output.py."""

from __future__ import annotations

from typing import Annotated

import typer

from kubewasp.cli.command_group import CommandGroup
from kubewasp.cli.options import Format, Output, utf8

app = CommandGroup(help="Versions of plugins in a running scheduler: status, promote, abort, reload.")
_SERVER = "http://127.0.0.1:10259"
Server = Annotated[
    str,
    typer.Option(
        "--server", metavar="URL", help="Address of the scheduler: its own machine, or `kubectl port-forward`."
    ),
]
Plugin = Annotated[
    str, typer.Argument(metavar="[PLUGIN]", help="Plugin, if several are on trial.", callback=utf8, show_default=False)
]


@app.command()
def status(server: Server = _SERVER, output: Format = Output.TABLE) -> None:
    """Show the versions in use and on trial, with the counts of trials.

    Prints a row per plugin, the trial of each with its comparison, versions
    that were rolled back, and the last failure of a reload.

    Example: kubewasp rollout status --server http://127.0.0.1:10259
    """
    from kubewasp.cli import rollout_client, rollout_output

    rollout_output.show(rollout_client.status(server), form=output.value)


@app.command()
def promote(plugin: Plugin = "", server: Server = _SERVER, output: Format = Output.TABLE) -> None:
    """End the stage of a trial: from shadow to canary, from there to all pods.

    A version that decides for all pods and is on probation is accepted. Prints
    the new stage.

    Example: kubewasp rollout promote team-nodes
    """
    from kubewasp.cli import rollout_client, rollout_output

    rollout_output.show_message(rollout_client.act(server, "promote", plugin), form=output.value)


@app.command()
def abort(plugin: Plugin = "", server: Server = _SERVER, output: Format = Output.TABLE) -> None:
    """End a trial with the version before. The new one is not tried again.

    Prints which version is out of use.

    Example: kubewasp rollout abort team-nodes
    """
    from kubewasp.cli import rollout_client, rollout_output

    rollout_output.show_message(rollout_client.act(server, "abort", plugin), form=output.value)


@app.command()
def reload(
    server: Server = _SERVER,
    retry: Annotated[bool, typer.Option("--retry", help="Try versions again that were rolled back.")] = False,
    output: Format = Output.TABLE,
) -> None:
    """Read the configuration and its guests again, as SIGHUP does.

    Returns at once; `kubewasp rollout status` shows the result.

    Example: kubewasp rollout reload
    """
    from kubewasp.cli import rollout_client, rollout_output

    rollout_output.show_message(rollout_client.reload(server, retry=retry), form=output.value)
