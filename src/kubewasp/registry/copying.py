"""Pushes of artifacts, and copies with their signatures: to a registry, into a layout, into the local store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from kubewasp.registry.errors import ContentError, NotFoundError
from kubewasp.registry.layouts import LayoutWriter
from kubewasp.registry.oci_manifests import INDEX, INDEX_TYPES, Descriptor, Index, Manifest, read_document
from kubewasp.registry.references import fallback_tag
from kubewasp.registry.transfers import SILENT, MemoryContent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kubewasp.registry.artifact_source import ArtifactSource
    from kubewasp.registry.formats import Artifact
    from kubewasp.registry.references import Reference
    from kubewasp.registry.registry_client import RegistryClient
    from kubewasp.registry.store import LocalStore
    from kubewasp.registry.transfers import TransferListener

MAX_BLOB: Final = 1 << 30
_MAX_SIGNATURES: Final = 100
_MAX_DEPTH: Final = 2


class Destination(Protocol):
    """The place of a copy. Blobs come before the manifests that name them."""

    def put_blob(self, descriptor: Descriptor, content: bytes) -> None: ...

    def put_manifest(self, content: bytes, descriptor: Descriptor, *, tag: str = "", is_root: bool = False) -> None:
        """A manifest. Without a tag it is known by its digest, by its subject, or by the index that names it."""

    def finish(self) -> None: ...


def push_artifact(
    client: RegistryClient, reference: Reference, artifact: Artifact, listener: TransferListener = SILENT
) -> Descriptor:
    """Pushes the blobs, then the manifest; its descriptor."""
    for blob in (*artifact.manifest.layers, artifact.manifest.config):
        client.push_blob(reference, blob, MemoryContent(artifact.blobs[blob.digest]), listener=listener)
    return client.push_manifest(reference, artifact.manifest.write())


def copy_artifact(source: ArtifactSource, reference: Reference, destination: Destination, *, tag: str) -> Descriptor:
    """Copies a manifest or index with all that it names, and its signatures; its descriptor."""
    content, descriptor = source.manifest(reference)
    _copy(source, reference, content, destination, _MAX_DEPTH)
    destination.put_manifest(content, descriptor, tag=tag, is_root=True)
    for name, signature, entry in signature_manifests(source, reference, descriptor.digest):
        _copy(source, reference, signature, destination, 0)
        destination.put_manifest(signature, entry, tag=name)
    destination.finish()
    return descriptor


def _copy(source: ArtifactSource, reference: Reference, content: bytes, destination: Destination, depth: int) -> None:
    document = read_document(content, str(reference))
    if isinstance(document, Manifest):
        for blob in (document.config, *document.layers):
            destination.put_blob(blob, source.blob_content(reference, blob, max_bytes=MAX_BLOB))
        return
    if not depth:
        raise ContentError(f"{reference}: image indexes within each other")
    for entry in document.manifests:
        inner, descriptor = source.manifest(reference.at(entry.digest))
        _copy(source, reference, inner, destination, depth - 1)
        destination.put_manifest(inner, descriptor)


def signature_manifests(
    source: ArtifactSource, reference: Reference, digest: str
) -> Iterator[tuple[str, bytes, Descriptor]]:
    """Tag, content and descriptor of manifests that belong to another: its referrers, and cosign's older tag."""
    for entry in source.referrers(reference, digest)[:_MAX_SIGNATURES]:
        if entry.media_type not in INDEX_TYPES:
            content, _ = source.manifest(reference.at(entry.digest))
            yield "", content, entry
    old = f"{fallback_tag(digest)}.sig"
    try:
        content, descriptor = source.manifest(reference.tagged(old))
    except NotFoundError:
        return
    yield old, content, descriptor


class RegistryDestination:
    """Copies to a repository."""

    def __init__(self, client: RegistryClient, reference: Reference, listener: TransferListener = SILENT) -> None:
        self._client = client
        self._reference = reference
        self._listener = listener

    def put_blob(self, descriptor: Descriptor, content: bytes) -> None:
        self._client.push_blob(self._reference, descriptor, MemoryContent(content), listener=self._listener)

    def put_manifest(
        self,
        content: bytes,
        descriptor: Descriptor,
        *,
        tag: str = "",
        is_root: bool = False,  # noqa: ARG002 - of the interface
    ) -> None:
        at = self._reference.tagged(tag) if tag else self._reference.at(descriptor.digest)
        self._client.push_manifest(at, content)

    def finish(self) -> None:
        pass


class LayoutDestination:
    """Copies into a new layout."""

    def __init__(self, path: Path, reference: Reference) -> None:
        self._writer = LayoutWriter(path)
        self._reference = reference

    def put_blob(self, descriptor: Descriptor, content: bytes) -> None:
        descriptor.check(content, descriptor.digest)
        self._writer.add_blob(content)

    def put_manifest(self, content: bytes, descriptor: Descriptor, *, tag: str = "", is_root: bool = False) -> None:
        document = read_document(content, descriptor.digest)
        if not tag and not is_root and document.subject is None:
            self._writer.add_blob(content)  # named by an index
            return
        name = f"{self._reference.name}:{tag}" if tag else ""
        if is_root and not tag:
            name = f"{self._reference.name}@{descriptor.digest}"
        self._writer.add_manifest(content, descriptor, name=name, tag=tag)

    def finish(self) -> None:
        self._writer.write()


class StoreDestination:
    """Copies into the local store, as if the reference had been pulled."""

    def __init__(self, store: LocalStore, reference: Reference) -> None:
        self._store = store
        self._reference = reference
        self._referrers: dict[str, list[Descriptor]] = {}

    def put_blob(self, descriptor: Descriptor, content: bytes) -> None:
        descriptor.check(content, descriptor.digest)
        self._store.put(content)

    def put_manifest(self, content: bytes, descriptor: Descriptor, *, tag: str = "", is_root: bool = False) -> None:
        self._store.put(content)
        subject = read_document(content, descriptor.digest).subject
        if tag:
            self._store.remember(self._reference.tagged(tag), descriptor)
        elif is_root:
            self._store.remember(_untagged(self._reference.at(descriptor.digest)), descriptor)
        elif subject is not None:
            self._referrers.setdefault(subject.digest, []).append(descriptor)

    def finish(self) -> None:
        for digest, entries in self._referrers.items():
            note_referrers(self._store, self._reference, digest, tuple(entries))


def note_referrers(store: LocalStore, reference: Reference, digest: str, entries: tuple[Descriptor, ...]) -> None:
    """Notes referrers in the store, at the tag in place of the API."""
    content = Index(entries[:_MAX_SIGNATURES]).write()
    store.put(content)
    store.remember(reference.tagged(fallback_tag(digest)), Descriptor.of(content, INDEX))


def _untagged(reference: Reference) -> Reference:
    return type(reference)(reference.host, reference.repository, "", reference.digest)
