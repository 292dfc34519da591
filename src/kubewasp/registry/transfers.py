"""Content on its way: received bytes are counted and hashed before they are stored, sent ones are read in parts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from kubewasp.registry.errors import ContentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kubewasp.registry.oci_manifests import Descriptor

CHUNK: Final = 1 << 20


class TransferListener(Protocol):
    """Progress of a transfer."""

    def moved(self, count: int) -> None:
        """So many bytes more were sent or received."""


class _Silent:
    def moved(self, count: int) -> None:
        pass


SILENT: Final[TransferListener] = _Silent()


class WrongDigestError(ContentError):
    """Complete content with another digest."""


class Target(Protocol):
    """The place of received content."""

    def write(self, part: memoryview, /) -> object: ...

    def clear(self) -> None:
        """Drops what was written, to begin again."""


class MemoryTarget:
    """Received content in memory."""

    def __init__(self) -> None:
        self.content = bytearray()

    def write(self, part: memoryview) -> None:
        self.content += part

    def clear(self) -> None:
        self.content.clear()


class Receiver:
    """Content of a descriptor. More than its size is refused at once, another digest at the end."""

    def __init__(
        self,
        descriptor: Descriptor,
        target: Target,
        *,
        known: Iterable[bytes] = (),
        listener: TransferListener = SILENT,
    ) -> None:
        """`known` is the beginning that an earlier attempt has stored already."""
        self.descriptor: Final = descriptor
        self.position = 0
        self._target = target
        self._listener = listener
        self._hash = hashlib.sha256()
        for part in known:
            self._hash.update(part)
            self.position += len(part)

    @property
    def missing(self) -> int:
        return self.descriptor.size - self.position

    def feed(self, content: memoryview) -> None:
        if len(content) > self.missing:
            raise ContentError(f"blob {self.descriptor.digest}: longer than its {self.descriptor.size} bytes")
        self._hash.update(content)
        self._target.write(content)
        self.position += len(content)
        self._listener.moved(len(content))

    def check(self) -> None:
        """ContentError unless everything has arrived, and is what the descriptor says."""
        if self.missing:
            raise ContentError(f"blob {self.descriptor.digest}: {self.position} bytes, expected {self.descriptor.size}")
        found = f"sha256:{self._hash.hexdigest()}"
        if found != self.descriptor.digest:
            raise WrongDigestError(f"blob {self.descriptor.digest}: its content has the digest {found}")

    def restart(self) -> None:
        """Begins again: what has arrived is not the content."""
        self._target.clear()
        self._hash = hashlib.sha256()
        self.position = 0


class Content(Protocol):
    """Content to push, readable from any place, several times."""

    @property
    def size(self) -> int: ...

    def parts(self, start: int, end: int) -> Iterator[memoryview]: ...


@dataclass(frozen=True, slots=True)
class MemoryContent:
    """Content in memory."""

    content: bytes

    @property
    def size(self) -> int:
        return len(self.content)

    def parts(self, start: int, end: int) -> Iterator[memoryview]:
        view = memoryview(self.content)
        for at in range(start, end, CHUNK):
            yield view[at : min(at + CHUNK, end)]


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of content, as the body of a request."""

    content: Content
    start: int
    end: int
    listener: TransferListener = SILENT

    @property
    def size(self) -> int:
        return self.end - self.start

    def parts(self) -> Iterator[memoryview]:
        for part in self.content.parts(self.start, self.end):
            yield part
            self.listener.moved(len(part))
