"""Signatures in a registry: both forms, with and without the API of referrers, and content that is no signature."""

import base64
from collections.abc import Iterator

import orjson
import pytest

from kubewasp.registry import signature_storage
from kubewasp.registry.errors import RegistryError
from kubewasp.registry.oci_manifests import (
    EMPTY_CONTENT,
    EMPTY_DESCRIPTOR,
    IMAGE_CONFIG,
    MANIFEST,
    Descriptor,
    Manifest,
    digest_of,
)
from kubewasp.registry.references import Reference
from kubewasp.registry.registry_client import RegistryClient
from kubewasp.registry.signature_storage import FORMS, SignatureForm, attach_signature, find_signatures, legacy_tag
from kubewasp.trust import bundle, simple_signing
from kubewasp.trust.errors import SignatureError
from kubewasp.trust.signatures import MAX_SIGNATURES, SignatureDocument, Subject, UnreadableSignature
from tests.registry.fake_registry import FakeRegistry
from tests.trust.signing import key

NAME = "policies/prefer-label"
SIGNED = Manifest(
    Descriptor.of(b"{}", "application/vnd.wasm.config.v0+json"), (Descriptor.of(b"\0asm", "application/wasm"),)
).write()


@pytest.fixture(params=[True, False], ids=["referrers", "tags"])
def registry(request: pytest.FixtureRequest) -> Iterator[FakeRegistry]:
    with FakeRegistry(has_referrers=request.param).serving() as served:
        served.put_manifest(NAME, "1", SIGNED, MANIFEST)
        yield served


@pytest.fixture
def reference(registry: FakeRegistry, client: RegistryClient) -> Reference:
    named = Reference.parse(registry.reference(f"{NAME}:1"))
    return named.at(client.resolve(named).digest)


def sign(client: RegistryClient, reference: Reference, form: SignatureForm, name: str = "a") -> None:
    attach_signature(client, reference, client.resolve(reference), key(name), annotations={"by": name}, form=form)


def signers(client: RegistryClient, reference: Reference) -> list[tuple[str, str]]:
    """Form and annotation of each signature by one of the keys a to c."""
    found = []
    for document in find_signatures(client, reference, reference.digest):
        assert isinstance(document, SignatureDocument), document
        for name in "abc":
            try:
                annotations = document.annotations_by(key(name).public, Subject(reference.digest, ""))
            except SignatureError:
                continue
            found.append((document.form, annotations["by"]))
    return found


def put_referrer(registry: FakeRegistry, client: RegistryClient, reference: Reference, manifest: Manifest) -> None:
    registry.put_blob(NAME, EMPTY_CONTENT)
    content = manifest.write()
    client.push_manifest(Reference(reference.host, reference.repository, digest=digest_of(content)), content)


def referrer(client: RegistryClient, reference: Reference, *layers: Descriptor) -> Manifest:
    subject = client.resolve(reference)
    return Manifest(EMPTY_DESCRIPTOR, layers, artifact_type=bundle.MEDIA_TYPE, subject=subject)


def test_a_manifest_without_signatures_has_none(client: RegistryClient, reference: Reference) -> None:
    assert find_signatures(client, reference, reference.digest) == ()


@pytest.mark.parametrize("form", FORMS)
def test_an_attached_signature_is_found(client: RegistryClient, reference: Reference, form: SignatureForm) -> None:
    sign(client, reference, form)
    assert signers(client, reference) == [("bundle" if form == "bundle" else "simple signing", "a")]


@pytest.mark.parametrize("form", FORMS)
def test_a_signed_tag_stays_where_it_is(
    registry: FakeRegistry, client: RegistryClient, reference: Reference, form: SignatureForm
) -> None:
    assert reference.tag
    sign(client, reference, form)
    assert client.resolve(Reference.parse(registry.reference(f"{NAME}:1"))).digest == reference.digest


def test_signatures_of_several_keys_and_both_forms_stand_side_by_side(
    client: RegistryClient, reference: Reference
) -> None:
    for name in "ab":
        for form in FORMS:
            sign(client, reference, form, name)
    assert sorted(signers(client, reference)) == [
        ("bundle", "a"), ("bundle", "b"), ("simple signing", "a"), ("simple signing", "b")
    ]  # fmt: skip


def test_a_second_signature_of_the_older_form_by_the_same_key_replaces_the_first(
    client: RegistryClient, reference: Reference
) -> None:
    for _ in range(3):
        sign(client, reference, "legacy", "a")
    assert signers(client, reference) == [("simple signing", "a")]


def test_the_manifests_are_those_of_cosign(
    registry: FakeRegistry, client: RegistryClient, reference: Reference
) -> None:
    sign(client, reference, "bundle")
    sign(client, reference, "legacy")
    (entry,) = client.referrers(reference, reference.digest)
    present = orjson.loads(client.manifest(reference.at(entry.digest))[0])
    assert present["artifactType"] == "application/vnd.dev.sigstore.bundle.v0.3+json"
    assert present["config"]["mediaType"] == "application/vnd.oci.empty.v1+json"
    assert [layer["mediaType"] for layer in present["layers"]] == [present["artifactType"]]
    assert present["subject"]["digest"] == reference.digest
    assert present["annotations"].keys() == {
        "dev.sigstore.bundle.content",
        "dev.sigstore.bundle.predicateType",
        "org.opencontainers.image.created",
    }
    older = orjson.loads(client.manifest(reference.tagged(legacy_tag(reference.digest)))[0])
    assert legacy_tag(reference.digest) == reference.digest.replace(":", "-") + ".sig"
    assert older["config"]["mediaType"] == "application/vnd.oci.image.config.v1+json"
    (layer,) = older["layers"]
    assert layer["mediaType"] == "application/vnd.dev.cosign.simplesigning.v1+json"
    assert base64.b64decode(layer["annotations"]["dev.cosignproject.cosign/signature"])


def test_a_signature_of_another_manifest_in_its_place_is_told(
    registry: FakeRegistry, client: RegistryClient, reference: Reference
) -> None:
    """A referrer of this manifest with the bundle of another: the place is right, the signed digest is not."""
    document = bundle.sign_digest("0" * 64, key(), {}).write()
    layer = Descriptor.of(document, bundle.MEDIA_TYPE)
    registry.put_blob(NAME, document)
    put_referrer(registry, client, reference, referrer(client, reference, layer))
    (found,) = find_signatures(client, reference, reference.digest)
    assert isinstance(found, SignatureDocument)
    with pytest.raises(SignatureError, match="something else"):
        found.annotations_by(key().public, Subject(reference.digest, ""))


def problem(client: RegistryClient, reference: Reference) -> str:
    (found,) = find_signatures(client, reference, reference.digest)
    assert isinstance(found, UnreadableSignature), found
    return found.problem


def test_a_referrer_without_a_bundle_is_unreadable(
    registry: FakeRegistry, client: RegistryClient, reference: Reference
) -> None:
    put_referrer(registry, client, reference, referrer(client, reference))
    assert problem(client, reference) == "its manifest has 0 bundles, expected one"


def test_a_referrer_whose_bundle_is_missing_or_too_large_is_unreadable(
    registry: FakeRegistry, client: RegistryClient, reference: Reference
) -> None:
    missing = Descriptor(bundle.MEDIA_TYPE, "sha256:" + "1" * 64, 10)
    large = Descriptor(bundle.MEDIA_TYPE, "sha256:" + "2" * 64, 1 << 40)
    for layer in (missing, large):
        put_referrer(registry, client, reference, referrer(client, reference, layer))
    found = find_signatures(client, reference, reference.digest)
    assert {item.problem for item in found if isinstance(item, UnreadableSignature)} == {
        "its content is missing",
        "its content is not that of a signature",
    }


def test_an_unreadable_referrer_does_not_hide_a_signature(
    registry: FakeRegistry, client: RegistryClient, reference: Reference
) -> None:
    put_referrer(registry, client, reference, referrer(client, reference))
    sign(client, reference, "bundle")
    found = find_signatures(client, reference, reference.digest)
    assert sorted(type(item).__name__ for item in found) == ["SignatureDocument", "UnreadableSignature"]


def test_another_manifest_at_the_older_tag_is_unreadable(
    registry: FakeRegistry, client: RegistryClient, reference: Reference
) -> None:
    registry.put_manifest(NAME, legacy_tag(reference.digest), b"{}", MANIFEST)
    assert problem(client, reference) == "not a manifest of signatures"


def test_the_number_of_signatures_is_bounded(
    registry: FakeRegistry, client: RegistryClient, reference: Reference
) -> None:
    payload = registry.put_blob(NAME, b"{}")
    layers = tuple(Descriptor(simple_signing.MEDIA_TYPE, payload, 2) for _ in range(500))
    content = Manifest(Descriptor.of(b"{}", IMAGE_CONFIG), layers).write()
    registry.put_manifest(NAME, legacy_tag(reference.digest), content, MANIFEST)
    registry.requests.clear()
    assert len(find_signatures(client, reference, reference.digest)) == MAX_SIGNATURES + 1
    assert len(registry.requests) < MAX_SIGNATURES + 10
    with pytest.raises(RegistryError, match="has 500 signatures"):
        sign(client, reference, "legacy")


def test_a_registry_that_fails_is_an_error_and_not_a_missing_signature(
    registry: FakeRegistry, client: RegistryClient, reference: Reference
) -> None:
    registry.on("GET", r"\.sig$", lambda exchange: exchange.send(403))
    with pytest.raises(RegistryError):
        find_signatures(client, reference, reference.digest)


def test_forms_are_those_of_the_command_line() -> None:
    from kubewasp.cli.plugin_signature_commands import SignatureFormat

    assert tuple(SignatureFormat) == signature_storage.FORMS
