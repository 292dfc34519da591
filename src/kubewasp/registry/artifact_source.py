"""`ArtifactSource`: the reading half of a registry, also of a layout and of the local store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kubewasp.registry.oci_manifests import Descriptor
    from kubewasp.registry.references import Reference


class ArtifactSource(Protocol):
    """Manifests, blobs and referrers. NotFoundError for what is not there; all content is digest-checked."""

    def resolve(self, reference: Reference, /) -> Descriptor:
        """What the reference means now."""

    def manifest(self, reference: Reference, /) -> tuple[bytes, Descriptor]:
        """Content and descriptor of a manifest or index."""

    def blob_content(self, reference: Reference, descriptor: Descriptor, /, *, max_bytes: int) -> bytes:
        """A blob of the repository in memory; ContentError above the limit."""

    def referrers(self, reference: Reference, digest: str, artifact_type: str = "", /) -> tuple[Descriptor, ...]:
        """Manifests whose subject is the digest."""
