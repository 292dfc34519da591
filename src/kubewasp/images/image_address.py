"""Addresses of images: `oci://host/repository:tag`, `oci:FOLDER[:TAG]`, `oci-archive:FILE[:TAG]`,
`docker-archive:FILE[:NAME:TAG]`, with the meaning that skopeo, podman and buildah give them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from kubewasp.images.errors import ImageError
from kubewasp.k8s.errors import quoted
from kubewasp.registry.references import SCHEME, Reference, is_reference, is_tag

FORMS: Final = "oci://HOST/REPOSITORY:TAG, oci:FOLDER[:TAG], oci-archive:FILE[:TAG] or docker-archive:FILE[:NAME:TAG]"


class Transport(StrEnum):
    """Kind of place that holds images, by the beginning of its addresses."""

    REGISTRY = SCHEME
    LAYOUT = "oci:"
    OCI_ARCHIVE = "oci-archive:"
    DOCKER_ARCHIVE = "docker-archive:"


@dataclass(frozen=True, slots=True)
class ImageAddress:
    """Address of an image. Of a registry, `reference` counts; else `path`, and a tag or name in it."""

    transport: Transport
    path: Path
    name: str = ""
    reference: Reference | None = None

    @classmethod
    def parse(cls, text: str) -> ImageAddress:
        if is_reference(text):
            return cls(Transport.REGISTRY, Path(), reference=Reference.parse(text))
        for transport in (Transport.LAYOUT, Transport.OCI_ARCHIVE, Transport.DOCKER_ARCHIVE):
            if text.startswith(transport):
                return cls._of_file(text, transport)
        raise ImageError(f"{quoted(text)} is no address of an image: expected {FORMS}")

    @classmethod
    def _of_file(cls, text: str, transport: Transport) -> ImageAddress:
        path, _, name = text.removeprefix(transport).partition(":")
        if not path or "\0" in text:
            raise ImageError(f"{quoted(text)} is no address of an image: the path is missing")
        if transport is not Transport.DOCKER_ARCHIVE and name and not is_tag(name):
            raise ImageError(f"{quoted(text)}: {quoted(name)} is no tag: letters, digits, dots, underscores and dashes")
        return cls(transport, Path(path), name)

    def __str__(self) -> str:
        if self.reference is not None:
            return str(self.reference)
        return f"{self.transport}{self.path}{f':{self.name}' if self.name else ''}"


def is_image_address(text: str) -> bool:
    """Whether the text begins as the address of an image; it may be invalid all the same."""
    return is_reference(text) or text.startswith((Transport.LAYOUT, Transport.OCI_ARCHIVE, Transport.DOCKER_ARCHIVE))
