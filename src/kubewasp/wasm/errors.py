"""Errors of loading and running guests."""

from __future__ import annotations

from kubewasp.errors import KubewaspError


class GuestLoadError(KubewaspError):
    """The guest cannot be used: not found, not wasm, wrong exports, or a start function that fails."""


class GuestStartError(GuestLoadError):
    """The guest's start function failed. `refused`: the guest itself has ended it, because of its configuration."""

    def __init__(self, text: str, *, refused: bool = False) -> None:
        super().__init__(text)
        self.refused = refused


class InstanceInUseError(KubewaspError):
    """A second thread tried to use an instance that is in use."""


class HeapFullError(KubewaspError):
    """The nodes do not fit into the shared memory."""
