"""Keys that sign and verify: ECDSA, Ed25519 and RSA, in PEM.

Private keys may be PKCS#8 (with or without a passphrase), SEC1, PKCS#1, or cosign's own encrypted form, which is also
the form of new keys: `cosign sign --key` and `kubewasp plugin sign --key` read the same file.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from kubewasp.trust import encrypted_keys
from kubewasp.trust.errors import KeyFormatError, PassphraseError, SignatureError

if TYPE_CHECKING:
    from collections.abc import Callable

    PublicKeyType = ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | rsa.RSAPublicKey
    PrivateKeyType = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey

MAX_PEM_BYTES: Final = 1 << 16
MAX_SIGNATURE_BYTES: Final = 2048
_RSA_BITS: Final = (2048, 8192)
_MAX_RSA_EXPONENT: Final = 2**32
_HASHES: Final[dict[str, tuple[hashes.HashAlgorithm, ...]]] = {
    "secp256r1": (hashes.SHA256(),),
    "secp384r1": (hashes.SHA256(), hashes.SHA384()),
    "secp521r1": (hashes.SHA256(), hashes.SHA512()),
}
_CURVES: Final = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}
_ALLOWED: Final = "allowed are ECDSA (P-256, P-384, P-521), Ed25519 and RSA (2048 to 8192 bits)"
_PEM: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]{1,64})-----\s+(.*?)-----END \1-----", re.DOTALL)
_COSIGN: Final = (b"ENCRYPTED SIGSTORE PRIVATE KEY", b"ENCRYPTED COSIGN PRIVATE KEY")
_COSIGN_WRITTEN: Final = "ENCRYPTED SIGSTORE PRIVATE KEY"
_ENCRYPTED: Final = b"ENCRYPTED PRIVATE KEY"
_PRIVATE: Final = (b"PRIVATE KEY", b"EC PRIVATE KEY", b"RSA PRIVATE KEY", _ENCRYPTED)


class PublicKey:
    """A public key of an allowed kind. Equal keys have the same bytes."""

    def __init__(self, key: PublicKeyType) -> None:
        self._key = key
        self.algorithm = _algorithm(key)
        self.der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)

    @classmethod
    def from_pem(cls, pem: bytes) -> PublicKey:
        """The key in the PEM block `PUBLIC KEY`."""
        kind = _pem_block(pem)[0]
        if kind.endswith(b"PRIVATE KEY"):
            raise KeyFormatError("a private key: use the public one (cosign.pub, kubewasp.pub) to verify")
        try:
            return cls(_public(serialization.load_pem_public_key(pem)))
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise KeyFormatError(f"not a public key (PEM, PUBLIC KEY); {_ALLOWED}") from None

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the key, in base64: the hint in a Sigstore bundle."""
        return base64.b64encode(hashlib.sha256(self.der).digest()).decode()

    @property
    def pem(self) -> bytes:
        return self._key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    def verify(self, signature: bytes, message: bytes) -> None:
        """SignatureError, unless the signature of the message is by this key."""
        if len(signature) > MAX_SIGNATURE_BYTES:
            raise SignatureError("the signature is longer than any of a key")
        if not any(attempt(signature, message) for attempt in self._attempts()):
            raise SignatureError(f"not signed by the key {shown_fingerprint(self.fingerprint)}")

    def _attempts(self) -> tuple[Callable[[bytes, bytes], bool], ...]:
        """Ways to verify: with SHA-256, or with the hash of the curve, which cosign 3 signs with."""
        key = self._key
        if isinstance(key, ed25519.Ed25519PublicKey):
            return (functools.partial(_holds, key.verify),)
        if isinstance(key, rsa.RSAPublicKey):
            return (functools.partial(_holds, lambda s, m: key.verify(s, m, padding.PKCS1v15(), hashes.SHA256())),)
        return tuple(functools.partial(_holds_ecdsa, key, algorithm) for algorithm in _HASHES[key.curve.name])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicKey) and self.der == other.der

    def __hash__(self) -> int:
        return hash(self.der)

    def __repr__(self) -> str:
        return f"PublicKey({self.algorithm}, {shown_fingerprint(self.fingerprint)})"


class PrivateKey:
    """A private key. Its text form never contains the key."""

    def __init__(self, key: PrivateKeyType) -> None:
        self._key = key
        self.public = PublicKey(key.public_key())

    @classmethod
    def generate(cls) -> PrivateKey:
        """A new ECDSA key on P-256, the default of cosign."""
        return cls(ec.generate_private_key(ec.SECP256R1()))

    @classmethod
    def from_pem(cls, pem: bytes, passphrase: Callable[[], bytes]) -> PrivateKey:
        """The key in a PEM block; `passphrase` is called if the key is encrypted."""
        kind, content = _pem_block(pem)
        if kind in _COSIGN:
            return cls(_from_pkcs8(encrypted_keys.decrypt(content, passphrase())))
        if kind == b"PUBLIC KEY":
            raise KeyFormatError("a public key: use the private one to sign")
        if kind not in _PRIVATE:
            raise KeyFormatError(f"PEM of an unknown kind; {_ALLOWED}")
        is_encrypted = kind == _ENCRYPTED or b"Proc-Type: 4,ENCRYPTED" in pem
        secret = passphrase() if is_encrypted else None
        if is_encrypted and not secret:
            raise PassphraseError("the key is encrypted, and the passphrase is empty")
        try:
            return cls(_private(serialization.load_pem_private_key(pem, secret)))
        except (ValueError, TypeError, UnsupportedAlgorithm):
            if is_encrypted:
                raise PassphraseError("the passphrase is not that of the key, or the key is damaged") from None
            raise KeyFormatError(f"not a private key (PKCS#8, SEC1 or PKCS#1, PEM); {_ALLOWED}") from None

    def sign(self, message: bytes) -> bytes:
        key = self._key
        if isinstance(key, ed25519.Ed25519PrivateKey):
            return key.sign(message)
        if isinstance(key, rsa.RSAPrivateKey):
            return key.sign(message, padding.PKCS1v15(), hashes.SHA256())
        # SHA-256 for every curve: cosign verifies with it unless told otherwise.
        return key.sign(message, ec.ECDSA(hashes.SHA256()))

    def cosign_pem(self, passphrase: bytes) -> bytes:
        """The key as `cosign generate-key-pair` writes it; cosign allows an empty passphrase."""
        lines = base64.encodebytes(encrypted_keys.encrypt(self._pkcs8(), passphrase)).replace(b"\n", b"")
        wrapped = b"\n".join(lines[start : start + 64] for start in range(0, len(lines), 64))
        name = _COSIGN_WRITTEN.encode()
        return b"-----BEGIN " + name + b"-----\n" + wrapped + b"\n-----END " + name + b"-----\n"

    def pkcs8_pem(self, passphrase: bytes) -> bytes:
        """The key in PKCS#8; not encrypted if the passphrase is empty."""
        form: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if passphrase:
            form = serialization.BestAvailableEncryption(passphrase)
        return self._key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, form)

    def _pkcs8(self) -> bytes:
        return self._key.private_bytes(
            serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def __repr__(self) -> str:
        return f"PrivateKey({self.public.algorithm}, {shown_fingerprint(self.public.fingerprint)})"


def shown_fingerprint(fingerprint: str) -> str:
    """`SHA256:…`, in the form of ssh-keygen."""
    return f"SHA256:{fingerprint.rstrip('=')}"


def _pem_block(pem: bytes) -> tuple[bytes, bytes]:
    """The kind and the content of the only PEM block."""
    if len(pem) > MAX_PEM_BYTES:
        raise KeyFormatError("larger than any key")
    found = list(_PEM.finditer(pem))
    blocks = [block for block in found if block[1] != b"EC PARAMETERS"]  # openssl writes them before an EC key
    if len(blocks) != 1:
        problem = "no key in PEM (-----BEGIN …-----)" if not blocks else f"{len(blocks)} keys, expected one"
        raise KeyFormatError(problem)
    try:
        content = base64.b64decode(b"".join(blocks[0][2].split()))
    except ValueError:
        content = b""
    return blocks[0][1], content


def _from_pkcs8(der: bytes) -> PrivateKeyType:
    try:
        return _private(serialization.load_der_private_key(der, None))
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise KeyFormatError(f"the decrypted key is not PKCS#8; {_ALLOWED}") from None


def _private(key: object) -> PrivateKeyType:
    """The key if its kind and size are allowed."""
    if isinstance(key, ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey):
        _public(key.public_key())
        return key
    raise KeyFormatError(f"a key of another kind; {_ALLOWED}")


def _public(key: object) -> PublicKeyType:
    """The key if its kind and size are allowed."""
    if isinstance(key, ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | rsa.RSAPublicKey):
        _algorithm(key)
        return key
    raise KeyFormatError(f"a key of another kind; {_ALLOWED}")


def _algorithm(key: PublicKeyType) -> str:
    if isinstance(key, ed25519.Ed25519PublicKey):
        return "Ed25519"
    if isinstance(key, rsa.RSAPublicKey):
        low, high = _RSA_BITS
        if low <= key.key_size <= high and key.public_numbers().e < _MAX_RSA_EXPONENT:
            return f"RSA {key.key_size}"
    elif key.curve.name in _CURVES:
        return f"ECDSA {_CURVES[key.curve.name]}"
    raise KeyFormatError(f"a key of another size; {_ALLOWED}")


def _holds(verify: Callable[[bytes, bytes], None], signature: bytes, message: bytes) -> bool:
    try:
        verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _holds_ecdsa(
    key: ec.EllipticCurvePublicKey, algorithm: hashes.HashAlgorithm, signature: bytes, message: bytes
) -> bool:
    return _holds(lambda s, m: key.verify(s, m, ec.ECDSA(algorithm)), signature, message)
