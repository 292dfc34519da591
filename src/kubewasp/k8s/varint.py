"""Variable-length unsigned integers (LEB128) of protobuf and wasm."""

from __future__ import annotations


def leb128(value: int) -> bytes:
    """The LEB128 encoding of an unsigned integer."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
