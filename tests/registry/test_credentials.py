import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from kubewasp.registry import credential_helpers
from kubewasp.registry.credentials import ANONYMOUS, Credentials, CredentialSource
from kubewasp.registry.errors import RegistryError
from kubewasp.registry.settings import RegistrySettings

HUB = "https://index.docker.io/v1/"


def _auth(user: str, password: str) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}


def _found(path: Path, document: Any, name: str = "example.com/team/policy") -> Credentials:
    path.write_text(json.dumps(document), encoding="utf-8")
    return CredentialSource(RegistrySettings(credential_files=(str(path),), uses_user_files=False)).find(name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.json"


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A helper program `docker-credential-test`, to be filled by a test."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    program = folder / "docker-credential-test"
    program.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    return program


# ---------------------------------------------------------------------- entries


@pytest.mark.parametrize(
    ("keys", "name", "user"),
    [
        (["example.com"], "example.com/team/policy", "example.com"),
        (["https://example.com"], "example.com/team/policy", "https://example.com"),
        (["https://example.com/v2/"], "example.com/team/policy", "https://example.com/v2/"),
        (["example.com:5000"], "example.com/team/policy", ""),
        (["example.com", "example.com/team"], "example.com/team/policy", "example.com/team"),
        (["example.com", "example.com/team"], "example.com/teams/policy", "example.com"),
        (["example.com/team/policy"], "example.com/team/policy", "example.com/team/policy"),
        (["example.com/team/policy"], "example.com/team/other", ""),
        ([HUB], "docker.io/library/policy", HUB),
        (["docker.io"], "docker.io/library/policy", "docker.io"),
        (["registry-1.docker.io"], "docker.io/library/policy", "registry-1.docker.io"),
        (["*.example.com"], "a.example.com/policy", "*.example.com"),
        (["*.example.com"], "a.b.example.com/policy", ""),
        (["*.example.com", "a.example.com"], "a.example.com/policy", "a.example.com"),
        (["*"], "example.com/policy", ""),
    ],
)
def test_the_entry_that_fits_best_is_used(file: Path, keys: list[str], name: str, user: str) -> None:
    auths = {key: {"username": key, "password": "p"} for key in keys}
    assert _found(file, {"auths": auths}, name).username == user


def test_forms_of_an_entry(file: Path) -> None:
    def of(entry: Any) -> Credentials:
        return _found(file, {"auths": {"example.com": entry}})

    assert (of(_auth("u", "p:q")).username, of(_auth("u", "p:q")).password) == ("u", "p:q")
    assert of({"username": "u", "password": "p"}).basic == "Basic dTpw"
    assert of({"identitytoken": "i"}).identity_token == "i"
    assert of({"registrytoken": "r"}).registry_token == "r"
    assert of(_auth("<token>", "i")).identity_token == "i"
    assert of({}) is ANONYMOUS
    assert of({"email": "e"}) is ANONYMOUS


@pytest.mark.parametrize("entry", [{"auth": "%%%"}, {"auth": "bm9jb2xvbg=="}, {"username": 5}, {"password": "a\nb"}])
def test_an_unusable_entry_is_named_without_its_values(file: Path, entry: Any) -> None:
    with pytest.raises(RegistryError, match=r"config\.json: auths of example\.com: ") as error:
        _found(file, {"auths": {"example.com": entry}})
    assert "%%%" not in str(error.value)


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b'{"auths": {}, "auths": {}}', b" " * ((4 << 20) + 1)])
def test_an_unusable_file_is_named(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    source = CredentialSource(RegistrySettings(credential_files=(str(file),), uses_user_files=False))
    with pytest.raises(RegistryError, match=r"config\.json: "):
        source.find("example.com/policy")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "config.json" / ".dockerconfigjson"
    folder.mkdir(parents=True)
    source = CredentialSource(RegistrySettings(credential_files=(str(folder.parent),), uses_user_files=False))
    with pytest.raises(RegistryError, match="credentials cannot be read"):
        source.find("example.com/policy")


def test_secrets_are_in_no_text_of_the_object() -> None:
    found = Credentials("user", "secret-1", "secret-2", "secret-3", "config.json")
    assert "secret" not in repr(found)


# ---------------------------------------------------------------------- places


def test_files_are_asked_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert [str(path) for path in CredentialSource(RegistrySettings()).files()] == [
        f"/run/containers/{os.getuid()}/auth.json",
        f"{tmp_path}/home/.config/containers/auth.json",
        f"{tmp_path}/home/.docker/config.json",
    ]
    monkeypatch.setenv("REGISTRY_AUTH_FILE", "/auth")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1")
    monkeypatch.setenv("DOCKER_CONFIG", "/docker")
    assert [str(path) for path in CredentialSource(RegistrySettings(credential_files=("/mine",))).files()] == [
        "/mine",
        "/auth",
        "/run/user/1/containers/auth.json",
        f"{tmp_path}/home/.config/containers/auth.json",
        "/docker/config.json",
    ]


def test_a_mounted_secret_is_a_folder_with_its_key(tmp_path: Path) -> None:
    (tmp_path / ".dockerconfigjson").write_text(
        json.dumps({"auths": {"example.com": _auth("u", "p")}}), encoding="utf-8"
    )
    source = CredentialSource(RegistrySettings(credential_files=(str(tmp_path),), uses_user_files=False))
    assert source.find("example.com/policy").username == "u"


def test_a_folder_may_be_that_of_docker(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"auths": {"example.com": _auth("u", "p")}}), encoding="utf-8")
    source = CredentialSource(RegistrySettings(credential_files=(str(tmp_path),), uses_user_files=False))
    assert source.find("example.com/policy").username == "u"


def test_a_configured_place_without_a_file_is_named(tmp_path: Path) -> None:
    for place, problem in (
        (tmp_path / "typo.json", f"{tmp_path}/typo.json does not exist"),
        (tmp_path, f"{tmp_path} has neither .dockerconfigjson nor config.json"),
    ):
        found = CredentialSource(RegistrySettings(credential_files=(str(place),), uses_user_files=False)).find("x/y")
        assert not found
        assert found.origin == problem


def test_a_missing_file_and_a_missing_entry_leave_the_next_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps({"auths": {"example.com": _auth("u", "p")}}), encoding="utf-8")
    first = tmp_path / "first.json"
    first.write_text(json.dumps({"auths": {"other.com": _auth("x", "y")}}), encoding="utf-8")
    source = CredentialSource(RegistrySettings(credential_files=("/nowhere", str(first))))
    assert source.find("example.com/policy").username == "u"


# ---------------------------------------------------------------------- helpers


def _answers(program: Path, output: str, code: int = 0) -> None:
    program.write_text(f"#!/bin/sh\nread server\nprintf '%s' '{output}'\nexit {code}\n", encoding="utf-8")


def test_a_helper_gets_the_server_and_gives_the_credentials(file: Path, helper: Path) -> None:
    helper.write_text(
        '#!/bin/sh\nread server\nprintf \'{"Username": "%s-%s", "Secret": "s"}\' "$1" "$server"\n', encoding="utf-8"
    )
    found = _found(file, {"credHelpers": {"example.com": "test"}, "auths": {"example.com": _auth("x", "y")}})
    assert (found.username, found.password) == ("get-example.com", "s")
    assert _found(file, {"credsStore": "test"}).username == "get-example.com"
    assert _found(file, {"credsStore": "test"}, "docker.io/library/x").username == f"get-{HUB}"
    assert _found(file, {"credHelpers": {"docker.io": "test"}}, "docker.io/a/x").username == f"get-{HUB}"


def test_a_token_of_a_helper_is_an_identity_token(file: Path, helper: Path) -> None:
    _answers(helper, '{"Username": "<token>", "Secret": "i"}')
    assert _found(file, {"credsStore": "test"}).identity_token == "i"


def test_a_helper_without_credentials_leaves_access_anonymous(file: Path, helper: Path) -> None:
    _answers(helper, "credentials not found in native keychain", 1)
    assert _found(file, {"credsStore": "test"}) is ANONYMOUS


def test_an_entry_with_values_comes_before_the_store(file: Path, helper: Path) -> None:
    document = {"credsStore": "test", "auths": {"example.com": _auth("u", "p")}}
    assert _found(file, document).username == "u"


@pytest.mark.parametrize(
    ("output", "code", "problem"),
    [
        ("words of the helper", 3, "failed with exit code 3; run it by hand"),
        ("words of the helper", 0, "did not print a JSON object with Username and Secret"),
        ('{"Username": "u"}', 0, "did not print a JSON object with Username and Secret"),
    ],
)
def test_a_helper_that_fails_is_named_without_its_words(
    file: Path, helper: Path, output: str, code: int, problem: str
) -> None:
    _answers(helper, output, code)
    with pytest.raises(RegistryError, match=f"docker-credential-test get {problem}") as error:
        _found(file, {"credsStore": "test"})
    assert "words" not in str(error.value)


def test_a_helper_that_never_ends_is_ended(helper: Path) -> None:
    helper.write_text("#!/bin/sh\nsleep 60 & sleep 60\n", encoding="utf-8")
    with pytest.raises(RegistryError, match=r"took more than 0\.1 s"):
        credential_helpers.helper_credentials("test", "example.com", timeout=0.1)


def test_a_helper_that_prints_without_end_is_ended(helper: Path) -> None:
    helper.write_text("#!/bin/sh\nyes\n", encoding="utf-8")
    with pytest.raises(RegistryError, match="printed more than 1Mi"):
        credential_helpers.helper_credentials("test", "example.com")


@pytest.mark.parametrize("name", ["../../bin/sh", "a b", "", "-x", "a/b"])
def test_a_name_that_is_no_helper_is_not_run(file: Path, name: str) -> None:
    with pytest.raises(RegistryError, match="is no name of a credential helper"):
        credential_helpers.helper_credentials(name, "example.com")


def test_a_missing_helper_is_named(file: Path) -> None:
    with pytest.raises(RegistryError, match=r"docker-credential-nowhere cannot be run: .*; is it installed"):
        _found(file, {"credsStore": "nowhere"})
