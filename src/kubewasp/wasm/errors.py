"""What can go wrong with a guest, said so that its author knows what to do."""

from __future__ import annotations


class KubewaspError(Exception):
    """Base of every error a user's input can cause; its text is meant for that user."""


class GuestLoadError(KubewaspError):
    """The guest cannot be used at all: not found, not wasm, wrong exports, failing start function."""


class InstanceInUseError(KubewaspError):
    """Two threads tried to use one instance at the same time."""


class HeapFullError(KubewaspError):
    """The nodes do not fit into the memory that the adapters share."""
