"""Options and help of `kubewasp image`; implementation in image_build.py and image_inspect.py."""

from __future__ import annotations

from typing import Annotated

import typer

from kubewasp.cli.command_group import CommandGroup
from kubewasp.cli.options import Format, Output, assignments, utf8
from kubewasp.cli.registry_options import CaFile, ConfigOption, CredentialsFile, Insecure, RegistryAccess

app = CommandGroup(help="Build container images of wasm programs, or inspect one.")


@app.command()
def build(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Program, a .wasm or .wat file, a plugin project, or -.", show_default=False
        ),
    ],
    tag: Annotated[
        list[str],
        typer.Option(
            "-t",
            "--tag",
            metavar="ADDRESS",
            help="oci://HOST/REPOSITORY:TAG, oci:FOLDER[:TAG], oci-archive:FILE[:TAG] or "
            "docker-archive:FILE[:NAME:TAG]. Repeatable.",
            show_default=False,
            callback=utf8,
        ),
    ],
    cmd: Annotated[
        list[str] | None,
        typer.Option(metavar="ARG", help="Default argument of the program. Repeatable.", callback=utf8),
    ] = None,
    workdir: Annotated[
        str, typer.Option(metavar="DIR", help="Working directory, a path in the image.", show_default=False)
    ] = "",
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Environment variable of the image. Repeatable.", callback=utf8),
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Label of the image. Repeatable.", callback=utf8)
    ] = None,
    annotation: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Annotation of the manifest. Repeatable.", callback=utf8),
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option(metavar="SRC:DST", help="File or folder SRC at DST in the image. Repeatable.", callback=utf8),
    ] = None,
    artifact: Annotated[
        bool, typer.Option("--artifact", help="CNCF wasm artifact: the program alone, without an image around it.")
    ] = False,
    config: ConfigOption = None,
    insecure: Insecure = False,
    ca_file: CaFile = None,
    credentials: CredentialsFile = None,
    output: Format = Output.TABLE,
) -> None:
    """Build a container image of a wasm program, or a wasm artifact, and store it.

    The image has the platform wasi/wasm and the annotation that crun looks for. The same input gives the same digest;
    SOURCE_DATE_EPOCH sets the time in the image, which is 1970 else. Prints one property per line.

    Example: kubewasp image build count.wasm -t oci:images:count --cmd data/words.txt
    """
    from kubewasp.cli import image_build as command
    from kubewasp.cli.inputs import Inputs

    command.run(
        Inputs().guest(file),
        command.Wishes(
            addresses=tuple(tag),
            command=tuple(cmd or ()),
            working_directory=workdir,
            environment=assignments("--env", env),
            labels=assignments("--label", label),
            annotations=assignments("--annotation", annotation),
            added=tuple(add or ()),
            is_artifact=artifact,
        ),
        RegistryAccess(config, insecure, ca_file, credentials),
        form=output.value,
    )


@app.command()
def inspect(
    image: Annotated[
        str,
        typer.Argument(
            metavar="IMAGE",
            help="oci://HOST/REPOSITORY:TAG, oci:FOLDER[:TAG], oci-archive:FILE[:TAG] or "
            "docker-archive:FILE[:NAME:TAG].",
            show_default=False,
            callback=utf8,
        ),
    ],
    config: ConfigOption = None,
    insecure: Insecure = False,
    ca_file: CaFile = None,
    credentials: CredentialsFile = None,
    output: Format = Output.TABLE,
) -> None:
    """Show what an image is, what it would run, and what rights the program could ask for. It does not run.

    Prints one property per line.

    Example: kubewasp image inspect oci:images:count
    """
    from kubewasp.cli import image_inspect as command

    command.run(image, RegistryAccess(config, insecure, ca_file, credentials), form=output.value)
