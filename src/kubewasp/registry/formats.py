"""Formats of wasm in registries: the place of the module in a manifest, and manifests for new modules.

Read: the CNCF wasm artifact, those of wasm-to-oci and Kubewarden, both of Istio's, runwasi's, and container images.
Written: the CNCF artifact, and a small image for registries that refuse it. Precompiled native code is never read.
"""

from __future__ import annotations

import io
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.k8s.quantity import format_size
from kubewasp.registry.errors import ContentError
from kubewasp.registry.oci_manifests import (
    DOCKER_CONFIG,
    IMAGE_CONFIG,
    Descriptor,
    Index,
    Manifest,
    digest_of,
    read_object,
)
from kubewasp.registry.tar_archives import FileStream, GunzipStream, members

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

WASM: Final = "application/wasm"
CNCF_CONFIG: Final = "application/vnd.wasm.config.v0+json"
_WASM_TO_OCI_CONFIG: Final = "application/vnd.wasm.config.v1+json"
_ISTIO_CONFIG: Final = "application/vnd.module.wasm.config.v1+json"
_WASM_TO_OCI: Final = "application/vnd.wasm.content.layer.v1+wasm"
_ISTIO: Final = "application/vnd.module.wasm.content.layer.v1+wasm"
_RUNWASI: Final = "application/vnd.bytecodealliance.wasm.component.layer.v0+wasm"
_WASM_LAYERS: Final = (WASM, _WASM_TO_OCI, _ISTIO, _RUNWASI)
_TAR: Final = ("application/vnd.oci.image.layer.v1.tar", "application/vnd.docker.image.rootfs.diff.tar")
_TAR_GZIP: Final = tuple(f"{name}{sign}gzip" for name, sign in zip(_TAR, "+.", strict=True))
_TAR_ZSTD: Final = tuple(f"{name}{sign}zstd" for name, sign in zip(_TAR, "+.", strict=True))
COMPAT_VARIANT: Final = "module.wasm.image/variant"
_PLUGIN_FILE: Final = "plugin.wasm"
_WHITEOUT: Final = ".wh."
_OPAQUE: Final = ".wh..wh..opq"
MAX_CONFIG: Final = 1 << 20
_MAX_IMAGE_LAYERS: Final = 128
EPOCH: Final = "1970-01-01T00:00:00Z"
TITLE: Final = "org.opencontainers.image.title"
HOOKS: Final = "io.kubewasp.hooks"

_MAGIC: Final = b"\0asm"
_COMPONENT: Final = b"\x0d\0\x01\0"
_ELF: Final = b"\x7fELF"


# ---------------------------------------------------------------------- reading


def wasm_entry(index: Index, source: str) -> Descriptor:
    """The manifest of an index for the platform wasm, or its only one."""
    entries = [entry for entry in index.manifests if not _is_attestation(entry)]
    fitting = [entry for entry in entries if entry.platform is not None and entry.platform.architecture == "wasm"]
    if len(fitting) == 1 or len(entries) == 1:
        return (fitting or entries)[0]
    if len(fitting) > 1:
        raise ContentError(f"{source}: {len(fitting)} manifests for the platform wasm; give the digest of one")
    raise ContentError(f"{source}: an image index without a manifest for the platform wasm")


def _is_attestation(entry: Descriptor) -> bool:
    """Build tools add entries for unknown platforms."""
    return entry.platform is not None and entry.platform.architecture == "unknown"


@dataclass(frozen=True, slots=True)
class WasmPlace:
    """The place of a module: a layer of its own, or a file in layers of an image.

    Attributes:
        kind: The format, for people.
        layers: The layer, or layers of an image from the last to the first.
        files: Names in the layers, the best first; none for a layer of its own.
    """

    kind: str
    layers: tuple[Descriptor, ...]
    files: tuple[str, ...] = ()


def needs_config(manifest: Manifest) -> bool:
    """Whether the place of the module depends on the configuration of an image."""
    return not any(layer.media_type in _WASM_LAYERS for layer in manifest.layers)


def wasm_place(manifest: Manifest, config: bytes, source: str) -> WasmPlace:
    """The place of the module. `config` is that of the manifest if `needs_config`, else empty."""
    own = [layer for layer in manifest.layers if layer.media_type in _WASM_LAYERS]
    if len(own) == 1:
        return WasmPlace(_kind(manifest, own[0]), (own[0],))
    if own:
        raise ContentError(f"{source}: {len(own)} wasm modules, expected one")
    if manifest.config.media_type not in (IMAGE_CONFIG, DOCKER_CONFIG):
        raise ContentError(f"{source}: neither a wasm module nor a container image with one")
    layers = tuple(reversed(manifest.layers[-_MAX_IMAGE_LAYERS:]))
    check_layers(manifest, source)
    if not layers:
        raise ContentError(f"{source}: an image without layers")
    is_compat = manifest.annotations.get(COMPAT_VARIANT) == "compat"
    kind = "container image" + (" (compat)" if is_compat else "")
    return WasmPlace(kind, layers, tuple(dict.fromkeys(_entry_files(config, source))))


def check_layers(manifest: Manifest, source: str) -> None:
    """ContentError unless all layers are tar archives that can be read."""
    for layer in manifest.layers:
        if layer.media_type in _TAR_ZSTD:
            raise ContentError(f"{source}: layers compressed with zstd are not supported; build the image with gzip")
        if layer.media_type not in (*_TAR, *_TAR_GZIP):
            raise ContentError(f"{source}: neither a wasm module nor a container image with one")


def _kind(manifest: Manifest, layer: Descriptor) -> str:
    kinds = {
        CNCF_CONFIG: "CNCF wasm artifact",
        _WASM_TO_OCI_CONFIG: "wasm-to-oci artifact",
        _ISTIO_CONFIG: "Istio wasm artifact",
    }
    default = "runwasi artifact" if layer.media_type in (WASM, _RUNWASI) else "wasm artifact"
    return kinds.get(manifest.config.media_type, default)


def _entry_files(config: bytes, source: str) -> Sequence[str]:
    """`plugin.wasm`, and the file that the image starts."""
    found = read_object(config, f"{source}: configuration", max_bytes=MAX_CONFIG).get("config")
    settings: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    folder = settings.get("WorkingDir")
    for name in ("Entrypoint", "Cmd"):
        command = settings.get(name)
        if isinstance(command, list) and command and isinstance(command[0], str):
            path = posixpath.normpath(posixpath.join("/", folder if isinstance(folder, str) else "", command[0]))
            return (_PLUGIN_FILE, path.lstrip("/"))
    return (_PLUGIN_FILE,)


def extract(place: WasmPlace, read: Callable[[Descriptor], bytes], source: str, max_bytes: int) -> bytes:
    """The module. `read` gives the content of a layer; the layers of an image may unpack to `max_bytes` in all."""
    if not place.files:
        return checked_wasm(read(place.layers[0]), source)
    wanted, left = list(place.files), 4 * max_bytes
    for layer in place.layers:
        content = read(layer)
        try:
            found, left = _in_layer(content, wanted, left, max_bytes)
        except ContentError as error:
            raise ContentError(f"{source}: layer {layer.digest}: {error}") from None
        for name in wanted:
            if name in found and (wasm := found[name]) is not None:
                return checked_wasm(wasm, source)
        wanted = [name for name in wanted if name not in found]  # removed by this layer
    raise ContentError(f"{source}: an image without {' and '.join(place.files)}")


def _in_layer(content: bytes, wanted: Sequence[str], left: int, max_bytes: int) -> tuple[dict[str, bytes | None], int]:
    """The wanted files, None for one that the layer removes; and the bytes that later layers may unpack."""
    plain = FileStream(io.BytesIO(content))
    is_packed = content.startswith(b"\x1f\x8b")
    stream = GunzipStream(plain, left) if is_packed else plain
    removed: dict[str, list[str]] = {}
    for name in wanted:
        for whiteout in _whiteouts(name):
            removed.setdefault(whiteout, []).append(name)
    found: dict[str, bytes | None] = {}
    for member in members(stream):
        if member.name in removed:
            for name in removed[member.name]:
                found.setdefault(name, None)
        elif member.is_file and member.name in wanted:
            found[member.name] = member.read(max_bytes)
    return found, stream.left if isinstance(stream, GunzipStream) else left - len(content)


def _whiteouts(name: str) -> Iterator[str]:
    """Names of files that remove a file of earlier layers: of itself and of its folders."""
    folder = ""
    for part in name.split("/"):
        yield f"{folder}{_WHITEOUT}{part}"
        yield f"{folder}{_OPAQUE}"
        folder += f"{part}/"


def checked_wasm(content: bytes, source: str) -> bytes:
    """The content, if it is a module or a component."""
    if content.startswith(_ELF):
        raise ContentError(f"{source}: precompiled native code is not loaded; push the .wasm file itself")
    if not content.startswith(_MAGIC):
        raise ContentError(f"{source}: its content is not WebAssembly")
    return content


# ---------------------------------------------------------------------- writing


@dataclass(frozen=True, slots=True)
class Artifact:
    """A manifest with its blobs, ready to push."""

    manifest: Manifest
    blobs: Mapping[str, bytes] = field(repr=False)

    @property
    def descriptor(self) -> Descriptor:
        return Descriptor.of(self.manifest.write(), self.manifest.media_type)


@dataclass(frozen=True, slots=True)
class ComponentInterface:
    """Names that a component exports and imports."""

    exports: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()


def wasm_artifact(
    wasm: bytes,
    *,
    file_name: str,
    annotations: Mapping[str, str],
    created: str = EPOCH,
    author: str = "",
    interface: ComponentInterface | None = None,
) -> Artifact:
    """The CNCF wasm artifact. The same input gives the same digest; `created` is fixed unless it is given."""
    checked_wasm(wasm, file_name)
    layer = Descriptor.of(wasm, WASM, annotations={TITLE: file_name} if file_name else {})
    document: dict[str, Any] = {"created": created}
    if author:
        document["author"] = author
    document |= {
        "architecture": "wasm",
        "os": "wasip2" if wasm[4:8] == _COMPONENT else "wasip1",
        "layerDigests": [layer.digest],
    }
    if interface is not None:
        document["component"] = {"exports": list(interface.exports), "imports": list(interface.imports)}
    config = orjson.dumps(document)
    manifest = Manifest(Descriptor.of(config, CNCF_CONFIG), (layer,), annotations=annotations)
    return Artifact(manifest, {layer.digest: wasm, manifest.config.digest: config})


def image_artifact(
    wasm: bytes, *, file_name: str, annotations: Mapping[str, str], created: str = EPOCH, author: str = ""
) -> Artifact:
    """A container image with `plugin.wasm`, for registries that accept nothing else. Reproducible as well."""
    checked_wasm(wasm, file_name)
    import gzip

    archive = _archive(_PLUGIN_FILE, wasm)
    packed = gzip.compress(archive, compresslevel=6, mtime=0)
    layer = Descriptor.of(packed, _TAR_GZIP[0])
    document: dict[str, Any] = {"created": created}
    if author:
        document["author"] = author
    document |= {
        "architecture": "wasm",
        "os": "wasi",
        "config": {"Entrypoint": [f"/{_PLUGIN_FILE}"]},
        "rootfs": {"type": "layers", "diff_ids": [digest_of(archive)]},
    }
    config = orjson.dumps(document)
    notes = {COMPAT_VARIANT: "compat", **annotations}
    manifest = Manifest(Descriptor.of(config, IMAGE_CONFIG), (layer,), annotations=notes)
    return Artifact(manifest, {layer.digest: packed, manifest.config.digest: config})


def _archive(name: str, content: bytes) -> bytes:
    import tarfile

    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = len(content), 0o755
        archive.addfile(entry, io.BytesIO(content))
    return written.getvalue()


def check_size(descriptor: Descriptor, source: str, max_bytes: int) -> None:
    """ContentError before a byte of a blob is read that is larger than allowed."""
    if descriptor.size > max_bytes:
        shown, limit = format_size(descriptor.size), format_size(max_bytes)
        raise ContentError(f"{source}: a layer of {shown}, at most {limit} are allowed; raise limits.guestSize")
