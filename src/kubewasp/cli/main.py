"""The `kubewasp` command. Commands live in modules of their own, imported when called: `--help` must be quick."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from kubewasp import __version__
from kubewasp.cli import plugin

app = typer.Typer(
    name="kubewasp",
    help="A Kubernetes scheduler whose policies are WebAssembly plugins.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(plugin.app, name="plugin")


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
    """Try `kubewasp plugin call GUEST filter score` on a .wasm file of yours: no cluster is needed."""


def main() -> None:
    """Runs the command; a mistake of the user is one line on stderr and exit code 1."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except Exception as error:
        if not _is_users(error):
            raise
        from kubewasp.cli.output import printable

        print(f"error: {printable(str(error))}", file=sys.stderr)  # noqa: T201
        sys.exit(1)


def _is_users(error: Exception) -> bool:
    from kubewasp.k8s.errors import ManifestError
    from kubewasp.wasm.errors import KubewaspError

    return isinstance(error, KubewaspError | ManifestError)
