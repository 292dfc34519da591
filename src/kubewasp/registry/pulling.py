"""Pulls of wasm modules: the meaning of a reference by pull policy, then everything by digest, into the local store."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kubewasp.registry import formats
from kubewasp.registry.copying import note_referrers
from kubewasp.registry.errors import ContentError, NotFoundError, RegistryError, StoreError, UnreachableError
from kubewasp.registry.oci_manifests import Descriptor, Index, Manifest, digest_of, read_document
from kubewasp.registry.references import DEFAULT_TAG
from kubewasp.registry.transfers import SILENT, MemoryTarget

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.registry.references import Reference
    from kubewasp.registry.registry_client import RegistryClient
    from kubewasp.registry.settings import PullPolicy
    from kubewasp.registry.store import LocalStore
    from kubewasp.registry.transfers import TransferListener

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PulledWasm:
    """A module, its digest, and the manifest that it came from. `reference` has the digest of that manifest."""

    reference: Reference
    wasm: bytes = field(repr=False)
    digest: str
    manifest: Manifest
    kind: str


def default_policy(reference: Reference) -> PullPolicy:
    """`Always` for the tag latest, `IfNotPresent` for the rest, as in Istio and Kubernetes."""
    return "Always" if not reference.digest and reference.tag == DEFAULT_TAG else "IfNotPresent"


class Puller:
    """Pulls into the local store, and reads from it. Implements `ArtifactSource`: the store first, for digests."""

    def __init__(self, client: RegistryClient, store: LocalStore) -> None:
        self.client: Final = client
        self.store: Final = store

    def current(self, reference: Reference, policy: PullPolicy | None = None) -> Descriptor:
        """What the reference means by its policy. A registry that cannot be reached is no reason not to start."""
        policy = policy or default_policy(reference)
        if policy != "Always" or reference.digest:
            try:
                return self.store.resolve(reference)
            except NotFoundError:
                if policy == "Never":
                    advice = "imagePullPolicy is Never; use kubewasp plugin pull or load"
                    raise NotFoundError(f"{reference}: not in the local store, and {advice}") from None
        try:
            return self.client.resolve(reference)
        except UnreachableError as error:
            try:
                stored = self.store.resolve(reference)
            except NotFoundError:
                raise error from None
            logger.warning(
                "Registry is not available, the version in the local store is used",
                extra={"reference": str(reference), "digest": stored.digest, "cause": str(error)},
            )
            return stored

    def pull(
        self,
        reference: Reference,
        *,
        max_bytes: int,
        listener: TransferListener = SILENT,
        started: Callable[[Descriptor], None] | None = None,
    ) -> PulledWasm:
        """The module of a reference with a digest. `started` is told the layer before it is downloaded."""
        if not reference.digest:
            raise RegistryError(f"{reference}: a pull needs a digest")
        content, descriptor = self.manifest(reference)
        document = read_document(content, str(reference), media_type=descriptor.media_type)
        at = reference
        if isinstance(document, Index):
            entry = formats.wasm_entry(document, str(reference))
            at = reference.at(entry.digest)
            content, _ = self.manifest(at)
            document = Manifest.read(content, str(at))
        config = b""
        if formats.needs_config(document):
            config = self.blob_content(at, document.config, max_bytes=formats.MAX_CONFIG)
        place = formats.wasm_place(document, config, str(reference))

        def read(layer: Descriptor) -> bytes:
            formats.check_size(layer, str(reference), max_bytes)
            try:
                content = self.store.read(layer.digest, max_bytes=max_bytes)
            except NotFoundError:
                if started is not None:
                    started(layer)
                copy = MemoryTarget()
                try:
                    with self.store.receiving(layer, listener=listener, copy=copy) as receiver:
                        self.client.blob(at, receiver)
                except StoreError as error:
                    logger.warning("Pulled content is not kept", extra={"cause": str(error)})
                    return self.client.blob_content(at, layer, max_bytes=max_bytes)
                return bytes(copy.content)
            if len(content) != layer.size:
                raise ContentError(f"{reference}: a layer of {len(content)} bytes, expected {layer.size}")
            return content

        wasm = formats.extract(place, read, str(reference), max_bytes)
        if reference.tag:
            with suppress(StoreError):
                self.store.remember(reference, descriptor)
        digest = digest_of(wasm) if place.files else place.layers[0].digest
        return PulledWasm(reference, wasm, digest, document, place.kind)

    # ------------------------------------------------------------------ ArtifactSource

    def resolve(self, reference: Reference) -> Descriptor:
        """What the registry says now."""
        return self.client.resolve(reference)

    def manifest(self, reference: Reference) -> tuple[bytes, Descriptor]:
        """By digest from the store, or from the registry and then stored; by tag also if that cannot be reached."""
        if reference.digest:
            try:
                return self.store.manifest(reference)
            except NotFoundError:
                pass
        try:
            content, descriptor = self.client.manifest(reference)
        except UnreachableError as error:
            try:
                return self.store.manifest(reference)
            except NotFoundError:
                raise error from None
        with suppress(StoreError):
            self.store.put(content)
            if not reference.digest:
                self.store.remember(reference, descriptor)
        return content, descriptor

    def blob_content(self, reference: Reference, descriptor: Descriptor, *, max_bytes: int) -> bytes:
        try:
            return self.store.blob_content(reference, descriptor, max_bytes=max_bytes)
        except NotFoundError:
            content = self.client.blob_content(reference, descriptor, max_bytes=max_bytes)
        with suppress(StoreError):
            self.store.put(content)
        return content

    def referrers(self, reference: Reference, digest: str, artifact_type: str = "") -> tuple[Descriptor, ...]:
        """Those of the registry, noted in the store; those of the store if the registry cannot be reached."""
        try:
            found = self.client.referrers(reference, digest)
        except UnreachableError:
            found = self.store.referrers(reference, digest)
        else:
            if found:
                with suppress(StoreError):
                    note_referrers(self.store, reference, digest, found)
        return tuple(entry for entry in found if artifact_type in ("", entry.artifact_type))
