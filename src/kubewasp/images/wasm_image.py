"""Reading of an image: manifest, configuration, merged files, and the wasm program that it runs.

An image index is read as its wasm platform. Wasm artifacts, which hold a program and nothing else, are read as well.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.images.errors import ImageError
from kubewasp.images.file_tree import FileTree, TreeFile
from kubewasp.images.image_config import ImageConfig
from kubewasp.images.layer_stream import Budget, LayerStream
from kubewasp.k8s.errors import quoted
from kubewasp.k8s.quantity import format_size
from kubewasp.registry import formats
from kubewasp.registry.errors import ContentError
from kubewasp.registry.oci_manifests import DOCKER_CONFIG, IMAGE_CONFIG, MAX_BYTES, Index, Manifest, read_document
from kubewasp.registry.tar_archives import members

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.registry.artifact_source import ArtifactSource
    from kubewasp.registry.oci_manifests import Descriptor
    from kubewasp.registry.references import Reference
    from kubewasp.registry.tar_archives import Member

MAX_LAYERS: Final = 128  # as container runtimes have it
MAX_PACKED: Final = 512 << 20
MAX_UNPACKED: Final = 1 << 30
MAX_ENTRIES: Final = 100_000
HANDLER: Final = "run.oci.handler"
CONTAINER: Final = "container image"
_PLUGIN: Final = "/plugin.wasm"  # the name that Envoy and Istio look for


@dataclass(frozen=True, slots=True)
class WasmImage:
    """An image and its program. `kind` is the format, for people; an artifact has no configuration and no files."""

    where: str
    kind: str
    descriptor: Descriptor
    manifest: Manifest
    config: ImageConfig
    program: bytes
    program_path: str
    tree: FileTree
    blobs: _Layers

    @property
    def is_container(self) -> bool:
        return self.kind == CONTAINER

    @property
    def argv(self) -> tuple[str, ...]:
        """The program's name and the arguments of the entrypoint."""
        if self.config.entrypoint:
            return self.config.entrypoint
        return self.config.command[:1] or (self.program_path,)

    @property
    def default_arguments(self) -> tuple[str, ...]:
        """Arguments after those of the entrypoint, unless others are given."""
        return self.config.command if self.config.entrypoint else self.config.command[1:]

    def members(self) -> Iterator[tuple[tuple[int, int], Member]]:
        """Entries of all layers, by layer and number, in order."""
        budget = Budget(MAX_UNPACKED)
        for layer in range(len(self.manifest.layers)):
            for number, member in enumerate(members(self.blobs.opened(layer, budget))):
                yield (layer, number), member


@dataclass(frozen=True, slots=True)
class _Layers:
    """Layers of a manifest in their source, which checks the digests."""

    source: ArtifactSource
    reference: Reference
    manifest: Manifest

    def opened(self, layer: int, budget: Budget) -> LayerStream:
        return LayerStream(self.packed(self.manifest.layers[layer]), budget)

    def packed(self, descriptor: Descriptor) -> bytes:
        return self.source.blob_content(self.reference, descriptor, max_bytes=MAX_PACKED)


def read_image(source: ArtifactSource, reference: Reference, where: str) -> WasmImage:
    """The image of a reference; ImageError and RegistryError name `where` it is."""
    manifest, descriptor, reference = _manifest(source, reference, where)
    layers = _Layers(source, reference, manifest)
    if not formats.needs_config(manifest):
        place = formats.wasm_place(manifest, b"", where)
        program = formats.checked_wasm(layers.packed(place.layers[0]), where)
        config, name = ImageConfig(architecture="", os=""), place.layers[0].annotations.get(formats.TITLE, "")
        path = f"/{posixpath.basename(name) or 'program.wasm'}"
        return WasmImage(where, place.kind, descriptor, manifest, config, program, path, FileTree(0), layers)
    config = _config(layers, where)
    tree = _tree(layers, config, where)
    path, file = _program_file(tree, config, where)
    program = formats.checked_wasm(_content(layers, file), f"{where}: {quoted(path)}")
    return WasmImage(where, CONTAINER, descriptor, manifest, config, program, path, tree, layers)


def _manifest(source: ArtifactSource, reference: Reference, where: str) -> tuple[Manifest, Descriptor, Reference]:
    content, descriptor = source.manifest(reference)
    document = read_document(content, where, media_type=descriptor.media_type)
    if isinstance(document, Index):
        reference = reference.at(formats.wasm_entry(document, where).digest)
        content, descriptor = source.manifest(reference)
        document = read_document(content, where, media_type=descriptor.media_type)
    if not isinstance(document, Manifest):
        raise ImageError(f"{where}: an image index in an image index; only one level is supported")
    return document, descriptor, reference


def _config(layers: _Layers, where: str) -> ImageConfig:
    manifest = layers.manifest
    kind = manifest.config.media_type
    if kind not in (IMAGE_CONFIG, DOCKER_CONFIG):
        raise ImageError(f"{where}: no container image and no wasm artifact: its configuration is a {quoted(kind)}")
    if len(manifest.layers) > MAX_LAYERS:
        raise ImageError(f"{where}: {len(manifest.layers)} layers, at most {MAX_LAYERS} are supported")
    formats.check_layers(manifest, where)
    packed = sum(layer.size for layer in manifest.layers)
    if packed > MAX_PACKED:
        raise ImageError(f"{where}: layers of {format_size(packed)}, at most {format_size(MAX_PACKED)} are supported")
    content = layers.source.blob_content(layers.reference, manifest.config, max_bytes=MAX_BYTES)
    return ImageConfig.read(content, f"{where}: configuration")


def _tree(layers: _Layers, config: ImageConfig, where: str) -> FileTree:
    """All layers merged. Each has to be the one that the configuration names, once it is unpacked."""
    count = len(layers.manifest.layers)
    if len(config.diff_ids) != count:
        raise ImageError(f"{where}: {count} layers, and a configuration for {len(config.diff_ids)}")
    tree, budget = FileTree(MAX_ENTRIES), Budget(MAX_UNPACKED)
    for layer, expected in enumerate(config.diff_ids):
        try:
            stream = layers.opened(layer, budget)
            for number, member in enumerate(members(stream)):
                tree.apply(layer, number, member)
            found = stream.finish()
        except (ImageError, ContentError) as error:
            raise ImageError(f"{where}: layer {layer + 1}: {error}") from None
        if found != expected:
            raise ImageError(f"{where}: layer {layer + 1} has the digest {found} unpacked, expected {expected}")
    return tree


def _program_file(tree: FileTree, config: ImageConfig, where: str) -> tuple[str, TreeFile]:
    """Path and file of the program: entrypoint, else command, else `plugin.wasm`, else the only wasm file."""
    named = (config.entrypoint or config.command)[:1]
    if named:
        for folder in (config.working_directory, "/"):
            path = posixpath.join("/", folder, named[0])
            found = tree.find(path)
            if isinstance(found, TreeFile):
                return path, found
        raise ImageError(f"{where}: its program {quoted(named[0])} is no file of the image")
    known = {path: node for path, node in tree.walk() if isinstance(node, TreeFile) and path.endswith(".wasm")}
    path = _PLUGIN if _PLUGIN in known else next(iter(known), "")
    if not path or (len(known) > 1 and path != _PLUGIN):
        there = "several wasm files" if known else "no wasm file"
        raise ImageError(f"{where}: names no program by entrypoint or command, and has {there}")
    return path, known[path]


def _content(layers: _Layers, file: TreeFile) -> bytes:
    stream = layers.opened(file.layer, Budget(MAX_UNPACKED))
    found = next(member for number, member in enumerate(members(stream)) if number == file.entry)
    return found.read(file.size)
