import base64
import hashlib
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.trust import bundle
from kubewasp.trust.bundle import Bundle
from kubewasp.trust.dsse import COSIGN_SIGN, IN_TOTO, STATEMENT, Envelope, SignedSubject, Statement, pae
from kubewasp.trust.errors import SignatureError
from kubewasp.trust.signatures import SignatureDocument, UnreadableSignature, read_bundle
from kubewasp.trust.strict_json import MAX_BYTES
from tests.trust.signing import DIGEST, FILE, KINDS, SUBJECT, WASM, key, key_of_kind

SIGNED = bundle.sign_digest(SUBJECT.sha256, key(), {"env": "prod"}).write()


def changed(document: bytes, *path: str | int, value: Any) -> bytes:
    """The document with another value at a path; without the field if the value is None."""
    root = orjson.loads(document)
    place = root
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return orjson.dumps(root)


def annotations(document: bytes, *, by: str = "a") -> Any:
    found = read_bundle(document, "bundle")
    assert isinstance(found, SignatureDocument), found
    return found.annotations_by(key(by).public, SUBJECT)


def test_the_signed_bytes_are_those_of_the_specification() -> None:
    assert (
        pae("http://example.com/HelloWorld", b"hello world")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_a_bundle_is_written_as_cosign_writes_it() -> None:
    document = orjson.loads(SIGNED)
    assert document["mediaType"] == "application/vnd.dev.sigstore.bundle.v0.3+json"
    hint = base64.b64encode(hashlib.sha256(key().public.der).digest()).decode()
    assert document["verificationMaterial"] == {"publicKey": {"hint": hint}}
    envelope = document["dsseEnvelope"]
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert orjson.loads(base64.b64decode(envelope["payload"])) == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"digest": {"sha256": DIGEST.removeprefix("sha256:")}, "annotations": {"env": "prod"}}],
        "predicateType": "https://sigstore.dev/cosign/sign/v1",
        "predicate": {},
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_bundle_by_a_key_of_each_kind_is_read_back(kind: str) -> None:
    private = key_of_kind(kind)
    for made, subject in (
        (bundle.sign_digest(SUBJECT.sha256, private, {}), SUBJECT),
        (bundle.sign_content(WASM, private), FILE),
    ):
        found = read_bundle(made.write(), "bundle")
        assert isinstance(found, SignatureDocument)
        assert found.content == made
        assert found.annotations_by(private.public, subject) == {}
        with pytest.raises(SignatureError):
            found.annotations_by(key("other").public, subject)


def test_signed_annotations_are_found() -> None:
    assert annotations(SIGNED) == {"env": "prod"}


def test_a_signature_of_another_digest_is_refused() -> None:
    other = bundle.sign_digest("0" * 64, key(), {}).write()
    with pytest.raises(SignatureError, match="a valid signature of something else"):
        annotations(other)


def test_an_attestation_is_no_signature() -> None:
    statement = Statement("https://slsa.dev/provenance/v1", (SignedSubject(SUBJECT.sha256),))
    document = Bundle(Envelope.sign(IN_TOTO, statement.write(), key())).write()
    with pytest.raises(SignatureError, match="an attestation about the guest"):
        annotations(document)


def test_another_payload_type_is_refused() -> None:
    statement = Statement(COSIGN_SIGN, (SignedSubject(SUBJECT.sha256),))
    document = Bundle(Envelope.sign("text/plain", statement.write(), key())).write()
    with pytest.raises(SignatureError, match="another payload"):
        annotations(document)


def test_the_signature_of_a_file_does_not_sign_a_manifest() -> None:
    with pytest.raises(SignatureError, match="the signature of a file"):
        annotations(bundle.sign_content(b"a manifest", key()).write())


def test_a_message_signature_with_the_digest_of_something_else_is_refused() -> None:
    document = changed(
        bundle.sign_content(WASM, key()).write(),
        *("messageSignature", "messageDigest", "digest"),
        value=base64.b64encode(bytes(32)).decode(),
    )
    found = read_bundle(document, "bundle")
    assert isinstance(found, SignatureDocument)
    with pytest.raises(SignatureError, match="something else"):
        found.annotations_by(key().public, FILE)


def test_a_log_entry_beside_a_key_is_allowed() -> None:
    """cosign adds one, unless it is told not to; a keyed signature does not depend on it."""
    assert annotations(changed(SIGNED, "verificationMaterial", "tlogEntries", value=[{"logIndex": "1"}]))


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (b"", "not a JSON document"),
        (b"{", "not a JSON document"),
        (b"{}{}", "not a JSON document"),
        (b"[]", "expected an object"),
        (b"\xff", "not a JSON document"),
        (b"[" * 100_000, "not a JSON document"),
        (b" " * (MAX_BYTES + 1), "larger than"),
        (b'{"mediaType":"a","mediaType":"b"}', "not a JSON document"),
        (changed(SIGNED, "mediaType", value="application/json"), "unknown version"),
        (changed(SIGNED, "mediaType", value=3), "mediaType: expected a string"),
        (changed(SIGNED, "verificationMaterial", value=None), "verificationMaterial: expected an object"),
        (changed(SIGNED, "verificationMaterial", value={}), "expected one of publicKey"),
        (changed(SIGNED, "verificationMaterial", "certificate", value={"rawBytes": ""}), "expected one of publicKey"),
        (changed(SIGNED, "verificationMaterial", "other", value=1), "unknown field"),
        (changed(SIGNED, "other", value=1), "unknown field"),
        (changed(SIGNED, "messageSignature", value={}), "expected either"),
        (changed(SIGNED, "dsseEnvelope", value=None), "expected either"),
        (changed(SIGNED, "dsseEnvelope", "signatures", value=[]), "0 signatures, expected one"),
        (changed(SIGNED, "dsseEnvelope", "signatures", value=[{}, {}]), "2 signatures, expected one"),
        (changed(SIGNED, "dsseEnvelope", "signatures", value=[{}]), "sig: expected a string"),
        (changed(SIGNED, "dsseEnvelope", "signatures", value={}), "expected a list"),
        (changed(SIGNED, "dsseEnvelope", "payload", value="%"), "payload: expected base64"),
        (changed(SIGNED, "dsseEnvelope", "payload", value="QR=="), "canonical"),
    ],
)
def test_other_documents_are_told_as_unreadable(document: bytes, problem: str) -> None:
    found = read_bundle(document, "bundle")
    assert isinstance(found, UnreadableSignature)
    assert problem in found.problem


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ({"_type": "other"}, "unknown type"),
        ({"_type": STATEMENT, "subject": []}, "0 subjects"),
        ({"_type": STATEMENT, "subject": [{"digest": {}}] * 101}, "101 subjects"),
        ({"_type": STATEMENT, "subject": [{}], "predicateType": ""}, "digest: expected an object"),
        (
            {"_type": STATEMENT, "subject": [{"digest": {"sha256": 1}}], "predicateType": ""},
            "sha256: expected a string",
        ),
        ({"_type": STATEMENT, "subject": [{"digest": {}}], "predicateType": COSIGN_SIGN}, "something else"),
    ],
)
def test_a_statement_of_another_shape_is_refused(statement: dict[str, Any], problem: str) -> None:
    document = Bundle(Envelope.sign(IN_TOTO, orjson.dumps(statement), key())).write()
    with pytest.raises(SignatureError, match=problem):
        annotations(document)


@settings(max_examples=300)
@given(place=st.integers(0, len(SIGNED) - 1), change=st.integers(1, 255))
def test_a_changed_byte_is_refused_unless_it_is_in_the_hint(place: int, change: int) -> None:
    """The hint helps to find a key; it is not signed, and proves nothing."""
    document = bytearray(SIGNED)
    document[place] ^= change
    hint = SIGNED.index(b'"hint":')
    is_hint = hint <= place < hint + len(b'"hint":') + 46
    try:
        annotations(bytes(document))
    except (SignatureError, AssertionError):
        return
    assert is_hint


@settings(max_examples=100)
@given(st.binary(max_size=300))
def test_any_bytes_are_unreadable_or_a_signature(document: bytes) -> None:
    assert isinstance(read_bundle(document, "bundle"), UnreadableSignature)
