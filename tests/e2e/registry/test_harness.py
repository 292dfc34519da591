"""Registries of the test bed: content, authentication, TLS, and the difference between the two kinds."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.registry.conftest import StartRegistry
from tools.testbed.certificates import Authority
from tools.testbed.registries import Auth, DockerRegistry, Olareg, Registry, Tool, ToolError

Push = Callable[[Registry, str], None]


@pytest.fixture
def push(oras: Tool, tmp_path: Path) -> Push:
    """Pushes one file as an artifact, with oras."""
    file = tmp_path / "hello.txt"
    file.write_text("hello\n")

    def pushed(registry: Registry, name: str) -> None:
        plain = ("--plain-http",) if registry.authority is None else ()
        content = ("--disable-path-validation", registry.image(name), f"{file}:text/plain")
        oras("push", *plain, *content, registry=registry)

    return pushed


def test_what_one_client_pushes_another_reads(registry: Registry, repository: str, push: Push, crane: Tool) -> None:
    push(registry, f"{repository}:v1")
    manifest = json.loads(crane("manifest", registry.image(f"{repository}:v1")))
    assert [layer["mediaType"] for layer in manifest["layers"]] == ["text/plain"]
    assert crane("ls", registry.image(repository)).split() == ["v1"]


def test_one_kind_has_the_referrers_api_and_the_other_has_not(
    registry: Registry, repository: str, push: Push, crane: Tool
) -> None:
    push(registry, f"{repository}:v1")
    digest = crane("digest", registry.image(f"{repository}:v1")).strip()
    status, _, body = registry.request("GET", f"/v2/{repository}/referrers/{digest}")
    assert status == (200 if registry.referrers else 404)
    assert not registry.referrers or json.loads(body)["manifests"] == []


@pytest.mark.parametrize("kind", [Olareg, DockerRegistry])
def test_a_registry_with_tls_is_trusted_by_its_authority_alone(
    kind: type[Registry], start_registry: StartRegistry, registry_authority: Authority, push: Push, crane: Tool
) -> None:
    secured = start_registry(kind, authority=registry_authority)
    push(secured, "team/hello:v1")
    assert crane("ls", secured.image("team/hello"), registry=secured).split() == ["v1"]
    with pytest.raises(ToolError, match="certificate"):
        crane("ls", secured.image("team/hello"))


@pytest.mark.parametrize(
    ("kind", "auth"), [(Olareg, Auth.BASIC), (Olareg, Auth.TOKEN), (DockerRegistry, Auth.BASIC)], ids=str
)
def test_a_registry_with_users_asks_for_credentials(
    kind: type[Registry], auth: Auth, start_registry: StartRegistry, push: Push, crane: Tool
) -> None:
    private = start_registry(kind, auth=auth)
    status, headers, _ = private.request("GET", "/v2/team/hello/tags/list")
    scheme = "Bearer" if auth is Auth.TOKEN else "Basic"
    assert (status, headers["www-authenticate"].partition(" ")[0]) == (401, scheme)
    push(private, "team/hello:v1")
    assert crane("ls", private.image("team/hello"), registry=private).split() == ["v1"]


def test_a_realm_can_be_said_to_be_elsewhere(start_registry: StartRegistry) -> None:
    private = start_registry(auth=Auth.TOKEN, external_url="http://127.0.0.1:1")
    _, headers, _ = private.request("GET", "/v2/team/hello/tags/list")
    assert 'realm="http://127.0.0.1:1/token"' in headers["www-authenticate"]


def test_a_folder_keeps_the_content_of_olareg_over_a_restart(
    start_registry: StartRegistry, push: Push, crane: Tool
) -> None:
    kept = start_registry(on_disk=True)
    push(kept, "team/hello:v1")
    kept.restart()
    assert crane("ls", kept.image("team/hello")).split() == ["v1"]


def test_a_signature_of_cosign_is_verified_by_its_key_alone(
    registry: Registry, repository: str, push: Push, crane: Tool, cosign: Tool
) -> None:
    push(registry, f"{repository}:v1")
    signed = registry.image(f"{repository}@{crane('digest', registry.image(f'{repository}:v1')).strip()}")
    keys = {name: cosign.home / name for name in ("ours", "theirs")}
    for stem in keys.values():
        cosign("generate-key-pair", f"--output-key-prefix={stem}", env={"COSIGN_PASSWORD": ""})
    options = ("--tlog-upload=false", "--use-signing-config=false", "--allow-http-registry", "--yes")
    cosign("sign", f"--key={keys['ours']}.key", *options, signed, env={"COSIGN_PASSWORD": ""})
    checks = ("--insecure-ignore-tlog=true", "--allow-http-registry", signed)
    assert signed.rpartition("@")[2] in cosign("verify", f"--key={keys['ours']}.pub", *checks)
    with pytest.raises(ToolError):
        cosign("verify", f"--key={keys['theirs']}.pub", *checks)
