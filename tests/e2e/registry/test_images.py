"""Wasm container images between kubewasp and the tools of others: buildah, skopeo, oras, crane, crun, registries."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.commands import run
from tests.e2e.registry.conftest import StartRegistry
from tests.guests.build import ROOT, c_command
from tests.wasi.running import probe_file
from tools.testbed import crun
from tools.testbed.certificates import Authority
from tools.testbed.debian_programs import UnavailableError
from tools.testbed.registries import ALICE, READER, Auth, DockerRegistry, Olareg, Registry, Tool

COMPAT = {"module.wasm.image/variant": "compat"}

Run = Callable[..., str]


@pytest.fixture
def kubewasp(tmp_path: Path) -> Run:
    """The command as a process, with a home and a local store of its own; it must succeed."""

    own = {**os.environ, "HOME": str(tmp_path / "home"), "KUBEWASP_CACHE_DIR": str(tmp_path / "cache")}

    def output(*words: str | Path, env: dict[str, str] | None = None, code: int = 0) -> str:
        ended = run(*words, env=own | (env or {}))
        assert ended.code == code, ended.err
        return ended.out if not code else ended.err

    return output


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The probe: prints arguments and variables, reads and writes files."""
    file = tmp_path / "probe.wasm"
    file.write_bytes(probe_file().read_bytes())
    return file


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret.txt"
    file.write_text("of the image\n")
    return file


def inspected(kubewasp: Run, address: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kubewasp("image", "inspect", address, "-o", "json"))
    return found


# ---------------------------------------------------------------------- others read ours


def test_skopeo_reads_and_copies_images_of_every_form(
    kubewasp: Run, skopeo: Tool, program: Path, secret: Path, tmp_path: Path
) -> None:
    forms = [
        f"oci:{tmp_path}/images:v1",
        f"oci-archive:{tmp_path}/oci.tar:v1",
        f"docker-archive:{tmp_path}/d.tar:probe:v1",
    ]
    options = ("--cmd", "args", "--env", "A=1", "--label", "team=a", "--add", f"{secret}:/data/secret.txt")
    kubewasp("image", "build", program, *options, *(word for form in forms for word in ("-t", form)))
    for number, form in enumerate(forms):
        config = json.loads(skopeo("inspect", "--config", form))
        assert (config["os"], config["architecture"]) == ("wasi", "wasm")
        assert config["config"]["Entrypoint"] == ["/probe.wasm"]
        copied = f"oci:{tmp_path}/copy-{number}:v1"
        skopeo("copy", form, copied)
        assert kubewasp("wasi", "run", copied, "--", "args", "hello").strip() == "hello"
        assert kubewasp("wasi", "run", "--image-env", copied, "--", "env").strip() == "A=1"
    assert json.loads(skopeo("inspect", "--raw", forms[0]))["annotations"] == COMPAT


def test_oras_and_crane_read_an_image_in_a_registry(
    *, kubewasp: Run, registry: Registry, repository: str, oras: Tool, crane: Tool, program: Path, tmp_path: Path
) -> None:
    address = registry.reference(f"{repository}:v1")
    built = json.loads(kubewasp("image", "build", program, "-t", address, "-o", "json"))
    name = registry.image(f"{repository}:v1")
    assert crane("digest", name).strip() == built["digest"]
    crane("validate", "--fast", "--remote", name)  # all of it would have to be gzip
    manifest = json.loads(oras("manifest", "fetch", "--plain-http", name))
    assert manifest["annotations"] == COMPAT
    oras("cp", "--from-plain-http", name, "--to-oci-layout", f"{tmp_path}/copied:v1")
    assert inspected(kubewasp, f"oci:{tmp_path}/copied:v1")["digest"] == built["digest"]
    exported = tmp_path / "files.tar"
    crane("export", name, exported)
    listed = subprocess.run(["tar", "tf", exported], capture_output=True, text=True, check=True)
    assert listed.stdout.split() == ["probe.wasm"]


def test_oras_reads_a_wasm_artifact(
    *, kubewasp: Run, registry: Registry, repository: str, oras: Tool, program: Path, tmp_path: Path
) -> None:
    kubewasp("image", "build", "--artifact", program, "-t", registry.reference(f"{repository}:v1"))
    oras("pull", "--plain-http", "--output", tmp_path / "pulled", registry.image(f"{repository}:v1"))
    assert (tmp_path / "pulled" / "probe.wasm").read_bytes() == program.read_bytes()


def test_the_digest_of_an_image_is_the_same_in_both_registries(
    kubewasp: Run, olareg: Olareg, docker_registry: DockerRegistry, repository: str, program: Path
) -> None:
    digests = set()
    for server in (olareg, docker_registry):
        address = server.reference(f"{repository}:v1")
        kubewasp("image", "build", program, "-t", address)
        digests.add(inspected(kubewasp, address)["digest"])
    assert len(digests) == 1


# ---------------------------------------------------------------------- we read those of others


def test_an_image_of_buildah_runs_here(
    *, kubewasp: Run, buildah: Tool, olareg: Olareg, repository: str, program: Path, secret: Path, tmp_path: Path
) -> None:
    lines = (
        "FROM scratch",
        "COPY probe.wasm /app/",
        "COPY secret.txt /data/",
        "ENV A=1",
        "WORKDIR /app",
        'ENTRYPOINT ["/app/probe.wasm", "args"]',
        'CMD ["default"]',
    )
    (tmp_path / "Containerfile").write_text("\n".join(lines))
    annotation = f"--annotation={next(iter(COMPAT))}=compat"
    buildah("build", "--platform=wasi/wasm", annotation, "--layers", "-t", "probe", tmp_path)
    places = [
        f"oci:{tmp_path}/layout:v1",
        f"oci-archive:{tmp_path}/oci.tar",
        f"docker-archive:{tmp_path}/d.tar:probe:v1",
    ]
    for place in places:
        buildah("push", "probe", place)
    buildah("push", "--tls-verify=false", "probe", f"docker://{olareg.image(f'{repository}:v1')}")
    for address in (*places, olareg.reference(f"{repository}:v1")):
        assert kubewasp("wasi", "run", address).strip() == "default"
        assert kubewasp("wasi", "run", address, "--", "given").strip() == "given"
        found = inspected(kubewasp, address)
        assert (found["os"], found["architecture"]) == ("wasi", "wasm")
        assert found["program_path"] == "/app/probe.wasm"
        assert {file["path"] for file in found["files"]} == {"/app/probe.wasm", "/data/secret.txt"}


def test_an_image_of_crane_in_many_layers_runs_here(
    *, kubewasp: Run, crane: Tool, olareg: Olareg, repository: str, program: Path, tmp_path: Path
) -> None:
    name = olareg.image(f"{repository}:v1")
    kubewasp("image", "build", program, "-t", olareg.reference(f"{repository}:v1"))
    for number in range(3):
        (tmp_path / f"file-{number}").write_text(str(number))
        layer = tmp_path / f"{number}.tar"
        subprocess.run(["tar", "-cf", layer, "-C", tmp_path, f"file-{number}"], check=True)
        crane("append", "-b", name, "-f", layer, "-t", name)
    address = olareg.reference(f"{repository}:v1")
    run = ("wasi", "run", "--image-files", address, "--", "read")
    assert kubewasp(*run, "/file-2") == "2"


# ---------------------------------------------------------------------- rights


def test_an_image_has_no_file_unless_it_is_granted(
    kubewasp: Run, olareg: Olareg, repository: str, program: Path, secret: Path
) -> None:
    address = olareg.reference(f"{repository}:v1")
    kubewasp("image", "build", program, "-t", address, "--add", f"{secret}:/data/secret.txt")
    reads = ("--", "read", "/data/secret.txt")
    assert "--image-files grants" in kubewasp("wasi", "run", address, *reads, code=1)
    assert kubewasp("wasi", "run", "--image-files", address, *reads) == "of the image\n"


@pytest.mark.parametrize(
    ("kind", "auth"), [(Olareg, Auth.BASIC), (Olareg, Auth.TOKEN), (DockerRegistry, Auth.BASIC)], ids=str
)
def test_images_of_a_private_registry_with_tls(
    *,
    kind: type[Registry],
    auth: Auth,
    start_registry: StartRegistry,
    registry_authority: Authority,
    kubewasp: Run,
    program: Path,
    tmp_path: Path,
) -> None:
    private = start_registry(kind, authority=registry_authority, auth=auth)
    address = private.reference("team/probe:v1")
    trusted = ("--ca-file", registry_authority.certificate)
    assert "error: " in kubewasp("image", "build", program, "-t", address, *trusted, code=1)
    writer = private.docker_config(tmp_path / "writer", ALICE)
    kubewasp("image", "build", program, "-t", address, *trusted, "--credentials", writer)
    reader = private.docker_config(tmp_path / "reader", READER)
    ran = kubewasp("wasi", "run", *trusted, "--credentials", reader, address, "--", "hello")
    assert ran == "hello\n"
    for secret in (ALICE.password, READER.password):
        assert secret not in private.log.read_text()


# ---------------------------------------------------------------------- crun


EXAMPLE = ROOT / "examples" / "images"
PAGE = (ROOT / "docs" / "wasm-in-containers.md").read_text(encoding="utf-8")


@pytest.fixture
def greet(tmp_path: Path) -> Path:
    """A copy of examples/images with its program."""
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder)
    shutil.copy(c_command(EXAMPLE / "greet.c"), folder / "greet.wasm")
    return folder


def contained(skopeo: Tool, address: str, folder: Path, bundle: Path) -> str:
    """Output of an image's entrypoint in a container of crun."""
    manifest = json.loads(skopeo("inspect", "--raw", address))
    config = json.loads(skopeo("inspect", "--config", address))["config"]
    (bundle / "rootfs").mkdir(parents=True)
    for layer in manifest["layers"]:
        blob = folder / "blobs" / "sha256" / layer["digest"].removeprefix("sha256:")
        subprocess.run(["tar", "-xf", blob, "-C", bundle / "rootfs"], check=True)
    try:
        return crun.run(bundle, [*config["Entrypoint"], *config["Cmd"]], annotations=manifest["annotations"])
    except UnavailableError as error:
        pytest.skip(f"no crun: {error}")


def test_crun_gives_our_image_all_files_of_the_container_and_kubewasp_none(
    kubewasp: Run, skopeo: Tool, greet: Path, tmp_path: Path
) -> None:
    """The same images and program, as on the page: with and without a file, as container and with capabilities."""
    images = tmp_path / "images"
    added = {"with": ("--add", f"{greet / 'data'}:/data"), "without": ()}
    for tag, options in added.items():
        kubewasp("image", "build", greet / "greet.wasm", "-t", f"oci:{images}:{tag}", "--cmd", "Ada", *options)
        printed = contained(skopeo, f"oci:{images}:{tag}", images, tmp_path / tag)
        assert printed in PAGE
        assert ("motto: Grant little" in printed) == (tag == "with")
        denied = kubewasp("wasi", "run", "-q", f"oci:{images}:{tag}")
        assert "no motto" in denied


def test_the_containerfile_of_the_example_builds_the_same_program(
    kubewasp: Run, buildah: Tool, greet: Path, tmp_path: Path
) -> None:
    buildah("build", "--platform=wasi/wasm", f"--annotation={next(iter(COMPAT))}=compat", "-t", "greet", greet)
    address = f"oci:{tmp_path}/images:greet"
    buildah("push", "greet", address)
    assert kubewasp("wasi", "run", "--image-files", address) == "Hello, Ada\nmotto: Grant little\n"
    kubewasp("image", "build", greet / "greet.wasm", "-t", f"oci:{tmp_path}/ours:greet")
    programs = {inspected(kubewasp, name)["program"]["sha256"] for name in (address, f"oci:{tmp_path}/ours:greet")}
    assert len(programs) == 1
