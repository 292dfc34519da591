"""Sigstore bundles: version 0.3, the form of cosign 3, is read and written; older versions are read.

A bundle has the signature, and a hint at the key or the certificate of its signer. The signed content is an envelope
with an in-toto statement (`cosign sign`) or a message that is not in the bundle (`cosign sign-blob`).
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.trust.dsse import COSIGN_SIGN, IN_TOTO, Envelope, SignedSubject, Statement
from kubewasp.trust.errors import SignatureError
from kubewasp.trust.strict_json import Fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.trust.keys import PrivateKey, PublicKey

MEDIA_TYPE: Final = "application/vnd.dev.sigstore.bundle.v0.3+json"
_MEDIA_TYPES: Final = (MEDIA_TYPE, *(f"application/vnd.dev.sigstore.bundle+json;version=0.{n}" for n in (1, 2, 3)))
_MAX_CERTIFICATES: Final = 10
_HASHES: Final = {"SHA2_256": "sha256", "SHA2_384": "sha384", "SHA2_512": "sha512"}


@dataclass(frozen=True, slots=True)
class MessageSignature:
    """A signature of a content outside the bundle, with the digest of it; cosign writes none for Ed25519."""

    signature: bytes
    hash_name: str = ""
    digest: bytes = b""

    @classmethod
    def read(cls, fields: Fields) -> MessageSignature:
        signature, digest = fields.data("signature"), fields.fields("messageDigest")
        fields.end()
        if not digest.has("algorithm"):
            digest.end()
            return cls(signature)
        name, value = _HASHES.get(digest.text("algorithm")), digest.data("digest")
        digest.end()
        if name is None or len(value) != hashlib.new(name).digest_size:
            raise SignatureError(f"{digest.path}: unknown algorithm, or of the wrong length")
        return cls(signature, name, value)

    @classmethod
    def sign(cls, content: bytes, key: PrivateKey) -> MessageSignature:
        return cls(key.sign(content), "sha256", hashlib.sha256(content).digest())

    def write(self) -> dict[str, Any]:
        digest = {}
        if self.hash_name:
            algorithm = next(written for written, name in _HASHES.items() if name == self.hash_name)
            digest = {"algorithm": algorithm, "digest": base64.b64encode(self.digest).decode()}
        return {"messageDigest": digest, "signature": base64.b64encode(self.signature).decode()}

    def verify(self, content: bytes, key: PublicKey) -> None:
        if self.hash_name and hashlib.new(self.hash_name, content).digest() != self.digest:
            raise SignatureError("a signature of something else")
        key.verify(self.signature, content)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle. `hint` is that of the key; `certificate` (DER) is empty unless the signer has an identity."""

    content: Envelope | MessageSignature
    hint: str = ""
    certificate: bytes = b""

    @classmethod
    def read(cls, document: bytes) -> Bundle:
        fields = Fields.of_document(document, "bundle")
        if fields.text("mediaType") not in _MEDIA_TYPES:
            raise SignatureError("bundle: of an unknown version, expected 0.1 to 0.3")
        hint, certificate = _signer(fields.fields("verificationMaterial"))
        if fields.has("dsseEnvelope") == fields.has("messageSignature"):
            raise SignatureError("bundle: expected either dsseEnvelope or messageSignature")
        content: Envelope | MessageSignature
        if fields.has("dsseEnvelope"):
            content = Envelope.read(fields.fields("dsseEnvelope"))
        else:
            content = MessageSignature.read(fields.fields("messageSignature"))
        fields.skip("dsseEnvelope", "messageSignature")
        fields.end()
        return cls(content, hint, certificate)

    def write(self) -> bytes:
        """A bundle by a key; those with a certificate are read only."""
        name = "dsseEnvelope" if isinstance(self.content, Envelope) else "messageSignature"
        material = {"publicKey": {"hint": self.hint}}
        return orjson.dumps({"mediaType": MEDIA_TYPE, "verificationMaterial": material, name: self.content.write()})


def sign_digest(sha256: str, key: PrivateKey, annotations: Mapping[str, str]) -> Bundle:
    """A bundle as `cosign sign` makes it, about a digest (64 hexadecimal digits)."""
    statement = Statement(COSIGN_SIGN, (SignedSubject(sha256, annotations),))
    return Bundle(Envelope.sign(IN_TOTO, statement.write(), key), hint=key.public.fingerprint)


def sign_content(content: bytes, key: PrivateKey) -> Bundle:
    """A bundle as `cosign sign-blob` makes it."""
    return Bundle(MessageSignature.sign(content, key), hint=key.public.fingerprint)


def _signer(material: Fields) -> tuple[str, bytes]:
    """The hint at a key, or the certificate. Timestamps and log entries belong to the keyless verification."""
    material.skip("tlogEntries", "timestampVerificationData")
    given = [name for name in ("publicKey", "certificate", "x509CertificateChain") if material.has(name)]
    if len(given) != 1:
        raise SignatureError("bundle: expected one of publicKey, certificate and x509CertificateChain")
    signer = material.fields(given[0])
    material.end()
    if given[0] == "publicKey":
        hint = signer.optional_text("hint")
        signer.end()
        return hint, b""
    if given[0] == "certificate":
        certificate = signer.data("rawBytes")
        signer.end()
        return "", certificate
    chain = signer.list_of_fields("certificates")
    if not 0 < len(chain) <= _MAX_CERTIFICATES:
        raise SignatureError(f"bundle: {len(chain)} certificates, expected 1 to {_MAX_CERTIFICATES}")
    return "", chain[0].data("rawBytes")
