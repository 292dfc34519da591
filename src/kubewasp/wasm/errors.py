"""Errors of loading and running guests."""

from __future__ import annotations

from kubewasp.errors import KubewaspError


class GuestLoadError(KubewaspError):
    """The guest cannot be used at all: not found, not wasm, wrong exports, failing start function."""


class InstanceInUseError(KubewaspError):
    """Two threads tried to use one instance at the same time."""


class HeapFullError(KubewaspError):
    """The nodes do not fit into the memory that the adapters share."""
