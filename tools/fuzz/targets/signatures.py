"""Signatures, keys and trust policies of any content: read, unreadable or refused, and never accepted.

The first byte chooses the reader. Seeds are valid documents by a key that the policy does not name, so that no change
of them may be accepted.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives.asymmetric import ec

from kubewasp.framework.config.model import ConfigError
from kubewasp.framework.config.reading import parse_config
from kubewasp.trust import bundle
from kubewasp.trust.errors import KeyFormatError, SignatureError, TrustError
from kubewasp.trust.keys import PrivateKey, PublicKey
from kubewasp.trust.policy import Rule, TrustPolicy
from kubewasp.trust.signatures import (
    SignatureDocument,
    Subject,
    UnreadableSignature,
    read_bundle,
    read_detached,
    read_simple_signature,
)
from kubewasp.trust.signers import KeySigner
from kubewasp.trust.simple_signing import Payload, SimpleSignature
from kubewasp.trust.source_patterns import SourcePattern, canonical_source, pattern_problem
from tools.fuzz.labels import error_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubewasp.trust.signatures import Evidence

_WASM: Final = b"\0asm\x01\0\0\0"
_SUBJECT: Final = Subject.of_content(_WASM, "oci://registry.example.com/policies/prefer-label:1")
_HEAD: Final = b"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\ntrust: "


@functools.cache
def _key(name: str) -> PrivateKey:
    """Two keys, the same in each process: `ours` is in the policy, `theirs` signs."""
    return PrivateKey(ec.derive_private_key(int.from_bytes(name.encode(), "big"), ec.SECP256R1()))


@functools.cache
def _policy() -> TrustPolicy:
    return TrustPolicy(Rule(all_of=(KeySigner(_key("ours").public, "ours"),)))


def seeds() -> Iterator[bytes]:
    theirs = _key("theirs")
    yield b"\0" + bundle.sign_digest(_SUBJECT.sha256, theirs, {"env": "prod"}).write()
    yield b"\0" + bundle.sign_content(_WASM, theirs).write()
    yield b"\1" + bundle.sign_content(_WASM, theirs).write()
    yield b'\1{"base64Signature":"AAAA","cert":"","rekorBundle":null}'
    yield b"\1AAAA"
    yield b"\2" + SimpleSignature.sign(Payload(_SUBJECT.digest, "host/name", {"env": "prod"}), theirs).payload
    yield b"\3" + theirs.public.pem
    yield b"\4" + theirs.pkcs8_pem(b"")
    yield b'\5{"kdf":{"name":"scrypt","params":{"N":2,"r":1,"p":1},"salt":"AAAA"},"cipher":{"name":"nacl/secretbox"}}'
    yield b"\6{required: true, allOf: [{kind: githubAction, owner: a, repo: b}], sources: [{match: 'oci://a/*/b'}]}"
    yield b"\6{anyOf: {minimumMatches: 1, signatures: [{kind: pubKey, key: x, annotations: {a: b}}]}, trustedRoot: x}"
    yield b"\7https://*.example.com/a\nhttps://user@x.example.com/a/b?c"


def one(data: bytes) -> str:
    """Reads a document. AssertionError for a signature that is accepted, or for another error than those of trust."""
    which, rest = (data[0] % len(_READERS), data[1:]) if data else (0, b"")
    return _READERS[which](rest)


def _evidence(found: Evidence) -> str:
    try:
        _policy().check(_SUBJECT, [found])
    except TrustError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 2000
    else:
        raise AssertionError("a signature by another key is accepted")
    if isinstance(found, UnreadableSignature):
        return error_label(ValueError(found.problem))
    assert isinstance(found, SignatureDocument)
    return f"{found.form} {found.has_certificate} {found.claims(_SUBJECT)}"


def _simple(payload: bytes) -> str:
    """A payload with a valid signature by our key: whatever it says, it is about another thing unless it says this."""
    signature = SignatureDocument(SimpleSignature(payload, _key("ours").sign(payload)), "tag")
    try:
        signature.annotations_by(_key("ours").public, _SUBJECT)
    except SignatureError as error:
        return error_label(error)
    assert _SUBJECT.sha256.encode() in payload
    return _evidence(read_simple_signature(payload, "AAAA", "tag"))


def _read_key(read: Callable[[bytes], object], pem: bytes) -> str:
    try:
        return type(read(pem)).__name__
    except KeyFormatError as error:
        return error_label(error)


def _encrypted(document: bytes) -> str:
    from kubewasp.trust import encrypted_keys

    return _read_key(lambda given: encrypted_keys.decrypt(given, b"secret"), document)


def _configuration(text: bytes) -> str:
    try:
        config = parse_config(_HEAD + text, "fuzzed")
    except ConfigError as error:
        return error_label(error)
    return "a policy" if config.trust is not None else "no policy"


def _pattern(text: bytes) -> str:
    pattern, _, source = text.decode("utf-8", "replace").partition("\n")
    problem = pattern_problem(pattern)
    if problem:
        return problem
    assert canonical_source(canonical_source(source)) == canonical_source(source) or "%" in source
    return f"matches {SourcePattern(pattern).matches(source)}"


_READERS: Final[tuple[Callable[[bytes], str], ...]] = (
    lambda data: _evidence(read_bundle(data, "referrer")),
    lambda data: _evidence(read_detached(data, "file")),
    _simple,
    lambda data: _read_key(PublicKey.from_pem, data),
    lambda data: _read_key(lambda pem: PrivateKey.from_pem(pem, lambda: b"secret"), data),
    _encrypted,
    _configuration,
    _pattern,
)
