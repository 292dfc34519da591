"""Reading of images, good and hostile: bounds, digests, and the choice of the program."""

import gzip
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from kubewasp.errors import KubewaspError
from kubewasp.images import wasm_image
from kubewasp.images.errors import ImageError
from kubewasp.images.image_address import ImageAddress
from kubewasp.images.image_files import open_file
from kubewasp.images.wasm_image import WasmImage, read_image
from kubewasp.registry.errors import ContentError
from kubewasp.registry.formats import Artifact, wasm_artifact
from kubewasp.registry.oci_manifests import INDEX, Descriptor, Index, Platform
from tests.images.archives import EMPTY_MODULE, GZIP, folder, image, layout, symlink, tar

PROGRAM = ("hello.wasm", EMPTY_MODULE)


def read(tmp_path: Path, artifact: Artifact) -> WasmImage:
    address = ImageAddress.parse(layout(tmp_path / "layout", artifact))
    source, reference = open_file(address)
    return read_image(source, reference, "image")


def refused(tmp_path: Path, artifact: Artifact) -> str:
    """The message of an image that is refused."""
    with pytest.raises(KubewaspError) as caught:
        read(tmp_path, artifact)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_entrypoint_names_the_program(tmp_path: Path) -> None:
    found = read(
        tmp_path, image(tar(PROGRAM, ("other.wasm", b"x")), config={"Entrypoint": ["/hello.wasm", "-v"], "Cmd": ["a"]})
    )
    assert found.program == EMPTY_MODULE
    assert (found.argv, found.default_arguments) == (("/hello.wasm", "-v"), ("a",))
    assert found.program_path == "/hello.wasm"


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"Cmd": ["/hello.wasm", "a"]}, "/hello.wasm"),
        ({"Entrypoint": ["hello.wasm"]}, "/hello.wasm"),
        ({"Entrypoint": ["app.wasm"], "WorkingDir": "/opt"}, "/opt/app.wasm"),
        ({"Entrypoint": ["link.wasm"]}, "/link.wasm"),
        ({"Entrypoint": ["../../hello.wasm"]}, "/../../hello.wasm"),
        ({}, "/plugin.wasm"),
    ],
)
def test_places_of_the_program(tmp_path: Path, config: dict[str, object], path: str) -> None:
    others = [(name, EMPTY_MODULE) for name in ("opt/app.wasm", "plugin.wasm")]
    found = read(tmp_path, image(tar(PROGRAM, *others, symlink("link.wasm", "hello.wasm")), config=config))
    assert found.program == EMPTY_MODULE
    assert found.program_path == path


def test_the_only_wasm_file_is_the_program_without_an_entrypoint(tmp_path: Path) -> None:
    assert read(tmp_path, image(tar(("x/y.wasm", EMPTY_MODULE)), config={})).program_path == "/x/y.wasm"


def test_a_program_of_gzip_layers_is_found(tmp_path: Path) -> None:
    layers = [gzip.compress(tar(PROGRAM)), gzip.compress(tar(("data", b"x"))) + gzip.compress(b"")]
    assert read(tmp_path, image(*layers, media_type=GZIP)).program == EMPTY_MODULE


def test_an_artifact_is_a_program_alone(tmp_path: Path) -> None:
    found = read(tmp_path, wasm_artifact(EMPTY_MODULE, file_name="x.wasm", annotations={}))
    assert (found.program, found.kind, found.argv) == (EMPTY_MODULE, "CNCF wasm artifact", ("/x.wasm",))
    assert list(found.tree.walk()) == []


def test_an_index_is_read_as_its_wasm_platform(tmp_path: Path) -> None:
    good, bad = image(tar(PROGRAM)), image(tar(("hello.wasm", b"\x7fELF")), platform=("linux", "amd64"))
    contents = [artifact.manifest.write() for artifact in (bad, good)]
    platforms = [Platform("amd64", "linux"), Platform("wasm", "wasi")]
    entries = tuple(
        replace(Descriptor.of(content, artifact.manifest.media_type), platform=platform)
        for content, artifact, platform in zip(contents, (bad, good), platforms, strict=True)
    )
    layout(tmp_path / "layout", good)
    blobs = tmp_path / "layout" / "blobs" / "sha256"
    index = Index(entries).write()
    for content in (*contents, *bad.blobs.values(), index):
        (blobs / Descriptor.of(content, "").digest.removeprefix("sha256:")).write_bytes(content)
    (tmp_path / "layout" / "index.json").write_bytes(Index((Descriptor.of(index, INDEX),)).write())
    source, reference = open_file(ImageAddress.parse(f"oci:{tmp_path / 'layout'}"))
    assert read_image(source, reference, "image").program == EMPTY_MODULE


@pytest.mark.parametrize("name", ["../hello.wasm", "/../../etc/hello.wasm", "a/../hello.wasm"])
def test_a_layer_with_names_that_lead_out_is_refused(tmp_path: Path, name: str) -> None:
    assert "layer 1: the name" in refused(tmp_path, image(tar(PROGRAM, (name, b"x"))))


def test_a_gzip_bomb_is_refused_within_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wasm_image, "MAX_UNPACKED", 1 << 20)
    bomb = gzip.compress(tar(PROGRAM, ("zeros", bytes(32 << 20))))
    assert len(bomb) < 64 << 10
    assert "unpacked" in refused(tmp_path, image(bomb, media_type=GZIP))


def test_the_bound_of_unpacked_bytes_is_for_all_layers_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wasm_image, "MAX_UNPACKED", 64 << 10)
    layers = [tar((f"x{number}", bytes(8 << 10))) for number in range(8)]
    assert "layer 7" in refused(tmp_path, image(tar(PROGRAM), *layers))


def test_endless_empty_gzip_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wasm_image, "MAX_UNPACKED", 64 << 10)
    packed = gzip.compress(b"") * 5000
    assert "too large" in refused(tmp_path, image(packed, media_type=GZIP, diff_ids=["sha256:" + 64 * "0"]))


def test_thousands_of_layers_are_refused(tmp_path: Path) -> None:
    artifact = image(tar(PROGRAM))
    many = replace(artifact.manifest, layers=artifact.manifest.layers * 2000)
    assert "2000 layers, at most 128" in refused(tmp_path, Artifact(many, artifact.blobs))


def test_large_layers_are_refused_before_they_are_read(tmp_path: Path) -> None:
    artifact = image(tar(PROGRAM))
    large = replace(artifact.manifest.layers[0], size=1 << 40)
    lying = replace(artifact.manifest, layers=(large,))
    assert "at most 512Mi" in refused(tmp_path, Artifact(lying, artifact.blobs))


def test_a_lying_size_of_a_layer_is_refused(tmp_path: Path) -> None:
    artifact = image(tar(PROGRAM))
    lying = replace(artifact.manifest, layers=(replace(artifact.manifest.layers[0], size=10),))
    assert "10" in refused(tmp_path, Artifact(lying, artifact.blobs))


def test_a_lying_size_in_a_tar_header_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("hello.wasm")
    info.size = 1 << 35
    layer = info.tobuf() + EMPTY_MODULE.ljust(512, b"\0")
    assert "layer 1" in refused(tmp_path, image(layer))


def test_a_layer_with_another_digest_unpacked_is_refused(tmp_path: Path) -> None:
    assert "has the digest" in refused(tmp_path, image(tar(PROGRAM), diff_ids=["sha256:" + 64 * "0"]))


def test_a_configuration_for_other_layers_is_refused(tmp_path: Path) -> None:
    assert "1 layers, and a configuration for 0" in refused(tmp_path, image(tar(PROGRAM), diff_ids=[]))


def test_changed_content_of_a_blob_is_refused(tmp_path: Path) -> None:
    artifact = image(tar(PROGRAM))
    blobs = {
        digest: (content if "sha" not in digest else content[:-1] + b"x") for digest, content in artifact.blobs.items()
    }
    assert "has other content" in refused(tmp_path, Artifact(artifact.manifest, blobs))


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"\x7fELF native", "native code"), (b"#!/bin/sh", "not WebAssembly"), (b"", "not WebAssembly")],
)
def test_a_program_that_is_no_wasm_is_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    message = refused(tmp_path, image(tar(("hello.wasm", content))))
    assert expected in message
    assert "/hello.wasm" in message


@pytest.mark.parametrize("name", ["/missing.wasm", "/d", "../../../etc/passwd", "/proc/self/exe"])
def test_an_entrypoint_that_is_no_file_of_the_image_is_refused(tmp_path: Path, name: str) -> None:
    assert "is no file of the image" in refused(
        tmp_path, image(tar(PROGRAM, folder("d")), config={"Entrypoint": [name]})
    )


@pytest.mark.parametrize("layer", [tar(), tar(("a.wasm", EMPTY_MODULE), ("b.wasm", EMPTY_MODULE))])
def test_an_image_without_a_clear_program_is_refused(tmp_path: Path, layer: bytes) -> None:
    assert "names no program" in refused(tmp_path, image(layer, config={}))


@pytest.mark.parametrize(
    "layer", [b"", b"no tar archive" * 100, gzip.compress(b"x" * 600, mtime=0), b"\x1f\x8bdamaged"]
)
def test_a_layer_that_is_no_archive_is_refused(tmp_path: Path, layer: bytes) -> None:
    digests = ["sha256:" + 64 * "0"]
    assert refused(tmp_path, image_of_damaged(layer, digests))


def image_of_damaged(layer: bytes, digests: list[str]) -> Artifact:
    whole = image(tar(PROGRAM), diff_ids=digests)
    descriptor = Descriptor.of(layer, GZIP)
    config = whole.manifest.config
    return Artifact(
        replace(whole.manifest, layers=(descriptor,)),
        {**whole.blobs, descriptor.digest: layer, config.digest: whole.blobs[config.digest]},
    )


@pytest.mark.parametrize("media_type", [f"{GZIP.removesuffix('gzip')}zstd", "text/plain"])
def test_unknown_layers_are_refused(tmp_path: Path, media_type: str) -> None:
    assert refused(tmp_path, image(tar(PROGRAM), media_type=media_type))


@pytest.mark.parametrize(
    "config",
    [{"Entrypoint": "text"}, {"Entrypoint": [1]}, {"Env": ["=x"]}, {"Env": ["x"]}, {"Cmd": ["a\0b"]}, {"Labels": []}],
)
def test_a_configuration_of_a_wrong_form_is_refused(tmp_path: Path, config: dict[str, object]) -> None:
    assert "configuration" in refused(tmp_path, image(tar(PROGRAM), config=config))


def test_errors_are_image_and_content_errors() -> None:
    assert issubclass(ImageError, KubewaspError)
    assert issubclass(ContentError, KubewaspError)
