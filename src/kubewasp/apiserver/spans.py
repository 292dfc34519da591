"""Finds the parts of a protobuf message without decoding them (hot path: every object of a list or watch)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewasp.k8s.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_VARINT_BITS: Final = 64


def spans(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The number, start and end of every field with a length (message, string, bytes); others are passed over."""
    position = start
    while position < end:
        tag, position = _varint(data, position, end)
        wire_type = tag & 7
        if wire_type == 2:
            length, position = _varint(data, position, end)
            if length > end - position:
                raise WireError("a field is longer than its message")
            yield tag >> 3, position, position + length
            position += length
        elif wire_type == 0:
            _, position = _varint(data, position, end)
        elif wire_type in (1, 5):
            position += 8 if wire_type == 1 else 4
            if position > end:
                raise WireError("a field is longer than its message")
        else:
            raise WireError(f"a field has the unknown wire type {wire_type}")


def _varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while position < end:
        byte = data[position]
        position += 1
        if byte < 0x80:
            return value | byte << shift, position
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift >= _MOST_VARINT_BITS:
            break
    raise WireError("a number is cut off or too long")
