"""Errors of container images."""

from __future__ import annotations

from kubewasp.errors import KubewaspError


class ImageError(KubewaspError):
    """An image that cannot be built, read or run; the text has the place and the cause."""
