"""The stream of a watch: frames out of chunks of bytes, events out of frames (hot path).

A frame is a length in four bytes, big-endian, and a WatchEvent; the event's object stands in the same envelope as the
body of an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.cluster.api.spans import spans
from kubewasp.k8s.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_FRAME_BYTES: Final = 16 * 1024 * 1024  # as client-go; etcd takes objects of 1.5 MiB unless told otherwise

_LENGTH_BYTES: Final = 4
_ENVELOPE: Final = b"k8s\0"
# Fields of WatchEvent, RawExtension and Unknown.
_TYPE, _OBJECT = 1, 2
_RAW_OF_EXTENSION: Final = 1
_RAW_OF_UNKNOWN: Final = 2


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """`type` is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR; `data` the object's bytes, of a Status for ERROR."""

    type: str
    data: bytes


class FrameReader:
    """Puts frames together. Each byte is copied twice at most, however the stream was cut."""

    def __init__(self, most_bytes: int = MOST_FRAME_BYTES) -> None:
        self._buffer = bytearray()
        self._most_bytes = most_bytes

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The frames that the chunk completes. All of them must be taken."""
        buffer = self._buffer
        buffer += chunk
        position, size = 0, len(buffer)
        with memoryview(buffer) as view:
            while size - position >= _LENGTH_BYTES:
                length = int.from_bytes(view[position : position + _LENGTH_BYTES], "big")
                if length > self._most_bytes:
                    raise WireError(f"a frame of {length:,} bytes in a watch; at most {self._most_bytes:,} may come")
                begin = position + _LENGTH_BYTES
                if size - begin < length:
                    break
                position = begin + length
                yield bytes(view[begin:position])
        del buffer[:position]  # moves the start, not the bytes

    @property
    def is_cut(self) -> bool:
        """Whether the stream would end in the middle of a frame if it ended now."""
        return bool(self._buffer)


def watch_event(frame: bytes) -> WatchEvent:
    event_type, data = "", b""
    for number, start, end in spans(frame, 0, len(frame)):
        if number == _TYPE:
            event_type = frame[start:end].decode("ascii", "replace")
        elif number == _OBJECT:
            data = _object(frame, start, end)
    return WatchEvent(event_type, data)


def _object(frame: bytes, start: int, end: int) -> bytes:
    for number, begin, until in spans(frame, start, end):
        if number == _RAW_OF_EXTENSION:
            if not frame.startswith(_ENVELOPE, begin, until):
                raise WireError("the object of a watch event is not in a Kubernetes protobuf envelope")
            for field, first, last in spans(frame, begin + len(_ENVELOPE), until):
                if field == _RAW_OF_UNKNOWN:
                    return frame[first:last]
    return b""
