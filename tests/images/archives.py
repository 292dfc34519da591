"""Layers and images for tests: hostile ones as well as good ones."""

import gzip
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kubewasp.registry.formats import Artifact
from kubewasp.registry.oci_manifests import IMAGE_CONFIG, Descriptor, Manifest, digest_of

# The shortest module, and a command that ends at once.
EMPTY_MODULE = b"\0asm\x01\0\0\0"
TAR = "application/vnd.oci.image.layer.v1.tar"
GZIP = f"{TAR}+gzip"

Entry = tarfile.TarInfo | tuple[str, bytes]


def entry(name: str, kind: bytes = tarfile.REGTYPE, *, target: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode = kind, target, mode
    return made


def folder(name: str) -> tarfile.TarInfo:
    return entry(name, tarfile.DIRTYPE)


def symlink(name: str, target: str) -> tarfile.TarInfo:
    return entry(name, tarfile.SYMTYPE, target=target)


def hardlink(name: str, target: str) -> tarfile.TarInfo:
    return entry(name, tarfile.LNKTYPE, target=target)


def tar(*entries: Entry, form: int = tarfile.PAX_FORMAT) -> bytes:
    """An archive of files (name and content) and of entries without content."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=form) as archive:
        for item in entries:
            if isinstance(item, tarfile.TarInfo):
                archive.addfile(item)
            else:
                name, data = item
                made = entry(name)
                made.size = len(data)
                archive.addfile(made, io.BytesIO(data))
    return content.getvalue()


def image(
    *layers: bytes,
    config: Mapping[str, Any] | None = None,
    diff_ids: Sequence[str] | None = None,
    media_type: str = TAR,
    platform: tuple[str, str] = ("wasi", "wasm"),
) -> Artifact:
    """A container image of these layers, which may be packed; `config` is the part with the entrypoint."""
    plain = [gzip.decompress(layer) if layer.startswith(b"\x1f\x8b") else layer for layer in layers]
    found = [digest_of(layer) for layer in plain] if diff_ids is None else list(diff_ids)
    settings = {"Entrypoint": ["/hello.wasm"]} if config is None else config
    document = {
        "os": platform[0],
        "architecture": platform[1],
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": found},
    }
    content = json.dumps(document).encode()
    descriptors = tuple(Descriptor.of(layer, media_type) for layer in layers)
    blobs = {descriptor.digest: layer for descriptor, layer in zip(descriptors, layers, strict=True)}
    manifest = Manifest(Descriptor.of(content, IMAGE_CONFIG), descriptors)
    return Artifact(manifest, {**blobs, manifest.config.digest: content})


def layout(path: Path, artifact: Artifact, tag: str = "v1") -> str:
    """Writes an image as a layout; its address."""
    from kubewasp.images.image_address import ImageAddress
    from kubewasp.images.image_files import write_file

    address = f"oci:{path}:{tag}"
    write_file(ImageAddress.parse(address), artifact)
    return address
