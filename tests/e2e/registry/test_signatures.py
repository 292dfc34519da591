"""Signatures between kubewasp and the real cosign: both ways, both forms, with and without the API of referrers."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kubewasp.registry.oci_manifests import Descriptor, Manifest
from kubewasp.registry.references import Reference
from kubewasp.registry.registry_client import RegistryClient
from kubewasp.registry.settings import RegistrySettings
from kubewasp.registry.transfers import MemoryContent
from tests.e2e.commands import Ended, own_environment, run
from tests.e2e.registry.conftest import StartRegistry
from tools.testbed.certificates import Authority
from tools.testbed.registries import Auth, Registry, Tool, ToolError

WASM = b"\0asm\x01\0\0\0"
PASSWORD = {"COSIGN_PASSWORD": "secret"}
OFFLINE = ("--tlog-upload=false", "--use-signing-config=false", "--yes")
FORMS = {"bundle": "true", "legacy": "false"}

Kubewasp = Callable[..., Ended]


@pytest.fixture
def kubewasp(tmp_path: Path) -> Kubewasp:
    """The command as a process, without settings of the user."""

    own = own_environment(tmp_path, COLUMNS="80", **PASSWORD)
    return lambda *words, env=None: run(*words, env=own | (env or {}), cwd=tmp_path)


@dataclass(frozen=True)
class Pushed:
    """A plugin in a registry: its reference, the same for cosign, and its digest."""

    reference: str
    image: str
    digest: str


def push(registry: Registry, repository: str, settings: RegistrySettings) -> Pushed:
    """Pushes a module as a CNCF wasm artifact."""
    config = Descriptor.of(b"{}", "application/vnd.wasm.config.v0+json")
    layer = Descriptor.of(WASM, "application/wasm")
    reference = Reference.parse(registry.reference(f"{repository}:v1"))
    with RegistryClient(settings) as client:
        client.push_blob(reference, config, MemoryContent(b"{}"))
        client.push_blob(reference, layer, MemoryContent(WASM))
        digest = client.push_manifest(reference, Manifest(config, (layer,)).write()).digest
    return Pushed(str(reference), registry.image(f"{repository}@{digest}"), digest)


@pytest.fixture
def plugin(registry: Registry, repository: str) -> Pushed:
    return push(registry, repository, RegistrySettings(uses_user_files=False))


@pytest.fixture
def keys(cosign: Tool) -> Path:
    """A key pair of cosign: its path without ending."""
    stem = cosign.home / "cosign"
    cosign("generate-key-pair", f"--output-key-prefix={stem}", env=PASSWORD)
    return stem


def verified(ended: Ended) -> dict[str, Any]:
    assert (ended.code, ended.err) == (0, "")
    found: dict[str, Any] = json.loads(ended.out)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_kubewasp_verifies_what_cosign_signs(
    form: str, plugin: Pushed, keys: Path, cosign: Tool, kubewasp: Kubewasp
) -> None:
    options = ("--allow-http-registry", f"--new-bundle-format={FORMS[form]}", "-a", "env=prod", plugin.image)
    cosign("sign", f"--key={keys}.key", *OFFLINE, *options, env=PASSWORD)
    arguments = ("plugin", "verify", plugin.reference, "--key", f"{keys}.pub")
    report = verified(kubewasp(*arguments, "--annotation", "env=prod", "-o", "json"))
    assert report["verified"]
    assert [item["form"] for item in report["signatures"]] == ["bundle" if form == "bundle" else "simple signing"]
    refused = kubewasp(*arguments, "--annotation", "env=test")
    assert refused.code == 1
    assert "without the annotations env=test" in refused.err


@pytest.mark.parametrize("form", FORMS)
def test_cosign_verifies_what_kubewasp_signs(
    form: str, plugin: Pushed, keys: Path, cosign: Tool, kubewasp: Kubewasp
) -> None:
    signing = ("plugin", "sign", plugin.reference, "--key", f"{keys}.key", "--annotation", "env=prod", "--format", form)
    assert kubewasp(*signing).code == 0
    assert plugin.digest in kubewasp("plugin", "verify", plugin.reference, "--key", f"{keys}.pub", "-o", "json").out
    checks = ("--insecure-ignore-tlog=true", "--allow-http-registry", f"--new-bundle-format={FORMS[form]}")
    assert plugin.digest in cosign("verify", f"--key={keys}.pub", *checks, "-a", "env=prod", plugin.image)
    with pytest.raises(ToolError):
        cosign("verify", f"--key={keys}.pub", *checks, "-a", "env=test", plugin.image)
    cosign("generate-key-pair", f"--output-key-prefix={cosign.home / 'other'}", env=PASSWORD)
    with pytest.raises(ToolError):
        cosign("verify", f"--key={cosign.home / 'other'}.pub", *checks, plugin.image)


def test_cosign_signs_with_a_key_of_kubewasp(plugin: Pushed, cosign: Tool, kubewasp: Kubewasp, tmp_path: Path) -> None:
    assert kubewasp("plugin", "keygen", "team").code == 0
    cosign("sign", f"--key={tmp_path / 'team.key'}", *OFFLINE, "--allow-http-registry", plugin.image, env=PASSWORD)
    assert verified(kubewasp("plugin", "verify", plugin.reference, "--key", "team.pub", "-o", "json"))["verified"]


def test_both_sign_files_that_the_other_verifies(keys: Path, cosign: Tool, kubewasp: Kubewasp, tmp_path: Path) -> None:
    file, bundle = tmp_path / "policy.wasm", tmp_path / "policy.wasm.sigstore.json"
    file.write_bytes(WASM)
    assert kubewasp("plugin", "sign", file, "--key", f"{keys}.key").code == 0
    checks = (f"--key={keys}.pub", "--insecure-ignore-tlog=true", f"--bundle={bundle}")
    cosign("verify-blob", *checks, file)
    bundle.unlink()
    cosign("sign-blob", f"--key={keys}.key", *OFFLINE, f"--bundle={bundle}", file, env=PASSWORD)
    assert verified(kubewasp("plugin", "verify", file, "--key", f"{keys}.pub", "-o", "json"))["verified"]
    file.write_bytes(WASM + b"\0\x02\x01x")
    with pytest.raises(ToolError):
        cosign("verify-blob", *checks, file)
    assert kubewasp("plugin", "verify", file, "--key", f"{keys}.pub").code == 1


def test_the_policy_of_a_configuration_accepts_a_guest_that_cosign_has_signed(
    plugin: Pushed, keys: Path, cosign: Tool, kubewasp: Kubewasp, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"trust: {{allOf: [{{kind: pubKey, owner: team-a, keyFile: {keys}.pub}}]}}\n"
    )
    refused = kubewasp("plugin", "verify", plugin.reference, "--config", config)
    assert refused.code == 1
    assert "no signature by team-a" in refused.err
    assert "found no signature" in refused.err
    cosign("sign", f"--key={keys}.key", *OFFLINE, "--allow-http-registry", plugin.image, env=PASSWORD)
    report = verified(kubewasp("plugin", "verify", plugin.reference, "--config", config, "-o", "json"))
    assert report["signers"] == ["team-a"]


def test_a_registry_with_tls_and_users_takes_signatures(
    start_registry: StartRegistry, registry_authority: Authority, kubewasp: Kubewasp, tmp_path: Path
) -> None:
    private = start_registry(authority=registry_authority, auth=Auth.TOKEN)
    private.docker_config(tmp_path / "docker")
    env = {"DOCKER_CONFIG": str(tmp_path / "docker"), "SSL_CERT_FILE": str(registry_authority.certificate)}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        plugin = push(private, "team/policy", RegistrySettings())
    assert kubewasp("plugin", "keygen", "team").code == 0
    for form in FORMS:
        ended = kubewasp("plugin", "sign", plugin.reference, "--key", "team.key", "--format", form, env=env)
        assert (ended.code, ended.err) == (0, "")
    report = verified(kubewasp("plugin", "verify", plugin.reference, "--key", "team.pub", "-o", "json", env=env))
    assert len(report["signatures"]) == 2
    without = kubewasp(
        "plugin", "sign", plugin.reference, "--key", "team.key", env={"SSL_CERT_FILE": env["SSL_CERT_FILE"]}
    )
    assert without.code == 1
