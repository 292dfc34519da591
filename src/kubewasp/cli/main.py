"""Entry point of the `kubewasp` command: command groups, exit codes, user errors."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from kubewasp import __version__
from kubewasp.cli import (
    cluster_commands,
    config_commands,
    extender_commands,
    http_commands,
    plugin_commands,
    wasi_commands,
)
from kubewasp.errors import KubewaspError

app = typer.Typer(
    name="kubewasp",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(plugin_commands.app, name="plugin")
app.add_typer(config_commands.app, name="config")
app.add_typer(wasi_commands.app, name="wasi")
app.add_typer(http_commands.app, name="http")
app.add_typer(extender_commands.app, name="extender")
cluster_commands.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"kubewasp {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A Kubernetes scheduler whose policies are WebAssembly plugins.

    Start with `kubewasp plugin call GUEST filter score` and a .wasm file. No cluster is needed.
    """


def main() -> None:
    run_app(app, "kubewasp")


def run_app(commands: typer.Typer, prog: str) -> None:
    """Runs a command line and exits. User errors are one line on stderr and exit code 1."""
    try:
        _run(commands, prog)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        _discard_output()
        sys.exit(141)
    except OSError as error:
        _discard_output()
        _fail(error)
    except KubewaspError as error:
        _fail(error)


def _run(commands: typer.Typer, prog: str) -> None:
    try:
        commands(prog_name=prog)
    except SystemExit as end:
        # typer turns a broken pipe into exit code 1, the code of an error.
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None
        raise
    finally:
        sys.stdout.flush()  # not at interpreter exit, where a failure cannot be handled


def _discard_output() -> None:
    """Prevents a second write of buffered output at interpreter exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(error: Exception) -> None:
    from kubewasp.cli.output import printable

    print(f"error: {printable(str(error))}", file=sys.stderr)  # noqa: T201
    sys.exit(1)
