"""Images in files: addresses, layouts, archives; extraction into a folder."""

import io
import json
import os
import stat
import tarfile
from pathlib import Path

import pytest

from kubewasp.errors import KubewaspError
from kubewasp.images.building import ImagePlan, build_image
from kubewasp.images.errors import ImageError
from kubewasp.images.extraction import extract
from kubewasp.images.image_address import ImageAddress, is_image_address
from kubewasp.images.image_files import open_file, write_file
from kubewasp.images.wasm_image import WasmImage, read_image
from tests.images.archives import EMPTY_MODULE, entry, folder, hardlink, image, layout, symlink, tar

PROGRAM = ("hello.wasm", EMPTY_MODULE)


def opened(address: str) -> WasmImage:
    source, reference = open_file(ImageAddress.parse(address))
    return read_image(source, reference, address)


@pytest.mark.parametrize(
    "text",
    [
        "oci://registry.example.com/team/hello:v1",
        "oci:images",
        "oci:images:v1",
        "oci-archive:a.tar:v1",
        "docker-archive:a.tar:hello:v1",
    ],
)
def test_an_address_is_written_as_it_was_read(text: str) -> None:
    assert str(ImageAddress.parse(text)) == text
    assert is_image_address(text)


@pytest.mark.parametrize(
    "text", ["hello.wasm", "oci:", "oci::v1", "docker://x", "oci:x:-bad", "oci://", "oci:a\0b", ""]
)
def test_an_address_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(KubewaspError):
        ImageAddress.parse(text)


@pytest.mark.parametrize(
    "form",
    [
        "oci:{0}/x:v1",
        "oci:{0}/x",
        "oci-archive:{0}/x.tar:v1",
        "oci-archive:{0}/x",
        "docker-archive:{0}/x.tar:hello:v1",
        "docker-archive:{0}/x",
    ],
)
def test_a_written_image_is_read_back(tmp_path: Path, form: str) -> None:
    address = form.format(tmp_path)
    write_file(ImageAddress.parse(address), build_image(ImagePlan(EMPTY_MODULE, "hello.wasm", command=("a",))))
    assert opened(address).program == EMPTY_MODULE
    assert opened(address).default_arguments == ("a",)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("form", ["oci-archive:{0}/x.tar", "docker-archive:{0}/x.tar"])
def test_an_archive_has_the_same_bytes_always_and_is_replaced(tmp_path: Path, form: str) -> None:
    address = ImageAddress.parse(form.format(tmp_path))
    contents = set()
    for _ in range(2):
        write_file(address, build_image(ImagePlan(EMPTY_MODULE, "hello.wasm")))
        contents.add((tmp_path / "x.tar").read_bytes())
    assert len(contents) == 1


def test_a_layout_holds_several_images_by_tag(tmp_path: Path) -> None:
    for tag, argument in (("v1", "one"), ("v2", "two"), ("v1", "three")):
        layout(tmp_path / "x", build_image(ImagePlan(EMPTY_MODULE, "hello.wasm", command=(argument,))), tag)
    assert opened(f"oci:{tmp_path}/x:v1").default_arguments == ("three",)
    assert opened(f"oci:{tmp_path}/x:v2").default_arguments == ("two",)
    with pytest.raises(ImageError, match=r"2 images; name one by its tag; tags: v1, v2"):
        opened(f"oci:{tmp_path}/x")
    with pytest.raises(KubewaspError, match="v3"):
        opened(f"oci:{tmp_path}/x:v3")


def test_a_folder_with_other_files_is_not_made_a_layout(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(KubewaspError, match="no OCI image layout"):
        layout(tmp_path, build_image(ImagePlan(EMPTY_MODULE, "hello.wasm")))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def docker_archive(path: Path, manifest: object, **files: bytes) -> str:
    with tarfile.open(path, "w") as archive:
        for name, content in {**files, "manifest.json": json.dumps(manifest).encode()}.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return f"docker-archive:{path}"


@pytest.mark.parametrize(
    "manifest",
    [
        [],
        {},
        [1],
        [{"Config": "missing", "Layers": []}],
        [{"Config": 1, "Layers": []}],
        [{"Config": "config", "Layers": "config"}],
        [{"Config": "config", "Layers": ["../../etc/passwd"]}],
        [{"Config": "config", "Layers": ["config"] * 1000}],
        [{"Config": "config", "Layers": []}, {"Config": "config", "Layers": []}],
    ],
)
def test_a_damaged_docker_archive_is_refused(tmp_path: Path, manifest: object) -> None:
    with pytest.raises(KubewaspError) as caught:
        opened(docker_archive(tmp_path / "x.tar", manifest, config=b"{}"))
    assert str(tmp_path / "x.tar") in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"text", bytes(4096)])
@pytest.mark.parametrize("form", ["oci-archive", "docker-archive"])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, form: str, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(KubewaspError, match="x"):
        opened(f"{form}:{tmp_path}/x")
    with pytest.raises(KubewaspError):
        opened(f"{form}:{tmp_path}/missing")


def extracted(tmp_path: Path, *layers: bytes) -> Path:
    target = tmp_path / "files"
    target.mkdir()
    extract(opened(layout(tmp_path / "layout", image(*layers))), target)
    return target


def test_files_are_extracted_with_their_content(tmp_path: Path) -> None:
    layers = tar(PROGRAM, ("a/x", b"old"), ("a/gone", b"")), tar(("a/x", b"new"), ("a/.wh.gone", b""), folder("empty"))
    files = extracted(tmp_path, *layers)
    assert sorted(path.relative_to(files).as_posix() for path in files.rglob("*")) == [
        "a",
        "a/x",
        "empty",
        "hello.wasm",
    ]
    assert (files / "a" / "x").read_bytes() == b"new"


def test_special_bits_owners_and_devices_are_dropped(tmp_path: Path) -> None:
    layer = tar(PROGRAM, entry("setuid", mode=0o6777), entry("dev/sda", b"4"), entry("pipe", b"6"))
    files = extracted(tmp_path, layer)
    assert stat.S_IMODE((files / "setuid").stat().st_mode) & ~os_umask() == 0o755 & ~os_umask()
    assert not (files / "dev" / "sda").exists()
    assert not (files / "pipe").exists()


def os_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../../../../etc/passwd", "/../etc/passwd"])
def test_an_extracted_link_stays_in_the_folder(tmp_path: Path, target: str) -> None:
    files = extracted(tmp_path, tar(PROGRAM, symlink("d/link", target), ("etc/passwd", b"of the image")))
    assert not (files / "d" / "link").readlink().is_absolute()
    assert (files / "d" / "link").resolve() == (files / "etc" / "passwd").resolve()
    assert (files / "d" / "link").read_bytes() == b"of the image"


def test_a_file_is_never_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    layer = tar(PROGRAM, symlink("d", str(outside)), folder(f"{outside}/"), ("d/x", b"written"))
    files = extracted(tmp_path, layer)
    assert list(outside.iterdir()) == []
    assert (files / str(outside).lstrip("/") / "x").read_bytes() == b"written"


def test_hard_links_are_one_file(tmp_path: Path) -> None:
    files = extracted(tmp_path, tar(PROGRAM, ("x", b"content"), hardlink("y", "x")))
    assert (files / "y").read_bytes() == b"content"
    assert (files / "x").stat().st_ino == (files / "y").stat().st_ino
