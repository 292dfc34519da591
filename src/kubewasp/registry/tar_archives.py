"""Reader of tar archives from untrusted places: one pass, bounded, nothing is written or followed.

Not `tarfile`: it reads headers of any length into memory, and follows links and sparse maps that nothing here needs.
Entries of unknown kinds are refused: two readers could see two files in them.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Final, Protocol

from kubewasp.registry.errors import ContentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BLOCK: Final = 512
_MAX_MEMBERS: Final = 100_000
_MAX_EXTENSION: Final = 1 << 20
_MAX_NAME: Final = 4096
_CHUNK: Final = 1 << 20
_MEMBER_COST: Final = 512  # empty members of a gzip file unpack to nothing, and still take time
_LONG_NAME, _LONG_LINK, _PAX, _GLOBAL_PAX = b"L", b"K", b"x", b"g"
_SPARSE: Final = (b"S",)


class MemberKind(StrEnum):
    """Kind of an entry."""

    FILE = "file"
    FOLDER = "folder"
    SYMLINK = "symbolic link"
    HARDLINK = "hard link"
    SPECIAL = "device or pipe"


_KINDS: Final = {
    b"0": MemberKind.FILE,
    b"\0": MemberKind.FILE,
    b"7": MemberKind.FILE,
    b"1": MemberKind.HARDLINK,
    b"2": MemberKind.SYMLINK,
    b"3": MemberKind.SPECIAL,
    b"4": MemberKind.SPECIAL,
    b"5": MemberKind.FOLDER,
    b"6": MemberKind.SPECIAL,
}


class Stream(Protocol):
    """Source of bytes; fewer than asked for only at the end."""

    def read(self, count: int, /) -> bytes: ...

    def skip(self, count: int, /) -> None:
        """ContentError beyond the end."""


class FileStream:
    """A file that can be searched, or content in memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._size = file.seek(0, os.SEEK_END)
        file.seek(0)

    def read(self, count: int) -> bytes:
        return self._file.read(count)

    def skip(self, count: int) -> None:
        if self._file.seek(count, os.SEEK_CUR) > self._size:
            raise _incomplete()


@dataclass(frozen=True, slots=True)
class Member:
    """An entry: name without leading `./` and `/`, kind, target of a link, and the place of its content in the stream.

    Attributes:
        read: Reads the content up to a limit; ContentError above it. Only before the next member is asked for.
    """

    name: str
    kind: MemberKind
    mode: int
    target: str
    size: int
    offset: int
    read: Callable[[int], bytes]

    @property
    def is_file(self) -> bool:
        return self.kind is MemberKind.FILE


class GunzipStream:
    """Bytes of a gzip stream as they are asked for, not more than a limit in all."""

    def __init__(self, source: Stream, limit: int) -> None:
        self._source = source
        self.left = limit
        self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._input = b""
        self._is_over = False

    def read(self, count: int) -> bytes:
        parts: list[bytes] = []
        while count and not self._is_over:
            if not self._input:
                self._input = self._source.read(64 << 10)
                if not self._input:
                    raise ContentError("the compressed data is incomplete")
            try:
                part = self._member.decompress(self._input, count)
            except zlib.error:
                raise ContentError("not valid gzip data") from None
            self._input = self._member.unconsumed_tail
            self.left -= len(part)
            if self.left < 0:
                raise ContentError("too large once it is unpacked")
            parts.append(part)
            count -= len(part)
            if self._member.eof:
                self._next_member()
        return b"".join(parts)

    def skip(self, count: int) -> None:
        while count:
            part = self.read(min(count, _CHUNK))
            if not part:
                raise _incomplete()
            count -= len(part)

    def _next_member(self) -> None:
        self._input = self._member.unused_data or self._source.read(64 << 10)
        if self._input.strip(b"\0"):
            self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
            self.left -= _MEMBER_COST
        else:
            self._is_over = True


def members(stream: Stream) -> Iterator[Member]:
    """The entries in order. Names of GNU and POSIX extensions are understood."""
    at, known = 0, _Extensions()
    for _ in range(_MAX_MEMBERS):
        header = stream.read(_BLOCK)
        at += len(header)
        if not header.strip(b"\0"):
            return  # the end, also without its blocks of zeros
        if len(header) < _BLOCK or not _is_valid(header):
            raise ContentError("not a tar archive, or damaged")
        sign, length = header[156:157], _number(header[124:136])
        if sign in (_LONG_NAME, _LONG_LINK, _PAX, _GLOBAL_PAX):
            known = _extended(known, sign, _extension(stream, length))
            at += _padded(length)
            continue
        kind = _kind(sign)
        length = known.size if known.size >= 0 else length
        if length < 0:
            raise ContentError("not a tar archive, or damaged")
        name = known.name or _header_name(header)
        if kind is MemberKind.FILE and name.endswith("/"):  # as before POSIX
            if length:  # readers disagree whether a content follows
                raise ContentError("a tar archive with a folder that has content")
            kind = MemberKind.FOLDER
        length = length if kind is MemberKind.FILE else 0
        held = _Held(stream, length)
        mode, target = max(0, _number(header[100:108])) & 0o7777, known.target or _text(header[157:257])
        yield Member(_plain(name), kind, mode, target, length, at, held.read)
        held.skip()
        at += _padded(length)
        known = _Extensions()
    raise ContentError(f"a tar archive with more than {_MAX_MEMBERS} entries")


@dataclass(frozen=True, slots=True)
class _Extensions:
    """What extensions say of the next entry; empty or negative for nothing."""

    name: str = ""
    target: str = ""
    size: int = -1


def _extended(known: _Extensions, sign: bytes, content: bytes) -> _Extensions:
    if sign == _LONG_NAME:
        return replace(known, name=_text(content))
    if sign == _LONG_LINK:
        return replace(known, target=_text(content))
    # A global name or size would hold for every entry: no tool writes one.
    return _pax(content, known) if sign == _PAX else known


def _kind(sign: bytes) -> MemberKind:
    if sign in _SPARSE:
        raise ContentError("a tar archive with sparse files")
    if sign not in _KINDS:
        raise ContentError("a tar archive with an entry of an unknown kind")
    return _KINDS[sign]


class _Held:
    """Content of the present member."""

    def __init__(self, stream: Stream, size: int) -> None:
        self._stream = stream
        self._left = size
        self._padding = _padded(size) - size

    def read(self, limit: int) -> bytes:
        if self._left > limit:
            raise ContentError(f"a file of {self._left} bytes, at most {limit} are allowed")
        content = self._stream.read(self._left)
        if len(content) < self._left:
            raise _incomplete()
        self._left = 0
        return content

    def skip(self) -> None:
        self._stream.skip(self._left + self._padding)
        self._left = self._padding = 0


def _incomplete() -> ContentError:
    return ContentError("the tar archive is incomplete")


def _is_valid(header: bytes) -> bool:
    found = _number(header[148:156])
    return found == sum(header[:148]) + 8 * 32 + sum(header[156:])


def _number(field: bytes) -> int:
    """Octal digits, or GNU's binary form for large numbers; -1 for anything else."""
    if field[0] & 0x80:
        value = int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
        return value if value < 2**62 else -1
    digits = field.strip(b"\0 ")
    if not digits:
        return 0
    return int(digits, 8) if digits.isdigit() and not digits.strip(b"01234567") else -1


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _extension(stream: Stream, length: int) -> bytes:
    if not 0 <= length <= _MAX_EXTENSION:
        raise ContentError("a tar archive with an extension that is too long")
    content = stream.read(_padded(length))
    if len(content) < length:
        raise _incomplete()
    return content[:length]


def _pax(content: bytes, known: _Extensions) -> _Extensions:
    """Name, target and size in records such as `30 path=…`."""
    name, target, size = known.name, known.target, known.size
    at = 0
    while at < len(content):
        digits, _, _ = content[at : at + 20].partition(b" ")
        if not digits.isdigit():
            raise ContentError("a tar archive with a damaged extension")
        length = int(digits)
        record = content[at : at + length]
        key, sign, value = record[len(digits) + 1 : -1].partition(b"=")
        if length <= len(digits) or not sign or not record.endswith(b"\n"):
            raise ContentError("a tar archive with a damaged extension")
        if key == b"path":
            name = _text(value)
        elif key == b"linkpath":
            target = _text(value)
        elif key == b"size":
            size = int(value) if value.isdigit() and len(value) < 19 else -2
        elif key.startswith(b"GNU.sparse"):
            raise ContentError("a tar archive with sparse files")
        at += length
    if size == -2:
        raise ContentError("a tar archive with a damaged extension")
    return _Extensions(name, target, size)


def _header_name(header: bytes) -> str:
    name = _text(header[:100])
    prefix = _text(header[345:500]) if header[257:263] == b"ustar\0" else ""
    return f"{prefix}/{name}" if prefix else name


def _text(field: bytes) -> str:
    return field[:_MAX_NAME].partition(b"\0")[0].decode("utf-8", "replace")


def _plain(name: str) -> str:
    """The name in one form. `..` stays: such a name is no file that is looked for."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return "/".join(parts)
