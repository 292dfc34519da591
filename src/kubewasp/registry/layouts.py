"""OCI image layouts, as a folder or as a tar archive: artifacts and their signatures in files, for air gaps."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Final, Protocol

from kubewasp.registry.errors import ContentError, NotFoundError, RegistryError
from kubewasp.registry.oci_manifests import (
    INDEX,
    MAX_BYTES,
    MAX_ENTRIES,
    Descriptor,
    Index,
    digest_of,
    read_document,
    read_object,
)
from kubewasp.registry.references import Reference, fallback_tag, is_digest
from kubewasp.registry.tar_archives import FileStream, members

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REF_NAME: Final = "org.opencontainers.image.ref.name"
IMAGE_NAME: Final = "io.containerd.image.name"  # the full name, as Docker and containerd write it
_LAYOUT: Final = "oci-layout"
_INDEX: Final = "index.json"
_VERSION: Final = b'{"imageLayoutVersion":"1.0.0"}'
_BLOBS: Final = "blobs/sha256/"


class _Files(Protocol):
    def read(self, name: str, limit: int) -> bytes:
        """Content of a file; FileNotFoundError, ContentError above the limit."""


class _Folder:
    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, name: str, limit: int) -> bytes:
        descriptor = os.open(self._path / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            return _bounded(file, name, limit)


class _Tar:
    """Names and places of the files of a layout. Other entries, links, and paths that lead elsewhere are not read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[str, tuple[int, int]] = {}
        with path.open("rb") as file:
            for member in members(FileStream(file)):
                if member.is_file and _is_layout_file(member.name):
                    if member.name in self._places:
                        raise ContentError(f"the tar archive has {member.name} twice")
                    self._places[member.name] = member.offset, member.size

    def read(self, name: str, limit: int) -> bytes:
        if name not in self._places:
            raise FileNotFoundError
        offset, size = self._places[name]
        if size > limit:
            raise ContentError(f"{name}: {size} bytes, at most {limit} are allowed")
        with self._path.open("rb") as file:
            file.seek(offset)
            content = file.read(size)
        if len(content) < size:
            raise ContentError("the tar archive is incomplete")
        return content


@dataclass(frozen=True, slots=True)
class LayoutEntry:
    """A manifest that the index of a layout names: its tag or full name, empty without one."""

    name: str
    descriptor: Descriptor


class Layout:
    """A layout that is there already. Implements `ArtifactSource`: tags are names of its index."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._files: _Files = _Folder(path) if path.is_dir() else _Tar(path)
            version = read_object(self._files.read(_LAYOUT, MAX_BYTES), _LAYOUT).get("imageLayoutVersion")
            content = self._files.read(_INDEX, MAX_BYTES)
        except ContentError as error:
            raise ContentError(f"{path}: {error}") from None
        except OSError as error:
            problem = "" if isinstance(error, FileNotFoundError) and path.exists() else f": {error.strerror}"
            raise RegistryError(f"{path}: no OCI image layout, as folder or tar{problem}") from None
        if not isinstance(version, str) or not version.startswith("1."):
            raise ContentError(f"{path}: an OCI image layout of an unknown version")
        self.index: Final = Index.read(content, f"{path}: {_INDEX}")

    def entries(self) -> tuple[LayoutEntry, ...]:
        """The manifests with a name; those of signatures have none."""
        return tuple(
            LayoutEntry(name, entry)
            for entry in self.index.manifests
            if (name := entry.annotations.get(IMAGE_NAME) or entry.annotations.get(REF_NAME, ""))
            and not name.rpartition(":")[2].startswith("sha256-")
        )

    def resolve(self, reference: Reference) -> Descriptor:
        if reference.digest:
            content = self._blob(reference.digest, MAX_BYTES)
            return Descriptor(read_document(content, self._where).media_type, reference.digest, len(content))
        for entry in self.index.manifests:
            full = entry.annotations.get(IMAGE_NAME, "")
            tag = entry.annotations.get(REF_NAME, "")
            if full == f"{reference.name}:{reference.tag}" or tag in (
                reference.tag,
                f"{reference.name}:{reference.tag}",
            ):
                return replace(entry, annotations={}, platform=None, artifact_type="")
        raise NotFoundError(f"{self._where}: no manifest with the name {reference.tag}")

    def manifest(self, reference: Reference) -> tuple[bytes, Descriptor]:
        descriptor = self.resolve(reference)
        content = self._blob(descriptor.digest, MAX_BYTES)
        descriptor.check(content, self._where)
        return content, descriptor

    def blob_content(self, _reference: Reference, descriptor: Descriptor, *, max_bytes: int) -> bytes:
        if descriptor.size > max_bytes:
            raise ContentError(f"{self._where}: a blob of {descriptor.size} bytes, at most {max_bytes} are allowed")
        content = self._blob(descriptor.digest, max_bytes)
        descriptor.check(content, self._where)
        return content

    def referrers(self, reference: Reference, digest: str, artifact_type: str = "") -> tuple[Descriptor, ...]:
        """Those in the index of the layout, and those of the tag in place of the API."""
        found: dict[str, Descriptor] = {}
        for entry in self.index.manifests:
            with suppress(NotFoundError):
                document = read_document(self._blob(entry.digest, MAX_BYTES), self._where)
                if document.subject is not None and document.subject.digest == digest:
                    kind = document.artifact_type or getattr(document, "kind", "")
                    found[entry.digest] = Descriptor(
                        document.media_type, entry.digest, entry.size, document.annotations, kind
                    )
        with suppress(NotFoundError):
            content, descriptor = self.manifest(Reference(reference.host, reference.repository, fallback_tag(digest)))
            if descriptor.media_type == INDEX:
                found.update((entry.digest, entry) for entry in Index.read(content, self._where).manifests)
        return tuple(entry for entry in found.values() if artifact_type in ("", entry.artifact_type))

    @property
    def _where(self) -> str:
        return str(self._path)

    def _blob(self, digest: str, limit: int) -> bytes:
        try:
            content = self._files.read(_BLOBS + digest.removeprefix("sha256:"), limit)
        except OSError:
            raise NotFoundError(f"{self._where}: the layout has no {digest}") from None
        except ContentError as error:
            raise ContentError(f"{self._where}: {error}") from None
        if digest_of(content) != digest:
            raise ContentError(f"{self._where}: {digest} has other content")
        return content


def is_layout(path: Path) -> bool:
    """Whether the path is a layout by its files, a tar archive by its name."""
    return (path / _LAYOUT).is_file() if path.is_dir() else path.suffix == ".tar" and path.is_file()


class LayoutWriter:
    """A new layout: a folder, or a tar archive if the name ends with .tar. The same content gives the same bytes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._blobs: dict[str, bytes] = {}
        self._entries: list[Descriptor] = []

    def add_blob(self, content: bytes) -> None:
        self._blobs[digest_of(content)] = content

    def add_manifest(self, content: bytes, descriptor: Descriptor, *, name: str = "", tag: str = "") -> None:
        """Adds a manifest to the index; without a name as one that refers to another."""
        self.add_blob(content)
        notes = dict(descriptor.annotations)
        if name:
            notes[IMAGE_NAME] = name
        if tag:
            notes[REF_NAME] = tag
        self._entries.append(replace(descriptor, annotations=notes))

    def write(self) -> None:
        """RegistryError for a path that exists already, or cannot be written."""
        if len(self._entries) > MAX_ENTRIES:
            raise RegistryError(f"{self._path}: more than {MAX_ENTRIES} manifests")
        if self._path.exists():
            raise RegistryError(f"{self._path}: exists already; give a new name")
        try:
            if self._path.suffix == ".tar":
                self._write_tar()
            else:
                self._write_folder()
        except OSError as error:
            raise RegistryError(f"{self._path}: cannot be written: {error.strerror}") from None

    def _contents(self) -> Iterator[tuple[str, bytes]]:
        yield _LAYOUT, _VERSION
        yield _INDEX, Index(tuple(self._entries)).write()
        for digest in sorted(self._blobs):
            yield _BLOBS + digest.removeprefix("sha256:"), self._blobs[digest]

    def _write_folder(self) -> None:
        (self._path / _BLOBS).mkdir(parents=True)
        for name, content in self._contents():
            (self._path / name).write_bytes(content)

    def _write_tar(self) -> None:
        import tarfile

        partial = self._path.with_name(f".{self._path.name}.new")
        try:
            with tarfile.open(partial, "w", format=tarfile.USTAR_FORMAT) as archive:
                for name, content in self._contents():
                    entry = tarfile.TarInfo(name)
                    entry.size, entry.mode = len(content), 0o644
                    archive.addfile(entry, io.BytesIO(content))
            partial.rename(self._path)
        finally:
            partial.unlink(missing_ok=True)


def _is_layout_file(name: str) -> bool:
    return name in (_LAYOUT, _INDEX) or (name.startswith(_BLOBS) and is_digest(f"sha256:{name[len(_BLOBS) :]}"))


def _bounded(file: IO[bytes], name: str, limit: int) -> bytes:
    content = file.read(limit + 1)
    if len(content) > limit:
        raise ContentError(f"{name}: more than {limit} bytes")
    return content
