"""`kubewasp image`, and `kubewasp wasi run` of images."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.images.archives import EMPTY_MODULE, image, layout, symlink, tar
from tests.registry.fake_registry import FakeRegistry
from tests.wasi.running import probe_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Kubewasp

KUBEWASP = str(Path(sys.executable).parent / "kubewasp")


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No credentials and no images of the user; compiled programs stay in the common cache."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "SOURCE_DATE_EPOCH"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with FakeRegistry().serving() as served:
        yield served


@pytest.fixture
def probe_image(kubewasp: Kubewasp, tmp_path: Path) -> str:
    """The probe with a file, a variable, a working directory and default arguments."""
    (tmp_path / "file").write_text("of the image")
    address = f"oci:{tmp_path / 'images'}:probe"
    settings = ("--cmd", "env", "--env", "A=1", "--workdir", "/data", "--add", f"{tmp_path / 'file'}:/data/file")
    assert kubewasp("image", "build", probe_file(), "-t", address, *settings).code == 0
    return address


def wasi_run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([KUBEWASP, "wasi", "run", *map(str, arguments)], capture_output=True, text=True, check=False)


def test_the_same_build_gives_the_same_digest_everywhere(kubewasp: Kubewasp, tmp_path: Path) -> None:
    targets = [f"oci:{tmp_path}/a:v1", f"oci-archive:{tmp_path}/b.tar:v1"]
    reports = [kubewasp("image", "build", probe_file(), "-t", target, "-o", "json").json for target in targets]
    assert reports[0]["digest"] == reports[1]["digest"]
    for target in targets:
        assert kubewasp("image", "inspect", target, "-o", "json").json["digest"] == reports[0]["digest"]


def test_the_time_in_an_image_is_the_one_of_the_source(
    kubewasp: Kubewasp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = f"oci:{tmp_path}/a:v1"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    kubewasp("image", "build", probe_file(), "-t", target)
    assert kubewasp("image", "inspect", target, "-o", "json").json["created"] == "2023-11-14T22:13:20Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    assert "SOURCE_DATE_EPOCH" in kubewasp("image", "build", probe_file(), "-t", target).usage_error


def test_an_inspection_shows_what_would_run_and_what_it_asks_for(kubewasp: Kubewasp, probe_image: str) -> None:
    report = kubewasp("image", "inspect", probe_image, "-o", "json").json
    assert report["kind"] == "container image"
    assert (report["os"], report["architecture"]) == ("wasi", "wasm")
    assert report["runs"] == [f"/{probe_file().name}", "env"]
    assert report["environment"] == {"A": "1"}
    assert {file["path"] for file in report["files"]} == {"/data/file", f"/{probe_file().name}"}
    assert report["runtimes"] == ["crun and podman (annotation)", "containerd shims (architecture)"]
    assert "files and directories" in report["program"]["could_ask_for"]
    shown = kubewasp("image", "inspect", probe_image)
    for text in ("wasi/wasm", "A=1", "/data", "--image-env", "--image-files", "--dir HOST"):
        assert text in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80


def test_an_artifact_holds_the_program_alone(kubewasp: Kubewasp, tmp_path: Path) -> None:
    target = f"oci:{tmp_path}/a:v1"
    assert kubewasp("image", "build", "--artifact", probe_file(), "-t", target).code == 0
    report = kubewasp("image", "inspect", target, "-o", "json").json
    assert (report["kind"], report["files"]) == ("CNCF wasm artifact", [])
    assert [layer["media_type"] for layer in report["layers"]] == ["application/wasm"]
    assert wasi_run(target, "--", "args", "x").stdout == "x\n"
    assert (
        "--cmd is for images"
        in kubewasp("image", "build", "--artifact", probe_file(), "-t", target, "--cmd", "x").usage_error
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("missing.wasm", "-t", "oci:x"), "missing.wasm"),
        (("-t", "x", "{probe}"), "is no address of an image"),
        (("-t", "oci:{tmp}/x", "{text}"), "{text}: its content is not WebAssembly"),
        (("-t", "oci:{tmp}/x", "{probe}", "--add", "missing:/x"), "missing"),
        (("-t", "oci:{tmp}/x", "{probe}", "--add", "{text}:../x"), "is no path"),
        (("-t", "oci:{text}/x", "{probe}"), "Not a directory"),
    ],
)
def test_bad_input_of_a_build_is_one_line(
    kubewasp: Kubewasp, tmp_path: Path, arguments: tuple[str, ...], expected: str
) -> None:
    (tmp_path / "text").write_text("no program")
    places = {"probe": probe_file(), "tmp": tmp_path, "text": tmp_path / "text"}
    ended = kubewasp("image", "build", *(argument.format(**places) for argument in arguments))
    assert ended.code == 1
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1
    assert expected.format(**places) in ended.err


def test_an_image_runs_with_its_arguments_and_no_rights(probe_image: str) -> None:
    ran = wasi_run(probe_image)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")  # prints its environment
    denied = wasi_run(probe_image, "--", "read", "/data/file")
    assert denied.returncode != 0
    assert "of the image" not in denied.stdout
    assert "note: the image has /data/file; --image-files grants its files" in denied.stderr


def test_variables_of_an_image_are_there_if_granted(probe_image: str) -> None:
    assert wasi_run("--image-env", probe_image).stdout == "A=1\n"
    assert wasi_run("--image-env", "--env", "A=2", probe_image).stdout == "A=2\n"


def test_files_of_an_image_are_there_if_granted_and_read_only(
    probe_image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert wasi_run("--image-files", probe_image, "--", "read", "/data/file").stdout == "of the image"
    assert wasi_run("--image-files", probe_image).stdout == "PWD=/data\n"
    for operation in ("create", "overwrite", "unlink"):
        assert wasi_run("--image-files", probe_image, "--", operation, "/data/file").returncode != 0
    assert list(tmp_path.glob("kubewasp-image-*")) == []


def test_a_granted_directory_is_seen_in_an_image(probe_image: str, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "file").write_text("of the host")
    assert (
        wasi_run("--dir", f"{tmp_path}/own:/data:ro", probe_image, "--", "read", "/data/file").stdout == "of the host"
    )
    both = wasi_run("--image-files", "--dir", f"{tmp_path}/own:/:ro", probe_image)
    assert both.returncode == 2
    assert "both are the root directory" in both.stderr


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../../../../../../etc/passwd"])
def test_a_link_of_an_image_reads_nothing_of_the_host(tmp_path: Path, target: str) -> None:
    layer = tar(("hello.wasm", probe_file().read_bytes()), symlink("d/link", target), ("x", b""))
    address = layout(tmp_path / "hostile", image(layer))
    ran = wasi_run("--image-files", address, "--", "read", "/d/link")
    assert ran.returncode != 0
    assert "root:" not in ran.stdout


@pytest.mark.parametrize("option", ["--image-env", "--image-files"])
def test_grants_of_an_image_need_one(option: str) -> None:
    ran = wasi_run(option, probe_file())
    assert ran.returncode == 2
    assert f"{option}: " in ran.stderr
    assert "is no image" in ran.stderr


@pytest.mark.parametrize("address", ["oci:missing", "docker-archive:missing", "oci://127.0.0.1:1/x:v1", "oci:x:-"])
def test_an_image_that_cannot_be_read_is_one_line(address: str) -> None:
    ran = wasi_run(address)
    assert ran.returncode == 126
    assert ran.stderr.startswith("error: ")
    assert ran.stderr.count("\n") == 1


def test_an_image_of_a_native_program_does_not_run(tmp_path: Path) -> None:
    address = layout(tmp_path / "native", image(tar(("hello.wasm", b"\x7fELF"))))
    ran = wasi_run(address)
    assert (ran.returncode, ran.stdout) == (126, "")
    assert "native code" in ran.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_files_of_an_image_are_removed_after_a_signal(probe_image: str, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [KUBEWASP, "wasi", "run", "--image-files", probe_image, "--", "flood"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"yes\n"
        assert list(tmp_path.glob("kubewasp-image-*"))
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
    assert process.returncode == 143
    assert list(tmp_path.glob("kubewasp-image-*")) == []


def test_an_image_goes_to_a_registry_and_runs_from_there(
    kubewasp: Kubewasp, registry: FakeRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path / "cache"))
    address = registry.reference("team/probe:v1")
    built = kubewasp("image", "build", probe_file(), "-t", address, "--cmd", "args", "--cmd", "x", "-o", "json").json
    assert kubewasp("image", "inspect", address, "-o", "json").json["digest"] == built["digest"]
    assert wasi_run(address).stdout == "x\n"
    assert wasi_run(address.replace(":v1", f"@{built['digest']}")).stdout == "x\n"


def test_an_image_in_the_local_store_runs_without_its_registry(
    kubewasp: Kubewasp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path / "cache"))
    with FakeRegistry().serving() as served:
        address = served.reference("team/probe:v1")
        kubewasp("image", "build", probe_file(), "-t", address, "--cmd", "hello")
        assert wasi_run(address).stdout == "hello\n"
    assert wasi_run(address).stdout == "hello\n"


def test_an_image_that_is_not_trusted_is_not_read(
    kubewasp: Kubewasp, registry: FakeRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path / "cache"))
    key = ec.generate_private_key(ec.SECP256R1()).public_key()
    pem = key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "team.pub").write_bytes(pem)
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    config = tmp_path / "scheduler.yaml"
    config.write_text(f"{head}trust: {{allOf: [{{kind: pubKey, keyFile: team.pub}}]}}\n")
    remote, local = registry.reference("team/probe:v1"), f"oci:{tmp_path}/images:probe"
    kubewasp("image", "build", probe_file(), "-t", remote, "-t", local)
    registry.requests.clear()
    for address in (remote, local):
        ran = wasi_run("--config", config, address, "--", "hello")
        assert (ran.returncode, ran.stdout) == (126, "")
        assert "sign" in ran.stderr
        assert kubewasp("image", "inspect", "--config", config, address).code == 1
    assert [request for request in registry.requests if "/blobs/" in request] == []


def test_the_empty_module_is_built_but_does_not_run(kubewasp: Kubewasp, tmp_path: Path) -> None:
    (tmp_path / "empty.wasm").write_bytes(EMPTY_MODULE)
    address = f"oci:{tmp_path}/images:empty"
    assert kubewasp("image", "build", tmp_path / "empty.wasm", "-t", address).code == 0
    assert kubewasp("image", "inspect", address, "-o", "json").json["program"]["runnable"] is False
    assert wasi_run(address).returncode == 126
