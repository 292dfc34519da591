"""Unpacked bytes of a layer: counted against the budget of the image, and hashed."""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING, Final

from kubewasp.images.errors import ImageError
from kubewasp.k8s.quantity import format_size

if TYPE_CHECKING:
    from kubewasp.images.tar_reader import ByteStream

_GZIP: Final = zlib.MAX_WBITS | 16
_CHUNK: Final = 64 << 10
_MEMBER_COST: Final = 512  # empty members unpack to nothing, and still take time
_TAR_TYPES: Final = (
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
)
GZIP_MAGIC: Final = b"\x1f\x8b"


def is_layer(media_type: str) -> bool:
    """Whether a layer of this type can be read; gzip is known by its first bytes."""
    return media_type in _TAR_TYPES


class Budget:
    """Unpacked bytes that are left for an image: all layers share it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit

    def spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise ImageError(f"unpacked, the layers are larger than {format_size(self._limit)}")

    @property
    def next_read(self) -> int:
        """Bytes that may be unpacked at once; one more than is left tells an overrun."""
        return min(_CHUNK, self._left + 1)


class LayerStream:
    """Unpacked bytes of one layer, plain or compressed with gzip."""

    def __init__(self, packed: ByteStream, budget: Budget) -> None:
        self._packed = packed
        self._budget = budget
        self._hash = hashlib.sha256()
        self._ahead = packed.read(_CHUNK)
        self._member = zlib.decompressobj(_GZIP) if self._ahead.startswith(GZIP_MAGIC) else None

    def read(self, count: int) -> bytes:
        count = min(count, self._budget.next_read)
        found = self._plain(count) if self._member is None else self._unzipped(self._member, count)
        self._budget.spend(len(found))
        self._hash.update(found)
        return found

    def finish(self) -> str:
        """The digest of everything; what is left is read, within the budget."""
        while self.read(_CHUNK):
            pass
        return f"sha256:{self._hash.hexdigest()}"

    def _plain(self, count: int) -> bytes:
        if not self._ahead:
            return self._packed.read(count)
        found, self._ahead = self._ahead[:count], self._ahead[count:]
        return found

    def _unzipped(self, member: zlib._Decompress, count: int) -> bytes:
        """The next bytes of all members of the gzip file."""
        while True:
            if member.eof:
                self._ahead = member.unused_data or self._packed.read(_CHUNK)
                if not self._ahead.strip(b"\0"):  # padding after the last member
                    return b""
                member = self._member = zlib.decompressobj(_GZIP)
                self._budget.spend(_MEMBER_COST)
            packed = self._ahead or self._packed.read(_CHUNK)
            try:
                found = member.decompress(packed, count)
            except zlib.error:
                raise ImageError("not valid gzip data") from None
            self._ahead = member.unconsumed_tail
            if found:
                return found
            if not packed and not member.eof:
                raise ImageError("the gzip data is incomplete")
