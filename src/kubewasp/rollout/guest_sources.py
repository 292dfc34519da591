"""Sources of guests as a rollout sees them: the meaning of an address now, and its content."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kubewasp.wasm.source import fetch

if TYPE_CHECKING:
    from kubewasp.input_file import StandardInput


@dataclass(frozen=True, slots=True)
class FetchedGuest:
    """A verified guest. `reference` is what its address meant: the digest of a manifest, or of the content."""

    wasm: bytes = field(repr=False)
    digest: str
    reference: str
    source: str


class GuestSources(Protocol):
    """Resolves and fetches guests. Called on the thread that stages; a failure is a KubewaspError."""

    def resolve(self, url: str | StandardInput) -> str:
        """What the address means now, without fetching more than that takes; empty if it cannot be known."""

    def fetch(self, url: str | StandardInput, *, sha256: str | None, max_bytes: int) -> FetchedGuest: ...

    def fetch_version(self, url: str, reference: str, *, max_bytes: int) -> FetchedGuest | None:
        """An earlier meaning of an address that has versions; None for one that has none."""

    def has_versions(self, url: str | StandardInput) -> bool:
        """Whether earlier contents can be fetched by their digest."""


class DirectSources:
    """Files, web addresses and standard input: an address has no versions, its content is its meaning."""

    def resolve(self, url: str | StandardInput) -> str:  # noqa: ARG002 - interface
        return ""

    def fetch(self, url: str | StandardInput, *, sha256: str | None, max_bytes: int) -> FetchedGuest:
        wasm = fetch(url, sha256=sha256, max_bytes=max_bytes)
        digest = f"sha256:{hashlib.sha256(wasm).hexdigest()}"
        return FetchedGuest(wasm, digest, digest, str(url))

    def fetch_version(self, url: str, reference: str, *, max_bytes: int) -> FetchedGuest | None:  # noqa: ARG002
        return None

    def has_versions(self, url: str | StandardInput) -> bool:  # noqa: ARG002 - interface
        return False
