"""Options of commands that use OCI registries, and the client that they make."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from kubewasp.registry.pulling import Puller
    from kubewasp.registry.references import Reference
    from kubewasp.registry.registry_client import RegistryClient
    from kubewasp.registry.settings import RegistrySettings
    from kubewasp.trust.policy import TrustPolicy

_LAST_SECOND: Final = 253_402_300_799  # of the year 9999

ReferenceText = Annotated[
    str, typer.Argument(metavar="REFERENCE", help="oci://HOST/REPOSITORY[:TAG][@DIGEST].", show_default=False)
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Scheduler configuration with registries and trust, or -."),
]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Allow a registry without TLS, or with a certificate that is not trusted.")
]
CaFile = Annotated[
    Path | None, typer.Option("--ca-file", metavar="FILE", help="Certificate authorities of the registry.")
]
CredentialsFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Credentials: a config.json of Docker or Podman, or a mounted secret."),
]


@dataclass(frozen=True, slots=True)
class RegistryAccess:
    """Values of the options."""

    config: Path | None = None
    insecure: bool = False
    ca_file: Path | None = None
    credentials: Path | None = None

    def client(self, reference: Reference | None = None) -> RegistryClient:
        """A client; `--insecure` and `--ca-file` hold for the registry of the reference."""
        from kubewasp.registry.registries_conf import with_user_files
        from kubewasp.registry.registry_client import RegistryClient

        settings, _ = self.settings()
        settings = with_user_files(settings)
        if reference is not None and (self.insecure or self.ca_file):
            settings = self._with_host(settings, reference)
        return RegistryClient(settings)

    def puller(self, reference: Reference | None = None) -> Puller:
        from kubewasp.registry.pulling import Puller
        from kubewasp.registry.store import user_store

        return Puller(self.client(reference), user_store())

    def settings(self) -> tuple[RegistrySettings, TrustPolicy | None]:
        """Registries and trust of the configuration file, with the credentials of the option first."""
        from kubewasp.registry.settings import RegistrySettings

        settings, trust = RegistrySettings(), None
        if self.config is not None:
            from kubewasp.cli.inputs import Inputs
            from kubewasp.framework.config.reading import load_config

            config = load_config(Inputs().file(self.config))
            settings, trust = config.registries, config.trust
        if self.credentials is not None:
            if not self.credentials.exists():
                raise typer.BadParameter(f"{self.credentials}: no such file", param_hint="--credentials")
            settings = replace(settings, credential_files=(str(self.credentials), *settings.credential_files))
        return settings, trust

    def _with_host(self, settings: RegistrySettings, reference: Reference) -> RegistrySettings:
        from kubewasp.registry.settings import RegistryRule

        if self.insecure and self.ca_file:
            raise typer.BadParameter("an insecure registry is not verified; give one of both", param_hint="--ca-file")
        # Without the rules of the host: its mirrors would have other certificates.
        kept = tuple(rule for rule in settings.rules if rule.prefix.partition("/")[0] != reference.host)
        ca_file = "" if self.ca_file is None else str(self.ca_file)
        rule = RegistryRule(reference.host, insecure=self.insecure, ca_file=ca_file)
        return replace(settings, rules=(*kept, rule))


def reference_of(text: str) -> Reference:
    """The reference; wrong usage if it is none."""
    from kubewasp.registry.errors import InvalidReferenceError
    from kubewasp.registry.references import Reference

    try:
        return Reference.parse(text)
    except InvalidReferenceError as error:
        raise typer.BadParameter(str(error)) from None


def tagged(reference: Reference, tag: str) -> Reference:
    """The same repository with another tag; wrong usage if it is none."""
    from kubewasp.registry.errors import InvalidReferenceError

    try:
        return reference.tagged(tag)
    except InvalidReferenceError as error:
        raise typer.BadParameter(str(error)) from None


def source_date() -> int:
    """Seconds of $SOURCE_DATE_EPOCH, as reproducible builds have it, or 0: the same input gives the same digest."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not given:
        return 0
    if not (given.isascii() and given.isdigit() and int(given[:20]) <= _LAST_SECOND):
        raise typer.BadParameter(f"variable SOURCE_DATE_EPOCH: expected seconds since 1970, got {given[:40]!r}")
    return int(given)
