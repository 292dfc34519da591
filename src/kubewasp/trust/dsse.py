"""DSSE: an envelope around a payload, and the in-toto statement in the envelopes of cosign."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.trust.errors import SignatureError
from kubewasp.trust.strict_json import Fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.trust.keys import PrivateKey, PublicKey

IN_TOTO: Final = "application/vnd.in-toto+json"
STATEMENT: Final = "https://in-toto.io/Statement/v1"
_STATEMENTS: Final = (STATEMENT, "https://in-toto.io/Statement/v0.1")
COSIGN_SIGN: Final = "https://sigstore.dev/cosign/sign/v1"
_MAX_SUBJECTS: Final = 100


def pae(payload_type: str, payload: bytes) -> bytes:
    """The signed bytes: an unambiguous form of type and payload."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


@dataclass(frozen=True, slots=True)
class Envelope:
    """A payload with one signature."""

    payload_type: str
    payload: bytes
    signature: bytes

    @classmethod
    def read(cls, fields: Fields) -> Envelope:
        payload, payload_type = fields.data("payload"), fields.text("payloadType")
        signatures = fields.list_of_fields("signatures")
        fields.end()
        if len(signatures) != 1:
            raise SignatureError(f"{fields.path}: has {len(signatures)} signatures, expected one")
        signature = signatures[0].data("sig")
        signatures[0].skip("keyid")
        signatures[0].end()
        return cls(payload_type, payload, signature)

    @classmethod
    def sign(cls, payload_type: str, payload: bytes, key: PrivateKey) -> Envelope:
        return cls(payload_type, payload, key.sign(pae(payload_type, payload)))

    def write(self) -> dict[str, Any]:
        return {
            "payload": base64.b64encode(self.payload).decode(),
            "payloadType": self.payload_type,
            "signatures": [{"sig": base64.b64encode(self.signature).decode()}],
        }

    def verify(self, key: PublicKey) -> None:
        key.verify(self.signature, pae(self.payload_type, self.payload))

    def statement(self) -> Statement:
        """The statement in the payload. Read it after the signature was verified."""
        if self.payload_type != IN_TOTO:
            raise SignatureError("the envelope has another payload than an in-toto statement")
        return Statement.read(self.payload)


@dataclass(frozen=True, slots=True)
class SignedSubject:
    """A digest (64 hexadecimal digits of SHA-256) with its annotations."""

    sha256: str
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Statement:
    """An in-toto statement: subjects, and the type of the predicate about them."""

    predicate_type: str
    subjects: tuple[SignedSubject, ...]

    @classmethod
    def read(cls, content: bytes) -> Statement:
        fields = Fields.of_document(content, "statement")
        if fields.text("_type") not in _STATEMENTS:
            raise SignatureError("statement: of an unknown type")
        subjects = fields.list_of_fields("subject")
        if not 0 < len(subjects) <= _MAX_SUBJECTS:
            raise SignatureError(f"statement: has {len(subjects)} subjects, expected 1 to {_MAX_SUBJECTS}")
        return cls(fields.text("predicateType"), tuple(_subject(subject) for subject in subjects))

    def write(self) -> bytes:
        return orjson.dumps(
            {
                "_type": STATEMENT,
                "subject": [_written(subject) for subject in self.subjects],
                "predicateType": self.predicate_type,
                "predicate": {},
            }
        )

    def annotations_of(self, sha256: str) -> Mapping[str, str]:
        """The annotations of the subject with this digest. SignatureError if the statement is about others."""
        if self.predicate_type != COSIGN_SIGN:
            raise SignatureError("an attestation about the guest, not a signature of it")
        for subject in self.subjects:
            if subject.sha256 == sha256:
                return subject.annotations
        raise SignatureError("a valid signature of something else")


def _subject(fields: Fields) -> SignedSubject:
    digest = fields.fields("digest")
    annotations = texts(fields.take("annotations"))
    return SignedSubject(digest.optional_text("sha256"), annotations)


def _written(subject: SignedSubject) -> dict[str, Any]:
    written: dict[str, Any] = {"digest": {"sha256": subject.sha256}}
    return written | ({"annotations": dict(subject.annotations)} if subject.annotations else {})


def texts(value: Any) -> dict[str, str]:
    """The annotations that are texts; cosign writes no others."""
    return {name: text for name, text in value.items() if isinstance(text, str)} if isinstance(value, dict) else {}
