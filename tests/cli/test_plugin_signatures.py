"""`kubewasp plugin keygen`, `sign` and `verify`."""

import functools
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubewasp.registry.oci_manifests import MANIFEST, Descriptor, Manifest
from kubewasp.trust.keys import PrivateKey, PublicKey
from tests.cli.conftest import Kubewasp
from tests.registry.fake_registry import FakeRegistry
from tests.trust.fake_sigstore import FakeSigstore
from tests.trust.signing import WASM, key

NAME = "policies/prefer-label"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("KUBEWASP_PASSWORD", "secret")
    for name in ("COSIGN_PASSWORD", "DOCKER_CONFIG", "REGISTRY_AUTH_FILE"):
        monkeypatch.delenv(name, raising=False)


@functools.cache
def pair(name: str) -> tuple[bytes, bytes]:
    """A pair as keygen writes it; the passphrase costs a tenth of a second each time."""
    return key(name).cosign_pem(b"secret"), key(name).public.pem


@pytest.fixture
def keys() -> None:
    """team.key and team.pub, other.key and other.pub."""
    for name in ("team", "other"):
        private, public = pair(name)
        Path(f"{name}.key").write_bytes(private)
        Path(f"{name}.pub").write_bytes(public)


@pytest.fixture
def file() -> Path:
    path = Path("policy.wasm")
    path.write_bytes(WASM)
    return path


@pytest.fixture
def reference() -> Iterator[str]:
    registry = FakeRegistry()
    registry.put_blob(NAME, b"{}")
    registry.put_blob(NAME, WASM)
    config = Descriptor.of(b"{}", "application/vnd.wasm.config.v0+json")
    content = Manifest(config, (Descriptor.of(WASM, "application/wasm"),)).write()
    registry.put_manifest(NAME, "1", content, MANIFEST)
    with registry.serving():
        yield registry.reference(f"{NAME}:1")


def config_with(trust: str) -> Path:
    path = Path("config.yaml")
    path.write_text(f"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\ntrust: {trust}\n")
    return path


# ---------------------------------------------------------------------- keygen


def test_keygen_writes_a_pair_that_only_the_user_can_read(kubewasp: Kubewasp) -> None:
    ended = kubewasp("plugin", "keygen", "team", "-o", "json")
    assert (ended.code, ended.err) == (0, "")
    public = PublicKey.from_pem(Path("team.pub").read_bytes())
    assert ended.json == {
        "private_key": "team.key",
        "public_key": "team.pub",
        "algorithm": "ECDSA P-256",
        "fingerprint": f"SHA256:{public.fingerprint.rstrip('=')}",
    }
    assert stat.S_IMODE(Path("team.key").stat().st_mode) == 0o600
    assert PrivateKey.from_pem(Path("team.key").read_bytes(), lambda: b"secret").public == public
    assert b"ENCRYPTED SIGSTORE PRIVATE KEY" in Path("team.key").read_bytes()


def test_keygen_writes_pkcs8_for_other_tools(kubewasp: Kubewasp) -> None:
    assert kubewasp("plugin", "keygen", "--format", "pkcs8").code == 0
    assert Path("kubewasp.key").read_bytes().startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")


@pytest.mark.parametrize("existing", ["team.key", "team.pub"])
def test_keygen_overwrites_nothing(kubewasp: Kubewasp, existing: str) -> None:
    Path(existing).write_text("precious")
    ended = kubewasp("plugin", "keygen", "team")
    assert (ended.code, ended.err) == (1, f"error: {existing}: exists; remove it, or give the keys another name\n")
    assert Path(existing).read_text() == "precious"


def test_without_a_terminal_the_passphrase_is_asked_from_the_environment(
    kubewasp: Kubewasp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBEWASP_PASSWORD")
    ended = kubewasp("plugin", "keygen", "team")
    advice = "set KUBEWASP_PASSWORD, or use a terminal to be asked for it"
    assert (ended.code, ended.err) == (1, f"error: needs a passphrase: {advice}\n")
    assert not Path("team.key").exists()
    monkeypatch.setenv("COSIGN_PASSWORD", "")
    assert kubewasp("plugin", "keygen", "team").code == 0


# ---------------------------------------------------------------------- files


def test_a_signed_file_is_verified(kubewasp: Kubewasp, keys: None, file: Path) -> None:
    ended = kubewasp("plugin", "sign", file, "--key", "team.key", "-o", "json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.json["stored"] == "policy.wasm.sigstore.json"
    found = kubewasp("plugin", "verify", file, "--key", "team.pub", "-o", "json")
    assert found.code == 0
    assert found.json["verified"] is True
    assert found.json["signers"] == [ended.json["signer"]]
    assert "trust   verified\n" in kubewasp("plugin", "verify", file, "--key", "team.pub").out


def test_a_file_by_another_key_is_refused(kubewasp: Kubewasp, keys: None, file: Path) -> None:
    kubewasp("plugin", "sign", file, "--key", "team.key")
    refused = kubewasp("plugin", "verify", file, "--key", "other.pub")
    assert (refused.code, refused.out) == (1, "")
    assert "not trusted by the command line: no signature by key SHA256:" in refused.err
    assert refused.err.count("\n") == 1
    report = kubewasp("plugin", "verify", file, "--key", "other.pub", "-o", "json")
    assert (report.code, report.json["verified"], report.json["signers"]) == (1, False, [])
    assert report.json["error"] in report.err


def test_all_given_keys_are_needed(kubewasp: Kubewasp, keys: None, file: Path) -> None:
    kubewasp("plugin", "sign", file, "--key", "team.key")
    both = ("plugin", "verify", file, "--key", "team.pub", "--key", "other.pub")
    assert kubewasp(*both).code == 1
    assert kubewasp("plugin", "sign", file, "--key", "other.key", "--out", "policy.wasm.bundle").code == 0
    assert kubewasp(*both).code == 0


def test_a_signature_by_another_key_is_not_overwritten(kubewasp: Kubewasp, keys: None, file: Path) -> None:
    for _ in range(2):
        assert kubewasp("plugin", "sign", file, "--key", "team.key").code == 0
    ended = kubewasp("plugin", "sign", file, "--key", "other.key")
    assert ended.code == 1
    assert "policy.wasm.sigstore.json: has a signature by key SHA256:" in ended.err
    file.write_bytes(WASM + b"\0\x02\x01x")
    assert kubewasp("plugin", "sign", file, "--key", "other.key").code == 0


def test_annotations_of_a_file_are_signed(kubewasp: Kubewasp, keys: None, file: Path) -> None:
    kubewasp("plugin", "sign", file, "--key", "team.key", "--annotation", "env=prod")
    verify = ("plugin", "verify", file, "--key", "team.pub", "--annotation")
    assert kubewasp(*verify, "env=prod").code == 0
    assert "without the annotations env=test" in kubewasp(*verify, "env=test").err


def test_keys_are_read_from_the_environment(
    kubewasp: Kubewasp, keys: None, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNING_KEY", Path("team.key").read_text())
    monkeypatch.setenv("PUBLIC_KEY", Path("team.pub").read_text())
    assert kubewasp("plugin", "sign", file, "--key", "env://SIGNING_KEY").code == 0
    assert kubewasp("plugin", "verify", file, "--key", "env://PUBLIC_KEY").code == 0
    ended = kubewasp("plugin", "sign", file, "--key", "env://NO_KEY")
    assert (ended.code, ended.err) == (1, "error: env://NO_KEY: no environment variable of this name\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("sign", "policy.wasm", "--key", "no.key"), "no.key: cannot be read: No such file or directory"),
        (("sign", "policy.wasm", "--key", "team.pub"), "team.pub: a public key: use the private one to sign"),
        (("sign", "no.wasm", "--key", "team.key"), "wasm: cannot load no.wasm: No such file or directory"),
        (
            ("sign", "policy.wasm", "--key", "team.key", "--format", "legacy"),
            "policy.wasm: a file is signed with a bundle; --format legacy is for registries",
        ),
        (
            ("sign", "https://example.com/x.wasm", "--key", "team.key"),
            "https://example.com/x.wasm: sign an oci:// reference, or a file before it is put on a server",
        ),
        (
            ("verify", "policy.wasm", "--key", "team.key"),
            "team.key: a private key: use the public one (cosign.pub, kubewasp.pub) to verify",
        ),
    ],
)
def test_a_mistake_is_one_line(
    kubewasp: Kubewasp, keys: None, file: Path, arguments: tuple[str, ...], problem: str
) -> None:
    ended = kubewasp("plugin", *arguments)
    assert (ended.code, ended.out, ended.err) == (1, "", f"error: {problem}\n")


def test_another_passphrase_is_told_without_it(
    kubewasp: Kubewasp, keys: None, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEWASP_PASSWORD", "not-the-one")
    ended = kubewasp("plugin", "sign", file, "--key", "team.key")
    assert (ended.code, ended.err) == (1, "error: team.key: the passphrase is not that of the key\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "give --key, --certificate-identity, or a --config with a trust policy"),
        (
            ("--config", "a", "--annotation", "a=b"),
            "invalid value for --annotation: the annotations are those of --config",
        ),
        (
            ("--certificate-identity", "a"),
            "--certificate-identity, --certificate-oidc-issuer and --trusted-root are needed together",
        ),
    ],
)
def test_verify_needs_one_expectation(kubewasp: Kubewasp, arguments: tuple[str, ...], problem: str) -> None:
    assert kubewasp("plugin", "verify", "policy.wasm", *arguments).usage_error == problem


# ---------------------------------------------------------------------- policies and identities


def test_the_policy_of_a_configuration_decides(kubewasp: Kubewasp, keys: None, file: Path) -> None:
    config = config_with("{allOf: [{kind: pubKey, owner: team-a, keyFile: team.pub}]}")
    refused = kubewasp("plugin", "verify", file, "--config", config)
    assert refused.code == 1
    assert "not trusted by trust: no signature by team-a (key SHA256:" in refused.err
    kubewasp("plugin", "sign", file, "--key", "team.key")
    assert "signer  team-a\n" in kubewasp("plugin", "verify", file, "--config", config).out


def test_a_source_that_needs_no_signature_is_told(kubewasp: Kubewasp, keys: None, file: Path) -> None:
    ended = kubewasp("plugin", "verify", file, "--config", config_with("{required: false}"))
    assert ended.code == 0
    assert "trust   no signature is needed by trust\n" in ended.out


def test_a_configuration_without_a_policy_is_an_error(kubewasp: Kubewasp, file: Path) -> None:
    path = Path("config.yaml")
    path.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
    ended = kubewasp("plugin", "verify", file, "--config", path)
    assert (ended.code, ended.err) == (1, "error: config.yaml: has no trust policy (trust:)\n")


def test_a_keyless_signature_is_verified_with_a_trusted_root(kubewasp: Kubewasp, file: Path) -> None:
    import orjson

    sigstore = FakeSigstore()
    sigstore.trusted_root(Path("root.json"))
    by = sigstore.certified("dev@example.com", "https://accounts.example.com")
    Path("policy.wasm.sigstore.json").write_bytes(orjson.dumps(sigstore.sign_content(WASM, by)))
    wanted = ("--certificate-oidc-issuer", "https://accounts.example.com", "--trusted-root", "root.json")
    identity = "--certificate-identity"
    ended = kubewasp("plugin", "verify", file, identity, "dev@example.com", *wanted, "-o", "json")
    assert ended.json["signers"] == ["dev@example.com (issuer https://accounts.example.com)"]
    refused = kubewasp("plugin", "verify", file, identity, "ops@example.com", *wanted)
    assert refused.code == 1
    assert "signed by dev@example.com (issuer https://accounts.example.com)" in refused.err


# ---------------------------------------------------------------------- registries


@pytest.mark.parametrize("form", ["bundle", "legacy"])
def test_a_signed_plugin_of_a_registry_is_verified(kubewasp: Kubewasp, keys: None, reference: str, form: str) -> None:
    assert "found no signature" in kubewasp("plugin", "verify", reference, "--key", "team.pub").err
    signed = kubewasp("plugin", "sign", reference, "--key", "team.key", "--format", form, "-o", "json")
    assert (signed.code, signed.err) == (0, "")
    assert signed.json["source"] == f"{reference}@{signed.json['digest']}"
    ended = kubewasp("plugin", "verify", reference, "--key", "team.pub", "-o", "json")
    assert (ended.code, ended.json["verified"]) == (0, True)
    assert ended.json["source"] == signed.json["source"]
    assert kubewasp("plugin", "verify", reference, "--key", "other.pub").code == 1


def test_out_is_for_files(kubewasp: Kubewasp, keys: None, reference: str) -> None:
    ended = kubewasp("plugin", "sign", reference, "--key", "team.key", "--out", "x")
    assert (ended.code, ended.err) == (
        1,
        f"error: {reference}: the signature is stored in the registry; --out is for files\n",
    )


def test_a_guest_that_is_not_trusted_is_not_simulated(
    kubewasp: Kubewasp, keys: None, file: Path, reference: str
) -> None:
    config = config_with("{allOf: [{kind: pubKey, owner: team-a, keyFile: team.pub}]}")
    for guest in (file, reference):
        ended = kubewasp("config", "check", write_plugin(config, str(guest)))
        assert ended.code == 1
        assert "no signature by team-a" in ended.err


@pytest.mark.parametrize(
    ("trust", "expected"),
    [
        ("{required: false}", "no signature is needed"),
        ("{sources: [{match: /x, required: false}]}", "no guest without a rule of its source; rules of 1 source"),
        ("{allOf: [{kind: pubKey, owner: a, keyFile: team.pub}], required: false}", "signed by a (key SHA256:"),
    ],
)
def test_config_check_shows_the_policy(kubewasp: Kubewasp, keys: None, trust: str, expected: str) -> None:
    ended = kubewasp("config", "check", config_with(trust))
    assert ended.code == 0
    assert expected in " ".join(ended.out.split())
    assert kubewasp("config", "check", config_with(trust), "-o", "json").json["trust"]["required"] is ("match" in trust)


def write_plugin(config: Path, guest: str) -> Path:
    text = config.read_text().partition("profiles:")[0]
    address = guest if "://" in guest else str(Path(guest).absolute())
    config.write_text(
        f"{text}profiles:\n- plugins: {{multiPoint: {{enabled: [{{name: policy}}]}}}}\n"
        f"  pluginConfig: [{{name: policy, args: {{guestURL: '{address}'}}}}]\n"
    )
    return config
