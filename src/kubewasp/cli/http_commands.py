"""`kubewasp http`: options and help; the work is done in http_serve.py."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.options import LogFormat, Output

app = typer.Typer(
    no_args_is_help=True,
    help="Answer web requests with wasm: routes to handlers and middlewares, each in a sandbox.",
    rich_markup_mode="rich",
)
ConfigFile = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="Guests and routes, in YAML.", show_default=False)
]


@app.command()
def serve(
    config: ConfigFile,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen, instead of what the file says; port 0 is any.")
    ] = "",
    logging_format: Annotated[LogFormat, typer.Option(help="Lines for people, or JSON.")] = LogFormat.TEXT,
    verbosity: Annotated[int, typer.Option("-v", "--v", metavar="N", min=0, help="How much is logged.")] = 0,
) -> None:
    """Serve until SIGTERM or Ctrl-C. Requests under way are answered first.

    A guest is one of three styles: [bold]wasi[/bold] (a command a request, as CGI), [bold]module[/bold] (exports run,
    malloc and free) and [bold]http-wasm[/bold] (a middleware of the public http-wasm ABI). A smallest file:

        guests: {hello: {file: hello.wasm, style: wasi}}
        routes: [{prefix: /, handler: hello}]

    A guest whose file changes is loaded anew; if the new one is broken, the old one stays.

    Example: kubewasp http serve --config web.yaml
    """
    from kubewasp.cli import http_serve

    http_serve.serve(config, listen, logging_format.value, verbosity)


@app.command()
def routes(
    config: ConfigFile,
    output: Annotated[Output, typer.Option("-o", "--output", help="A table for people, or JSON.")] = Output.TABLE,
) -> None:
    """Check a configuration, load its guests, and show which request goes where.

    Example: kubewasp http routes --config web.yaml
    """
    from kubewasp.cli import http_serve

    http_serve.show_routes(config, as_json=output is Output.JSON)
