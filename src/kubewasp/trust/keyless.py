"""Keyless signatures: a bundle with a certificate about an identity, verified offline with a trusted root.

The certificate, its transparency log and the timestamps are verified by the package `sigstore`, an extra. The trusted
root is a file, so that nothing is downloaded. Signatures in cosign's older form have no proof of inclusion in the log,
and are refused.
"""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kubewasp.trust.bundle import Bundle
from kubewasp.trust.dsse import Envelope
from kubewasp.trust.errors import KeyFormatError, SignatureError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from cryptography.x509 import Certificate
    from sigstore.models import Bundle as SigstoreBundle

    from kubewasp.trust.signatures import SignatureDocument, Subject

MISSING: Final = "needs the package sigstore: pip install 'kubewasp[keyless]'"
_MAX_ROOT_BYTES: Final = 4 << 20
_ISSUER: Final = "1.3.6.1.4.1.57264.1.8"  # a DER string
_OLD_ISSUER: Final = "1.3.6.1.4.1.57264.1.1"  # plain bytes
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Identity:
    """A verified signer: an address or a workflow, and the issuer that has authenticated it."""

    subject: str
    issuer: str

    def __str__(self) -> str:
        return f"{self.subject} (issuer {self.issuer})"


def is_installed() -> bool:
    return importlib.util.find_spec("sigstore") is not None


class KeylessVerifier:
    """Verifier with the trusted root of a file. KeyFormatError for another file, or without the extra.

    Equal to another one with the same content: a policy that is read again has not changed.
    """

    def __init__(self, trusted_root: Path) -> None:
        if not is_installed():
            raise KeyFormatError(MISSING)
        from sigstore.errors import Error
        from sigstore.models import TrustedRoot
        from sigstore.verify import Verifier

        self.path = trusted_root
        try:
            if not trusted_root.is_file() and trusted_root.exists():
                raise KeyFormatError("not a file")
            if trusted_root.stat().st_size > _MAX_ROOT_BYTES:
                raise KeyFormatError("larger than any trusted root")
            self._digest = hashlib.sha256(trusted_root.read_bytes()).digest()
            self._verifier = Verifier(trusted_root=TrustedRoot.from_file(str(trusted_root)))
        except (Error, ValueError, TypeError, KeyError):
            raise KeyFormatError("not a trusted root of Sigstore (trusted_root.json)") from None
        except OSError as error:
            raise KeyFormatError(f"cannot be read: {error.strerror or error}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeylessVerifier) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def verify(self, document: SignatureDocument, subject: Subject) -> tuple[Identity, Mapping[str, str]]:
        """The signer and the signed annotations. SignatureError, unless the signature is about this subject."""
        if not isinstance(document.content, Bundle):
            raise SignatureError("a keyless signature in the older form of cosign; sign it with cosign 3")
        policy = _AnyIdentity()
        if isinstance(document.content.content, Envelope):
            kind, payload = self._run(lambda bundle: self._verifier.verify_dsse(bundle, policy), document)
            # Of the verified envelope, so that two readers of the document cannot differ about it.
            statement = Envelope(kind, payload, b"").statement()
            return policy.identity(), statement.annotations_of(subject.sha256)
        content = subject.content
        if content is None:
            raise SignatureError("the signature of a file, not of a manifest")
        self._run(lambda bundle: self._verifier.verify_artifact(content, bundle, policy), document)
        return policy.identity(), {}

    def _run(self, verify: Callable[[SigstoreBundle], _Result], document: SignatureDocument) -> _Result:
        from sigstore.models import Bundle as SigstoreBundle

        try:
            return verify(SigstoreBundle.from_json(document.document))
        except Exception as error:  # noqa: BLE001 - a hostile bundle reaches several parsers with errors of their own
            problem = f"the certificate, its log or the signature does not hold ({type(error).__name__})"
            raise SignatureError(problem) from None


class _AnyIdentity:
    """The policy of `sigstore` that accepts every identity and keeps it: `policy` compares it with its rules."""

    def __init__(self) -> None:
        self._certificate: Certificate | None = None

    def verify(self, cert: Certificate) -> None:
        self._certificate = cert

    def identity(self) -> Identity:
        if self._certificate is None:
            raise SignatureError("the certificate was not verified")
        return identity_of(self._certificate)


def identity_of(certificate: Certificate) -> Identity:
    """The identity in a certificate of Fulcio."""
    from cryptography import x509

    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        names = [_name(name) for name in extension.value]
    except (x509.ExtensionNotFound, ValueError):
        names = []
    if len(names) != 1 or not names[0]:
        raise SignatureError("the certificate has no identity")
    return Identity(names[0], _issuer(certificate))


def _name(name: Any) -> str:
    from cryptography import x509

    if isinstance(name, x509.UniformResourceIdentifier | x509.RFC822Name):
        return name.value
    return _der_text(name.value) if isinstance(name, x509.OtherName) else ""


def _issuer(certificate: Certificate) -> str:
    from cryptography import x509

    found = {
        extension.oid.dotted_string: extension.value.value
        for extension in certificate.extensions
        if isinstance(extension.value, x509.UnrecognizedExtension)
    }
    if _ISSUER in found:
        return _der_text(found[_ISSUER])
    if _OLD_ISSUER in found:
        return found[_OLD_ISSUER].decode("utf-8", "replace")
    raise SignatureError("the certificate has no issuer of its identity")


def _der_text(content: bytes) -> str:
    """A DER UTF8String of fewer than 65,536 bytes."""
    size, start = (content[1], 2) if len(content) >= 2 else (0, 0)
    if size in (0x81, 0x82):
        start += size - 0x80
        size = int.from_bytes(content[2:start], "big")
    if content[:1] != b"\x0c" or len(content) != start + size:
        raise SignatureError("the certificate has a malformed identity")
    return content[start:].decode("utf-8", "replace")
