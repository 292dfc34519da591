"""Options and help of `kubewasp plugin keygen`, `sign` and `verify`; the work is in plugin_sign and plugin_verify."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kubewasp.cli.options import Format, Output, assignments, utf8
from kubewasp.cli.registry_options import CaFile, ConfigOption, CredentialsFile, Insecure, RegistryAccess

if TYPE_CHECKING:
    from kubewasp.cli.command_group import CommandGroup

Signed = Annotated[
    str, typer.Argument(metavar="GUEST", help="An oci:// reference, or a file.", show_default=False, callback=utf8)
]


class KeyForm(StrEnum):
    """Form of a private key."""

    COSIGN = "cosign"
    PKCS8 = "pkcs8"


class SignatureFormat(StrEnum):
    """Form of a signature in a registry."""

    BUNDLE = "bundle"
    LEGACY = "legacy"


_PANEL = "Commands for signatures"


def register(app: CommandGroup) -> None:
    """Adds the commands to the group `plugin`."""
    for command in (keygen, sign, verify):
        app.command(rich_help_panel=_PANEL)(command)


def keygen(
    prefix: Annotated[str, typer.Argument(metavar="NAME", help="Name of the files, without ending.")] = "kubewasp",
    format_: Annotated[
        KeyForm, typer.Option("--format", metavar="cosign|pkcs8", help="Form of the private key.")
    ] = KeyForm.COSIGN,
    output: Format = Output.TABLE,
) -> None:
    """Create a key pair to sign plugins with: NAME.key, encrypted, and NAME.pub.

    ECDSA on P-256. The private key has the form of `cosign generate-key-pair`, so
    cosign reads it as well. The passphrase is taken from KUBEWASP_PASSWORD or
    COSIGN_PASSWORD, or asked for. Files that exist are not overwritten. Prints the
    names of the files and the fingerprint of the key.

    Example: kubewasp plugin keygen
    """
    from kubewasp.cli import plugin_sign as command

    command.keygen(prefix, pkcs8=format_ is KeyForm.PKCS8, form=output.value)


def sign(
    guest: Signed,
    key: Annotated[
        str, typer.Option(metavar="FILE", help="Private key: a PEM file, or env://NAME.", show_default=False)
    ],
    annotation: Annotated[
        list[str] | None,
        typer.Option("--annotation", metavar="NAME=VALUE", help="Signed annotation. Repeatable.", callback=utf8),
    ] = None,
    format_: Annotated[
        SignatureFormat,
        typer.Option("--format", metavar="bundle|legacy", help="Form in a registry: cosign 3, or the older one."),
    ] = SignatureFormat.BUNDLE,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Signature of a file. Default: GUEST.sigstore.json.")
    ] = None,
    config: ConfigOption = None,
    insecure: Insecure = False,
    ca_file: CaFile = None,
    credentials: CredentialsFile = None,
    output: Format = Output.TABLE,
) -> None:
    """Sign a plugin in a registry (oci://HOST/REPOSITORY:TAG), or a file. Prints its digest and the signer.

    A tag is resolved once, and its digest is signed. The signature is pushed beside
    the plugin, where `cosign verify --key` finds it, too. The signature of a file is
    a bundle beside it, as of `cosign sign-blob --bundle`.

    The passphrase of the key is taken from KUBEWASP_PASSWORD or COSIGN_PASSWORD, or
    asked for.

    Example: kubewasp plugin sign nodenumber.wasm --key team-a.key
    """
    from kubewasp.cli import plugin_sign as command

    command.sign(
        guest,
        key=key,
        annotations=assignments("--annotation", annotation),
        signature_form="bundle" if format_ is SignatureFormat.BUNDLE else "legacy",
        target=out,
        access=RegistryAccess(config, insecure, ca_file, credentials),
        form=output.value,
    )


def verify(
    guest: Signed,
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Public key: a PEM file, or env://NAME; all are needed. Repeatable."),
    ] = None,
    config: ConfigOption = None,
    certificate_identity: Annotated[
        str, typer.Option(metavar="TEXT", help="Identity of a keyless signer: an address, or a workflow.")
    ] = "",
    certificate_oidc_issuer: Annotated[
        str, typer.Option(metavar="URL", help="Issuer that has authenticated the identity.")
    ] = "",
    trusted_root: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Trusted root of Sigstore, for keyless signatures.")
    ] = None,
    annotation: Annotated[
        list[str] | None,
        typer.Option("--annotation", metavar="NAME=VALUE", help="Required annotation. Repeatable.", callback=utf8),
    ] = None,
    insecure: Insecure = False,
    ca_file: CaFile = None,
    credentials: CredentialsFile = None,
    output: Format = Output.TABLE,
) -> None:
    """Verify the signatures of a plugin in a registry, or of a file, without loading it.

    Without --key and --certificate-identity, the trust policy of --config decides.
    Prints the digest and the signers.

    Exit codes: 0 verified; 1 a signature is missing or wrong; 2 wrong usage.

    Example: kubewasp plugin verify nodenumber.wasm --key team-a.pub
    """
    from kubewasp.cli import plugin_verify as command

    is_keyless = bool(certificate_identity or certificate_oidc_issuer or trusted_root)
    if is_keyless and not (certificate_identity and certificate_oidc_issuer and trusted_root):
        needed = "--certificate-identity, --certificate-oidc-issuer and --trusted-root are needed together"
        raise typer.BadParameter(needed)
    if config is None and not key and not is_keyless:
        raise typer.BadParameter("give --key, --certificate-identity, or a --config with a trust policy")
    if annotation and not key and not is_keyless:
        raise typer.BadParameter("the annotations are those of --config", param_hint="--annotation")
    wanted = command.Wanted(
        keys=tuple(key or ()),
        identity=certificate_identity,
        issuer=certificate_oidc_issuer,
        trusted_root=trusted_root,
        annotations=assignments("--annotation", annotation),
    )
    command.run(guest, wanted, RegistryAccess(config, insecure, ca_file, credentials), form=output.value)
