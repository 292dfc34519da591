import io
import tarfile
from pathlib import Path

import pytest

from kubewasp.registry.copying import (
    LayoutDestination,
    RegistryDestination,
    StoreDestination,
    copy_artifact,
    push_artifact,
)
from kubewasp.registry.errors import ContentError, NotFoundError, RegistryError
from kubewasp.registry.formats import wasm_artifact
from kubewasp.registry.layouts import Layout, LayoutWriter, is_layout
from kubewasp.registry.oci_manifests import (
    EMPTY_CONTENT,
    EMPTY_DESCRIPTOR,
    MANIFEST,
    Descriptor,
    Index,
    Manifest,
    Platform,
    digest_of,
)
from kubewasp.registry.references import Reference, fallback_tag
from kubewasp.registry.registry_client import RegistryClient
from kubewasp.registry.store import LocalStore
from kubewasp.registry.transfers import MemoryContent
from tests.registry.fake_registry import FakeRegistry

WASM = b"\0asm\x01\0\0\0policy"
ARTIFACT = wasm_artifact(WASM, file_name="policy.wasm", annotations={"a": "b"})


def _signed(client: RegistryClient, registry: FakeRegistry) -> tuple[Reference, Descriptor]:
    """A plugin with a signature of both forms."""
    reference = Reference.parse(registry.reference("team/policy:v1"))
    descriptor = push_artifact(client, reference, ARTIFACT)
    client.push_blob(reference, EMPTY_DESCRIPTOR, MemoryContent(EMPTY_CONTENT))
    bundle = Manifest(EMPTY_DESCRIPTOR, (EMPTY_DESCRIPTOR,), artifact_type="sig", subject=descriptor).write()
    client.push_manifest(Reference(reference.host, reference.repository, "", digest_of(bundle)), bundle)
    old = Manifest(EMPTY_DESCRIPTOR, (EMPTY_DESCRIPTOR,)).write()
    client.push_manifest(reference.tagged(f"{fallback_tag(descriptor.digest)}.sig"), old)
    return reference, descriptor


@pytest.mark.parametrize("name", ["layout", "layout.tar"])
@pytest.mark.parametrize("has_referrers", [True, False])
def test_a_saved_plugin_has_its_signatures_and_can_be_pushed_elsewhere(
    client: RegistryClient, tmp_path: Path, name: str, has_referrers: bool
) -> None:
    path = tmp_path / name
    with FakeRegistry(has_referrers=has_referrers).serving() as registry:
        reference, descriptor = _signed(client, registry)
        copy_artifact(client, reference, LayoutDestination(path, reference), tag="v1")
    layout = Layout(path)
    assert [(entry.name, entry.descriptor.digest) for entry in layout.entries()] == [
        (f"{registry.host}/team/policy:v1", descriptor.digest)
    ]
    assert layout.resolve(reference) == descriptor
    assert [entry.artifact_type for entry in layout.referrers(reference, descriptor.digest)] == ["sig"]
    with FakeRegistry(has_referrers=not has_referrers).serving() as other:
        target = Reference.parse(other.reference("copies/policy:v1"))
        copy_artifact(layout, target.at(descriptor.digest), RegistryDestination(client, target), tag="v1")
        assert client.resolve(target) == descriptor
        assert len(client.referrers(target, descriptor.digest, "sig")) == 1
        assert client.resolve(target.tagged(f"{fallback_tag(descriptor.digest)}.sig")).media_type == MANIFEST


def test_a_loaded_plugin_is_in_the_store_as_if_it_had_been_pulled(
    client: RegistryClient, registry: FakeRegistry, tmp_path: Path
) -> None:
    reference, descriptor = _signed(client, registry)
    copy_artifact(client, reference, LayoutDestination(tmp_path / "x.tar", reference), tag="v1")
    store = LocalStore(tmp_path / "store")
    copy_artifact(Layout(tmp_path / "x.tar"), reference, StoreDestination(store, reference), tag="v1")
    assert store.resolve(reference) == descriptor
    assert store.blob_content(reference, ARTIFACT.manifest.layers[0], max_bytes=100) == WASM
    assert [entry.artifact_type for entry in store.referrers(reference, descriptor.digest)] == ["sig"]
    assert store.resolve(reference.tagged(f"{fallback_tag(descriptor.digest)}.sig"))


def test_a_plugin_without_a_tag_keeps_its_digest_as_a_name(
    client: RegistryClient, registry: FakeRegistry, tmp_path: Path
) -> None:
    reference, descriptor = _signed(client, registry)
    at = Reference(reference.host, reference.repository, "", descriptor.digest)
    copy_artifact(client, at, LayoutDestination(tmp_path / "x", at), tag="")
    (entry,) = Layout(tmp_path / "x").entries()
    assert Reference.parse(f"oci://{entry.name}") == at
    store = LocalStore(tmp_path / "store")
    copy_artifact(Layout(tmp_path / "x"), at, StoreDestination(store, at), tag="")
    assert [str(entry.reference) for entry in store.references() if not entry.reference.tag] == [str(at)]


def test_an_index_is_copied_with_its_manifests(client: RegistryClient, registry: FakeRegistry, tmp_path: Path) -> None:
    reference, descriptor = _signed(client, registry)
    entry = Descriptor(descriptor.media_type, descriptor.digest, descriptor.size, platform=Platform("wasm", "wasip1"))
    client.push_manifest(reference.tagged("all"), Index((entry,)).write())
    copy_artifact(client, reference.tagged("all"), LayoutDestination(tmp_path / "x", reference), tag="all")
    layout = Layout(tmp_path / "x")
    assert [each.name for each in layout.entries()] == [f"{reference.name}:all"]
    assert layout.manifest(reference.at(descriptor.digest))[1] == descriptor


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.tar", "b.tar"):
        writer = LayoutWriter(tmp_path / name)
        blobs = list(ARTIFACT.blobs.values())
        for blob in blobs if name == "a.tar" else reversed(blobs):
            writer.add_blob(blob)
        writer.add_manifest(ARTIFACT.manifest.write(), ARTIFACT.descriptor, name="h/r:v1", tag="v1")
        writer.write()
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()


def test_a_layout_is_not_written_over_something(tmp_path: Path) -> None:
    (tmp_path / "x.tar").touch()
    with pytest.raises(RegistryError, match="exists already"):
        LayoutWriter(tmp_path / "x.tar").write()
    with pytest.raises(RegistryError, match="cannot be written"):
        LayoutWriter(tmp_path / "none" / "x.tar").write()


# ---------------------------------------------------------------------- reading


def _folder(tmp_path: Path, **files: bytes) -> Path:
    path = tmp_path / "layout"
    (path / "blobs" / "sha256").mkdir(parents=True)
    named = {"oci_layout": b'{"imageLayoutVersion": "1.0.0"}', "index": Index(()).write(), **files}
    (path / "oci-layout").write_bytes(named["oci_layout"])
    (path / "index.json").write_bytes(named["index"])
    return path


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"oci_layout": b"{}"}, "an unknown version"),
        ({"oci_layout": b'{"imageLayoutVersion": "2.0.0"}'}, "an unknown version"),
        ({"oci_layout": b"x"}, "oci-layout: not JSON"),
        ({"index": b"{}"}, "index.json: not schemaVersion 2"),
        ({"index": Manifest(EMPTY_DESCRIPTOR, ()).write()}, "index.json: a manifest, expected an image index"),
        ({"index": b" " * ((4 << 20) + 1)}, "index.json: more than"),
    ],
)
def test_an_invalid_layout_is_named_with_its_problem(tmp_path: Path, files: dict[str, bytes], problem: str) -> None:
    with pytest.raises(ContentError, match=problem):
        Layout(_folder(tmp_path, **files))


def test_something_else_is_no_layout(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(b"x" * 2000)
    (tmp_path / "folder").mkdir()
    for path, problem in (("x.tar", "not a tar archive"), ("folder", "no OCI image layout"), ("none", "no OCI image")):
        with pytest.raises(RegistryError, match=problem):
            Layout(tmp_path / path)
    assert is_layout(tmp_path / "x.tar")
    assert not is_layout(tmp_path / "folder")
    assert not is_layout(tmp_path / "none.tar")
    assert is_layout(_folder(tmp_path))


def test_a_blob_with_other_content_is_refused(tmp_path: Path) -> None:
    path = _folder(tmp_path)
    (path / "blobs" / "sha256" / EMPTY_DESCRIPTOR.digest.removeprefix("sha256:")).write_bytes(b"[]")
    layout = Layout(path)
    reference = Reference("h", "r")
    with pytest.raises(ContentError, match="has other content"):
        layout.blob_content(reference, EMPTY_DESCRIPTOR, max_bytes=10)
    with pytest.raises(ContentError, match="at most 1 are allowed"):
        layout.blob_content(reference, EMPTY_DESCRIPTOR, max_bytes=1)
    with pytest.raises(NotFoundError):
        layout.manifest(reference.at(digest_of(b"none")))


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    path = _folder(tmp_path)
    secret = tmp_path / "secret"
    secret.write_bytes(EMPTY_CONTENT)
    (path / "blobs" / "sha256" / EMPTY_DESCRIPTOR.digest.removeprefix("sha256:")).symlink_to(secret)
    with pytest.raises(NotFoundError):
        Layout(path).blob_content(Reference("h", "r"), EMPTY_DESCRIPTOR, max_bytes=10)


def _tar(path: Path, entries: list[tuple[str, bytes, bytes]]) -> Path:
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content, kind in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/passwd" if kind != tarfile.REGTYPE else ""
            entry.size = len(content) if kind == tarfile.REGTYPE else 0
            archive.addfile(entry, io.BytesIO(content) if kind == tarfile.REGTYPE else None)
    return path


_VERSION = ("oci-layout", b'{"imageLayoutVersion": "1.0.0"}', tarfile.REGTYPE)
_INDEX = ("./index.json", Index(()).write(), tarfile.REGTYPE)
_BLOB = f"blobs/sha256/{EMPTY_DESCRIPTOR.digest.removeprefix('sha256:')}"


@pytest.mark.parametrize(
    "entry",
    [
        (f"../{_BLOB}", b"{}", tarfile.REGTYPE),
        (f"x/../{_BLOB}", b"{}", tarfile.REGTYPE),
        (_BLOB, b"", tarfile.SYMTYPE),
        (_BLOB, b"", tarfile.LNKTYPE),
        ("blobs/sha256/../../etc/passwd", b"{}", tarfile.REGTYPE),
    ],
)
def test_entries_that_lead_elsewhere_are_not_content(tmp_path: Path, entry: tuple[str, bytes, bytes]) -> None:
    layout = Layout(_tar(tmp_path / "x.tar", [_VERSION, _INDEX, entry]))
    with pytest.raises(NotFoundError):
        layout.blob_content(Reference("h", "r"), EMPTY_DESCRIPTOR, max_bytes=10)


def test_a_file_that_stands_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContentError, match=r"the tar archive has index.json twice"):
        Layout(_tar(tmp_path / "x.tar", [_VERSION, _INDEX, _INDEX]))


def test_a_large_file_of_a_tar_is_not_read(tmp_path: Path) -> None:
    layout = Layout(_tar(tmp_path / "x.tar", [_VERSION, _INDEX, (_BLOB, bytes(100), tarfile.REGTYPE)]))
    with pytest.raises(ContentError, match="100 bytes, at most 10 are allowed"):
        layout.blob_content(Reference("h", "r"), EMPTY_DESCRIPTOR, max_bytes=10)


def test_names_of_other_tools_are_found(tmp_path: Path) -> None:
    content = ARTIFACT.manifest.write()
    entry = Descriptor.of(content, MANIFEST, annotations={"org.opencontainers.image.ref.name": "v7"})
    path = _folder(tmp_path, index=Index((entry,)).write())
    (path / "blobs" / "sha256" / ARTIFACT.descriptor.digest.removeprefix("sha256:")).write_bytes(content)
    layout = Layout(path)
    assert layout.resolve(Reference("any.com", "any", "v7")) == ARTIFACT.descriptor
    with pytest.raises(NotFoundError, match="no manifest with the name v8"):
        layout.resolve(Reference("any.com", "any", "v8"))
