"""Objects as protobuf bytes: items of lists and events of watches, with the few metadata fields that identify them.

HOT PATH (guard: make counts): every object of a list or watch (3 µs an event). Only the metadata is decoded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import DecodeError

from kubewasp.k8s.codec import decode_message, unwrap_unknown
from kubewasp.k8s.errors import WireError
from kubewasp.k8s.schema import message_class

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_FRAME_BYTES: Final = 16 * 1024 * 1024  # as client-go; etcd's default limit for an object is 1.5 MiB

# Fields of every object and of every list.
_METADATA: Final = 1
_ITEMS: Final = 2
_FRAME_LENGTH_BYTES: Final = 4
_MOST_VARINT_BITS: Final = 64


class RawObject:
    """Protobuf bytes of an object. The metadata is decoded on first use."""

    __slots__ = ("_known", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._known: tuple[str, str, str, str] | None = None

    @property
    def namespace(self) -> str:
        return self._metadata()[0]

    @property
    def name(self) -> str:
        return self._metadata()[1]

    @property
    def uid(self) -> str:
        return self._metadata()[2]

    @property
    def resource_version(self) -> str:
        return self._metadata()[3]

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name: the identity of an object among those of its kind."""
        return self._metadata()[:2]

    def __repr__(self) -> str:
        return f"RawObject({'/'.join(filter(None, self.key))}, {len(self.data)} bytes)"

    def _metadata(self) -> tuple[str, str, str, str]:
        if self._known is None:
            found = _object_meta(self.data)
            self._known = (found.namespace, found.name, found.uid, found.resourceVersion)
        return self._known


def _object_meta(data: bytes) -> Any:
    meta_class: Any = message_class("apis.meta.v1.ObjectMeta")
    for number, start, end in spans(data, 0, len(data)):
        if number == _METADATA:
            try:
                return meta_class.FromString(data[start:end])
            except (DecodeError, UnicodeDecodeError):
                raise WireError("apis.meta.v1.ObjectMeta: not a valid protobuf message") from None
    return meta_class()


class Page:
    """Page of a list: items, the resourceVersion of the list, and the continue token of the next page."""

    __slots__ = ("continue_token", "items", "resource_version")

    def __init__(self, body: bytes) -> None:
        _, kind, data = unwrap_unknown(body)
        if not kind.endswith("List"):
            raise WireError(f"expected a list, found {kind}")
        metadata: dict[str, str] = {}
        self.items: list[RawObject] = []
        for number, start, end in spans(data, 0, len(data)):
            if number == _ITEMS:
                self.items.append(RawObject(data[start:end]))
            elif number == _METADATA:
                metadata = decode_message("apis.meta.v1.ListMeta", data[start:end])
        self.resource_version = metadata.get("resourceVersion", "")
        self.continue_token = metadata.get("continue", "")
        if not self.resource_version:
            raise WireError("a list without a resourceVersion")


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """Type (ADDED, MODIFIED, DELETED, BOOKMARK, ERROR) and object bytes of an event; ERROR has a Status."""

    type: str
    data: bytes


class FrameReader:
    """Splits the byte stream of a watch into frames; each byte is copied twice at most.

    A frame is a big-endian length in four bytes and a WatchEvent, whose object has the envelope of a response body.
    """

    def __init__(self, most_bytes: int = MOST_FRAME_BYTES) -> None:
        self._buffer = bytearray()
        self._most_bytes = most_bytes

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Frames completed by the chunk. The iterator must be exhausted."""
        buffer = self._buffer
        buffer += chunk
        position, size = 0, len(buffer)
        with memoryview(buffer) as view:
            while size - position >= _FRAME_LENGTH_BYTES:
                length = int.from_bytes(view[position : position + _FRAME_LENGTH_BYTES], "big")
                if length > self._most_bytes:
                    raise WireError(f"a frame of {length:,} bytes in a watch; at most {self._most_bytes:,} may come")
                begin = position + _FRAME_LENGTH_BYTES
                if size - begin < length:
                    break
                position = begin + length
                yield bytes(view[begin:position])
        del buffer[:position]  # moves the start, not the bytes

    @property
    def is_cut(self) -> bool:
        """Whether the stream is in the middle of a frame."""
        return bool(self._buffer)


def watch_event(frame: bytes) -> WatchEvent:
    """Decodes a frame; WireError if it is no WatchEvent."""
    event_class: Any = message_class("apis.meta.v1.WatchEvent")
    extension_class: Any = message_class("runtime.RawExtension")
    try:
        event = event_class.FromString(frame)
        wrapped = extension_class.FromString(event.object).raw
    except (DecodeError, UnicodeDecodeError):
        raise WireError("apis.meta.v1.WatchEvent: not a valid protobuf message") from None
    _, _, data = unwrap_unknown(wrapped)
    return WatchEvent(event.type, data)


def spans(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Number, start and end of every length-delimited field (message, string, bytes). Other fields are skipped."""
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
