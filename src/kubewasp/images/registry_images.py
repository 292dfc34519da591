"""Images in registries: layers come through the local store, where they stay for the next run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.registry.transfers import SILENT

if TYPE_CHECKING:
    from kubewasp.registry.oci_manifests import Descriptor
    from kubewasp.registry.pulling import Puller
    from kubewasp.registry.references import Reference
    from kubewasp.registry.transfers import TransferListener


class RegistryImages:
    """Reading half of registries and store, with progress. Implements `ArtifactSource`.

    A reference means one digest for the whole life of this object: a tag that moves changes nothing.
    """

    def __init__(self, puller: Puller, listener: TransferListener = SILENT) -> None:
        self._puller = puller
        self._listener = listener

    def resolve(self, reference: Reference) -> Descriptor:
        return self._puller.current(reference)

    def manifest(self, reference: Reference) -> tuple[bytes, Descriptor]:
        return self._puller.manifest(reference)

    def blob_content(self, reference: Reference, descriptor: Descriptor, *, max_bytes: int) -> bytes:
        store = self._puller.store
        if descriptor.size <= max_bytes and not store.has(descriptor.digest):
            with store.receiving(descriptor, listener=self._listener) as receiver:
                self._puller.client.blob(reference, receiver)
        return store.blob_content(reference, descriptor, max_bytes=max_bytes)

    def referrers(self, reference: Reference, digest: str, artifact_type: str = "") -> tuple[Descriptor, ...]:
        return self._puller.referrers(reference, digest, artifact_type)

    def remember(self, reference: Reference, descriptor: Descriptor) -> None:
        """Notes what a tag meant, for a run without the registry."""
        if reference.tag:
            self._puller.store.remember(reference, descriptor)
