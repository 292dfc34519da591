"""Signatures of a manifest in a registry, a layout or the local store: found and attached in both forms of cosign.

The present form is a referrer with a Sigstore bundle, the older one a layer of the manifest at the tag `sha256-….sig`.
A document that cannot be used is told as such; it does not hide the others.
"""

from __future__ import annotations

import base64
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, Protocol

import orjson

from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.k8s import timestamps
from kubewasp.registry.artifact_source import ArtifactSource
from kubewasp.registry.errors import ContentError, NotFoundError
from kubewasp.registry.oci_manifests import (
    EMPTY_CONTENT,
    EMPTY_DESCRIPTOR,
    IMAGE_CONFIG,
    Descriptor,
    Manifest,
    digest_of,
)
from kubewasp.registry.references import Reference, fallback_tag
from kubewasp.registry.transfers import MemoryContent
from kubewasp.trust import bundle, simple_signing
from kubewasp.trust.dsse import COSIGN_SIGN
from kubewasp.trust.errors import SignatureError
from kubewasp.trust.signatures import (
    MAX_DOCUMENT_BYTES,
    MAX_SIGNATURES,
    UnreadableSignature,
    read_bundle,
    read_simple_signature,
)
from kubewasp.trust.simple_signing import Payload, SimpleSignature
from kubewasp.trust.strict_json import decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kubewasp.clock import Clock
    from kubewasp.registry.transfers import Content
    from kubewasp.trust.keys import PrivateKey
    from kubewasp.trust.signatures import Evidence

SignatureForm = Literal["bundle", "legacy"]
FORMS: Final[tuple[SignatureForm, ...]] = ("bundle", "legacy")
_CONTENT: Final = "dev.sigstore.bundle.content"
_PREDICATE: Final = "dev.sigstore.bundle.predicateType"
_CREATED: Final = "org.opencontainers.image.created"
_ZERO_TIME: Final = "0001-01-01T00:00:00Z"


class SignedArtifacts(ArtifactSource, Protocol):
    """The reading and the writing half of a registry; `RegistryClient` is one."""

    def push_blob(self, reference: Reference, descriptor: Descriptor, content: Content, /) -> bool: ...

    def push_manifest(self, reference: Reference, content: bytes, /) -> Descriptor: ...


def legacy_tag(digest: str) -> str:
    """The tag of the older form."""
    return f"{fallback_tag(digest)}.sig"


# ---------------------------------------------------------------------- finding


def find_signatures(source: ArtifactSource, reference: Reference, digest: str) -> tuple[Evidence, ...]:
    """The signatures of a manifest, `MAX_SIGNATURES` and one more at most. RegistryError if the source fails."""
    found: list[Evidence] = []
    for evidence in _all_signatures(source, reference, digest):
        found.append(evidence)
        if len(found) > MAX_SIGNATURES:
            break
    return tuple(found)


def _all_signatures(source: ArtifactSource, reference: Reference, digest: str) -> Iterator[Evidence]:
    for entry in source.referrers(reference, digest, bundle.MEDIA_TYPE):
        place = f"referrer {entry.digest}"
        yield _readable(place, partial(_bundle, source, reference, digest, entry, place))
    yield from _legacy_signatures(source, reference, digest)


def _readable(place: str, read: Callable[[], Evidence]) -> Evidence:
    """The signature, also if its content is not there or not as its descriptor says."""
    try:
        return read()
    except NotFoundError:
        return UnreadableSignature("its content is missing", place)
    except ContentError:
        return UnreadableSignature("its content is not that of a signature", place)


def _bundle(source: ArtifactSource, reference: Reference, digest: str, entry: Descriptor, place: str) -> Evidence:
    content, _ = source.manifest(reference.at(entry.digest))
    manifest = Manifest.read(content, place)
    if manifest.subject is None or manifest.subject.digest != digest:
        return UnreadableSignature("its manifest is about something else", place)
    layers = [layer for layer in manifest.layers if layer.media_type == bundle.MEDIA_TYPE]
    if len(layers) != 1:
        return UnreadableSignature(f"its manifest has {len(layers)} bundles, expected one", place)
    return read_bundle(source.blob_content(reference, layers[0], max_bytes=MAX_DOCUMENT_BYTES), place)


def _legacy_signatures(source: ArtifactSource, reference: Reference, digest: str) -> Iterator[Evidence]:
    place = f"tag {legacy_tag(digest)}"
    try:
        manifest = _legacy_manifest(source, reference, digest)
    except ContentError:
        yield UnreadableSignature("not a manifest of signatures", place)
        return
    for layer in manifest.layers if manifest is not None else ():
        if layer.media_type == simple_signing.MEDIA_TYPE:
            yield _readable(place, partial(_simple_signature, source, reference, layer, place))


def _legacy_manifest(source: ArtifactSource, reference: Reference, digest: str) -> Manifest | None:
    tag = reference.tagged(legacy_tag(digest))
    try:
        content, _ = source.manifest(tag)
    except NotFoundError:
        return None
    return Manifest.read(content, str(tag))


def _simple_signature(source: ArtifactSource, reference: Reference, layer: Descriptor, place: str) -> Evidence:
    return read_simple_signature(
        source.blob_content(reference, layer, max_bytes=simple_signing.MAX_BYTES),
        layer.annotations.get(simple_signing.SIGNATURE_ANNOTATION, ""),
        place,
        certificate=layer.annotations.get(simple_signing.CERTIFICATE_ANNOTATION, ""),
        log_entry=layer.annotations.get(simple_signing.LOG_ANNOTATION, ""),
    )


# ---------------------------------------------------------------------- attaching


def attach_signature(
    registry: SignedArtifacts,
    reference: Reference,
    subject: Descriptor,
    key: PrivateKey,
    *,
    annotations: Mapping[str, str],
    form: SignatureForm = "bundle",
    clock: Clock = SYSTEM_CLOCK,
) -> Descriptor:
    """Signs a manifest and pushes the signature: the descriptor of the signature's manifest."""
    if form == "legacy":
        return _attach_simple_signature(registry, reference, subject, key, annotations)
    document = bundle.sign_digest(subject.digest.removeprefix("sha256:"), key, annotations).write()
    layer = Descriptor.of(document, bundle.MEDIA_TYPE)
    created = timestamps.in_seconds(int(clock.wall()))
    manifest = Manifest(
        EMPTY_DESCRIPTOR,
        (layer,),
        artifact_type=bundle.MEDIA_TYPE,
        subject=Descriptor(subject.media_type, subject.digest, subject.size),
        annotations={_CONTENT: "dsse-envelope", _PREDICATE: COSIGN_SIGN, _CREATED: created},
    ).write()
    registry.push_blob(reference, EMPTY_DESCRIPTOR, MemoryContent(EMPTY_CONTENT))
    registry.push_blob(reference, layer, MemoryContent(document))
    # Without the tag, which would move from the signed manifest to the signature.
    return registry.push_manifest(Reference(reference.host, reference.repository, digest=digest_of(manifest)), manifest)


def _attach_simple_signature(
    registry: SignedArtifacts,
    reference: Reference,
    subject: Descriptor,
    key: PrivateKey,
    annotations: Mapping[str, str],
) -> Descriptor:
    """Adds a layer to the manifest of signatures. An earlier signature of the same by the same key is replaced."""
    signed = SimpleSignature.sign(Payload(subject.digest, reference.name, annotations), key)
    signature = base64.b64encode(signed.signature).decode()
    layer = Descriptor.of(
        signed.payload, simple_signing.MEDIA_TYPE, annotations={simple_signing.SIGNATURE_ANNOTATION: signature}
    )
    present = _legacy_manifest(registry, reference, subject.digest)
    kept = [other for other in present.layers if not _is_same(other, layer, signed, key)] if present else []
    if len(kept) >= MAX_SIGNATURES:
        raise ContentError(f"{reference}: has {len(kept)} signatures at the tag {legacy_tag(subject.digest)} already")
    layers = (*kept, layer)
    config = orjson.dumps(
        {
            "architecture": "",
            "created": _ZERO_TIME,
            "history": [{"created": _ZERO_TIME} for _ in layers],
            "os": "",
            "rootfs": {"type": "layers", "diff_ids": [each.digest for each in layers]},
            "config": {},
        }
    )
    described = Descriptor.of(config, IMAGE_CONFIG)
    registry.push_blob(reference, layer, MemoryContent(signed.payload))
    registry.push_blob(reference, described, MemoryContent(config))
    return registry.push_manifest(reference.tagged(legacy_tag(subject.digest)), Manifest(described, layers).write())


def _is_same(other: Descriptor, layer: Descriptor, signed: SimpleSignature, key: PrivateKey) -> bool:
    if other.digest != layer.digest:
        return False
    try:
        signature = decoded(other.annotations.get(simple_signing.SIGNATURE_ANNOTATION, ""), "signature")
        SimpleSignature(signed.payload, signature).verify(key.public)
    except SignatureError:
        return False
    return True
