"""Local store: content by digest, and the digest that each reference had last. A start without the registry uses it.

Content is checked on every read. Downloads that broke off are continued.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import secrets
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from kubewasp import user_cache
from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.registry.errors import ContentError, InvalidReferenceError, NotFoundError, RegistryError, StoreError
from kubewasp.registry.oci_manifests import (
    INDEX,
    MAX_BYTES,
    Descriptor,
    Index,
    Manifest,
    digest_of,
    read_descriptor,
    read_document,
    read_object,
)
from kubewasp.registry.references import Reference, fallback_tag
from kubewasp.registry.transfers import CHUNK, SILENT, Receiver
from kubewasp.user_cache import NotOursError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kubewasp.clock import Clock
    from kubewasp.registry.transfers import MemoryTarget, TransferListener

logger = logging.getLogger(__name__)
STORE_BYTES: Final = 2 << 30
_BLOBS, _PARTS, _REFERENCES = "blobs", "partial", "references"


@dataclass(frozen=True, slots=True)
class StoredReference:
    """A reference, its manifest, and the time at which a registry was asked for it."""

    reference: Reference
    descriptor: Descriptor
    seen: float


def user_store() -> LocalStore:
    """The store of the user; if it cannot be used, a private one that ends with the process, if there can be one."""
    found = LocalStore(user_cache.directory() / "oci")
    if found.is_usable():
        return found
    try:
        return LocalStore(user_cache.private_folder() / "oci")
    except OSError:  # no folder can be written: nothing is kept
        return found


class LocalStore:
    """A folder of content. Implements `ArtifactSource` for what is in it."""

    def __init__(self, folder: Path, *, max_bytes: int = STORE_BYTES, clock: Clock = SYSTEM_CLOCK) -> None:
        self.folder: Final = folder
        self._max_bytes = max_bytes
        self._clock = clock

    def is_usable(self) -> bool:
        """Whether content can be written; makes the folders."""
        try:
            with ExitStack() as opened:
                for name in (_BLOBS, _PARTS, _REFERENCES):
                    opened.enter_context(user_cache.opened_folder(self.folder / name, make=True))
        except NotOursError as error:
            logger.warning("Ignored the local store: %s", error, extra={"path": str(self.folder)})
            return False
        except OSError as error:
            logger.info("Local store is not usable", extra={"path": str(self.folder), "cause": str(error)})
            return False
        return True

    # ------------------------------------------------------------------ content

    def has(self, digest: str) -> bool:
        return self.size(digest) is not None

    def size(self, digest: str) -> int | None:
        """The size of stored content; None if there is none."""
        try:
            with self._opened(_BLOBS) as folder:
                return os.stat(_hex(digest), dir_fd=folder, follow_symlinks=False).st_size
        except OSError:
            return None

    def read(self, digest: str, *, max_bytes: int) -> bytes:
        """Stored content; NotFoundError if there is none, or if it is damaged, and then it is removed."""
        try:
            with self._opened(_BLOBS) as folder:
                with user_cache.open_file(folder, _hex(digest)) as file:
                    content = file.read(max_bytes + 1)
                if len(content) > max_bytes:
                    raise ContentError(f"{digest}: larger than {max_bytes} bytes")
                if digest_of(content) != digest:
                    os.unlink(_hex(digest), dir_fd=folder)
                    logger.warning("Removed damaged content of the local store", extra={"digest": digest})
                    raise NotFoundError(f"{digest}: damaged in the local store")
                os.utime(_hex(digest), dir_fd=folder, follow_symlinks=False)
        except OSError:
            raise NotFoundError(f"{digest}: not in the local store") from None
        return content

    def put(self, content: bytes) -> str:
        """Stores content; its digest."""
        digest = digest_of(content)
        if self.size(digest) != len(content):
            with self._writing(), self._opened(_BLOBS) as folder:
                user_cache.write_file(folder, _hex(digest), [content])
                user_cache.prune(folder, "", self._max_bytes)
        return digest

    @contextmanager
    def receiving(
        self, descriptor: Descriptor, *, listener: TransferListener = SILENT, copy: MemoryTarget | None = None
    ) -> Iterator[Receiver]:
        """Receiver of a blob, from where an earlier attempt has ended. The content is stored if the block succeeds.

        `copy` gets the content as well: it need not be read again.
        """
        with self._writing(), self._opened(_PARTS) as parts, self._opened(_BLOBS) as blobs:
            name, file = _part(parts, descriptor)
            with file:
                known = _known(file, descriptor.size, copy)
                yield (receiver := Receiver(descriptor, _FileTarget(file, copy), known=known, listener=listener))
                receiver.check()
                file.flush()
                os.rename(name, _hex(descriptor.digest), src_dir_fd=parts, dst_dir_fd=blobs)
            os.utime(_hex(descriptor.digest), dir_fd=blobs, follow_symlinks=False)
            user_cache.prune(blobs, "", self._max_bytes)
            user_cache.prune(parts, "", self._max_bytes // 4)

    # ------------------------------------------------------------------ references

    def remember(self, reference: Reference, descriptor: Descriptor) -> None:
        """Notes what a reference means. Its manifest has to be in the store."""
        entry = {"reference": str(_key(reference)), "descriptor": descriptor.as_json(), "seen": self._clock.wall()}
        with self._writing(), self._opened(_REFERENCES) as folder:
            user_cache.write_file(folder, _file_of(reference), [json.dumps(entry).encode()])

    def references(self) -> list[StoredReference]:
        """All references whose manifest is there, sorted by name."""
        found = []
        try:
            with self._opened(_REFERENCES) as folder:
                for name in user_cache.names(folder):
                    entry = _entry(folder, name)
                    if entry is not None and self.has(entry.descriptor.digest):
                        found.append(entry)
        except OSError:
            return []
        return sorted(found, key=lambda entry: str(entry.reference))

    def forget(self, reference: Reference) -> bool:
        """Removes a reference, whether it was there; its content goes with `collect`."""
        with self._writing(), self._opened(_REFERENCES) as folder:
            try:
                os.unlink(_file_of(reference), dir_fd=folder)
            except FileNotFoundError:
                return False
        return True

    def collect(self) -> int:
        """Removes content that no reference needs, and signatures of such content; the bytes that are free now."""
        needed: set[str] = set()
        entries = self.references()
        for entry in entries:
            if not _is_signature(entry.reference):
                self._add_needed(entry.descriptor.digest, needed)
        subjects = {fallback_tag(digest) for digest in needed}
        for entry in entries:
            if _is_signature(entry.reference):
                if entry.reference.tag.removesuffix(".sig") in subjects:
                    self._add_needed(entry.descriptor.digest, needed)
                else:
                    self.forget(entry.reference)
        free = 0
        with self._writing(), self._opened(_BLOBS) as folder:
            for name in user_cache.names(folder):
                if f"sha256:{name}" not in needed:
                    with suppress(FileNotFoundError):
                        free += os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
                        os.unlink(name, dir_fd=folder)
        return free

    def _add_needed(self, digest: str, needed: set[str]) -> None:
        if digest in needed:
            return
        needed.add(digest)
        try:
            document = read_document(self.read(digest, max_bytes=MAX_BYTES), digest)
        except RegistryError:
            return
        if isinstance(document, Manifest):
            needed.update(entry.digest for entry in (document.config, *document.layers))
        else:
            for entry in document.manifests:
                self._add_needed(entry.digest, needed)

    # ------------------------------------------------------------------ ArtifactSource

    def resolve(self, reference: Reference) -> Descriptor:
        if reference.digest:
            content = self.read(reference.digest, max_bytes=MAX_BYTES)
            return Descriptor(read_document(content, str(reference)).media_type, reference.digest, len(content))
        try:
            with self._opened(_REFERENCES) as folder:
                entry = _entry(folder, _file_of(reference))
        except OSError:
            entry = None
        if entry is None or not self.has(entry.descriptor.digest):
            raise NotFoundError(f"{reference}: not in the local store")
        return entry.descriptor

    def manifest(self, reference: Reference) -> tuple[bytes, Descriptor]:
        descriptor = self.resolve(reference)
        return self.read(descriptor.digest, max_bytes=MAX_BYTES), descriptor

    def blob_content(self, reference: Reference, descriptor: Descriptor, *, max_bytes: int) -> bytes:
        if descriptor.size > max_bytes:
            raise ContentError(f"{reference}: a blob of {descriptor.size} bytes, at most {max_bytes} are allowed")
        content = self.read(descriptor.digest, max_bytes=max_bytes)
        descriptor.check(content, str(reference))
        return content

    def referrers(self, reference: Reference, digest: str, artifact_type: str = "") -> tuple[Descriptor, ...]:
        """Those of the index at the tag in place of the API, which pulls leave here."""
        try:
            content, descriptor = self.manifest(reference.tagged(fallback_tag(digest)))
        except NotFoundError:
            return ()
        if descriptor.media_type != INDEX:
            return ()
        entries = Index.read(content, str(reference)).manifests
        return tuple(entry for entry in entries if artifact_type in ("", entry.artifact_type))

    # ------------------------------------------------------------------ files

    @contextmanager
    def _opened(self, name: str) -> Iterator[int]:
        with user_cache.opened_folder(self.folder / name, make=False) as folder:
            yield folder

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            for name in (_BLOBS, _PARTS, _REFERENCES):
                (self.folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
            yield
        except OSError as error:
            raise StoreError(f"the local store {self.folder} cannot be written: {error.strerror or error}") from None


class _FileTarget:
    """A file as the place of received content."""

    def __init__(self, file: IO[bytes], copy: MemoryTarget | None) -> None:
        self._file = file
        self._copy = copy

    def write(self, part: memoryview) -> None:
        try:
            self._file.write(part)
        except OSError as error:  # not to be taken for a failure of the connection
            raise StoreError(f"the local store cannot be written: {error.strerror}") from None
        if self._copy is not None:
            self._copy.write(part)

    def clear(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        if self._copy is not None:
            self._copy.clear()


def _part(folder: int, descriptor: Descriptor) -> tuple[str, IO[bytes]]:
    """Name and file of a download; another one if a process is at work on the usual one."""
    for name in (_hex(descriptor.digest), secrets.token_hex(32)):
        file = user_cache.continue_file(folder, name)
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            continue
        if os.fstat(file.fileno()).st_nlink == 0:  # moved or removed before it was locked
            file.close()
            continue
        return name, file
    raise OSError(None, "a download cannot be written")


def _known(file: IO[bytes], size: int, copy: MemoryTarget | None) -> Iterator[bytes]:
    """What is there of the content already; nothing if it is too long."""
    if os.fstat(file.fileno()).st_size > size:
        file.truncate(0)
    while part := file.read(CHUNK):
        if copy is not None:
            copy.write(memoryview(part))
        yield part


def _key(reference: Reference) -> Reference:
    """References by tag are remembered without a digest."""
    return Reference(reference.host, reference.repository, reference.tag, "") if reference.tag else reference


def _is_signature(reference: Reference) -> bool:
    """Whether the tag is that of signatures of another manifest."""
    return reference.tag.startswith("sha256-")


def _file_of(reference: Reference) -> str:
    return hashlib.sha256(str(_key(reference)).encode()).hexdigest()


def _entry(folder: int, name: str) -> StoredReference | None:
    try:
        document = read_object(user_cache.read_file(folder, name), name)
        reference = Reference.parse(str(document.get("reference")))
        descriptor = read_descriptor(document.get("descriptor"), name)
    except (OSError, ContentError, InvalidReferenceError):
        return None
    seen = document.get("seen")
    if _file_of(reference) != name:
        return None
    return StoredReference(reference, descriptor, float(seen) if isinstance(seen, int | float) else 0.0)


def _hex(digest: str) -> str:
    return digest.removeprefix("sha256:")
