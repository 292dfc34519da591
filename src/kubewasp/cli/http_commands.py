"""Options and help of `kubewasp http`; implementation in http_serve.py."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.command_group import CommandGroup
from kubewasp.cli.options import Format, LogFormat, LoggingFormat, Output, Verbosity, listen_address

app = CommandGroup(help="Serve HTTP with wasm: routes to handlers and middlewares, each in a sandbox.")
ConfigFile = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="Guests and routes, in YAML, or -.", show_default=False)
]


@app.command()
def serve(
    config: ConfigFile,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Listen address; overrides the file. Port 0: any free port.")
    ] = "",
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=64,
            help="Worker processes; overrides the file. One per core is usual.",
            show_default="1",
        ),
    ] = None,
    logging_format: LoggingFormat = LogFormat.TEXT,
    verbosity: Verbosity = 0,
) -> None:
    """Serve HTTP until SIGTERM or Ctrl-C. Requests in progress are completed.

    Logs the address, problems and shutdown on stderr.

    Guests have one of four styles: wasi (one WASI command per request, as CGI), run (text in, text out), module
    (status, headers, streamed bodies) and http-wasm (middleware of the public http-wasm ABI). Minimal file:

        guests: {hello: {file: hello.wasm}}
        routes: [{prefix: /, handler: hello}]

    Guests and the configuration are reloaded when their files change, and on SIGHUP; an unusable version is not taken.

    Example: kubewasp http serve --config examples/http/web.yaml --workers 2
    """
    from kubewasp.cli import http_serve
    from kubewasp.cli.inputs import Inputs

    address = listen_address(listen) if listen else None
    options = http_serve.ServeOptions(address, workers, logging_format.value, verbosity)
    http_serve.serve(Inputs().file(config), options)


@app.command()
@app.command("routes", hidden=True)
def check(config: ConfigFile, output: Format = Output.TABLE) -> None:
    """Check a configuration, load its guests, and list its routes.

    Prints one row per route. Exit code 1: errors in the file, each with its path.

    Example: kubewasp http check --config examples/http/web.yaml
    """
    from kubewasp.cli import http_serve
    from kubewasp.cli.inputs import Inputs

    http_serve.show_routes(Inputs().file(config), form=output.value)
