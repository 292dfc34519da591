"""Images of wasm programs: the same input gives the same bytes, on every machine and at any time.

Layers are plain tar archives: what gzip makes of them depends on the version of zlib. The program is the last layer,
where Envoy and Istio look for it; files are one layer below.
"""

from __future__ import annotations

import io
import posixpath
import tarfile
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kubewasp.images.added_files import AddedFile, image_path
from kubewasp.images.errors import ImageError
from kubewasp.images.image_config import ImageConfig
from kubewasp.k8s.errors import quoted
from kubewasp.k8s.timestamps import in_seconds
from kubewasp.registry.formats import COMPAT_VARIANT, Artifact, checked_wasm
from kubewasp.registry.oci_manifests import IMAGE_CONFIG, Descriptor, Manifest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LAYER: Final = "application/vnd.oci.image.layer.v1.tar"
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ImagePlan:
    """What goes into an image. `created` is in seconds since 1970, and the time of every file."""

    program: bytes
    program_name: str
    command: tuple[str, ...] = ()
    working_directory: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    annotations: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    files: tuple[AddedFile, ...] = ()
    created: int = 0


def build_image(plan: ImagePlan) -> Artifact:
    """A container image that crun, containerd's shims and podman run as a wasm program."""
    checked_wasm(plan.program, plan.program_name)
    program = AddedFile(image_path(plan.program_name), plan.program, is_executable=True)
    for file in plan.files:
        if file.path == program.path or file.path.startswith(f"{program.path}/"):
            raise ImageError(f"{quoted(file.path)} is the program of the image already")
    contents = [files for files in (plan.files, (program,)) if files]
    layers = tuple(_layer(files, plan.created) for files in contents)
    descriptors = tuple(Descriptor.of(layer, LAYER) for layer in layers)
    config = ImageConfig(
        created=in_seconds(plan.created),
        entrypoint=(program.path,),
        command=plan.command,
        working_directory=posixpath.join("/", plan.working_directory) if plan.working_directory else "",
        environment=plan.environment,
        labels=plan.labels,
        diff_ids=tuple(descriptor.digest for descriptor in descriptors),
    ).write()
    notes = {**plan.annotations, COMPAT_VARIANT: "compat"}
    manifest = Manifest(Descriptor.of(config, IMAGE_CONFIG), descriptors, annotations=notes)
    blobs = {descriptor.digest: layer for descriptor, layer in zip(descriptors, layers, strict=True)}
    return Artifact(manifest, {**blobs, manifest.config.digest: config})


def _layer(files: Sequence[AddedFile], time: int) -> bytes:
    """A tar archive: sorted names, root as owner, one time, folders before what is in them."""
    content = io.BytesIO()
    folders: set[str] = set()
    names = {file.path for file in files}
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in sorted(files, key=lambda file: file.path):
            for folder in _folders(file.path):
                if folder in names:
                    raise ImageError(f"{quoted(folder)} is a file and a folder of the image at once")
                if folder not in folders:
                    folders.add(folder)
                    archive.addfile(_entry(folder, tarfile.DIRTYPE, 0o755, 0, time))
            mode = 0o755 if file.is_executable else 0o644
            entry = _entry(file.path, tarfile.REGTYPE, mode, len(file.content), time)
            archive.addfile(entry, io.BytesIO(file.content))
    return content.getvalue()


def _folders(path: str) -> list[str]:
    parts = path.strip("/").split("/")[:-1]
    return ["/" + "/".join(parts[: count + 1]) for count in range(len(parts))]


def _entry(path: str, kind: bytes, mode: int, size: int, time: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path.lstrip("/"))
    entry.type, entry.mode, entry.size, entry.mtime = kind, mode, size, time
    return entry
