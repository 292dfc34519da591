"""Signatures as found beside a guest, in every form, and their common question: signed by this key, of this subject?"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.trust.bundle import Bundle, MessageSignature
from kubewasp.trust.dsse import Envelope
from kubewasp.trust.errors import SignatureError
from kubewasp.trust.keys import shown_fingerprint
from kubewasp.trust.simple_signing import SimpleSignature
from kubewasp.trust.strict_json import Fields, decoded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.trust.keys import PublicKey

MAX_SIGNATURES: Final = 100  # of one guest
MAX_DOCUMENT_BYTES: Final = 1 << 20
_PREFIX: Final = "sha256:"
_HINT_CHARACTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")


@dataclass(frozen=True, slots=True)
class Subject:
    """The signed thing: the digest of a manifest, or of a file, whose content is then there as well."""

    digest: str  # sha256:…
    source: str
    content: bytes | None = None

    @classmethod
    def of_content(cls, content: bytes, source: str) -> Subject:
        return cls(_PREFIX + hashlib.sha256(content).hexdigest(), source, content)

    @property
    def sha256(self) -> str:
        return self.digest.removeprefix(_PREFIX)


@dataclass(frozen=True, slots=True)
class DetachedSignature:
    """A signature of a file without a bundle: `cosign sign-blob --output-signature`, or its older `--bundle`."""

    signature: bytes
    certificate: bytes = b""

    @classmethod
    def read(cls, document: bytes) -> DetachedSignature:
        """A signature in base64, or the JSON object that cosign 2 calls a bundle."""
        text = document.strip()
        if not text.startswith(b"{"):
            return cls(decoded(text.decode("ascii", "replace"), "signature"))
        fields = Fields.of_document(text, "signature")
        signature, certificate = fields.data("base64Signature"), fields.optional_text("cert")
        fields.skip("rekorBundle")
        fields.end()
        return cls(signature, certificate.encode())


@dataclass(frozen=True, slots=True)
class SignatureDocument:
    """A readable signature, and its place for messages. `document` has the bytes of a bundle."""

    content: Bundle | SimpleSignature | DetachedSignature
    place: str
    document: bytes = b""

    @property
    def has_certificate(self) -> bool:
        """Whether the signer has an identity instead of a key."""
        return bool(self.content.certificate)

    @property
    def form(self) -> str:
        if isinstance(self.content, Bundle):
            return "bundle"
        return "simple signing" if isinstance(self.content, SimpleSignature) else "detached signature"

    @property
    def claim(self) -> str:
        """The signer by the document's own account, not verified."""
        if self.has_certificate:
            return "a certificate"
        hint = self.content.hint if isinstance(self.content, Bundle) else ""
        if len(hint) == 44 and _HINT_CHARACTERS.issuperset(hint):
            return f"key {shown_fingerprint(hint)}"
        return "a key"

    def claims(self, subject: Subject) -> bool:
        """Whether the document is about the subject by its own account, not verified."""
        content = self.content
        try:
            if isinstance(content, SimpleSignature):
                content.annotations_of(subject.digest)
            elif isinstance(content, Bundle) and isinstance(content.content, Envelope):
                content.content.statement().annotations_of(subject.sha256)
            elif isinstance(content, Bundle) and isinstance(content.content, MessageSignature):
                return content.content.hash_name != "sha256" or content.content.digest.hex() == subject.sha256
        except SignatureError:
            return False
        return True

    def annotations_by(self, key: PublicKey, subject: Subject) -> Mapping[str, str]:
        """The signed annotations. SignatureError, unless the key has signed this subject."""
        content = self.content
        if self.has_certificate:
            raise SignatureError("signed with a certificate, not with a key")
        if isinstance(content, SimpleSignature):
            content.verify(key)
            return content.annotations_of(subject.digest)
        if isinstance(content, Bundle) and isinstance(content.content, Envelope):
            content.content.verify(key)
            return content.content.statement().annotations_of(subject.sha256)
        if subject.content is None:
            raise SignatureError("the signature of a file, not of a manifest")
        if isinstance(content, Bundle):
            assert not isinstance(content.content, Envelope)  # noqa: S101 - for the type checker
            content.content.verify(subject.content, key)
        else:
            key.verify(content.signature, subject.content)
        return {}


@dataclass(frozen=True, slots=True)
class UnreadableSignature:
    """A document in the place of a signature that is none; it does not stop another one from being accepted."""

    problem: str
    place: str


Evidence = SignatureDocument | UnreadableSignature


def read_bundle(document: bytes, place: str) -> Evidence:
    """A Sigstore bundle."""
    try:
        return SignatureDocument(Bundle.read(document), place, document)
    except SignatureError as error:
        return UnreadableSignature(str(error), place)


def read_simple_signature(
    payload: bytes, signature: str, place: str, *, certificate: str = "", log_entry: str = ""
) -> Evidence:
    """A payload with its signature (base64), from a layer and its annotations."""
    try:
        content = SimpleSignature(
            payload, decoded(signature, "signature"), certificate.encode(), log_entry.encode()
        )  # fmt: skip
    except SignatureError as error:
        return UnreadableSignature(str(error), place)
    return SignatureDocument(content, place)


def read_detached(document: bytes, place: str) -> Evidence:
    """A file beside a guest: a Sigstore bundle, the older bundle of cosign, or a bare signature."""
    if b'"mediaType"' in document[:MAX_DOCUMENT_BYTES]:
        return read_bundle(document, place)
    try:
        return SignatureDocument(DetachedSignature.read(document[: MAX_DOCUMENT_BYTES + 1]), place)
    except SignatureError as error:
        return UnreadableSignature(str(error), place)
