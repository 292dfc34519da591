"""Segments of a recording: files of checksummed, compressed frames of entries.

A frame is its length and checksum, and a zlib stream of entries. A process that is killed leaves at most one torn frame
at the end, which readers cut off. Files are not trusted: sizes are bounded.
"""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final

from kubewasp.errors import KubewaspError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAGIC: Final = b"kubewasp recording 1\n"
SUFFIX: Final = ".kwrec"
_NAME: Final = re.compile(r"(\d{6,12})\.kwrec")
_HEAD: Final = struct.Struct("<II")
# Bytes of a frame, compressed and not. A frame ends with the entry that takes it over FRAME_BYTES.
FRAME_BYTES: Final = 256 * 1024
MOST_FRAME_BYTES: Final = 64 * 1024 * 1024
# The fastest: recordings are written while pods wait.
_LEVEL: Final = 1


class RecordingError(KubewaspError):
    """A recording that cannot be written or read; the text has the cause and the remedy."""


def segment_name(number: int) -> str:
    return f"{number:06d}{SUFFIX}"


def segment_files(folder: Path) -> list[tuple[int, Path]]:
    """The segments of a folder by number, oldest first."""
    found = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted((int(match[1]), path) for match, path in found if match is not None)


def frame(content: bytes) -> bytes:
    """A frame of encoded entries."""
    packed = zlib.compress(content, _LEVEL)
    return _HEAD.pack(len(packed), zlib.crc32(packed)) + packed


@dataclass(slots=True)
class SegmentEnd:
    """End of a segment as it was read: `problem` is empty if the file ends with a whole frame."""

    offset: int = 0
    problem: str = ""


def frames(file: BinaryIO, end: SegmentEnd) -> Iterator[bytes]:
    """The contents of the whole frames of a segment, up to the first that is torn or damaged; `end` says why."""
    if file.read(len(MAGIC)) != MAGIC:
        end.problem = "it does not begin as a recording of this version does"
        return
    end.offset = len(MAGIC)
    while head := file.read(_HEAD.size):
        content = _content(file, head, end)
        if content is None:
            return
        end.offset = file.tell()
        yield content


def _content(file: BinaryIO, head: bytes, end: SegmentEnd) -> bytes | None:
    if len(head) < _HEAD.size:
        end.problem = "torn"
        return None
    size, checksum = _HEAD.unpack(head)
    if size > MOST_FRAME_BYTES:
        end.problem = "damaged: a frame is too large"
        return None
    packed = file.read(size)
    if len(packed) < size:
        end.problem = "torn"
        return None
    if zlib.crc32(packed) != checksum:
        end.problem = "damaged: a checksum is wrong"
        return None
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(packed, MOST_FRAME_BYTES)
    except zlib.error:
        end.problem = "damaged: a frame cannot be unpacked"
        return None
    if not unpacker.eof:
        end.problem = "damaged: a frame is too large"
        return None
    return content
