"""Layers of container images: read, merged and extracted, or refused with an error of ours.

Checksums of tar headers are repaired first, so that changed names, kinds and sizes are reached. Whatever the input,
nothing of an extracted tree leads out of its folder.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from kubewasp.images.extraction import extract
from kubewasp.images.file_tree import TreeLink
from kubewasp.images.wasm_image import read_image
from kubewasp.registry.errors import NotFoundError
from kubewasp.registry.oci_manifests import IMAGE_CONFIG, Descriptor, Manifest, digest_of
from kubewasp.registry.references import Reference
from tools.fuzz.labels import error_label

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK: Final = 512
_MAGIC: Final = slice(257, 262)
_SUM: Final = slice(148, 156)
_REFERENCE: Final = Reference("localhost", "image")
_PROGRAM: Final = b"\0asm\x01\0\0\0"


def seeds() -> Iterator[bytes]:
    """Layers with every kind of entry, in every format of tar, plain and packed."""
    kinds = {
        "a/file": (tarfile.REGTYPE, ""),
        "a/link": (tarfile.SYMTYPE, "../b/target"),
        "a/hard": (tarfile.LNKTYPE, "a/file"),
        "a/.wh.file": (tarfile.REGTYPE, ""),
        "b/.wh..wh..opq": (tarfile.REGTYPE, ""),
        "dev/null": (tarfile.CHRTYPE, ""),
        "n" * 150: (tarfile.REGTYPE, ""),
        "l" * 120: (tarfile.SYMTYPE, "t" * 150),
    }
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w", format=form) as archive:
            for name, (kind, target) in kinds.items():
                if form == tarfile.USTAR_FORMAT and len(name) > 100:
                    continue
                entry = tarfile.TarInfo(name)
                entry.type, entry.linkname, entry.size = kind, target, 3 if kind == tarfile.REGTYPE else 0
                archive.addfile(entry, io.BytesIO(b"abc"))
        yield content.getvalue()
    yield gzip.compress(content.getvalue(), mtime=0)


def one(data: bytes) -> str:
    """The layer above one with a program, in an image."""
    layer = data if data.startswith(b"\x1f\x8b") else _repaired(data)
    source = _Source([_program_layer(), layer])
    try:
        image = read_image(source, _REFERENCE, "image")
    except KubewaspError as error:
        return error_label(error)
    with tempfile.TemporaryDirectory(prefix="kubewasp-fuzz-") as scratch:
        folder = Path(scratch, "files")
        folder.mkdir()
        try:
            extract(image, folder)
        except KubewaspError as error:
            return error_label(error)
        _check(folder)
    kinds = sorted({type(node).__name__ for _, node in image.tree.walk()})
    links = any(isinstance(node, TreeLink) for _, node in image.tree.walk())
    return f"read {', '.join(kinds)}{' with links' if links else ''}"


def _check(folder: Path) -> None:
    root = folder.resolve()
    for path in folder.rglob("*"):
        if path.is_symlink() and path.readlink().is_absolute():
            raise AssertionError(f"an absolute link: {path}")
        if not path.parent.resolve().is_relative_to(root):
            raise AssertionError(f"outside: {path}")
        try:
            leads = path.resolve()
        except (OSError, RuntimeError):  # a circle of links
            continue
        if not leads.is_relative_to(root):
            raise AssertionError(f"leads outside: {path}")


def _repaired(data: bytes) -> bytes:
    """The data with right checksums in all headers."""
    found = bytearray(data)
    for at in range(0, len(found) - _BLOCK + 1, _BLOCK):
        header = found[at : at + _BLOCK]
        if header[_MAGIC] == b"ustar":
            header[_SUM] = b" " * 8
            found[at + _SUM.start : at + _SUM.stop] = b"%06o\0 " % sum(header)
    return bytes(found)


def _program_layer() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        entry = tarfile.TarInfo("hello.wasm")
        entry.size = len(_PROGRAM)
        archive.addfile(entry, io.BytesIO(_PROGRAM))
    return content.getvalue()


class _Source:
    """An image in memory. Implements `ArtifactSource`."""

    def __init__(self, layers: list[bytes]) -> None:
        plain = [_unpacked(layer) for layer in layers]
        rootfs = {"type": "layers", "diff_ids": [digest_of(layer) for layer in plain]}
        config = json.dumps({"config": {"Entrypoint": ["/hello.wasm"]}, "rootfs": rootfs}).encode()
        descriptors = tuple(Descriptor.of(layer, "application/vnd.oci.image.layer.v1.tar") for layer in layers)
        manifest = Manifest(Descriptor.of(config, IMAGE_CONFIG), descriptors)
        self._manifest = manifest.write(), Descriptor.of(manifest.write(), manifest.media_type)
        self._blobs = {digest_of(blob): blob for blob in (*layers, config)}

    def resolve(self, _reference: Reference) -> Descriptor:
        return self._manifest[1]

    def manifest(self, _reference: Reference) -> tuple[bytes, Descriptor]:
        return self._manifest

    def blob_content(self, _reference: Reference, descriptor: Descriptor, *, max_bytes: int) -> bytes:
        if descriptor.digest not in self._blobs or descriptor.size > max_bytes:
            raise NotFoundError("no such blob")
        return self._blobs[descriptor.digest]

    def referrers(self, _reference: Reference, _digest: str, _artifact_type: str = "") -> tuple[Descriptor, ...]:
        return ()


def _unpacked(layer: bytes) -> bytes:
    try:
        return gzip.decompress(layer) if layer.startswith(b"\x1f\x8b") else layer
    except (OSError, EOFError, ValueError, zlib.error):
        return layer
