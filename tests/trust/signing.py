"""Keys and signatures for tests of trust."""

import functools
import hashlib
from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from kubewasp.trust import bundle
from kubewasp.trust.keys import PrivateKey
from kubewasp.trust.signatures import Evidence, SignatureDocument, Subject, read_bundle
from kubewasp.trust.signers import KeySigner
from kubewasp.trust.simple_signing import Payload, SimpleSignature

SOURCE = "oci://registry.example.com/policies/prefer-label:1"
DIGEST = "sha256:" + hashlib.sha256(b"a manifest").hexdigest()
SUBJECT = Subject(DIGEST, SOURCE)
WASM = b"\0asm\x01\0\0\0"
FILE = Subject.of_content(WASM, "/policies/prefer-label.wasm")


@functools.cache
def key(name: str = "a") -> PrivateKey:
    """A key of ECDSA P-256, the same for each name."""
    return PrivateKey(
        ec.derive_private_key(int.from_bytes(hashlib.sha256(name.encode()).digest()[:30]), ec.SECP256R1())
    )


@functools.cache
def key_of_kind(kind: str) -> PrivateKey:
    made = {
        "P-256": lambda: ec.generate_private_key(ec.SECP256R1()),
        "P-384": lambda: ec.generate_private_key(ec.SECP384R1()),
        "P-521": lambda: ec.generate_private_key(ec.SECP521R1()),
        "Ed25519": ed25519.Ed25519PrivateKey.generate,
        "RSA": lambda: rsa.generate_private_key(65537, 2048),
    }
    return PrivateKey(made[kind]())


KINDS = ("P-256", "P-384", "P-521", "Ed25519", "RSA")


def signer(name: str = "a", **annotations: str) -> KeySigner:
    return KeySigner(key(name).public, f"team-{name}", annotations)


def bundle_by(name: str = "a", subject: Subject = SUBJECT, annotations: Mapping[str, str] | None = None) -> Evidence:
    document = bundle.sign_digest(subject.sha256, key(name), annotations or {}).write()
    return read_bundle(document, "bundle")


def simple_by(name: str = "a", subject: Subject = SUBJECT, annotations: Mapping[str, str] | None = None) -> Evidence:
    payload = Payload(subject.digest, "registry.example.com/policies/prefer-label", annotations or {})
    return SignatureDocument(SimpleSignature.sign(payload, key(name)), "tag")
