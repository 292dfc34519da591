"""Encrypted private keys as cosign writes them: a JSON document with scrypt and secretbox, around PKCS#8."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from typing import Any, Final

import orjson

from kubewasp.trust import secretbox
from kubewasp.trust.errors import KeyFormatError, PassphraseError

MAX_BYTES: Final = 1 << 16
_SALT_BYTES: Final = 32
_COST: Final = (1 << 16, 8, 1)  # N, r, p of cosign 2 and 3
# 128·N·r bytes of memory, and r·p times the work of N: twice the cost of today at most, in memory and in time.
_MAX_MEMORY: Final = 1 << 28
_MAX_WORK: Final = 1 << 22
_KDF: Final = "scrypt"
_CIPHER: Final = "nacl/secretbox"


def encrypt(pkcs8: bytes, passphrase: bytes) -> bytes:
    salt, nonce = os.urandom(_SALT_BYTES), os.urandom(secretbox.NONCE_BYTES)
    n, r, p = _COST
    sealed = secretbox.seal(pkcs8, nonce, _derived(passphrase, salt, n, r, p))
    return orjson.dumps(
        {
            "kdf": {"name": _KDF, "params": {"N": n, "r": r, "p": p}, "salt": base64.b64encode(salt).decode()},
            "cipher": {"name": _CIPHER, "nonce": base64.b64encode(nonce).decode()},
            "ciphertext": base64.b64encode(sealed).decode(),
        }
    )


def decrypt(document: bytes, passphrase: bytes) -> bytes:
    """The key in PKCS#8 (DER). The costs in the document are bounded before they are paid."""
    try:
        fields: Any = orjson.loads(document) if len(document) <= MAX_BYTES else None
        kdf, cipher = fields["kdf"], fields["cipher"]
        params, names = kdf["params"], (kdf["name"], cipher["name"])
        n, r, p = (_positive(params[name]) for name in "Nrp")
        salt, nonce, box = _bytes(kdf["salt"]), _bytes(cipher["nonce"]), _bytes(fields["ciphertext"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
        raise KeyFormatError("not an encrypted key of cosign: its JSON document is not complete") from None
    if names != (_KDF, _CIPHER):
        raise KeyFormatError(f"encrypted in another way than cosign's {_KDF} and {_CIPHER}")
    if 128 * n * r > _MAX_MEMORY or n * r * p > _MAX_WORK or n & (n - 1) or n < 2:
        raise KeyFormatError("the cost of its passphrase (scrypt N, r, p) is out of bounds")
    try:
        return secretbox.open_box(box, nonce, _derived(passphrase, salt, n, r, p))
    except secretbox.SecretBoxError:
        raise PassphraseError("the passphrase is not that of the key") from None


def _derived(passphrase: bytes, salt: bytes, n: int, r: int, p: int) -> bytes:
    # OpenSSL needs a little more than 128·N·r for its own.
    return hashlib.scrypt(passphrase, salt=salt, n=n, r=r, p=p, maxmem=2 * _MAX_MEMORY, dklen=secretbox.KEY_BYTES)


def _positive(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**32:
        raise ValueError("expected a number above 0")
    return value


def _bytes(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        raise ValueError("expected base64") from None
