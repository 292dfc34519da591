"""Simple signing, the older form of cosign: the signature of a small JSON payload that names an image's digest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import orjson

from kubewasp.trust.dsse import texts
from kubewasp.trust.errors import SignatureError
from kubewasp.trust.strict_json import Fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.trust.keys import PrivateKey, PublicKey

MEDIA_TYPE: Final = "application/vnd.dev.cosign.simplesigning.v1+json"
SIGNATURE_ANNOTATION: Final = "dev.cosignproject.cosign/signature"
CERTIFICATE_ANNOTATION: Final = "dev.sigstore.cosign/certificate"
LOG_ANNOTATION: Final = "dev.sigstore.cosign/bundle"
MAX_BYTES: Final = 1 << 17
_TYPE: Final = "cosign container image signature"


@dataclass(frozen=True, slots=True)
class Payload:
    """A payload: the digest of a manifest, the name of its repository, and annotations."""

    manifest_digest: str
    repository: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, content: bytes) -> Payload:
        fields = Fields.of_document(content, "payload", max_bytes=MAX_BYTES)
        critical = fields.fields("critical")
        if critical.text("type") != _TYPE:
            raise SignatureError("payload: of an unknown type")
        repository = critical.fields("identity").optional_text("docker-reference")
        digest = critical.fields("image").text("docker-manifest-digest")
        return cls(digest, repository, texts(fields.take("optional")))

    def write(self) -> bytes:
        """The bytes as cosign writes them."""
        critical = {
            "identity": {"docker-reference": self.repository},
            "image": {"docker-manifest-digest": self.manifest_digest},
            "type": _TYPE,
        }
        return orjson.dumps({"critical": critical, "optional": dict(self.annotations) or None})


@dataclass(frozen=True, slots=True)
class SimpleSignature:
    """A payload and its signature; a keyless one also has a certificate (PEM) and an entry of a log (JSON)."""

    payload: bytes
    signature: bytes
    certificate: bytes = b""
    log_entry: bytes = b""

    @classmethod
    def sign(cls, payload: Payload, key: PrivateKey) -> SimpleSignature:
        content = payload.write()
        return cls(content, key.sign(content))

    def verify(self, key: PublicKey) -> None:
        key.verify(self.signature, self.payload)

    def annotations_of(self, digest: str) -> Mapping[str, str]:
        """The annotations, if the payload is about this digest. Read it after the signature was verified."""
        payload = Payload.read(self.payload)
        if payload.manifest_digest != digest:
            raise SignatureError("a valid signature of something else")
        return payload.annotations
