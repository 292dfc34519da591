import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.registry.errors import ContentError
from kubewasp.registry.oci_manifests import (
    DOCKER_INDEX,
    DOCKER_MANIFEST,
    EMPTY_DESCRIPTOR,
    INDEX,
    MANIFEST,
    MAX_BYTES,
    Descriptor,
    Index,
    Manifest,
    Platform,
    digest_of,
    read_document,
)

LAYER = Descriptor.of(b"layer", "application/wasm")
ENTRY = LAYER.as_json()


def _document(**changes: Any) -> bytes:
    document = {"schemaVersion": 2, "config": ENTRY, "layers": [ENTRY], **changes}
    return json.dumps({name: value for name, value in document.items() if value is not ...}).encode()


def test_the_empty_descriptor_is_the_one_of_the_specification() -> None:
    assert EMPTY_DESCRIPTOR.digest == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert EMPTY_DESCRIPTOR.size == 2


def test_a_manifest_is_written_in_one_form() -> None:
    manifest = Manifest(LAYER, (LAYER,), annotations={"b": "2", "a": "1"})
    content = manifest.write()
    assert content == Manifest(LAYER, (LAYER,), annotations={"a": "1", "b": "2"}).write()
    assert Manifest.read(content, "m") == manifest
    assert list(json.loads(content)) == ["schemaVersion", "mediaType", "config", "layers", "annotations"]


def test_a_manifest_without_layers_keeps_its_empty_list() -> None:
    assert json.loads(Manifest(LAYER, ()).write())["layers"] == []


@pytest.mark.parametrize("media_type", [MANIFEST, DOCKER_MANIFEST])
def test_the_media_type_of_the_answer_is_that_of_a_manifest_without_one(media_type: str) -> None:
    assert Manifest.read(_document(), "m", media_type=media_type).media_type == media_type


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"{} {}", "not JSON"),
        (b"[]", "expected an object, found a list"),
        (b"{}", "not schemaVersion 2"),
        (b"[" * 100_000, "not JSON"),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "nested more than 200 deep"),
        (b'{"schemaVersion": 2, "layers": [], "layers": []}', 'duplicate key "layers"'),
        (b" " * (MAX_BYTES + 1), "larger than 4Mi"),
        (_document(schemaVersion=1), "not schemaVersion 2"),
        (_document(config=..., layers=...), "neither a manifest nor an image index"),
        (_document(manifests=[]), "a manifest and an image index at once"),
        (_document(mediaType=INDEX), "does not fit the content"),
        (_document(mediaType="text/html"), "does not fit the content"),
        (_document(mediaType=5), "mediaType: expected a string"),
        (_document(config=...), "config: expected a descriptor, found nothing"),
        (_document(layers={}), "layers: expected a list, found an object"),
        (_document(layers=[ENTRY] * 10_001), "layers: more than 10000 entries"),
        (_document(layers=[7]), r"layers\[0\]: expected a descriptor, found a number"),
        (_document(layers=[ENTRY | {"digest": "sha256:AB"}]), "its digest"),
        (_document(layers=[ENTRY | {"digest": "sha256:../../../etc/passwd"}]), "its digest"),
        (_document(layers=[ENTRY | {"size": -1}]), "its size"),
        (_document(layers=[ENTRY | {"size": True}]), "its size"),
        (_document(layers=[ENTRY | {"size": 1e3}]), "its size"),
        (_document(layers=[ENTRY | {"size": 2**63}]), "its size"),
        (_document(layers=[ENTRY | {"mediaType": "x" * 256}]), "mediaType: expected a string of at most 255"),
        (_document(layers=[ENTRY | {"platform": 5}]), "platform: expected an object"),
        (_document(annotations=[]), "annotations: expected an object"),
        (_document(annotations={"a": 1}), 'annotations: "a": expected a string, found a number'),
        (_document(subject={}), "subject: its digest"),
    ],
)
def test_an_invalid_document_is_refused_with_its_problem(content: bytes, problem: str) -> None:
    with pytest.raises(ContentError, match="^somewhere: .*" + problem):
        read_document(content, "somewhere")


def test_a_media_type_that_differs_from_the_answer_is_refused() -> None:
    with pytest.raises(ContentError, match=r"the media type is .*, expected"):
        read_document(_document(mediaType=MANIFEST), "m", media_type=DOCKER_MANIFEST)
    with pytest.raises(ContentError, match="does not fit the content"):
        read_document(_document(), "m", media_type=DOCKER_INDEX)


def test_one_kind_of_document_is_not_taken_for_the_other() -> None:
    with pytest.raises(ContentError, match="an image index, expected a manifest"):
        Manifest.read(Index(()).write(), "m")
    with pytest.raises(ContentError, match="a manifest, expected an image index"):
        Index.read(_document(), "m")


def test_a_list_that_is_null_is_empty() -> None:
    assert read_document(b'{"schemaVersion": 2, "manifests": null}', "m") == Index(())


def test_content_is_compared_with_its_descriptor() -> None:
    LAYER.check(b"layer", "x")
    with pytest.raises(ContentError, match="4 bytes, expected 5"):
        LAYER.check(b"laye", "x")
    with pytest.raises(ContentError, match=f"has the digest {digest_of(b'lAyer')}, expected {LAYER.digest}"):
        LAYER.check(b"lAyer", "x")


_NAMES = st.text(max_size=20)
_DESCRIPTORS = st.builds(
    Descriptor,
    media_type=_NAMES,
    digest=st.from_regex(r"sha256:[0-9a-f]{64}", fullmatch=True),
    size=st.integers(0, 2**63 - 1),
    annotations=st.dictionaries(_NAMES, _NAMES, max_size=3),
    artifact_type=_NAMES,
    platform=st.none() | st.builds(Platform, architecture=_NAMES, os=_NAMES),
)
_COMMON: dict[str, Any] = {
    "artifact_type": _NAMES,
    "subject": st.none() | _DESCRIPTORS,
    "annotations": st.dictionaries(_NAMES, _NAMES, max_size=3),
}
_LISTS = st.lists(_DESCRIPTORS, max_size=3).map(tuple)


@given(
    st.builds(
        Manifest, config=_DESCRIPTORS, layers=_LISTS, media_type=st.sampled_from([MANIFEST, DOCKER_MANIFEST]), **_COMMON
    )
    | st.builds(Index, manifests=_LISTS, media_type=st.sampled_from([INDEX, DOCKER_INDEX]), **_COMMON)
)
def test_a_written_document_is_read_as_the_same(document: Manifest | Index) -> None:
    found = read_document(document.write(), "x")
    assert found == document
    assert found.write() == document.write()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(["schemaVersion", "mediaType", "config", "layers", "manifests", "subject", "annotations"]),
        st.sampled_from([2, MANIFEST, INDEX, ENTRY, [ENTRY], {}]) | _JSON,
    )
)
def test_any_json_is_a_document_or_refused(document: dict[str, Any]) -> None:
    try:
        found = read_document(json.dumps(document).encode(), "x")
    except ContentError:
        return
    assert read_document(found.write(), "x") == found
