"""Options and help of `kubewasp http`; implementation in http_serve.py."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.options import LogFormat, Output

app = typer.Typer(
    no_args_is_help=True,
    help="Serve HTTP with wasm: routes to handlers and middlewares, each in a sandbox.",
    rich_markup_mode="rich",
)
ConfigFile = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="Guests and routes, in YAML, or -.", show_default=False)
]


@app.command()
def serve(
    config: ConfigFile,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Listen address; overrides the file. Port 0: any free port.")
    ] = "",
    logging_format: Annotated[LogFormat, typer.Option(help="Text or JSON.")] = LogFormat.TEXT,
    verbosity: Annotated[int, typer.Option("-v", "--v", metavar="N", min=0, help="Log verbosity.")] = 0,
) -> None:
    """Serve until SIGTERM or Ctrl-C. Requests in progress are completed.

    Guests have one of three styles: [bold]wasi[/bold] (one WASI command per request, as CGI), [bold]module[/bold]
    (exports run, malloc and free) and [bold]http-wasm[/bold] (middleware of the public http-wasm ABI). Minimal file:

        guests: {hello: {file: hello.wasm, style: wasi}}
        routes: [{prefix: /, handler: hello}]

    A guest is reloaded when its file changes; if the new version is unusable, the previous one stays.

    Example: kubewasp http serve --config web.yaml
    """
    from kubewasp.cli import http_serve
    from kubewasp.cli.inputs import Inputs

    http_serve.serve(Inputs().file(config), listen, logging_format.value, verbosity)


@app.command()
def routes(
    config: ConfigFile, output: Annotated[Output, typer.Option("-o", "--output", help="Table or JSON.")] = Output.TABLE
) -> None:
    """Check a configuration, load its guests, and list its routes.

    Example: kubewasp http routes --config web.yaml
    """
    from kubewasp.cli import http_serve
    from kubewasp.cli.inputs import Inputs

    http_serve.show_routes(Inputs().file(config), as_json=output is Output.JSON)
