"""Referrers of a manifest, such as signatures: the API of registries, or the tag `sha256-…` where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from kubewasp.registry.errors import ContentError, NotFoundError, RegistryError
from kubewasp.registry.oci_manifests import INDEX, MAX_ENTRIES, Descriptor, Index, Manifest
from kubewasp.registry.references import fallback_tag

if TYPE_CHECKING:
    from kubewasp.registry.references import Reference

_ATTEMPTS: Final = 5


class ReferrerRequests(Protocol):
    """The requests that referrers need."""

    def referrer_pages(self, reference: Reference, digest: str, artifact_type: str) -> tuple[bytes, ...] | None: ...

    def manifest(self, reference: Reference, *, from_mirrors: bool = True) -> tuple[bytes, Descriptor]: ...

    def push_manifest(self, reference: Reference, content: bytes) -> Descriptor: ...


class Referrers:
    """Referrers in one repository after another."""

    def __init__(self, requests: ReferrerRequests) -> None:
        self._requests = requests

    def find(self, reference: Reference, digest: str, artifact_type: str = "") -> tuple[Descriptor, ...]:
        """The referrers, of one artifact type or of all. A registry may ignore the type, so they are filtered here."""
        where = f"{reference.name}: referrers of {digest}"
        pages = self._requests.referrer_pages(reference, digest, artifact_type)
        if pages is None:
            entries = self._tagged(reference, digest)
        else:
            entries = tuple(entry for page in pages for entry in Index.read(page, where).manifests)
        if len(entries) > MAX_ENTRIES:
            raise ContentError(f"{where}: more than {MAX_ENTRIES}")
        unique = {entry.digest: entry for entry in entries if artifact_type in ("", entry.artifact_type)}
        return tuple(unique.values())

    def add_to_tag(self, reference: Reference, document: Manifest | Index, descriptor: Descriptor) -> None:
        """Adds a pushed manifest to the index at the tag of its subject.

        The protocol has no lock: the index is read again afterwards, and an entry that another client has dropped is
        added once more.
        """
        if document.subject is None:
            return
        kind = document.kind if isinstance(document, Manifest) else document.artifact_type
        entry = Descriptor(
            descriptor.media_type, descriptor.digest, descriptor.size, document.annotations, artifact_type=kind
        )
        subject = document.subject.digest
        tag = reference.tagged(fallback_tag(subject))
        for _ in range(_ATTEMPTS):
            known = self._tagged(reference, subject, from_mirrors=False)
            if any(found.digest == entry.digest for found in known):
                return
            self._requests.push_manifest(tag, Index((*known, entry)).write())
        raise RegistryError(f"{tag}: another client changes the referrers all the time; try again")

    def _tagged(self, reference: Reference, digest: str, *, from_mirrors: bool = True) -> tuple[Descriptor, ...]:
        tag = reference.tagged(fallback_tag(digest))
        try:
            content, descriptor = self._requests.manifest(tag, from_mirrors=from_mirrors)
        except NotFoundError:
            return ()
        if descriptor.media_type != INDEX:
            raise ContentError(f"{tag}: expected an image index of referrers")
        return Index.read(content, str(tag)).manifests
