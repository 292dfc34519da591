import os
from pathlib import Path

import pytest

from kubewasp.registry.errors import ContentError, NotFoundError, RegistryError
from kubewasp.registry.oci_manifests import INDEX, MANIFEST, Descriptor, Index, Manifest, digest_of
from kubewasp.registry.references import Reference, fallback_tag
from kubewasp.registry.store import LocalStore, user_store
from kubewasp.registry.transfers import Receiver

CONTENT = bytes(range(256)) * 100
BLOB = Descriptor.of(CONTENT, "application/wasm")
CONFIG = Descriptor.of(b"{}", "application/json")
REFERENCE = Reference.parse("oci://example.com/policy:v1")


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "oci")


def _fill(store: LocalStore, reference: Reference = REFERENCE, content: bytes = CONTENT) -> Descriptor:
    layer = Descriptor.of(content, "application/wasm")
    manifest = Manifest(CONFIG, (layer,)).write()
    for part in (content, b"{}", manifest):
        store.put(part)
    descriptor = Descriptor.of(manifest, MANIFEST)
    store.remember(reference, descriptor)
    return descriptor


def test_content_is_found_by_its_digest(store: LocalStore) -> None:
    digest = store.put(CONTENT)
    assert digest == BLOB.digest
    assert (store.has(digest), store.size(digest)) == (True, len(CONTENT))
    assert store.read(digest, max_bytes=1 << 20) == CONTENT
    with pytest.raises(ContentError, match="larger than 100 bytes"):
        store.read(digest, max_bytes=100)


def test_content_that_is_not_there_is_not_found(store: LocalStore) -> None:
    assert not store.has(BLOB.digest)
    with pytest.raises(NotFoundError):
        store.read(BLOB.digest, max_bytes=1 << 20)
    with pytest.raises(NotFoundError):
        store.resolve(REFERENCE)
    assert store.references() == []


def test_damaged_content_is_removed_and_not_used(store: LocalStore) -> None:
    store.put(CONTENT)
    path = store.folder / "blobs" / BLOB.digest.removeprefix("sha256:")
    path.write_bytes(b"!" + CONTENT[1:])
    with pytest.raises(NotFoundError, match="damaged"):
        store.read(BLOB.digest, max_bytes=1 << 20)
    assert not path.exists()


def test_a_reference_is_remembered_with_its_manifest(store: LocalStore) -> None:
    descriptor = _fill(store)
    assert store.resolve(REFERENCE) == descriptor
    assert store.resolve(REFERENCE.at(descriptor.digest)) == descriptor
    assert Manifest.read(store.manifest(REFERENCE)[0], "m").layers == (BLOB,)
    assert store.blob_content(REFERENCE, BLOB, max_bytes=1 << 20) == CONTENT
    assert [str(entry.reference) for entry in store.references()] == ["oci://example.com/policy:v1"]


def test_another_store_on_the_same_folder_has_the_same(store: LocalStore) -> None:
    descriptor = _fill(store)
    assert LocalStore(store.folder).resolve(REFERENCE) == descriptor


def test_a_reference_without_its_manifest_is_not_known(store: LocalStore) -> None:
    descriptor = _fill(store)
    (store.folder / "blobs" / descriptor.digest.removeprefix("sha256:")).unlink()
    with pytest.raises(NotFoundError):
        store.resolve(REFERENCE)
    assert store.references() == []


@pytest.mark.parametrize("content", [b"", b"[]", b'{"reference": "x"}', b"\xff"])
def test_a_damaged_note_of_a_reference_is_not_used(store: LocalStore, content: bytes) -> None:
    _fill(store)
    (file,) = (store.folder / "references").iterdir()
    file.write_bytes(content)
    with pytest.raises(NotFoundError):
        store.resolve(REFERENCE)


def test_a_note_of_another_reference_is_not_used(store: LocalStore) -> None:
    _fill(store)
    other = REFERENCE.tagged("v2")
    _fill(store, other, b"other")
    first, second = sorted((store.folder / "references").iterdir())
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    assert store.references() == []


def test_removed_references_leave_what_others_need(store: LocalStore) -> None:
    _fill(store)
    other = _fill(store, REFERENCE.tagged("v2"), b"other")
    assert store.forget(REFERENCE)
    assert not store.forget(REFERENCE)
    assert store.collect() > len(CONTENT)
    assert not store.has(BLOB.digest)
    assert store.resolve(REFERENCE.tagged("v2")) == other
    assert store.has(CONFIG.digest)


def test_signatures_are_kept_with_their_subject_and_go_with_it(store: LocalStore) -> None:
    subject = _fill(store)
    signature = Manifest(CONFIG, (), artifact_type="sig", subject=subject).write()
    store.put(signature)
    index = Index((Descriptor.of(signature, MANIFEST, artifact_type="sig"),)).write()
    store.put(index)
    store.remember(REFERENCE.tagged(fallback_tag(subject.digest)), Descriptor.of(index, INDEX))
    store.collect()
    assert [entry.digest for entry in store.referrers(REFERENCE, subject.digest, "sig")] == [digest_of(signature)]
    assert store.referrers(REFERENCE, subject.digest, "other") == ()
    store.forget(REFERENCE)
    store.collect()
    assert store.references() == []
    assert not store.has(digest_of(signature))


# ---------------------------------------------------------------------- downloads


def _receive(receiver: Receiver, content: bytes) -> None:
    receiver.feed(memoryview(content))


def test_a_download_is_stored_when_it_is_complete(store: LocalStore) -> None:
    with store.receiving(BLOB) as receiver:
        _receive(receiver, CONTENT)
        assert not store.has(BLOB.digest)
    assert store.read(BLOB.digest, max_bytes=1 << 20) == CONTENT
    assert list((store.folder / "partial").iterdir()) == []


def test_a_download_that_broke_off_is_continued(store: LocalStore) -> None:
    with pytest.raises(ContentError, match="1000 bytes, expected"), store.receiving(BLOB) as receiver:
        _receive(receiver, CONTENT[:1000])
    with store.receiving(BLOB) as receiver:
        assert receiver.position == 1000
        _receive(receiver, CONTENT[1000:])
    assert store.read(BLOB.digest, max_bytes=1 << 20) == CONTENT


def test_a_download_of_something_else_is_not_stored(store: LocalStore) -> None:
    with pytest.raises(ContentError, match="has the digest"), store.receiving(BLOB) as receiver:
        _receive(receiver, CONTENT[:-1] + b"!")
    assert not store.has(BLOB.digest)


def test_a_partial_file_that_is_too_long_is_dropped(store: LocalStore) -> None:
    assert store.is_usable()
    (store.folder / "partial" / BLOB.digest.removeprefix("sha256:")).write_bytes(CONTENT * 2)
    with store.receiving(BLOB) as receiver:
        assert receiver.position == 0
        _receive(receiver, CONTENT)
    assert store.read(BLOB.digest, max_bytes=1 << 20) == CONTENT


def test_two_downloads_of_the_same_do_not_meet(store: LocalStore) -> None:
    with store.receiving(BLOB) as one, LocalStore(store.folder).receiving(BLOB) as other:
        _receive(one, CONTENT[:10])
        _receive(other, CONTENT)
        _receive(one, CONTENT[10:])
    assert store.read(BLOB.digest, max_bytes=1 << 20) == CONTENT


def test_the_store_keeps_to_its_size(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "oci", max_bytes=3000)
    digests = [store.put(bytes([number]) * 1000) for number in range(5)]
    for number, digest in enumerate(digests):
        if store.has(digest):
            os.utime(store.folder / "blobs" / digest.removeprefix("sha256:"), (number, number))
    store.put(b"new" * 300)
    kept = [digest for digest in digests if store.has(digest)]
    assert len(kept) <= 2
    assert kept == digests[-len(kept) :] if kept else True


# ---------------------------------------------------------------------- other users


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path))
    assert user_store().folder == tmp_path / "oci"
    (tmp_path / "oci" / "blobs").chmod(0o777)
    assert user_store().folder != tmp_path / "oci"


def test_links_are_not_followed(store: LocalStore, tmp_path: Path) -> None:
    assert store.is_usable()
    secret = tmp_path / "secret"
    secret.write_bytes(CONTENT)
    (store.folder / "blobs" / BLOB.digest.removeprefix("sha256:")).symlink_to(secret)
    with pytest.raises(NotFoundError):
        store.read(BLOB.digest, max_bytes=1 << 20)
    (store.folder / "partial" / BLOB.digest.removeprefix("sha256:")).symlink_to(secret)
    with pytest.raises(RegistryError, match="cannot be written"), store.receiving(BLOB) as receiver:
        _receive(receiver, CONTENT)
    assert secret.read_bytes() == CONTENT
