"""The `kubewasp` command. Commands live in modules of their own, imported when called: `--help` must be quick."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from kubewasp import __version__
from kubewasp.cli import cluster_commands, config, extender, http, plugin, wasi

app = typer.Typer(
    name="kubewasp",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(plugin.app, name="plugin")
app.add_typer(config.app, name="config")
app.add_typer(wasi.app, name="wasi")
app.add_typer(http.app, name="http")
app.add_typer(extender.app, name="extender")
cluster_commands.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"kubewasp {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A Kubernetes scheduler whose policies are WebAssembly plugins.

    Try `kubewasp plugin call GUEST filter score` on a .wasm file of yours: no cluster is needed.
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
    except Exception as error:
        if not _is_users(error):
            raise
        _fail(error)


def _run(commands: typer.Typer, prog: str) -> None:
    try:
        commands(prog_name=prog)
    except SystemExit as end:
        # typer makes a broken pipe exit code 1, which is that of an error.
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None
        raise
    finally:
        sys.stdout.flush()  # here and not at the interpreter's end, where a failure could not be handled


def _discard_output() -> None:
    """What could not be written is not tried again at the interpreter's end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(error: Exception) -> None:
    from kubewasp.cli.output import printable

    print(f"error: {printable(str(error))}", file=sys.stderr)  # noqa: T201
    sys.exit(1)


def _is_users(error: Exception) -> bool:
    from kubewasp.errors import KubewaspError
    from kubewasp.k8s.errors import ManifestError

    return isinstance(error, KubewaspError | ManifestError)
