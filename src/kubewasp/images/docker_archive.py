"""Archives of `docker save`: read as an image of one manifest, written for `docker load`.

The format has no manifest with digests and annotations: digests are computed, and the annotation that crun looks for is
lost. Layers are plain tar archives, in the archive as files.
"""

from __future__ import annotations

import io
import tarfile
from typing import IO, TYPE_CHECKING, Any, Final

import orjson

from kubewasp.images.errors import ImageError
from kubewasp.k8s import json_documents
from kubewasp.k8s.errors import quoted
from kubewasp.k8s.quantity import format_size
from kubewasp.registry.errors import ContentError, NotFoundError
from kubewasp.registry.oci_manifests import DOCKER_CONFIG, DOCKER_MANIFEST, Descriptor, Manifest, digest_of
from kubewasp.registry.tar_archives import FileStream, members

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kubewasp.registry.formats import Artifact
    from kubewasp.registry.references import Reference

_MANIFEST: Final = "manifest.json"
_LAYER: Final = "application/vnd.docker.image.rootfs.diff.tar"
_MAX_ARCHIVE: Final = 1 << 30
_MAX_LAYERS: Final = 128


class DockerArchive:
    """An archive with one image, or the one with the wanted name. Implements `ArtifactSource`."""

    def __init__(self, path: Path, name: str = "") -> None:
        self._path = path
        try:
            if path.stat().st_size > _MAX_ARCHIVE:
                raise ImageError(f"{path}: larger than {format_size(_MAX_ARCHIVE)}")
            with path.open("rb") as file:
                self._places = _places(file)
            image = _chosen(self._json(_MANIFEST), name, str(path))
            config = self._file(_text(image.get("Config"), f"{path}: Config"))
            names = image.get("Layers")
            if not isinstance(names, list) or len(names) > _MAX_LAYERS:
                raise ImageError(f"{path}: Layers: expected a list of at most {_MAX_LAYERS} names")
            self._blobs = {digest_of(config): config}
            known: dict[str, Descriptor] = {}
            for layer in names:
                file_name = _text(layer, f"{path}: Layers")
                if file_name not in known:
                    content = self._file(file_name)
                    known[file_name] = Descriptor.of(content, _LAYER)
                    self._blobs[known[file_name].digest] = content
            layers = tuple(known[layer] for layer in names)
        except OSError as error:
            raise ImageError(f"{path}: {error.strerror or error}") from None
        except ContentError as error:
            raise ImageError(f"{path}: {error}") from None
        manifest = Manifest(Descriptor.of(config, DOCKER_CONFIG), layers, media_type=DOCKER_MANIFEST)
        self._manifest = manifest.write()

    def resolve(self, _reference: Reference) -> Descriptor:
        return Descriptor.of(self._manifest, DOCKER_MANIFEST)

    def manifest(self, reference: Reference) -> tuple[bytes, Descriptor]:
        return self._manifest, self.resolve(reference)

    def blob_content(self, _reference: Reference, descriptor: Descriptor, *, max_bytes: int) -> bytes:
        content = self._blobs.get(descriptor.digest)
        if content is None:
            raise NotFoundError(f"{self._path}: the archive has no {descriptor.digest}")
        if len(content) > max_bytes:
            raise ContentError(f"{self._path}: a blob of {len(content)} bytes, at most {max_bytes} are allowed")
        return content

    def referrers(self, _reference: Reference, _digest: str, _artifact_type: str = "") -> tuple[Descriptor, ...]:
        return ()

    def _json(self, name: str) -> object:
        try:
            found = json_documents.documents(self._file(name).decode("utf-8"))
        except (UnicodeDecodeError, json_documents.JsonError):
            found = None
        if found is None or len(found) != 1:
            raise ImageError(f"{self._path}: {name} is not JSON")
        return found[0]

    def _file(self, name: str) -> bytes:
        """A regular file of the archive. Links are not followed: the manifest names files."""
        if name not in self._places:
            raise ImageError(f"{self._path}: no archive of `docker save`: it has no file {quoted(name)}")
        offset, size = self._places[name]
        with self._path.open("rb") as file:
            file.seek(offset)
            content = file.read(size)
        if len(content) < size:
            raise ImageError(f"{self._path}: the archive is incomplete")
        return content


def write_docker_archive(artifact: Artifact, file: IO[bytes], name: str) -> None:
    """The archive of one image, with the same bytes always."""
    manifest = artifact.manifest
    config, layers = manifest.config.digest.removeprefix("sha256:"), [layer.digest for layer in manifest.layers]
    files = {f"{layer.removeprefix('sha256:')}.tar": artifact.blobs[layer] for layer in layers}
    described = {"Config": f"{config}.json", "RepoTags": [name] if name else [], "Layers": list(files)}
    files |= {f"{config}.json": artifact.blobs[manifest.config.digest], _MANIFEST: orjson.dumps([described])}
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))


def _places(file: IO[bytes]) -> dict[str, tuple[int, int]]:
    """Offset and size of the regular files, by name; the first of a name counts."""
    found: dict[str, tuple[int, int]] = {}
    for member in members(FileStream(file)):
        if member.is_file:
            found.setdefault(member.name, (member.offset, member.size))
    return found


def _chosen(manifest: object, name: str, where: str) -> dict[str, Any]:
    images = [image for image in manifest if isinstance(image, dict)] if isinstance(manifest, list) else []
    if name:
        images = [image for image in images if _has_name(image.get("RepoTags"), name)]
    if len(images) != 1:
        what = f"no image {quoted(name)}" if name else f"{len(images)} images; name one: docker-archive:FILE:NAME:TAG"
        raise ImageError(f"{where}: {what}")
    return images[0]


def _has_name(tags: object, name: str) -> bool:
    known: Sequence[object] = tags if isinstance(tags, list) else ()
    return any(isinstance(tag, str) and name in (tag, tag.removeprefix("docker.io/library/")) for tag in known)


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise ImageError(f"{where}: expected the name of a file")
    return value
