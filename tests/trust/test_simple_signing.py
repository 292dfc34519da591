import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.trust.errors import SignatureError
from kubewasp.trust.signatures import SignatureDocument, UnreadableSignature, read_simple_signature
from kubewasp.trust.simple_signing import MAX_BYTES, Payload, SimpleSignature
from tests.trust.signing import DIGEST, KINDS, SUBJECT, key, key_of_kind, simple_by

PAYLOAD = Payload(DIGEST, "registry.example.com/policies/prefer-label", {"env": "prod"})
SIGNED = SimpleSignature.sign(PAYLOAD, key())


def test_a_payload_is_written_as_cosign_writes_it() -> None:
    reference = "registry.example.com/policies/prefer-label"
    assert Payload(DIGEST, reference).write() == (
        b'{"critical":{"identity":{"docker-reference":"registry.example.com/policies/prefer-label"},'
        b'"image":{"docker-manifest-digest":"%s"},"type":"cosign container image signature"},"optional":null}'
        % DIGEST.encode()
    )
    assert orjson.loads(PAYLOAD.write())["optional"] == {"env": "prod"}
    assert Payload.read(PAYLOAD.write()) == PAYLOAD


@pytest.mark.parametrize("kind", KINDS)
def test_a_signature_by_a_key_of_each_kind_verifies(kind: str) -> None:
    private = key_of_kind(kind)
    document = SignatureDocument(SimpleSignature.sign(PAYLOAD, private), "tag")
    assert document.annotations_by(private.public, SUBJECT) == {"env": "prod"}
    with pytest.raises(SignatureError, match="not signed by"):
        document.annotations_by(key("other").public, SUBJECT)


def test_a_signature_of_another_digest_is_refused() -> None:
    other = Payload("sha256:" + "0" * 64)
    document = SignatureDocument(SimpleSignature.sign(other, key()), "tag")
    with pytest.raises(SignatureError, match="something else"):
        document.annotations_by(key().public, SUBJECT)


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        (b"", "not a JSON document"),
        (b"{}", "critical: expected an object"),
        (b'{"critical":{"type":"other"}}', "unknown type"),
        (b'{"critical":{"type":"cosign container image signature"}}', "identity: expected an object"),
        (b" " * (MAX_BYTES + 1), "larger than"),
    ],
)
def test_a_payload_of_another_shape_is_refused(payload: bytes, problem: str) -> None:
    document = SignatureDocument(SimpleSignature(payload, key().sign(payload)), "tag")
    with pytest.raises(SignatureError, match=problem):
        document.annotations_by(key().public, SUBJECT)


def test_a_signature_that_is_not_base64_is_unreadable() -> None:
    assert isinstance(read_simple_signature(PAYLOAD.write(), "%", "tag"), UnreadableSignature)


@settings(max_examples=200)
@given(is_payload=st.booleans(), place=st.integers(0, 10_000), change=st.integers(1, 255))
def test_a_changed_byte_is_refused(is_payload: bool, place: int, change: int) -> None:
    payload, signature = bytearray(SIGNED.payload), bytearray(SIGNED.signature)
    changed = payload if is_payload else signature
    changed[place % len(changed)] ^= change
    document = SignatureDocument(SimpleSignature(bytes(payload), bytes(signature)), "tag")
    with pytest.raises(SignatureError):
        document.annotations_by(key().public, SUBJECT)


def test_a_certificate_is_not_verified_with_a_key() -> None:
    document = SignatureDocument(SimpleSignature(SIGNED.payload, SIGNED.signature, b"a certificate"), "tag")
    with pytest.raises(SignatureError, match="with a certificate"):
        document.annotations_by(key().public, SUBJECT)


def test_the_claim_names_no_key_that_is_not_known() -> None:
    found = simple_by()
    assert isinstance(found, SignatureDocument)
    assert (found.form, found.claim) == ("simple signing", "a key")
