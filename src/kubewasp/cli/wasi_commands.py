"""Options and help of `kubewasp wasi`; implementation in wasi_run.py and wasi_inspect.py."""

from __future__ import annotations

from typing import Annotated

import typer

from kubewasp.cli.command_group import CommandGroup
from kubewasp.cli.options import Format, Output, assignments, utf8
from kubewasp.cli.registry_options import CaFile, ConfigOption, CredentialsFile, Insecure, RegistryAccess

app = CommandGroup(help="Run a WASI program with granted capabilities only, or inspect one.")

File = Annotated[
    str, typer.Argument(metavar="FILE", help="WASI command, a .wasm or .wat file, or -.", show_default=False)
]


Program = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="WASI command, a .wasm or .wat file, or -; or an image: oci://HOST/REPOSITORY, oci:FOLDER.",
        show_default=False,
    ),
]


@app.command()
def run(
    file: Program,
    args: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- ARG", help="Arguments of the program.", show_default=False, callback=utf8),
    ] = None,
    directory: Annotated[
        list[str] | None,
        typer.Option(
            "--dir",
            metavar="HOST[:GUEST][:ro]",
            help=r"Grant a directory, under the name GUEST; :ro is read-only. A colon in a path is \:. Repeatable.",
            callback=utf8,
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Environment variable of the program. Repeatable.", callback=utf8),
    ] = None,
    image_env: Annotated[
        bool, typer.Option("--image-env", help="Grant the environment variables of the image.")
    ] = False,
    image_files: Annotated[
        bool, typer.Option("--image-files", help="Grant the files of the image, read-only, as /.")
    ] = False,
    stdin: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Standard input of the program, - for that of kubewasp. Default: empty."),
    ] = None,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Memory limit, e.g. 256Mi.")] = "1Gi",
    stack: Annotated[str, typer.Option(metavar="SIZE", help="Stack limit, e.g. 512Ki.")] = "1Mi",
    timeout: Annotated[str | None, typer.Option(metavar="DURATION", help="Time limit, e.g. 500ms or 1m30s.")] = None,
    fuel: Annotated[
        str | None,
        typer.Option(metavar="N", help="Fuel limit, about one unit per instruction, e.g. 10M; deterministic."),
    ] = None,
    compile_timeout: Annotated[str, typer.Option(metavar="DURATION", help="CPU time limit of the compilation.")] = "2m",
    compile_memory: Annotated[str, typer.Option(metavar="SIZE", help="Memory limit of the compilation.")] = "2Gi",
    trace: Annotated[bool, typer.Option("--trace", help="Print WASI calls with results on stderr.")] = False,
    stats: Annotated[
        bool, typer.Option("--stats", "--verbose", "-v", help="Print time, memory and fuel used on stderr.")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print no denials.")] = False,
    config: ConfigOption = None,
    insecure: Insecure = False,
    ca_file: CaFile = None,
    credentials: CredentialsFile = None,
) -> None:
    """Run a WASI program. It has access to granted files, variables and input only.

    Prints the program's own output. Denied accesses are listed on stderr, with the option that grants them. An image
    decides which of its files runs and with which arguments, unless others are given; its variables and files have to
    be granted.

    Exit codes: that of the program; 2 wrong usage, or a capability that cannot be granted; 124 time or fuel limit
    exceeded; 126 not a runnable program; 127 no such file; 130 and 143 ended by Ctrl-C and SIGTERM; 134 trap.

    Example: kubewasp wasi run --dir data:ro --timeout 10s count.wasm -- data/words.txt
    """
    from kubewasp.cli import wasi_run as command
    from kubewasp.cli.inputs import Inputs
    from kubewasp.cli.wasi_image import ImageGrants
    from kubewasp.wasi.capabilities import CapabilityError

    try:
        capabilities = command.capabilities_of(
            directories=directory or (),
            environment=assignments("--env", env),
            arguments=args or (),
            memory=memory,
            stack=stack,
            timeout=timeout,
            fuel=fuel,
            compile_timeout=compile_timeout,
            compile_memory=compile_memory,
        )
        inputs = Inputs()
        source = inputs.program(file)
        if stdin == "-":
            inputs.standard_input()
        grants = ImageGrants(image_env, image_files)
        access = RegistryAccess(config, insecure, ca_file, credentials)
        code = command.run(
            source, capabilities, grants=grants, access=access, stdin=stdin, trace=trace, stats=stats, quiet=quiet
        )
    except CapabilityError as error:
        raise typer.BadParameter(str(error)) from None
    raise typer.Exit(code)


@app.command()
def inspect(file: File, output: Format = Output.TABLE) -> None:
    """Show the imports of a program by purpose (files, clocks …) and the options that grant them. It does not run.

    Prints one property per line.

    Example: kubewasp wasi inspect count.wasm
    """
    from kubewasp.cli import wasi_inspect as command
    from kubewasp.cli.inputs import Inputs

    command.run(Inputs().program(file), form=output.value)
