"""Errors of registries and of their content."""

from __future__ import annotations

from kubewasp.errors import KubewaspError


class RegistryError(KubewaspError):
    """A request to a registry failed, or its content is not usable; the text has the cause and the remedy."""


class InvalidReferenceError(RegistryError, ValueError):
    """A text that is no reference such as `oci://host/repository:tag`."""


class ContentError(RegistryError, ValueError):
    """Content that is not what its descriptor says: media type, size, digest, form."""


class NotFoundError(RegistryError):
    """The registry has no such manifest, blob or repository, or does not show it."""


class DeniedError(RegistryError):
    """The registry, or a rule of the client, denies access."""


class StoreError(RegistryError):
    """The local store cannot be written."""


class UnreachableError(RegistryError):
    """No answer of the registry: network, TLS, timeout, or a failure on its side. A copy in the local store may do."""
