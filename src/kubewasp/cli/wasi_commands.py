"""`kubewasp wasi`: options and help of its commands. The work is done in wasi_run.py and wasi_inspect.py."""

from __future__ import annotations

from typing import Annotated

import typer

from kubewasp.cli.options import Output, assignments, utf8

app = typer.Typer(help="Run a WASI program with exactly the rights you grant, or look at one.", no_args_is_help=True)

File = Annotated[
    str, typer.Argument(metavar="FILE", help="A .wasm (or .wat) file: a WASI command.", show_default=False)
]


@app.command()
def run(
    file: File,
    args: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- ARG...]", help="Its arguments.", show_default=False, callback=utf8),
    ] = None,
    directory: Annotated[
        list[str] | None,
        typer.Option(
            "--dir",
            metavar="HOST[:GUEST][:ro]",
            help=r"Let it see a directory, as GUEST; :ro forbids changes. A colon in a path is \:. Repeatable.",
            callback=utf8,
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An environment variable for it; repeatable.", callback=utf8),
    ] = None,
    stdin: Annotated[
        str | None, typer.Option(metavar="FILE", help="Its standard input; - is ours. Else it is empty.")
    ] = None,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="How much memory it may have.")] = "1Gi",
    stack: Annotated[str, typer.Option(metavar="SIZE", help="How deep its calls may go.")] = "1Mi",
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="End it after that time, e.g. 500ms or 1m30s.")
    ] = None,
    fuel: Annotated[
        str | None, typer.Option(metavar="N", help="End it after about so many instructions, e.g. 10M; exact.")
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Print its calls of WASI, with results, on stderr.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Print time, memory and fuel used.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Do not say what it asked for and was denied.")] = False,
) -> None:
    """Run a WASI program. It sees no file, no variable and no input but those that you grant here.

    What it asked for and did not get is said on stderr, with the option that grants it.

    Exit code: that of the program. 124: its time or fuel ran out. 134: it crashed (a trap). 130 or 143: it was ended
    by Ctrl-C or SIGTERM. 2: wrong usage, or a grant that cannot be given. 126: the file is no program that can be run.
    127: there is no such file.

    Example: kubewasp wasi run --dir data:ro --timeout 10s count.wasm -- data/words.txt
    """
    from kubewasp.cli import wasi_run as command
    from kubewasp.wasi.grants import GrantError

    try:
        grants = command.grants(
            directories=directory or (),
            environment=assignments("--env", env),
            arguments=args or (),
            memory=memory,
            stack=stack,
            timeout=timeout,
            fuel=fuel,
        )
        code = command.run(file, grants, stdin=stdin, trace=trace, verbose=verbose, quiet=quiet)
    except GrantError as error:
        raise typer.BadParameter(str(error)) from None
    raise typer.Exit(code)


@app.command()
def inspect(
    file: File,
    output: Annotated[Output, typer.Option("-o", "--output", help="A table for people or JSON for machines.")] = (
        Output.TABLE
    ),
) -> None:
    """Show what a program could ask for: files, variables, clocks, and which options grant it. It is not run.

    Example: kubewasp wasi inspect count.wasm
    """
    from kubewasp.cli import wasi_inspect as command

    command.run(file, as_json=output is Output.JSON)
