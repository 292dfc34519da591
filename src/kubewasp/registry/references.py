"""References such as `oci://host:port/repository:tag@sha256:…`."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, replace
from typing import Final

from kubewasp.k8s.errors import quoted
from kubewasp.registry.errors import InvalidReferenceError

SCHEME: Final = "oci://"
DEFAULT_TAG: Final = "latest"
DOCKER_HUB: Final = "docker.io"
_HUB_HOSTS: Final = (DOCKER_HUB, "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com")
_MAX_REPOSITORY: Final = 255
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST: Final = re.compile(rf"({_LABEL}(?:\.{_LABEL})*|\[[0-9a-f:.]{{2,45}}\])(?::([0-9]{{1,5}}))?")
_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_REPOSITORY: Final = re.compile(rf"{_PART}(?:/{_PART})*")
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Reference:
    """A manifest in a repository of a registry, by tag, by digest, or by both: then the digest decides.

    Names of Docker Hub are completed: `oci://docker.io/name` is `oci://docker.io/library/name`.
    """

    host: str
    repository: str
    tag: str = ""
    digest: str = ""

    @classmethod
    def parse(cls, text: str) -> Reference:
        """The reference in the text; `latest` is the tag of one without tag and digest."""
        scheme, rest = text[: len(SCHEME)], text[len(SCHEME) :]
        if scheme.lower() != SCHEME:
            raise _invalid(text, f"it does not begin with {SCHEME}")
        host, slash, name = rest.partition("/")
        if not slash:
            raise _invalid(text, f"the repository is missing, as in {SCHEME}registry.example.com/team/policy:v1")
        name, at, digest = name.partition("@")
        repository, colon, tag = name.partition(":")
        if at and not is_digest(digest):
            raise _invalid(text, "its digest is not sha256: and 64 hexadecimal digits in lower case")
        if colon and not is_tag(tag):
            raise _invalid(text, "its tag is not up to 128 letters, digits, dots, underscores and dashes")
        return cls._checked(text, host.lower(), repository, tag if tag or at else DEFAULT_TAG, digest)

    @classmethod
    def _checked(cls, text: str, host: str, repository: str, tag: str, digest: str) -> Reference:
        if not is_host(host):
            raise _invalid(text, "its host is no name or address, with or without a port")
        if len(repository) > _MAX_REPOSITORY or not _REPOSITORY.fullmatch(repository):
            raise _invalid(
                text, "its repository is no path of lower-case letters and digits, with single . _ - between them"
            )
        if host.removesuffix(":443") in _HUB_HOSTS:
            return cls(DOCKER_HUB, repository if "/" in repository else f"library/{repository}", tag, digest)
        return cls(host, repository, tag, digest)

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{SCHEME}{self.host}/{self.repository}{tag}{digest}"

    @property
    def name(self) -> str:
        """Host and repository, as in registries.conf and in Docker's configuration."""
        return f"{self.host}/{self.repository}"

    @property
    def target(self) -> str:
        """Digest or tag, for the path of a request."""
        return self.digest or self.tag

    def at(self, digest: str) -> Reference:
        """The same repository at a digest; the tag stays, for messages."""
        return replace(self, digest=digest)

    def tagged(self, tag: str) -> Reference:
        """The same repository at a tag."""
        if not is_tag(tag):
            raise InvalidReferenceError(f"{quoted(tag)} is no tag: letters, digits, dots, underscores and dashes")
        return replace(self, tag=tag, digest="")


def is_reference(text: str) -> bool:
    """Whether the text has the scheme of a reference; it may be invalid all the same."""
    return text[: len(SCHEME)].lower() == SCHEME


def is_digest(text: str) -> bool:
    return _DIGEST.fullmatch(text) is not None


def is_tag(text: str) -> bool:
    return _TAG.fullmatch(text) is not None


def is_host(text: str) -> bool:
    """A name or an address with or without port; IPv6 addresses are in brackets."""
    found = _HOST.fullmatch(text) if len(text) <= 255 else None
    if found is None or not 0 < int(found[2] or 443) < 65536:
        return False
    if found[1].startswith("["):
        try:
            ipaddress.IPv6Address(found[1][1:-1])
        except ValueError:
            return False
    return True


def fallback_tag(digest: str) -> str:
    """The tag of the index of referrers, in registries without the API for them."""
    return digest.replace(":", "-")


def _invalid(text: str, problem: str) -> InvalidReferenceError:
    return InvalidReferenceError(f"{_shown(text)} is no reference of an OCI registry: {problem}")


def _shown(text: str) -> str:
    """The text without user name and password, which have no place in a reference, for messages."""
    head, at, rest = text.partition("@")
    return quoted(f"{SCHEME}…@{rest}" if at and "/" not in head[len(SCHEME) :] else text)
