"""Images in files: OCI layouts as folder or archive, archives of `docker save`; opened, and written."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.images.docker_archive import DockerArchive, write_docker_archive
from kubewasp.images.errors import ImageError
from kubewasp.images.image_address import Transport
from kubewasp.registry.layouts import REF_NAME, Layout, LayoutWriter
from kubewasp.registry.oci_manifests import Index
from kubewasp.registry.references import DEFAULT_TAG, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.images.image_address import ImageAddress
    from kubewasp.registry.artifact_source import ArtifactSource
    from kubewasp.registry.formats import Artifact

# Stands for the repository of an image that is in no registry.
_LOCAL: Final = Reference("localhost", "image")


def open_file(address: ImageAddress) -> tuple[ArtifactSource, Reference]:
    """The source that an address names, and the reference of the image in it."""
    if address.transport is not Transport.LAYOUT and address.path.exists() and not address.path.is_file():
        raise ImageError(f"{address}: not a regular file")
    if address.transport is Transport.DOCKER_ARCHIVE:
        return DockerArchive(address.path, address.name), _LOCAL
    layout = Layout(address.path)
    if address.name:
        return layout, replace(_LOCAL, tag=address.name)
    entries = layout.index.manifests
    if len(entries) != 1:
        tags = sorted({entry.annotations.get(REF_NAME, "") for entry in entries} - {""})
        shown = f"; tags: {', '.join(tags[:10])}" if tags else ""
        raise ImageError(f"{address}: {len(entries)} images; name one by its tag{shown}")
    return layout, _LOCAL.at(entries[0].digest)


def write_file(address: ImageAddress, artifact: Artifact) -> None:
    """Writes an image: a layout gets it as one more, or in place of the one with its tag; an archive is replaced."""
    try:
        if address.transport is Transport.LAYOUT:
            _add_to_layout(address.path, artifact, address.name or DEFAULT_TAG)
        else:
            address.path.parent.mkdir(parents=True, exist_ok=True)
            _write_archive(address, artifact)
    except OSError as error:
        raise ImageError(f"{address}: cannot be written: {error.strerror or error}") from None


def _write_archive(address: ImageAddress, artifact: Artifact) -> None:
    with _replaced(address.path) as fresh:
        if address.transport is Transport.DOCKER_ARCHIVE:
            with fresh.open("wb") as file:
                write_docker_archive(artifact, file, address.name)
        else:
            writer = LayoutWriter(fresh)
            for content in artifact.blobs.values():
                writer.add_blob(content)
            tag = address.name or DEFAULT_TAG
            writer.add_manifest(artifact.manifest.write(), artifact.descriptor, tag=tag)
            writer.write()


def _add_to_layout(folder: Path, artifact: Artifact, tag: str) -> None:
    if folder.is_dir() and any(folder.iterdir()):
        known = Layout(folder).index.manifests
    else:
        (folder / "blobs" / "sha256").mkdir(parents=True, exist_ok=True)
        known = ()
    own = artifact.descriptor
    contents = {**artifact.blobs, own.digest: artifact.manifest.write()}
    for digest, content in contents.items():
        _write(folder / "blobs" / "sha256" / digest.removeprefix("sha256:"), content)
    others = tuple(entry for entry in known if entry.annotations.get(REF_NAME, "") != tag)
    _write(folder / "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
    _write(folder / "index.json", Index((*others, replace(own, annotations={REF_NAME: tag}))).write())


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with _replaced(path) as fresh:
        fresh.write_bytes(content)


@contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """A file beside the path that replaces it if the block succeeds: readers see the old one or the new one."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".kubewasp-") as scratch:
        fresh = Path(scratch) / "fresh.tar"
        yield fresh
        fresh.replace(path)
