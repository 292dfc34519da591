"""The stream of a watch: frames out of chunks of bytes, events out of frames (hot path: 3 µs an event).

A frame is a length in four bytes, big-endian, and a WatchEvent; the event's object stands in the same envelope as the
body of an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import DecodeError

from kubewasp.k8s.codec import unwrap_unknown
from kubewasp.k8s.errors import WireError
from kubewasp.k8s.schema import message_class

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_FRAME_BYTES: Final = 16 * 1024 * 1024  # as client-go; etcd takes objects of 1.5 MiB unless told otherwise

_LENGTH_BYTES: Final = 4


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
    event_class: Any = message_class("apis.meta.v1.WatchEvent")
    extension_class: Any = message_class("runtime.RawExtension")
    try:
        event = event_class.FromString(frame)
        wrapped = extension_class.FromString(event.object).raw
    except (DecodeError, UnicodeDecodeError):
        raise WireError("apis.meta.v1.WatchEvent: not a valid protobuf message") from None
    _, _, data = unwrap_unknown(wrapped)
    return WatchEvent(event.type, data)
