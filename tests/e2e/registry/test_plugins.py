"""Plugins in real registries: `kubewasp plugin` as a process, beside crane, oras and skopeo."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.commands import Ended, own_environment, run
from tests.e2e.registry.conftest import StartRegistry
from tests.guests.build import wat
from tools.testbed.certificates import Authority
from tools.testbed.registries import ALICE, READER, Auth, DockerRegistry, Olareg, Registry, Tool

Kubewasp = Callable[..., Ended]


@pytest.fixture
def kubewasp(tmp_path: Path) -> Kubewasp:
    """The command line as a process, with a home and a store of its own."""
    own = own_environment(tmp_path / "home")
    return lambda *words, env=None: run(*words, env=own | (env or {}))


@pytest.fixture
def guest(tmp_path: Path) -> Path:
    path = tmp_path / "policy.wasm"
    path.write_bytes(wat("filter").read_bytes())
    return path


def _pushed(kubewasp: Kubewasp, guest: Path, reference: str, *options: object) -> str:
    digest: str = kubewasp("plugin", "push", guest, reference, "-o", "json", *options).json["digest"]
    return digest


def test_what_is_pushed_is_what_other_clients_see(  # noqa: PLR0917 - fixtures
    kubewasp: Kubewasp, registry: Registry, repository: str, guest: Path, crane: Tool, oras: Tool, tmp_path: Path
) -> None:
    name = f"{repository}:v1"
    digest = _pushed(kubewasp, guest, registry.reference(name))
    assert crane("digest", registry.image(name)).strip() == digest
    manifest = json.loads(crane("manifest", registry.image(name)))
    assert manifest["config"]["mediaType"] == "application/vnd.wasm.config.v0+json"
    assert [layer["mediaType"] for layer in manifest["layers"]] == ["application/wasm"]
    oras("pull", "--plain-http", registry.image(name), "-o", tmp_path / "pulled")
    (file,) = (tmp_path / "pulled").iterdir()
    assert file.read_bytes() == guest.read_bytes()


def test_a_plugin_goes_the_whole_way(
    kubewasp: Kubewasp, registry: Registry, repository: str, guest: Path, tmp_path: Path
) -> None:
    reference = registry.reference(f"{repository}:v1")
    digest = _pushed(kubewasp, guest, reference)
    assert kubewasp("plugin", "tag", reference, "stable").code == 0
    assert kubewasp("plugin", "digest", registry.reference(f"{repository}:stable")).out.strip() == digest
    assert kubewasp("plugin", "annotate", registry.reference(f"{repository}:stable"), "--version", "2").code == 0
    info = kubewasp("plugin", "info", registry.reference(f"{repository}:stable"), "-o", "json").json
    assert info["annotations"]["org.opencontainers.image.version"] == "2"
    pulled = kubewasp("plugin", "pull", reference, "--out", tmp_path / "out.wasm", "-o", "json").json
    assert pulled["sha256"] == hashlib.sha256(guest.read_bytes()).hexdigest()
    assert kubewasp("plugin", "inspect", reference, "-o", "json").json["hooks"] == ["filter"]


@pytest.mark.parametrize(
    ("config", "layer"),
    [
        ("application/vnd.wasm.config.v1+json", "application/vnd.wasm.content.layer.v1+wasm"),
        ("application/vnd.module.wasm.config.v1+json", "application/vnd.module.wasm.content.layer.v1+wasm"),
        ("application/vnd.oci.image.config.v1+json", "application/vnd.bytecodealliance.wasm.component.layer.v0+wasm"),
    ],
    ids=["wasm-to-oci", "istio", "runwasi"],
)
def test_artifacts_of_other_tools_are_pulled(  # noqa: PLR0917 - fixtures
    kubewasp: Kubewasp,
    olareg: Olareg,
    repository: str,
    guest: Path,
    oras: Tool,
    tmp_path: Path,
    config: str,
    layer: str,
) -> None:
    (tmp_path / "config.json").write_text("{}")
    configuration = f"{tmp_path / 'config.json'}:{config}"
    name = olareg.image(f"{repository}:v1")
    oras("push", "--plain-http", "--disable-path-validation", "--config", configuration, name, f"{guest}:{layer}")
    pulled = kubewasp("plugin", "pull", olareg.reference(f"{repository}:v1"), "-o", "json").json
    assert pulled["sha256"] == hashlib.sha256(guest.read_bytes()).hexdigest()


def test_an_image_of_another_tool_is_pulled(  # noqa: PLR0917 - fixtures
    kubewasp: Kubewasp, registry: Registry, repository: str, guest: Path, crane: Tool, tmp_path: Path
) -> None:
    import tarfile

    with tarfile.open(tmp_path / "layer.tar", "w") as archive:
        archive.add(guest, "plugin.wasm")
    name = registry.image(f"{repository}:v1")
    crane("append", "--insecure", "--oci-empty-base", "-f", tmp_path / "layer.tar", "-t", name)
    pulled = kubewasp("plugin", "pull", registry.reference(f"{repository}:v1"), "-o", "json").json
    assert pulled["sha256"] == hashlib.sha256(guest.read_bytes()).hexdigest()


def test_layouts_go_both_ways(  # noqa: PLR0917 - fixtures
    kubewasp: Kubewasp, olareg: Olareg, repository: str, guest: Path, oras: Tool, crane: Tool, tmp_path: Path
) -> None:
    reference = olareg.reference(f"{repository}:v1")
    digest = _pushed(kubewasp, guest, reference)
    assert kubewasp("plugin", "save", reference, tmp_path / "ours").code == 0
    oras("cp", "--from-oci-layout", f"{tmp_path / 'ours'}:v1", "--to-plain-http", olareg.image(f"{repository}:again"))
    assert crane("digest", olareg.image(f"{repository}:again")).strip() == digest
    oras(
        "cp",
        "-r",
        "--from-plain-http",
        olareg.image(f"{repository}:v1"),
        "--to-oci-layout",
        f"{tmp_path / 'theirs'}:v1",
    )
    loaded = kubewasp("plugin", "load", tmp_path / "theirs", "--as", reference, "-o", "json").json
    assert loaded["digest"] == digest


def test_skopeo_reads_what_is_saved(  # noqa: PLR0917 - fixtures
    kubewasp: Kubewasp, olareg: Olareg, repository: str, guest: Path, skopeo: Tool, tmp_path: Path
) -> None:
    reference = olareg.reference(f"{repository}:v1")
    digest = _pushed(kubewasp, guest, reference, "--compat")
    assert kubewasp("plugin", "save", reference, tmp_path / "saved.tar").code == 0
    found = json.loads(skopeo("inspect", f"oci-archive:{tmp_path / 'saved.tar'}:v1"))
    assert found["Digest"] == digest


@pytest.mark.parametrize("auth", [Auth.BASIC, Auth.TOKEN])
def test_credentials_and_an_own_authority(  # noqa: PLR0917 - fixtures
    kubewasp: Kubewasp,
    start_registry: StartRegistry,
    registry_authority: Authority,
    guest: Path,
    auth: Auth,
    tmp_path: Path,
) -> None:
    server = start_registry(Olareg, authority=registry_authority, auth=auth)
    reference, trusted = server.reference("team/policy:v1"), ("--ca-file", registry_authority.certificate)
    refused = kubewasp("plugin", "push", guest, reference, "--no-inspect", *trusted)
    assert refused.code == 1
    assert f"log in with docker or podman login {server.host}" in refused.err
    alice = ("--credentials", server.docker_config(tmp_path / "alice", ALICE))
    assert kubewasp("plugin", "push", guest, reference, *trusted, *alice).code == 0
    reader = {"DOCKER_CONFIG": str(server.docker_config(tmp_path / "reader", READER).parent)}
    assert kubewasp("plugin", "pull", reference, *trusted, env=reader).code == 0
    denied = kubewasp("plugin", "tag", reference, "v2", *trusted, env=reader)
    assert (denied.code, ALICE.password in denied.err, READER.password in denied.err) == (1, False, False)


def test_a_registry_with_an_unknown_certificate_is_not_trusted(
    kubewasp: Kubewasp, start_registry: StartRegistry, registry_authority: Authority, guest: Path, tmp_path: Path
) -> None:
    server = start_registry(DockerRegistry, authority=registry_authority)
    own = Authority(tmp_path / "own", "another authority")
    ended = kubewasp(
        "plugin", "push", guest, server.reference("policy:v1"), "--no-inspect", "--ca-file", own.certificate
    )
    assert ended.code == 1
    assert f"the certificate of {server.host} is not trusted" in ended.err


def test_a_start_without_the_registry_uses_the_store(
    kubewasp: Kubewasp, start_registry: StartRegistry, guest: Path
) -> None:
    server = start_registry(Olareg)
    reference = server.reference("team/policy:v1")
    _pushed(kubewasp, guest, reference)
    assert kubewasp("plugin", "pull", reference).code == 0
    server.stop()
    assert kubewasp("plugin", "inspect", reference, "-o", "json").json["hooks"] == ["filter"]
    kept = kubewasp("plugin", "pull", reference, "--policy", "Always", "-o", "json").json
    assert kept["sha256"] == hashlib.sha256(guest.read_bytes()).hexdigest()


def test_a_large_module_is_pushed_and_pulled(
    kubewasp: Kubewasp, registry: Registry, repository: str, guest: Path
) -> None:
    body = b"\x01x" + bytes(20_000_000)
    length = len(body)
    encoded = bytes([(length >> shift & 0x7F) | (0x80 if length >> (shift + 7) else 0) for shift in (0, 7, 14, 21)])
    guest.write_bytes(guest.read_bytes() + b"\0" + encoded + body)
    reference = registry.reference(f"{repository}:v1")
    _pushed(kubewasp, guest, reference, "--no-inspect")
    pulled = kubewasp("plugin", "pull", reference, "-o", "json").json
    assert (pulled["received_bytes"], pulled["sha256"]) == (
        guest.stat().st_size,
        hashlib.sha256(guest.read_bytes()).hexdigest(),
    )
