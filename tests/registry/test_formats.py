import gzip
import io
import json
import tarfile
from typing import Any

import pytest

from kubewasp.registry import formats
from kubewasp.registry.errors import ContentError
from kubewasp.registry.formats import (
    ComponentInterface,
    WasmPlace,
    extract,
    image_artifact,
    wasm_artifact,
    wasm_entry,
    wasm_place,
)
from kubewasp.registry.oci_manifests import (
    DOCKER_CONFIG,
    DOCKER_MANIFEST,
    EMPTY,
    IMAGE_CONFIG,
    MANIFEST,
    Descriptor,
    Index,
    Manifest,
    Platform,
)

WASM = b"\0asm\x01\0\0\0policy"
COMPONENT = b"\0asm\x0d\0\x01\0component"


def _manifest(config: str, *layers: tuple[str, bytes], media_type: str = MANIFEST) -> Manifest:
    described = tuple(Descriptor.of(content, kind) for kind, content in layers)
    return Manifest(Descriptor.of(b"{}", config), described, media_type)


def _tar(files: dict[str, bytes]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return written.getvalue()


def _found(manifest: Manifest, blobs: dict[str, bytes], config: Any = None) -> tuple[str, bytes]:
    assert formats.needs_config(manifest) == (config is not None)
    place = wasm_place(manifest, b"" if config is None else json.dumps(config).encode(), "x")
    return place.kind, extract(place, lambda layer: blobs[layer.digest], "x", 1 << 20)


@pytest.mark.parametrize(
    ("kind", "config", "layers", "media_type"),
    [
        ("CNCF wasm artifact", "application/vnd.wasm.config.v0+json", ["application/wasm"], MANIFEST),
        (
            "wasm-to-oci artifact",
            "application/vnd.wasm.config.v1+json",
            ["application/vnd.wasm.content.layer.v1+wasm"],
            DOCKER_MANIFEST,
        ),
        (
            "Istio wasm artifact",
            "application/vnd.module.wasm.config.v1+json",
            ["application/vnd.module.wasm.content.layer.v1+wasm", "application/json"],
            MANIFEST,
        ),
        ("runwasi artifact", IMAGE_CONFIG, ["application/vnd.bytecodealliance.wasm.component.layer.v0+wasm"], MANIFEST),
        ("runwasi artifact", IMAGE_CONFIG, ["application/wasm"], MANIFEST),
        ("wasm artifact", EMPTY, ["application/vnd.wasm.content.layer.v1+wasm"], MANIFEST),
    ],
)
def test_artifacts_of_all_tools_are_read(kind: str, config: str, layers: list[str], media_type: str) -> None:
    contents = [(name, WASM if "wasm" in name else b"{}") for name in layers]
    manifest = _manifest(config, *contents, media_type=media_type)
    assert _found(manifest, {Descriptor.of(WASM, "").digest: WASM}) == (kind, WASM)


_TAR_TYPES = (
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
)


@pytest.mark.parametrize("layer_type", _TAR_TYPES)
@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("plugin.wasm", {}),
        ("./plugin.wasm", {"config": None}),
        ("hello.wasm", {"config": {"Entrypoint": ["/hello.wasm"]}}),
        ("app/hello.wasm", {"config": {"Entrypoint": ["hello.wasm"], "WorkingDir": "/app"}}),
        ("hello", {"config": {"Entrypoint": [], "Cmd": ["./hello", "-x"]}}),
    ],
)
def test_images_are_read(layer_type: str, name: str, config: Any) -> None:
    content = _tar({"etc/passwd": b"x", name: WASM})
    packed = gzip.compress(content) if "gzip" in layer_type else content
    manifest = _manifest(DOCKER_CONFIG if "docker" in layer_type else IMAGE_CONFIG, (layer_type, packed))
    assert _found(manifest, {manifest.layers[0].digest: packed}, config) == ("container image", WASM)


def test_the_last_layer_with_the_file_counts() -> None:
    old, new = _tar({"plugin.wasm": WASM + b"old"}), _tar({"plugin.wasm": WASM})
    other, removed = _tar({"other": b""}), _tar({".wh.plugin.wasm": b""})

    def of(*layers: bytes) -> bytes:
        manifest = _manifest(IMAGE_CONFIG, *((_TAR_TYPES[0], layer) for layer in layers))
        return _found(manifest, {Descriptor.of(layer, "").digest: layer for layer in layers}, {})[1]

    assert of(old, new, other) == WASM
    assert of(new, removed, new, other) == WASM
    with pytest.raises(ContentError, match=r"x: an image without plugin.wasm"):
        of(new, removed, other)


@pytest.mark.parametrize("whiteout", [".wh.app", "app/.wh.p.wasm", "app/.wh..wh..opq", ".wh..wh..opq"])
def test_a_removed_folder_takes_its_files_along(whiteout: str) -> None:
    config = {"config": {"Entrypoint": ["/app/p.wasm"]}}
    earlier, removed = _tar({"app/p.wasm": WASM}), _tar({whiteout: b""})
    again = _tar({"app/p.wasm": WASM + b"again", whiteout: b""})

    def of(*layers: bytes) -> bytes:
        manifest = _manifest(IMAGE_CONFIG, *((_TAR_TYPES[0], layer) for layer in layers))
        return _found(manifest, {Descriptor.of(layer, "").digest: layer for layer in layers}, config)[1]

    assert of(removed, earlier) == WASM
    assert of(earlier, again) == WASM + b"again"
    with pytest.raises(ContentError, match="an image without"):
        of(earlier, removed)


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        (_manifest("x", ("application/wasm", WASM), ("application/wasm", COMPONENT)), "2 wasm modules, expected one"),
        (_manifest("x", ("text/plain", b"")), "neither a wasm module nor a container image"),
        (_manifest(IMAGE_CONFIG, ("text/plain", b"")), "neither a wasm module nor a container image"),
        (_manifest(IMAGE_CONFIG), "an image without layers"),
        (_manifest(IMAGE_CONFIG, ("application/vnd.oci.image.layer.v1.tar+zstd", b"")), "zstd are not supported"),
    ],
)
def test_other_artifacts_are_refused(manifest: Manifest, problem: str) -> None:
    with pytest.raises(ContentError, match=f"^somewhere: .*{problem}"):
        wasm_place(manifest, b"{}", "somewhere")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\x7fELF native", "precompiled native code is not loaded"),
        (b"text", "not WebAssembly"),
        (b"", "not WebAssembly"),
    ],
)
def test_only_wasm_is_given(content: bytes, problem: str) -> None:
    place = WasmPlace("x", (Descriptor.of(content, "application/wasm"),))
    with pytest.raises(ContentError, match=problem):
        extract(place, lambda _: content, "x", 100)


# ---------------------------------------------------------------------- indexes


def _entry(architecture: str, number: int = 0) -> Descriptor:
    return Descriptor.of(bytes([number]), MANIFEST, platform=Platform(architecture, "wasip1"))


def test_the_manifest_for_wasm_is_chosen() -> None:
    plain = Descriptor.of(b"p", MANIFEST)
    assert wasm_entry(Index((_entry("amd64"), _entry("wasm", 1))), "x") == _entry("wasm", 1)
    assert wasm_entry(Index((plain,)), "x") == plain
    assert wasm_entry(Index((plain, _entry("unknown", 3))), "x") == plain


@pytest.mark.parametrize(
    ("index", "problem"),
    [
        (Index(()), "without a manifest for the platform wasm"),
        (Index((_entry("amd64"), _entry("arm64", 1))), "without a manifest for the platform wasm"),
        (Index((_entry("wasm"), _entry("wasm", 1))), "2 manifests for the platform wasm; give the digest of one"),
    ],
)
def test_an_index_without_a_clear_choice_is_refused(index: Index, problem: str) -> None:
    with pytest.raises(ContentError, match=problem):
        wasm_entry(index, "x")


# ---------------------------------------------------------------------- writing


def test_the_cncf_artifact_of_a_module() -> None:
    artifact = wasm_artifact(WASM, file_name="policy.wasm", annotations={"org.opencontainers.image.title": "policy"})
    assert json.loads(artifact.manifest.write()) == {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {
            "mediaType": "application/vnd.wasm.config.v0+json",
            "digest": artifact.manifest.config.digest,
            "size": artifact.manifest.config.size,
        },
        "layers": [
            {
                "mediaType": "application/wasm",
                "digest": Descriptor.of(WASM, "").digest,
                "size": len(WASM),
                "annotations": {"org.opencontainers.image.title": "policy.wasm"},
            }
        ],
        "annotations": {"org.opencontainers.image.title": "policy"},
    }
    assert json.loads(artifact.blobs[artifact.manifest.config.digest]) == {
        "created": "1970-01-01T00:00:00Z",
        "architecture": "wasm",
        "os": "wasip1",
        "layerDigests": [Descriptor.of(WASM, "").digest],
    }


def test_the_cncf_artifact_of_a_component() -> None:
    interface = ComponentInterface(("call", "start"), ("wasi:cli/environment@0.2.0",))
    artifact = wasm_artifact(
        COMPONENT, file_name="p.wasm", annotations={}, created="2026-01-02T03:04:05Z", author="me", interface=interface
    )
    config = json.loads(artifact.blobs[artifact.manifest.config.digest])
    assert (config["os"], config["author"], config["created"]) == ("wasip2", "me", "2026-01-02T03:04:05Z")
    assert config["component"] == {"exports": ["call", "start"], "imports": ["wasi:cli/environment@0.2.0"]}


@pytest.mark.parametrize("make", [wasm_artifact, image_artifact])
def test_what_is_written_is_the_same_each_time_and_is_read(make: Any) -> None:
    artifact = make(WASM, file_name="policy.wasm", annotations={"b": "2", "a": "1"})
    again = make(WASM, file_name="policy.wasm", annotations={"a": "1", "b": "2"})
    assert artifact.descriptor == again.descriptor
    assert set(artifact.blobs) == {blob.digest for blob in (artifact.manifest.config, *artifact.manifest.layers)}
    config = artifact.blobs[artifact.manifest.config.digest]
    place = wasm_place(artifact.manifest, config, "x")
    assert extract(place, lambda layer: artifact.blobs[layer.digest], "x", 1 << 20) == WASM


def test_the_image_for_other_registries_is_of_the_compat_variant() -> None:
    artifact = image_artifact(WASM, file_name="policy.wasm", annotations={})
    assert artifact.manifest.annotations == {"module.wasm.image/variant": "compat"}
    config = json.loads(artifact.blobs[artifact.manifest.config.digest])
    assert (config["architecture"], config["os"]) == ("wasm", "wasi")
    packed = artifact.blobs[artifact.manifest.layers[0].digest]
    assert config["rootfs"]["diff_ids"] == [Descriptor.of(gzip.decompress(packed), "").digest]
    assert wasm_place(artifact.manifest, b"{}", "x").kind == "container image (compat)"


def test_native_code_is_not_pushed() -> None:
    with pytest.raises(ContentError, match="precompiled native code"):
        wasm_artifact(b"\x7fELF", file_name="x", annotations={})
