"""Sort keys as bytes, with the order of the Python values."""

from __future__ import annotations

import math
import struct
from datetime import datetime
from typing import Any

# Types of a key. Tuples may be nested; a datetime requires a time zone.
SortKey = Any
MOST_BYTES = 1024
_END, _NUMBER, _DATETIME, _TEXT, _BYTES, _TUPLE = (bytes([tag]) for tag in (0x00, 0x10, 0x18, 0x20, 0x28, 0x30))
_ZERO, _LONG = 0x80, 120


def encoded(key: SortKey) -> bytes:
    """The bytes of a key; their order is the order of the keys."""
    parts: list[bytes] = []
    for item in key if isinstance(key, tuple) else (key,):
        _append(item, parts)
    found = b"".join(parts)
    if len(found) > MOST_BYTES:
        raise ValueError(f"sort_key: the key takes {len(found)} bytes; at most {MOST_BYTES} are allowed")
    return found


def _append(item: Any, parts: list[bytes]) -> None:
    if isinstance(item, int | float):
        parts.append(_NUMBER + _number(item))
    elif isinstance(item, str):
        parts.append(_TEXT + _ended(item.encode()))
    elif isinstance(item, bytes):
        parts.append(_BYTES + _ended(item))
    elif isinstance(item, datetime):
        if item.tzinfo is None:
            raise ValueError("sort_key: a datetime in a key needs a time zone")
        parts.append(_DATETIME + _number(item.timestamp()))
    elif isinstance(item, tuple):
        parts.append(_TUPLE)
        for inner in item:
            _append(inner, parts)
        parts.append(_END)
    else:
        kind = type(item).__name__
        raise TypeError(f"sort_key: a key is made of numbers, texts, bytes, datetimes and tuples of them, not {kind}")


def _ended(content: bytes) -> bytes:
    """Escaped bytes with a terminator that sorts before any continuation."""
    return content.replace(b"\0", b"\0\xff") + b"\0\0"


def _number(value: int | float) -> bytes:
    """Bytes of the magnitude; inverted for a negative number, so that the order is reversed."""
    if isinstance(value, float):
        if math.isnan(value):
            raise ValueError("sort_key: nan cannot be compared")
        if math.isinf(value):
            return b"\xff" if value > 0 else b"\x00"
    if value < 0:
        return bytes(255 - byte for byte in _magnitude(-value))
    return _magnitude(value)


def _magnitude(value: int | float) -> bytes:
    """Whole part, then the fraction, both exact. No encoding is the beginning of another."""
    whole = int(value)
    size = (whole.bit_length() + 7) // 8
    fraction = value - whole if isinstance(value, float) else 0
    return _length(size) + whole.to_bytes(size, "big") + (b"\1" + struct.pack(">d", fraction) if fraction else b"\0")


def _length(size: int) -> bytes:
    """Length, then digits: longer numbers are larger. From 120 bytes on, the length takes two more bytes."""
    if size < _LONG:
        return bytes([_ZERO + size])
    if size > MOST_BYTES:
        raise ValueError("sort_key: the number is too large")
    return bytes([_ZERO + _LONG]) + size.to_bytes(2, "big")
