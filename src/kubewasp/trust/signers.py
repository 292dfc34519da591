"""Accepted signers of a trust policy: a public key, an identity of an issuer, a workflow of GitHub Actions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from kubewasp.trust.errors import SignatureError
from kubewasp.trust.keys import shown_fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.trust.keyless import Identity
    from kubewasp.trust.keys import PublicKey
    from kubewasp.trust.signatures import SignatureDocument, Subject

GITHUB_ISSUER: Final = "https://token.actions.githubusercontent.com"
GITHUB: Final = "https://github.com/"


class CertificateVerifier(Protocol):
    """Verifier of signatures with a certificate; `keyless.KeylessVerifier` is one."""

    def verify(self, document: SignatureDocument, subject: Subject) -> tuple[Identity, Mapping[str, str]]: ...


@dataclass(frozen=True, slots=True)
class SignedBy:
    """A signature that holds: the signer's name, and an identity that two signatures of one signer share."""

    name: str
    identity: str
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class KeyOrigin:
    """The setting that has the key: its text, a file, or an environment variable."""

    setting: str = "key"
    value: str = ""


@dataclass(frozen=True, slots=True)
class KeySigner:
    """The holder of a private key."""

    key: PublicKey
    owner: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    origin: KeyOrigin = KeyOrigin()

    def __str__(self) -> str:
        key = f"key {shown_fingerprint(self.key.fingerprint)}"
        return (f"{self.owner} ({key})" if self.owner else key) + _with(self.annotations)

    def check(self, document: SignatureDocument, subject: Subject, _: CertificateVerifier | None) -> SignedBy:
        """SignatureError, unless the document is this signer's signature of the subject."""
        annotations = document.annotations_by(self.key, subject)
        _check_annotations(self.annotations, annotations)
        name = self.owner or f"key {shown_fingerprint(self.key.fingerprint)}"
        return SignedBy(name, f"key {self.key.fingerprint}", annotations)


@dataclass(frozen=True, slots=True)
class IdentitySigner:
    """An identity that an issuer (OpenID Connect) has authenticated: exact, or by the prefix of its URL."""

    issuer: str
    equal: str = ""
    url_prefix: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        subject = self.equal or f"{_closed(self.url_prefix)}…"
        return f"{subject} (issuer {self.issuer})" + _with(self.annotations)

    def check(self, document: SignatureDocument, subject: Subject, keyless: CertificateVerifier | None) -> SignedBy:
        """SignatureError, unless the document is this signer's signature of the subject."""
        return _check_identity(self, document, subject, keyless)

    def accepts(self, identity: Identity) -> bool:
        if identity.issuer != self.issuer:
            return False
        return identity.subject == self.equal if self.equal else identity.subject.startswith(_closed(self.url_prefix))


@dataclass(frozen=True, slots=True)
class GithubSigner:
    """A workflow of GitHub Actions, of an owner or of one repository."""

    owner: str
    repo: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"a workflow of {self._prefix} (GitHub Actions)" + _with(self.annotations)

    def check(self, document: SignatureDocument, subject: Subject, keyless: CertificateVerifier | None) -> SignedBy:
        """SignatureError, unless the document is this signer's signature of the subject."""
        return _check_identity(self, document, subject, keyless)

    def accepts(self, identity: Identity) -> bool:
        return identity.issuer == GITHUB_ISSUER and identity.subject.startswith(self._prefix)

    @property
    def _prefix(self) -> str:
        return f"{GITHUB}{self.owner}/" + (f"{self.repo}/" if self.repo else "")


Signer = KeySigner | IdentitySigner | GithubSigner


def _check_identity(
    signer: IdentitySigner | GithubSigner,
    document: SignatureDocument,
    subject: Subject,
    keyless: CertificateVerifier | None,
) -> SignedBy:
    if not document.has_certificate:
        raise SignatureError("signed with a key, not with a certificate")
    if keyless is None:
        raise SignatureError("no trusted root to verify it with")
    identity, annotations = keyless.verify(document, subject)
    if not signer.accepts(identity):
        raise SignatureError(f"signed by {identity}")
    _check_annotations(signer.annotations, annotations)
    return SignedBy(str(identity), str(identity), annotations)


def _check_annotations(wanted: Mapping[str, str], found: Mapping[str, str]) -> None:
    missing = {name: value for name, value in wanted.items() if found.get(name) != value}
    if missing:
        raise SignatureError(f"signed by the right signer, without the annotations{_with(missing, '')}")


def _with(annotations: Mapping[str, str], word: str = " with") -> str:
    pairs = ", ".join(f"{name}={value}" for name, value in annotations.items())
    return f"{word} {pairs}" if pairs else ""


def _closed(prefix: str) -> str:
    """The prefix with a slash at its end: https://github.com/acme is not https://github.com/acme-of-others."""
    return prefix if prefix.endswith("/") else f"{prefix}/"
