"""Compressed guests: gzip files, and the content encodings of HTTP. Unpacked within a limit."""

from __future__ import annotations

import zlib
from typing import Final

_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP, _ZLIB, _RAW_DEFLATE = zlib.MAX_WBITS | 16, zlib.MAX_WBITS, -zlib.MAX_WBITS
_ENCODINGS: Final = {"gzip": (_GZIP,), "x-gzip": (_GZIP,), "deflate": (_ZLIB, _RAW_DEFLATE)}


class UnpackError(Exception):
    """Content that cannot be unpacked."""


class TooLargeError(UnpackError):
    """Content that is larger than the limit once unpacked."""


def is_gzip(content: bytes) -> bool:
    return content.startswith(_GZIP_MAGIC)


def gunzip(content: bytes, max_bytes: int) -> bytes:
    return _unpacked(content, _GZIP, max_bytes)


def decoded(content: bytes, encoding: str, max_bytes: int) -> bytes:
    """The content without the `Content-Encoding` of an HTTP response."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return content
    if name not in _ENCODINGS:
        raise UnpackError(f"unknown Content-Encoding; known are {', '.join(_ENCODINGS)}")
    *others, last = _ENCODINGS[name]
    for window in others:
        try:
            return _unpacked(content, window, max_bytes)
        except TooLargeError:
            raise
        except UnpackError:
            pass  # "deflate" should be zlib, and is often bare
    return _unpacked(content, last, max_bytes)


def _unpacked(content: bytes, window: int, max_bytes: int) -> bytes:
    """All members of the content; at most a byte more than the limit is unpacked."""
    found, rest = bytearray(), content
    while rest:
        member = zlib.decompressobj(window)
        try:
            found += member.decompress(rest, max_bytes + 1 - len(found))
        except zlib.error as error:
            raise UnpackError(f"not valid compressed data: {error}") from None
        if len(found) > max_bytes:
            raise TooLargeError
        if not member.eof:
            raise UnpackError("the compressed data is incomplete")
        rest = member.unused_data if window == _GZIP else b""
    return bytes(found)
