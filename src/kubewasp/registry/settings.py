"""Settings of registries: mirrors, insecure hosts, certificates, credentials.

The rule of a reference is the one with the longest prefix. Its mirrors are asked first, in order, for pulls only.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, get_args

from kubewasp.registry.errors import DeniedError
from kubewasp.registry.references import DOCKER_HUB

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kubewasp.registry.references import Reference

PullPolicy = Literal["Always", "IfNotPresent", "Never"]
PULL_POLICIES: Final[tuple[PullPolicy, ...]] = get_args(PullPolicy)
PullFrom = Literal["all", "digest-only", "tag-only"]
PULL_FROM: Final[tuple[PullFrom, ...]] = get_args(PullFrom)
DEFAULT_TIMEOUT: Final = 300.0
_HUB_SERVER: Final = "registry-1.docker.io"


@dataclass(frozen=True, slots=True)
class Mirror:
    """A place that has copies: a host, with or without the beginning of repositories."""

    location: str
    insecure: bool = False
    pull_from: PullFrom = "all"


@dataclass(frozen=True, slots=True)
class RegistryRule:
    """Settings of all references that begin with `prefix`, such as `example.com/team` or `*.example.com`.

    Attributes:
        prefix: Beginning of the references, without a scheme.
        location: Replacement of the prefix; empty for none.
        insecure: HTTPS without verification, or HTTP.
        blocked: Nothing may be pulled or pushed.
        ca_file: Certificate authorities of the host, in place of the system's.
        cert_file: Client certificate.
        key_file: Key of the client certificate.
        token_hosts: Hosts of token servers that are neither the registry's own nor public.
        mirrors: Places that are asked first.
    """

    prefix: str
    location: str = ""
    insecure: bool = False
    blocked: bool = False
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    token_hosts: tuple[str, ...] = ()
    mirrors: tuple[Mirror, ...] = ()


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files of a host: authorities, client certificate and its key. Empty for none."""

    ca_files: tuple[str, ...] = ()
    cert_file: str = ""
    key_file: str = ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One place to send a request to: server, repository there, and how the server is trusted."""

    host: str
    repository: str
    insecure: bool = False
    certificates: Certificates = field(default_factory=Certificates)
    token_hosts: tuple[str, ...] = ()
    is_mirror: bool = False

    @property
    def server(self) -> str:
        """Host and port of the connection."""
        return _HUB_SERVER if self.host == DOCKER_HUB else self.host

    @property
    def name(self) -> str:
        return f"{self.host}/{self.repository}"


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """Settings of all registries.

    Attributes:
        rules: Rules in any order.
        credential_files: Files in the form of Docker's config.json that are asked before those of the user.
        certificate_folders: Folders such as /etc/containers/certs.d.
        timeout: Seconds of one transfer, from the name service to the last byte.
        uses_user_files: Whether files of the user and of the machine hold as well: registries.conf, credentials.
    """

    rules: tuple[RegistryRule, ...] = ()
    credential_files: tuple[str, ...] = ()
    certificate_folders: tuple[Path, ...] = ()
    timeout: float = DEFAULT_TIMEOUT
    uses_user_files: bool = True

    def endpoints(self, reference: Reference, *, for_push: bool = False) -> tuple[Endpoint, ...]:
        """Mirrors and the registry itself, in the order to ask them."""
        rule = self._rule(reference.name)
        if rule is None:
            return (self._endpoint(reference.name, RegistryRule("")),)
        if rule.blocked:
            raise DeniedError(f"{reference}: {rule.prefix} is blocked by the configuration of registries")
        rest = reference.name[len(reference.host if rule.prefix.startswith("*.") else rule.prefix) :]
        own = self._endpoint(rule.location + rest if rule.location else reference.name, rule)
        if for_push:
            return (own,)
        return (*self._mirrors(rule, reference, rest), own)

    def _mirrors(self, rule: RegistryRule, reference: Reference, rest: str) -> Iterator[Endpoint]:
        for mirror in rule.mirrors:
            if mirror.pull_from != "all" and (mirror.pull_from == "digest-only") != bool(reference.digest):
                continue
            name = mirror.location + rest
            own = self._rule(name) or RegistryRule("")
            yield replace(self._endpoint(name, replace(own, insecure=own.insecure or mirror.insecure)), is_mirror=True)

    def _rule(self, name: str) -> RegistryRule | None:
        fitting = [rule for rule in self.rules if _fits(rule.prefix, name)]
        return max(fitting, key=lambda rule: (not rule.prefix.startswith("*."), len(rule.prefix)), default=None)

    def _endpoint(self, name: str, rule: RegistryRule) -> Endpoint:
        host, _, repository = name.partition("/")
        certificates = self._certificates(host, rule)
        insecure = rule.insecure or (is_loopback(host) and not certificates.ca_files)
        return Endpoint(host, repository, insecure, certificates, rule.token_hosts)

    def _certificates(self, host: str, rule: RegistryRule) -> Certificates:
        if rule.ca_file or rule.cert_file:
            return Certificates((rule.ca_file,) if rule.ca_file else (), rule.cert_file, rule.key_file)
        for folder in self.certificate_folders:
            authorities = tuple(sorted(map(str, (folder / host).glob("*.crt"))))
            certificate = next(iter(sorted((folder / host).glob("*.cert"))), None)
            if authorities or certificate:
                found = (str(certificate), str(certificate.with_suffix(".key"))) if certificate else ("", "")
                return Certificates(authorities, *found)
        return Certificates()


def is_loopback(host: str) -> bool:
    """Whether the host is this machine by its name or address; such hosts are insecure, as for Docker."""
    name = host_name(host)
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def host_name(host: str) -> str:
    """The host without port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _fits(prefix: str, name: str) -> bool:
    if prefix.startswith("*."):
        host, _, _ = name.partition("/")
        return host.endswith(prefix[1:]) and len(host) >= len(prefix)
    return name == prefix or name.startswith(f"{prefix}/")
