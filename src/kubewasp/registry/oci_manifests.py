"""Manifests, image indexes and their descriptors: strict, bounded readers, and writers of canonical bytes.

Unknown fields are ignored, as the specification demands. A document that is a manifest and an index at once is refused:
two readers could see two things in it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.k8s import json_documents
from kubewasp.k8s.errors import described, quoted
from kubewasp.k8s.quantity import format_size
from kubewasp.registry.errors import ContentError
from kubewasp.registry.references import is_digest

if TYPE_CHECKING:
    from collections.abc import Mapping

MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
INDEX: Final = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST: Final = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_INDEX: Final = "application/vnd.docker.distribution.manifest.list.v2+json"
IMAGE_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
DOCKER_CONFIG: Final = "application/vnd.docker.container.image.v1+json"
EMPTY: Final = "application/vnd.oci.empty.v1+json"
MANIFEST_TYPES: Final = (MANIFEST, DOCKER_MANIFEST)
INDEX_TYPES: Final = (INDEX, DOCKER_INDEX)

MAX_BYTES: Final = 4 << 20  # of a manifest, as in the registries themselves
MAX_ENTRIES: Final = 10_000
_MAX_TEXT: Final = 64 << 10
_MAX_TYPE: Final = 255
_MAX_SIZE: Final = 2**63 - 1

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Platform:
    """Architecture and operating system of an entry of an index."""

    architecture: str = ""
    os: str = ""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """Media type, digest and size of content, and what an index says of it."""

    media_type: str
    digest: str
    size: int
    annotations: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    artifact_type: str = ""
    platform: Platform | None = None

    @classmethod
    def of(
        cls,
        content: bytes,
        media_type: str,
        *,
        annotations: Mapping[str, str] = _NOTHING,
        artifact_type: str = "",
        platform: Platform | None = None,
    ) -> Descriptor:
        return cls(media_type, digest_of(content), len(content), annotations, artifact_type, platform)

    def as_json(self) -> dict[str, Any]:
        platform = {"architecture": self.platform.architecture, "os": self.platform.os} if self.platform else None
        return _present(
            {
                "mediaType": self.media_type,
                "digest": self.digest,
                "size": self.size,
                "annotations": _sorted(self.annotations),
                "platform": platform,
                "artifactType": self.artifact_type,
            }
        )

    def check(self, content: bytes, source: str) -> None:
        """ContentError unless the content has this size and digest."""
        if len(content) != self.size:
            raise ContentError(f"{source}: {len(content)} bytes, expected {self.size}")
        found = digest_of(content)
        if found != self.digest:
            raise ContentError(f"{source}: its content has the digest {found}, expected {self.digest}")


EMPTY_CONTENT: Final = b"{}"
EMPTY_DESCRIPTOR: Final = Descriptor.of(EMPTY_CONTENT, EMPTY)


@dataclass(frozen=True, slots=True)
class Manifest:
    """An image manifest: a configuration and layers. An artifact is one, too."""

    config: Descriptor
    layers: tuple[Descriptor, ...]
    media_type: str = MANIFEST
    artifact_type: str = ""
    subject: Descriptor | None = None
    annotations: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    @property
    def kind(self) -> str:
        """The artifact type, or the media type of the configuration, as the referrers of a registry show it."""
        return self.artifact_type or self.config.media_type

    @classmethod
    def read(cls, content: bytes, source: str, *, media_type: str = "") -> Manifest:
        found = read_document(content, source, media_type=media_type)
        if not isinstance(found, cls):
            raise ContentError(f"{source}: an image index, expected a manifest")
        return found

    def write(self) -> bytes:
        return _written(self, {"config": self.config.as_json(), "layers": [layer.as_json() for layer in self.layers]})


@dataclass(frozen=True, slots=True)
class Index:
    """An image index: manifests by platform, or the referrers of a manifest."""

    manifests: tuple[Descriptor, ...]
    media_type: str = INDEX
    artifact_type: str = ""
    subject: Descriptor | None = None
    annotations: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    @classmethod
    def read(cls, content: bytes, source: str, *, media_type: str = "") -> Index:
        found = read_document(content, source, media_type=media_type)
        if not isinstance(found, cls):
            raise ContentError(f"{source}: a manifest, expected an image index")
        return found

    def write(self) -> bytes:
        return _written(self, {"manifests": [entry.as_json() for entry in self.manifests]})


def _written(document: Manifest | Index, contents: Mapping[str, Any]) -> bytes:
    """Canonical bytes: the same document has the same digest always."""
    return orjson.dumps(
        _present(
            {
                "schemaVersion": 2,
                "mediaType": document.media_type,
                "artifactType": document.artifact_type,
                **contents,
                "subject": None if document.subject is None else document.subject.as_json(),
                "annotations": _sorted(document.annotations),
            }
        )
    )


def read_document(content: bytes, source: str, *, media_type: str = "") -> Manifest | Index:
    """The manifest or index in the content. `media_type` is that of the descriptor or of the answer, if known."""
    document = read_object(content, source)
    if document.get("schemaVersion") != 2:
        raise ContentError(f"{source}: not schemaVersion 2; manifests of the first version are not supported")
    inner = _text(document, "mediaType", source, limit=_MAX_TYPE)
    is_index, is_manifest = "manifests" in document, "layers" in document or "config" in document
    if is_index == is_manifest:
        problem = "a manifest and an image index at once" if is_index else "neither a manifest nor an image index"
        raise ContentError(f"{source}: {problem}")
    kinds, kind = (INDEX_TYPES, INDEX) if is_index else (MANIFEST_TYPES, MANIFEST)
    for claimed in (inner, media_type):
        if claimed and claimed not in kinds:
            raise ContentError(f"{source}: the media type {quoted(claimed)} does not fit the content")
    if inner and media_type and inner != media_type:
        raise ContentError(f"{source}: the media type is {quoted(inner)}, expected {quoted(media_type)}")
    kind = inner or media_type or kind
    artifact_type = _text(document, "artifactType", source, limit=_MAX_TYPE)
    subject = None
    if document.get("subject") is not None:
        subject = read_descriptor(document["subject"], f"{source}: subject")
    annotations = _annotations(document, source)
    if is_index:
        return Index(_descriptors(document, "manifests", source), kind, artifact_type, subject, annotations)
    config = read_descriptor(document.get("config"), f"{source}: config")
    return Manifest(config, _descriptors(document, "layers", source), kind, artifact_type, subject, annotations)


def read_object(content: bytes, source: str, *, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """The JSON object in untrusted content: bounded in size and depth, no key twice."""
    if len(content) > max_bytes:
        raise ContentError(f"{source}: larger than {format_size(max_bytes)}")
    try:
        values = json_documents.documents(content.decode("utf-8"))
    except UnicodeDecodeError:
        values = None
    except json_documents.JsonError as error:
        raise ContentError(f"{source}: {error}") from None
    if values is None or len(values) != 1:
        raise ContentError(f"{source}: not JSON")
    if not isinstance(values[0], dict):
        raise ContentError(f"{source}: expected an object, found {described(values[0])}")
    return values[0]


def read_descriptor(value: object, source: str) -> Descriptor:
    if not isinstance(value, dict):
        raise ContentError(f"{source}: expected a descriptor, found {described(value)}")
    digest, size = value.get("digest"), value.get("size")
    if not isinstance(digest, str) or not is_digest(digest):
        raise ContentError(f"{source}: its digest is not sha256: and 64 hexadecimal digits")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _MAX_SIZE:
        raise ContentError(f"{source}: its size is no number of bytes")
    return Descriptor(
        _text(value, "mediaType", source, limit=_MAX_TYPE),
        digest,
        size,
        _annotations(value, source),
        _text(value, "artifactType", source, limit=_MAX_TYPE),
        _platform(value.get("platform"), source),
    )


def _descriptors(document: Mapping[str, Any], name: str, source: str) -> tuple[Descriptor, ...]:
    found = document.get(name)
    if found is None:
        found = []  # written by Go programs for an empty list
    if not isinstance(found, list):
        raise ContentError(f"{source}: {name}: expected a list, found {described(found)}")
    if len(found) > MAX_ENTRIES:
        raise ContentError(f"{source}: {name}: more than {MAX_ENTRIES} entries")
    return tuple(read_descriptor(value, f"{source}: {name}[{index}]") for index, value in enumerate(found))


def _platform(value: object, source: str) -> Platform | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ContentError(f"{source}: platform: expected an object, found {described(value)}")
    return Platform(*(_text(value, name, source, limit=_MAX_TYPE) for name in ("architecture", "os")))


def _annotations(document: Mapping[str, Any], source: str) -> Mapping[str, str]:
    found = document.get("annotations")
    if found is None:
        return _NOTHING
    if not isinstance(found, dict):
        raise ContentError(f"{source}: annotations: expected an object, found {described(found)}")
    for name, value in found.items():
        if not isinstance(value, str):
            raise ContentError(f"{source}: annotations: {quoted(name)}: expected a string, found {described(value)}")
    return MappingProxyType(dict(found)) if found else _NOTHING


def _text(document: Mapping[str, Any], name: str, source: str, *, limit: int = _MAX_TEXT) -> str:
    found = document.get(name)
    if found is None:
        return ""
    if not isinstance(found, str) or len(found) > limit:
        raise ContentError(f"{source}: {name}: expected a string of at most {limit} characters")
    return found


def _sorted(annotations: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(annotations.items()))


def _present(document: dict[str, Any]) -> dict[str, Any]:
    """Without empty texts and objects; an empty list stays."""
    return {name: value for name, value in document.items() if value not in ("", None, {})}
