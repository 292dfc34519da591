"""Unpacked bytes of a layer: counted against the budget of the image, and hashed."""

from __future__ import annotations

import hashlib
import io
from typing import Final

from kubewasp.images.errors import ImageError
from kubewasp.k8s.quantity import format_size
from kubewasp.registry.tar_archives import FileStream, GunzipStream

_GZIP: Final = b"\x1f\x8b"
_CHUNK: Final = 1 << 20


class Budget:
    """Unpacked bytes that are left for an image: all layers share it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.left = limit

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise ImageError(f"unpacked, the layers are larger than {format_size(self._limit)}")


class LayerStream:
    """Unpacked bytes of one layer, plain or compressed with gzip, which its first bytes tell. Implements `Stream`."""

    def __init__(self, packed: bytes, budget: Budget) -> None:
        file = FileStream(io.BytesIO(packed))
        # The stream refuses more than a part above the budget, the budget has the message.
        self._source = GunzipStream(file, budget.left + _CHUNK) if packed.startswith(_GZIP) else file
        self._budget = budget
        self._hash = hashlib.sha256()

    def read(self, count: int) -> bytes:
        if count > self._budget.left + _CHUNK:  # of a size that is a lie, too
            self._budget.spend(count)
        found = self._source.read(count)
        self._budget.spend(len(found))
        self._hash.update(found)
        return found

    def skip(self, count: int) -> None:
        while count:
            found = self.read(min(count, _CHUNK))
            if not found:
                raise ImageError("the tar archive is incomplete")
            count -= len(found)

    def finish(self) -> str:
        """The digest of everything; what is left is read, within the budget."""
        while self.read(_CHUNK):
            pass
        return f"sha256:{self._hash.hexdigest()}"
