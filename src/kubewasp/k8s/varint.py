"""Unsigned integers of variable length, as protobuf and wasm write them."""

from __future__ import annotations


def leb128(value: int) -> bytes:
    """An unsigned integer as wasm, and protobuf, write it."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
