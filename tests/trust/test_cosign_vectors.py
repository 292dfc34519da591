"""Keys and signatures that cosign itself has made: vectors/README.md."""

from pathlib import Path

import pytest

from kubewasp.trust.errors import SignatureError
from kubewasp.trust.keys import PrivateKey, PublicKey
from kubewasp.trust.signatures import (
    Evidence,
    SignatureDocument,
    Subject,
    read_bundle,
    read_detached,
    read_simple_signature,
)
from tests.trust.signing import WASM, key

VECTORS = Path(__file__).parent / "vectors"
FILE = Subject.of_content(WASM, "x.wasm")


def content(name: str) -> bytes:
    return (VECTORS / name).read_bytes()


def manifest() -> Subject:
    return Subject(content("digest").decode().strip(), "oci://registry.example.com/policies/x:1")


def public(name: str = "cosign") -> PublicKey:
    return PublicKey.from_pem(content(f"{name}.pub"))


def simple_signature(payload: bytes) -> Evidence:
    return read_simple_signature(payload, content("payload.sig").decode().strip(), "tag")


def test_a_private_key_of_cosign_is_read_with_its_passphrase() -> None:
    assert PrivateKey.from_pem(content("cosign.key"), lambda: b"secret").public == public()


@pytest.mark.parametrize("name", ["cosign", "p384"])
def test_a_bundle_of_cosign_verifies(name: str) -> None:
    document = read_bundle(content(f"{name}.bundle.json"), "referrer")
    assert isinstance(document, SignatureDocument)
    assert document.annotations_by(public(name), manifest()) == {"env": "prod"}
    assert document.claim == f"key SHA256:{public(name).fingerprint.rstrip('=')}"
    with pytest.raises(SignatureError):
        document.annotations_by(key().public, manifest())


def test_a_signature_of_the_older_form_of_cosign_verifies() -> None:
    document = simple_signature(content("payload.json"))
    assert isinstance(document, SignatureDocument)
    assert document.annotations_by(public(), manifest()) == {"env": "prod"}


def test_a_changed_payload_of_cosign_is_refused() -> None:
    document = simple_signature(content("payload.json").replace(b"prod", b"test"))
    assert isinstance(document, SignatureDocument)
    with pytest.raises(SignatureError):
        document.annotations_by(public(), manifest())


@pytest.mark.parametrize("name", ["file.sigstore.json", "file.bundle", "file.sig"])
def test_a_signature_of_a_file_by_cosign_verifies(name: str) -> None:
    document = read_detached(content(name), name)
    assert isinstance(document, SignatureDocument)
    assert document.annotations_by(public(), FILE) == {}
    assert document.claims(FILE)
    with pytest.raises(SignatureError):
        document.annotations_by(public(), Subject.of_content(WASM + b"\0", "x.wasm"))
