"""Strict streaming reader of tar archives from untrusted sources: ustar, and the long names of pax and GNU tar.

Nothing is written, and memory is bounded: names and metadata have limits, contents are read in parts by the caller.
Sparse files and unknown types of entries are errors: two readers could see two files in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from kubewasp.images.errors import ImageError

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK: Final = 512
_MAX_NAME: Final = 4096
_MAX_METADATA: Final = 256 << 10
_MAX_SIZE: Final = 1 << 40
_CHUNK: Final = 1 << 20
_CHECKSUM: Final = slice(148, 156)
_PAX, _PAX_GLOBAL, _GNU_NAME, _GNU_TARGET = b"x", b"g", b"L", b"K"


class TarError(ImageError):
    """An archive that is damaged, or has an entry of an unsupported form."""


class EntryKind(StrEnum):
    """Kind of an entry. Devices and pipes are `SPECIAL`."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symbolic link"
    HARDLINK = "hard link"
    SPECIAL = "device or pipe"


_KINDS: Final = {
    b"0": EntryKind.FILE,
    b"\0": EntryKind.FILE,
    b"7": EntryKind.FILE,
    b"1": EntryKind.HARDLINK,
    b"2": EntryKind.SYMLINK,
    b"3": EntryKind.SPECIAL,
    b"4": EntryKind.SPECIAL,
    b"5": EntryKind.DIRECTORY,
    b"6": EntryKind.SPECIAL,
}


class ByteStream(Protocol):
    """A source of bytes; fewer than asked for is allowed, none is the end."""

    def read(self, count: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class TarEntry:
    """Header of an entry; names are as in the archive. Only files have a size."""

    name: str
    kind: EntryKind
    mode: int
    size: int
    target: str


class EntryContent:
    """Content of one entry. The reader skips what is left of it."""

    def __init__(self, stream: ByteStream, size: int) -> None:
        self._stream = stream
        self.left = size

    def read(self, count: int = _CHUNK) -> bytes:
        """The next bytes, at most `count`; none at the end."""
        if not self.left:
            return b""
        found = self._stream.read(min(count, self.left))
        if not found:
            raise TarError("the archive ends in the middle of a file")
        self.left -= len(found)
        return found

    def read_all(self) -> bytes:
        """All of it, in memory: the caller knows the size."""
        found = bytearray()
        while part := self.read():
            found += part
        return bytes(found)


def entries(stream: ByteStream) -> Iterator[tuple[TarEntry, EntryContent]]:
    """Entries in order, with contents that are readable until the next one."""
    extended: dict[str, str] = {}
    while header := _header(stream):
        kind = header[156:157]
        size = _number(header[124:136])
        if kind in (_PAX, _PAX_GLOBAL, _GNU_NAME, _GNU_TARGET):
            extended |= _metadata(kind, _block_content(stream, size))
            continue
        size = _pax_size(extended["size"]) if "size" in extended else size
        entry = _entry(header, kind, size, extended)
        extended = {}
        content = EntryContent(stream, entry.size)
        yield entry, content
        while content.read():
            pass
        _skip_padding(stream, entry.size)


def _header(stream: ByteStream) -> bytes:
    """The next header; empty at the end of the archive."""
    header = _exactly(stream, _BLOCK)
    if not header or not any(header):
        return b""
    if len(header) < _BLOCK:
        raise TarError("the archive ends in the middle of a header")
    if _number(header[_CHECKSUM]) != sum(header) - sum(header[_CHECKSUM]) + 8 * ord(" "):
        raise TarError("not a tar archive, or a damaged one: wrong checksum of a header")
    return header


def _entry(header: bytes, kind: bytes, size: int, extended: dict[str, str]) -> TarEntry:
    name = extended.get("path") or _name(header)
    found = _KINDS.get(kind)
    if found is None:
        raise TarError(f"unsupported kind of entry {kind.decode('latin-1')!r}, as of a sparse file")
    if found is EntryKind.FILE and name.endswith("/"):  # as before POSIX
        found = EntryKind.DIRECTORY
    for text in (name, extended.get("linkpath", "")):
        if len(text) > _MAX_NAME or "\0" in text:
            raise TarError(f"a name of more than {_MAX_NAME} characters, or with a NUL")
    target = extended.get("linkpath") or _text(header[157:257])
    has_content = found is EntryKind.FILE
    return TarEntry(name, found, _number(header[100:108]) & 0o7777, size if has_content else 0, target)


def _name(header: bytes) -> str:
    name = _text(header[:100])
    is_posix = header[257:263] == b"ustar\0"
    prefix = _text(header[345:500]) if is_posix else ""
    return f"{prefix}/{name}" if prefix else name


def _metadata(kind: bytes, content: bytes) -> dict[str, str]:
    if kind == _GNU_NAME:
        return {"path": _text(content)}
    if kind == _GNU_TARGET:
        return {"linkpath": _text(content)}
    found = _pax_records(content)
    if any(name.startswith("GNU.sparse.") for name in found):
        raise TarError("sparse files are not supported")
    if kind == _PAX_GLOBAL:  # of other tools: a comment. A name for all entries would be a trap.
        return {}
    return {name: value for name, value in found.items() if name in ("path", "linkpath", "size")}


def _pax_records(content: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while at < len(content) and content[at : at + 1] != b"\0":
        length_text, space, _ = content[at : at + 12].partition(b" ")
        length = int(length_text) if space and length_text.isdigit() else 0
        record = content[at + len(length_text) + 1 : at + length]
        name, equals, value = record.partition(b"=")
        if not equals or not value.endswith(b"\n") or at + length > len(content):
            raise TarError("damaged pax record")
        found[name.decode("utf-8", "surrogateescape")] = value[:-1].decode("utf-8", "surrogateescape")
        at += length
    return found


def _pax_size(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 20 and int(text) <= _MAX_SIZE):
        raise TarError("an entry whose size is no number of bytes")
    return int(text)


def _block_content(stream: ByteStream, size: int) -> bytes:
    if size > _MAX_METADATA:
        raise TarError(f"metadata of more than {_MAX_METADATA} bytes")
    content = _exactly(stream, size)
    if len(content) < size:
        raise TarError("the archive ends in the middle of metadata")
    _skip_padding(stream, size)
    return content


def _skip_padding(stream: ByteStream, size: int) -> None:
    _exactly(stream, -size % _BLOCK)


def _exactly(stream: ByteStream, count: int) -> bytes:
    """So many bytes, or fewer at the end of the stream."""
    found = b""
    while len(found) < count:
        part = stream.read(count - len(found))
        if not part:
            break
        found += part
    return found


def _number(field: bytes) -> int:
    """An octal number, or a binary one as in GNU tar."""
    if field[0] & 0x80:
        number = int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    else:
        text = field.partition(b"\0")[0].strip()
        if text and not all(digit in b"01234567" for digit in text):
            raise TarError("not a tar archive, or a damaged one: a number that is none")
        number = int(text, 8) if text else 0
    if number > _MAX_SIZE:
        raise TarError("an entry whose size is no number of bytes")
    return number


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "surrogateescape")
