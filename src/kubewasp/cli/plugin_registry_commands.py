"""Options and help of `kubewasp plugin` for registries: push, pull, tag, digest, annotate, info, save, load, ls, rm."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.command_group import CommandGroup
from kubewasp.cli.options import Format, Output, assignments, naming, utf8
from kubewasp.cli.registry_options import (
    CaFile,
    ConfigOption,
    CredentialsFile,
    Insecure,
    ReferenceText,
    RegistryAccess,
    reference_of,
    tagged,
)

_PANEL = "Commands for registries"


class Policy(StrEnum):
    """When a registry is asked."""

    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


Annotation = Annotated[
    list[str] | None,
    typer.Option("--annotation", metavar="NAME=TEXT", help="Annotation of the manifest. Repeatable.", callback=utf8),
]
Title = Annotated[str | None, typer.Option(metavar="TEXT", help="Title.", callback=utf8)]
Description = Annotated[str | None, typer.Option(metavar="TEXT", help="Description.", callback=utf8)]
Version = Annotated[str | None, typer.Option("--version", metavar="TEXT", help="Version.", callback=utf8)]
Source = Annotated[str | None, typer.Option(metavar="URL", help="Address of the source code.", callback=utf8)]
Licenses = Annotated[str | None, typer.Option(metavar="TEXT", help="Licences, as SPDX expression.", callback=utf8)]


def register(app: CommandGroup) -> None:
    """Adds the commands to the group `plugin`."""
    for name, command in _COMMANDS.items():
        app.command(name, rich_help_panel=_PANEL)(command)


def push(
    plugin: Annotated[
        str,
        typer.Argument(
            metavar="PLUGIN",
            help="A plugin project, a .wasm or .wat file, an address, -, or an OCI layout (folder or .tar).",
            show_default=False,
        ),
    ],
    reference: ReferenceText,
    title: Title = None,
    description: Description = None,
    version: Version = None,
    source: Source = None,
    licenses: Licenses = None,
    author: Annotated[str, typer.Option(metavar="TEXT", help="Author.", callback=utf8)] = "",
    annotation: Annotation = None,
    compat: Annotated[
        bool, typer.Option("--compat", help="Write a container image, for registries that refuse wasm artifacts.")
    ] = False,
    inspect: Annotated[
        bool, typer.Option("--inspect/--no-inspect", help="Load the module, and note its ABI, hooks and memory.")
    ] = True,
    config: ConfigOption = None,
    insecure: Insecure = False,
    ca_file: CaFile = None,
    credentials: CredentialsFile = None,
    output: Format = Output.TABLE,
) -> None:
    """Push a plugin to an OCI registry, as a wasm artifact of the CNCF form. Prints its digest.

    A project is built if its sources changed. What the registry has already is
    not sent again, and a broken upload is continued. The same module and the
    same annotations give the same digest.

    Credentials come from docker login or podman login.

    Example: kubewasp plugin push policy.wasm oci://registry.example.com/policy:v1
    """
    from kubewasp.cli import plugin_push as command
    from kubewasp.cli.inputs import Inputs
    from kubewasp.registry.layouts import is_layout

    target = reference_of(reference)
    if target.digest:
        raise typer.BadParameter("a push has a tag; the digest is its result", param_hint="REFERENCE")
    is_stored = plugin != "-" and is_layout(Path(plugin))
    wanted = command.Push(
        source=plugin if is_stored else Inputs().guest(plugin),
        reference=target,
        annotations=_annotations(title, description, version, source, licenses, annotation),
        author=author,
        is_compat=compat,
        inspects=inspect,
    )
    with RegistryAccess(config, insecure, ca_file, credentials).client(target) as client, naming(plugin):
        command.push(wanted, client, form=output.value)


def pull(
    reference: ReferenceText,
    output_file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Also write the module to this file.")
    ] = None,
    policy: Annotated[
        Policy, typer.Option(metavar="POLICY", help="When to ask the registry: Always, IfNotPresent or Never.")
    ] = Policy.ALWAYS,
    config: ConfigOption = None,
    insecure: Insecure = False,
    ca_file: CaFile = None,
    credentials: CredentialsFile = None,
    output: Format = Output.TABLE,
) -> None:
    """Pull a plugin into the local store, and to a file if wanted. Prints its digests.

    All content is compared with its digest. With a trust policy in --config, the
    signatures are checked before the module is pulled.

    Example: kubewasp plugin pull oci://registry.example.com/policy:v1 --out pulled.wasm
    """
    from kubewasp.cli import plugin_pull as command

    target = reference_of(reference)
    access = RegistryAccess(config, insecure, ca_file, credentials)
    puller = access.puller(target)
    with puller.client, naming(reference):
        _, trust = access.settings()
        command.pull(target, puller, trust, target=output_file, policy=policy.value, form=output.value)


def tag(
    reference: ReferenceText,
    name: Annotated[str, typer.Argument(metavar="TAG", help="The new tag.", show_default=False)],
    config: ConfigOption = None,
    insecure: Insecure = False,
    ca_file: CaFile = None,
    credentials: CredentialsFile = None,
    output: Format = Output.TABLE,
) -> None:
    """Give a pushed plugin another tag, in the same repository. Prints its digest.

    Nothing is downloaded but the manifest.

    Example: kubewasp plugin tag oci://registry.example.com/policy:v1 stable
    """
    from kubewasp.cli import plugin_push as command

    source = reference_of(reference)
    target = tagged(source, name)
    with RegistryAccess(config, insecure, ca_file, credentials).client(source) as client:
        command.tag(source, target, client, form=output.value)


def digest(
    reference: ReferenceText,
    config: ConfigOption = None,
    insecure: Insecure = False,
    ca_file: CaFile = None,
    credentials: CredentialsFile = None,
    output: Format = Output.TABLE,
) -> None:
    """Print the digest that a tag has now in the registry.

    Example: kubewasp plugin digest oci://registry.example.com/policy:v1
    """
    from kubewasp.cli import plugin_pull as command

    target = reference_of(reference)
    with RegistryAccess(config, insecure, ca_file, credentials).client(target) as client:
        command.digest(target, client, form=output.value)


def annotate(
    reference: ReferenceText,
    title: Title = None,
    description: Description = None,
    version: Version = None,
    source: Source = None,
    licenses: Licenses = None,
    annotation: Annotation = None,
    remove: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Annotation to remove. Repeatable.", callback=utf8)
    ] = None,
    config: ConfigOption = None,
    insecure: Insecure = False,
    ca_file: CaFile = None,
    credentials: CredentialsFile = None,
    output: Format = Output.TABLE,
) -> None:
    """Change the annotations of a pushed plugin. Prints its new digest.

    The manifest is another one then, and needs new signatures.

    Example: kubewasp plugin annotate oci://registry.example.com/policy:v1 --licenses Apache-2.0
    """
    from kubewasp.cli import plugin_push as command

    target = reference_of(reference)
    changes = _annotations(title, description, version, source, licenses, annotation)
    if not changes and not remove:
        raise typer.BadParameter("nothing to change; give --title, --annotation NAME=TEXT, --remove NAME or another")
    with RegistryAccess(config, insecure, ca_file, credentials).client(target) as client:
        command.annotate(target, changes, tuple(remove or ()), client, form=output.value)


def info(
    plugin: Annotated[
        str,
        typer.Argument(
            metavar="PLUGIN", help="oci://HOST/REPOSITORY[:TAG], or an OCI layout (folder or .tar).", show_default=False
        ),
    ],
    config: ConfigOption = None,
    insecure: Insecure = False,
    ca_file: CaFile = None,
    credentials: CredentialsFile = None,
    output: Format = Output.TABLE,
) -> None:
    """Show a pushed plugin: format, size, annotations and signatures. Its code is not downloaded and not run.

    With a trust policy in --config, the result of the policy is shown as well.

    Example: kubewasp plugin info oci://registry.example.com/policy:v1
    """
    from kubewasp.cli import plugin_info as command
    from kubewasp.registry.references import is_reference

    access = RegistryAccess(config, insecure, ca_file, credentials)
    _, trust = access.settings()
    if not is_reference(plugin):
        command.of_layout(Path(plugin), trust, form=output.value)
        return
    target = reference_of(plugin)
    with access.client(target) as client:
        command.of_reference(target, client, trust, form=output.value)


def save(
    reference: ReferenceText,
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="New folder, or a file ending in .tar.", show_default=False)
    ],
    config: ConfigOption = None,
    insecure: Insecure = False,
    ca_file: CaFile = None,
    credentials: CredentialsFile = None,
    output: Format = Output.TABLE,
) -> None:
    """Save a plugin and its signatures as an OCI layout, for a cluster without the registry. Prints its digest.

    Example: kubewasp plugin save oci://registry.example.com/policy:v1 policy.tar
    """
    from kubewasp.cli import plugin_pull as command

    target = reference_of(reference)
    puller = RegistryAccess(config, insecure, ca_file, credentials).puller(target)
    with puller.client:
        command.save(target, puller, path, form=output.value)


def load(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="OCI layout: a folder or a .tar.", show_default=False)],
    name: Annotated[
        str | None,
        typer.Option("--as", metavar="REFERENCE", help="Reference for it, in place of the one it was saved by."),
    ] = None,
    output: Format = Output.TABLE,
) -> None:
    """Load a saved plugin and its signatures into the local store, as if it had been pulled. Prints its digest.

    To put it into another registry: kubewasp plugin push PATH REFERENCE.

    Example: kubewasp plugin load plugins.tar
    """
    from kubewasp.cli import plugin_pull as command
    from kubewasp.registry.store import user_store

    command.load(path, user_store(), None if name is None else reference_of(name), form=output.value)


def ls(output: Format = Output.TABLE) -> None:
    """Show the plugins in the local store.

    Example: kubewasp plugin ls
    """
    from kubewasp.cli import plugin_store as command
    from kubewasp.registry.store import user_store

    command.show(user_store(), form=output.value)


def rm(
    references: Annotated[
        list[str] | None, typer.Argument(metavar="REFERENCE", help="oci://HOST/REPOSITORY[:TAG].", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove everything.")] = False,
    output: Format = Output.TABLE,
) -> None:
    """Remove plugins from the local store; the registry keeps them. Prints the space that is free now.

    Example: kubewasp plugin rm oci://registry.example.com/policy:v1
    """
    from kubewasp.cli import plugin_store as command
    from kubewasp.registry.store import user_store

    if bool(references) == everything:
        raise typer.BadParameter("give references, or --all")
    wanted = [reference_of(text) for text in references or ()]
    command.remove(wanted, user_store(), everything=everything, form=output.value)


def _annotations(
    title: str | None,
    description: str | None,
    version: str | None,
    source: str | None,
    licenses: str | None,
    others: list[str] | None,
) -> dict[str, str]:
    named = {"title": title, "description": description, "version": version, "source": source, "licenses": licenses}
    standard = {f"org.opencontainers.image.{name}": value for name, value in named.items() if value}
    return standard | assignments("--annotation", others)


_COMMANDS = {
    "push": push,
    "pull": pull,
    "tag": tag,
    "digest": digest,
    "annotate": annotate,
    "info": info,
    "save": save,
    "load": load,
    "ls": ls,
    "rm": rm,
}
