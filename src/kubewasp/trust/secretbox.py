"""NaCl's secretbox (XSalsa20-Poly1305), the cipher of cosign's private keys.

For a few hundred bytes: the cipher is plain Python, about 0.1 ms per 64 bytes. The authentication is that of
`cryptography`, which has no Salsa20.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.poly1305 import Poly1305

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 24
MAX_BYTES: Final = 1 << 16
_TAG_BYTES: Final = 16
_CONSTANTS: Final = struct.unpack("<4I", b"expand 32-byte k")
_MASK: Final = 0xFFFFFFFF
# A double round: quarter rounds on the columns, then on the rows of a 4×4 matrix.
_QUARTERS: Final = (
    (0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11),
    (0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14),
)  # fmt: skip


class SecretBoxError(ValueError):
    """Another key, or changed bytes."""


def seal(message: bytes, nonce: bytes, key: bytes) -> bytes:
    mac_key, body = _split(message, nonce, key)
    return Poly1305.generate_tag(mac_key, body) + body


def open_box(box: bytes, nonce: bytes, key: bytes) -> bytes:
    """The message. SecretBoxError if the box was sealed with another key, or changed since."""
    tag, body = box[:_TAG_BYTES], box[_TAG_BYTES:]
    mac_key, message = _split(body, nonce, key)
    try:
        Poly1305.verify_tag(mac_key, body, tag)
    except InvalidSignature:
        raise SecretBoxError from None
    return message


def _split(body: bytes, nonce: bytes, key: bytes) -> tuple[bytes, bytes]:
    """The key of the authentication, and the body, encrypted or decrypted."""
    if len(key) != KEY_BYTES or len(nonce) != NONCE_BYTES or len(body) > MAX_BYTES:
        raise SecretBoxError
    stream = bytearray()
    for block in _blocks(nonce, key):
        stream += block
        if len(stream) >= KEY_BYTES + len(body):
            break
    pad = stream[KEY_BYTES : KEY_BYTES + len(body)]
    return bytes(stream[:KEY_BYTES]), bytes(one ^ other for one, other in zip(body, pad, strict=True))


def _blocks(nonce: bytes, key: bytes) -> Iterator[bytes]:
    """The key stream."""
    mixed = _rounds(_matrix(key, nonce[:16]))
    subkey = struct.pack("<8I", *(mixed[place] for place in (0, 5, 10, 15, 6, 7, 8, 9)))
    for number in range(2**32):
        start = _matrix(subkey, nonce[16:] + struct.pack("<Q", number))
        yield struct.pack("<16I", *((a + b) & _MASK for a, b in zip(_rounds(start), start, strict=True)))


def _matrix(key: bytes, middle: bytes) -> list[int]:
    words, given = struct.unpack("<8I", key), struct.unpack("<4I", middle)
    one, two, three, four = _CONSTANTS
    return [one, *words[:4], two, *given, three, *words[4:], four]


def _rounds(start: list[int]) -> list[int]:
    words = list(start)
    for _ in range(10):
        for a, b, c, d in _QUARTERS:
            words[b] ^= _rotated(words[a] + words[d], 7)
            words[c] ^= _rotated(words[b] + words[a], 9)
            words[d] ^= _rotated(words[c] + words[b], 13)
            words[a] ^= _rotated(words[d] + words[c], 18)
    return words


def _rotated(number: int, bits: int) -> int:
    number &= _MASK
    return (number << bits | number >> (32 - bits)) & _MASK
