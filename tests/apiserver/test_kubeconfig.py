"""Kubeconfig loader: merged files, relative paths, and one clear error for each mistake."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kubewasp.apiserver.auth import from_kubeconfig
from tests.apiserver.kubeconfigs import SECRET, inline, problem, write
from tests.apiserver.running import asynchronous

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.apiserver.certificates import Authority


def test_a_missing_file_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert problem(caplog, str(tmp_path / "none")) == f"{tmp_path / 'none'}: no such kubeconfig file"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"users:\n- name: u\n  user: {{token: {SECRET}", ": not valid YAML"),
        (f"token: {SECRET}", ": not a kubeconfig: it has no clusters, contexts and users"),
        ("[]", ": not a kubeconfig: it has no clusters, contexts and users"),
        ("", ": not a kubeconfig: it has no clusters, contexts and users"),
        (f"users: {{token: {SECRET}}}", ": users must be a list of entries with a name"),
        ("contexts: []", ": no current-context; name one of: none"),
        ("current-context: a\ncontexts: []", ': no context "a"; there are: none'),
    ],
)
def test_a_file_that_is_no_kubeconfig_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, expected: str
) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    found = problem(caplog, str(path))
    assert found.startswith(str(path))
    assert found.endswith(expected)


def test_an_unknown_context_is_named_with_those_that_exist(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = write(tmp_path, user={"token": SECRET})
    assert problem(caplog, files, "other") == f'{files}: no context "other"; there are: main'


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda c: c["clusters"].clear(), 'no cluster "c"; there are: none'),
        (lambda c: c["users"].clear(), 'no user "u"; there are: none'),
        (lambda c: c["contexts"][0]["context"].pop("user"), "it names no user"),
        (lambda c: c["clusters"][0]["cluster"].pop("server"), "its cluster has no server such as https://10.0.0.1:6443"),
        (lambda c: c["users"][0]["user"].update({"as": "admin"}), "impersonates another one"),
        (lambda c: c["users"][0]["user"].update({"client-key-data": f"{SECRET}!"}), "client-key-data is not base64"),
        (lambda c: c["users"][0]["user"].update({"client-key": "none.key"}), "none.key cannot be read: No such"),
        (lambda c: c["users"][0]["user"].update({"token": "", "tokenFile": "none"}), "none cannot be read: No such"),
        (lambda c: c["clusters"][0]["cluster"].update({"certificate-authority": "."}), "cannot be read: Is a dir"),
        (lambda c: c["clusters"][0]["cluster"].update({"proxy-url": "socks5://x"}), "must be one for HTTP"),
        (lambda c: c["users"][0]["user"].update({"token": f"{SECRET}\nX-Evil: 1"}), "characters that no token has"),
        (lambda c: c["users"][0]["user"].update({"exec": {"args": [SECRET]}}), "exec needs a command and an api"),
        (lambda c: c["users"][0]["user"].update({"exec": SECRET}), "exec needs a command and an apiVersion"),
        (lambda c: c["users"][0]["user"].update({"auth-provider": {"name": "oidc", "config": {"id-token": SECRET}}}),
         'the auth-provider "oidc": its id-token is not a JSON Web Token; log in again'),
    ],
)  # fmt: skip
def test_each_mistake_in_a_kubeconfig_has_its_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, change: Callable[[Any], Any], expected: str
) -> None:
    path = Path(write(tmp_path, user={"token": SECRET}))
    config = yaml.safe_load(path.read_text())
    change(config)
    path.write_text(yaml.safe_dump(config))
    assert expected in problem(caplog, str(path))


def test_certificates_that_are_none_are_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, authority: Authority
) -> None:
    server = {"server": "https://127.0.0.1:1"}
    files = write(tmp_path, cluster=server | {"certificate-authority-data": inline(SECRET.encode())})
    assert 'context "main": certificate-authority-data cannot be used: not a valid PEM' in problem(caplog, files)
    one, two = authority.sign("a"), authority.sign("b")
    for certificate, key in (
        (SECRET.encode(), one.key),
        (one.certificate, SECRET.encode()),
        (one.certificate, two.key),
    ):
        user = {"client-certificate-data": inline(certificate), "client-key-data": inline(key)}
        files = write(tmp_path, cluster=server, user=user)
        assert "client-certificate-data and its key cannot be used: not a valid PEM" in problem(caplog, files)


def test_several_files_are_merged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = write(tmp_path / "a", user={"token": "first"})
    second = Path(write(tmp_path / "b", cluster={"server": "elsewhere"}, user={"token": "second"}))
    second.write_text(
        second.read_text().replace("main", "second").replace("name: u", "name: u2").replace("user: u", "user: u2")
    )

    @asynchronous
    async def run() -> None:
        files = f"{first}:{second}:{tmp_path / 'none'}"
        assert (await (await from_kubeconfig(files)).fresh()).authorization == "Bearer first"
        other = await (await from_kubeconfig(files, "second")).fresh()
        assert other.authorization == "Bearer second"
        assert other.server == "http://127.0.0.1:1"  # of two clusters with one name the first counts

    run()
