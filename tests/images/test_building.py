"""Built images: reproducible bytes, what container runtimes look for, and files of the host."""

import json
import os
import tarfile
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.images.added_files import AddedFile, image_path, read_added
from kubewasp.images.building import ImagePlan, build_image
from kubewasp.images.errors import ImageError
from kubewasp.images.image_config import ImageConfig
from kubewasp.registry.errors import ContentError
from kubewasp.registry.formats import Artifact
from tests.images.archives import EMPTY_MODULE

PLAN = ImagePlan(
    EMPTY_MODULE,
    "hello.wasm",
    command=("a", "b"),
    working_directory="work",
    environment={"B": "2", "A": "1"},
    labels={"y": "2", "x": "1"},
    files=(AddedFile("/data/x", b"content"), AddedFile("/bin/run", b"", is_executable=True)),
)


def config(artifact: Artifact) -> dict[str, object]:
    found: dict[str, object] = json.loads(artifact.blobs[artifact.manifest.config.digest])
    return found


def entries(artifact: Artifact, layer: int) -> list[tarfile.TarInfo]:
    content = artifact.blobs[artifact.manifest.layers[layer].digest]
    with tarfile.open(fileobj=BytesIO(content)) as archive:
        return archive.getmembers()


def test_the_same_input_gives_the_same_digest() -> None:
    # The digest is fixed here: another one would break the promise for images that are already built.
    assert build_image(PLAN).descriptor.digest == build_image(PLAN).descriptor.digest
    simple = build_image(ImagePlan(EMPTY_MODULE, "hello.wasm"))
    assert simple.descriptor.digest == "sha256:a27be1fb496685eaf166f03e19bdeda1b10f7ecc00246488363e5d805c993b87"


def test_platform_entrypoint_and_annotation_are_those_of_wasm_images() -> None:
    artifact = build_image(PLAN)
    assert artifact.manifest.annotations == {"module.wasm.image/variant": "compat"}
    found = config(artifact)
    assert (found["os"], found["architecture"], found["created"]) == ("wasi", "wasm", "1970-01-01T00:00:00Z")
    assert found["config"] == {
        "Env": ["A=1", "B=2"],
        "Entrypoint": ["/hello.wasm"],
        "Cmd": ["a", "b"],
        "WorkingDir": "/work",
        "Labels": {"x": "1", "y": "2"},
    }


def test_layers_are_plain_archives_of_root_at_one_time_with_sorted_names() -> None:
    artifact = build_image(PLAN)
    assert config(artifact)["rootfs"] == {
        "type": "layers",
        "diff_ids": [layer.digest for layer in artifact.manifest.layers],
    }
    files = [(item.name, oct(item.mode)) for item in entries(artifact, 0)]
    assert files == [("bin", "0o755"), ("bin/run", "0o755"), ("data", "0o755"), ("data/x", "0o644")]
    assert [(item.name, oct(item.mode)) for item in entries(artifact, 1)] == [("hello.wasm", "0o755")]
    for item in (*entries(artifact, 0), *entries(artifact, 1)):
        assert (item.uid, item.gid, item.uname, item.gname, item.mtime) == (0, 0, "", "", 0)


def test_a_configuration_is_read_as_it_was_written() -> None:
    written = ImageConfig(
        created="2026-01-01T00:00:00Z",
        entrypoint=("/x",),
        command=("y",),
        working_directory="/w",
        environment={"A": "="},
        labels={"l": ""},
        diff_ids=("sha256:" + 64 * "a",),
    )
    assert ImageConfig.read(written.write(), "test") == written


def test_what_is_no_wasm_is_no_program() -> None:
    with pytest.raises(ContentError, match="not WebAssembly"):
        build_image(ImagePlan(b"text", "hello.wasm"))


@pytest.mark.parametrize("path", ["/hello.wasm", "/hello.wasm/x"])
def test_a_file_in_place_of_the_program_is_refused(path: str) -> None:
    with pytest.raises(ImageError, match="program of the image already"):
        build_image(ImagePlan(EMPTY_MODULE, "hello.wasm", files=(AddedFile(path, b""),)))


def test_a_file_that_is_a_folder_as_well_is_refused() -> None:
    files = (AddedFile("/a", b""), AddedFile("/a/b", b""))
    with pytest.raises(ImageError, match="a file and a folder"):
        build_image(ImagePlan(EMPTY_MODULE, "hello.wasm", files=files))


def test_added_folders_are_taken_whole(tmp_path: Path) -> None:
    (tmp_path / "d" / "sub").mkdir(parents=True)
    (tmp_path / "d" / "sub" / "x").write_bytes(b"1")
    (tmp_path / "d" / "run").write_bytes(b"2")
    (tmp_path / "d" / "run").chmod(0o755)
    found = read_added([f"{tmp_path / 'd'}:/data", f"{tmp_path / 'd' / 'run'}:/bin/"])
    assert found == (
        AddedFile("/bin/run", b"2", is_executable=True),
        AddedFile("/data/run", b"2", is_executable=True),
        AddedFile("/data/sub/x", b"1"),
    )


def test_links_and_pipes_are_not_added(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "folder").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    for name, message in (("link", "a link"), ("d", "a link"), ("pipe", "neither a file nor a folder")):
        with pytest.raises(ImageError, match=message):
            read_added([f"{tmp_path / name}:/x"])


@pytest.mark.parametrize("text", ["x", ":x", "x:", "missing:/x"])
def test_an_addition_of_a_wrong_form_is_refused(text: str) -> None:
    with pytest.raises(ImageError, match="--add"):
        read_added([text])


def test_two_files_at_one_place_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(ImageError, match="twice"):
        read_added([f"{tmp_path / 'a'}:/x", f"{tmp_path / 'a'}:x"])


@given(st.text(st.sampled_from("ab./\0"), max_size=10))
def test_a_path_of_an_image_is_absolute_and_normal_or_refused(text: str) -> None:
    try:
        found = image_path(text)
    except ImageError:
        return
    assert found.startswith("/")
    assert found != "/"
    assert not {"", ".", ".."} & set(found[1:].split("/"))
