"""Kubeconfig loader: merged files, relative paths, and one clear error for each mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kubewasp.apiserver.auth import from_kubeconfig
from kubewasp.apiserver.errors import ApiConfigError
from kubewasp.apiserver.kubeconfig import environment_proxy, load_context
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


def changed(path: Path, change: Callable[[Any], Any]) -> str:
    """The kubeconfig after a change of its content."""
    config = yaml.safe_load(path.read_text())
    change(config)
    path.write_text(yaml.safe_dump(config))
    return str(path)


def two_files(tmp_path: Path, *, cluster: dict[str, Any], user: dict[str, Any]) -> str:
    """A first file with a context of its own, and a second one with the context `second`."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first = write(tmp_path / "a", user={"token": "first"})
    second = Path(write(tmp_path / "b", cluster=cluster, user=user))
    second.write_text(second.read_text().replace("main", "second").replace(" c\n", " c2\n").replace(" u\n", " u2\n"))
    return f"{first}:{second}"


def test_the_first_current_context_counts(tmp_path: Path) -> None:
    files = two_files(tmp_path, cluster={}, user={"token": "second"})
    assert load_context(files).user.token == "first"
    swapped = ":".join(reversed(files.split(":")))
    assert load_context(swapped).user.token == "second"


def test_a_file_without_a_current_context_leaves_it_to_the_next_one(tmp_path: Path) -> None:
    files = two_files(tmp_path, cluster={}, user={"token": "second"})
    changed(tmp_path / "a" / "kubeconfig", lambda config: config.pop("current-context"))
    assert load_context(files).user.token == "second"


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path, authority: Authority) -> None:
    files = two_files(
        tmp_path,
        cluster={"certificate-authority": "ca.crt"},
        user={"client-certificate": "pki/me.crt", "client-key": "pki/me.key", "tokenFile": "token"},
    )
    signed = authority.sign("me")
    (tmp_path / "b" / "pki").mkdir()
    for name, content in {
        "ca.crt": authority.certificate,
        "pki/me.crt": signed.certificate,
        "pki/me.key": signed.key,
        "token": b"t\n",
    }.items():
        (tmp_path / "b" / name).write_bytes(content)
    context = load_context(files, "second")
    assert context.cluster.authority is not None
    assert context.cluster.authority.content == authority.certificate
    assert context.user.certificate is not None
    assert context.user.certificate.content == signed.certificate
    assert context.user.token == "t"
    assert context.user.rotates


def test_inline_data_comes_before_a_file_and_may_have_line_breaks(tmp_path: Path) -> None:
    encoded = inline(b"a certificate that is long enough for two lines")
    cluster = {
        "certificate-authority": "/no/such/file",
        "certificate-authority-data": f"{encoded[:20]}\n{encoded[20:]}\n",
    }
    found = load_context(write(tmp_path, cluster=cluster)).cluster.authority
    assert found is not None
    assert found.content == b"a certificate that is long enough for two lines"


def test_the_namespace_is_that_of_the_context(tmp_path: Path) -> None:
    path = Path(write(tmp_path))
    assert load_context(str(path)).namespace == ""
    changed(path, lambda config: config["contexts"][0]["context"].update(namespace="shop"))
    assert load_context(str(path)).namespace == "shop"


def test_a_kubeconfig_may_be_json(tmp_path: Path) -> None:
    path = Path(write(tmp_path, user={"token": "t"}))
    path.write_text(json.dumps(yaml.safe_load(path.read_text())))
    assert load_context(str(path)).user.token == "t"


def test_a_context_shows_no_secret(tmp_path: Path) -> None:
    user = {
        "token": SECRET,
        "username": "u",
        "password": SECRET,
        "client-key-data": inline(SECRET.encode()),
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "x",
            "args": [SECRET],
            "env": [{"name": "A", "value": SECRET}],
        },
        "auth-provider": {"name": "oidc", "config": {"refresh-token": SECRET}},
    }
    context = load_context(write(tmp_path, cluster={"proxy-url": f"http://u:{SECRET}@proxy:3128"}, user=user))
    shown = repr((context, context.user.exec_plugin, context.user.auth_provider, context.user.key))
    assert SECRET not in shown


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        ({"insecure-skip-tls-verify": "false"}, "insecure-skip-tls-verify must be true or false"),
        ({"proxy-url": f"ftp://u:{SECRET}@x"}, "proxy-url must be one for HTTP, such as http://proxy:3128"),
        ({"proxy-url": f"http://u:{SECRET}@x:port"}, "proxy-url must be one for HTTP, such as http://proxy:3128"),
        ({"proxy-url": f"{SECRET}:3128"}, "proxy-url must be one for HTTP, such as http://proxy:3128"),
        ({"server": "10.0.0.1:6443"}, "its cluster has no server such as https://10.0.0.1:6443"),
    ],
)
def test_each_mistake_in_a_cluster_has_its_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, cluster: dict[str, Any], expected: str
) -> None:
    files = write(tmp_path, cluster=cluster)
    assert problem(caplog, files) == f'{files}: context "main": {expected}'


V1 = {"apiVersion": "client.authentication.k8s.io/v1", "command": "x"}


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ({"tokenFile": "empty"}, "tokenFile {folder}/empty is empty"),
        ({"exec": V1 | {"args": [SECRET, 5]}}, "the args of exec must be a list of strings"),
        ({"exec": V1 | {"args": SECRET}}, "the args of exec must be a list of strings"),
        ({"exec": V1 | {"env": {"A": SECRET}}}, "the env of exec must be a list of entries with a name and a value"),
        ({"exec": V1 | {"env": [{"value": SECRET}]}},
         "the env of exec must be a list of entries with a name and a value"),
        ({"exec": V1 | {"interactiveMode": "Maybe"}},
         "the interactiveMode of exec must be one of: Never, IfAvailable, Always"),
        ({"exec": V1 | {"provideClusterInfo": "yes"}}, "provideClusterInfo must be true or false"),
        ({"exec": V1 | {"apiVersion": "v2"}},
         'exec has the apiVersion "v2"; supported are: client.authentication.k8s.io/v1, '
         "client.authentication.k8s.io/v1beta1, client.authentication.k8s.io/v1alpha1"),
        ({"auth-provider": SECRET}, "auth-provider needs a name"),
        ({"auth-provider": {"name": "oidc", "config": SECRET}}, "the config of auth-provider must be a map"),
        ({"auth-provider": {"name": "azure", "config": {"access-token": SECRET}}},
         'the auth-provider "azure" is not supported; use an exec plugin (such as kubelogin) or a token'),
        ({"token": f"{SECRET}ä"}, "the token holds characters that no token has: is it the right file?"),
    ],
)  # fmt: skip
def test_each_mistake_in_a_user_has_its_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, user: dict[str, Any], expected: str
) -> None:
    (tmp_path / "empty").write_text(" \n")
    files = write(tmp_path, user=user)
    assert problem(caplog, files) == f'{files}: context "main": {expected.replace("{folder}", str(tmp_path))}'


def test_a_folder_or_a_date_that_is_none_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert problem(caplog, str(tmp_path)) == f"{tmp_path}: cannot be read: Is a directory"
    (tmp_path / "kubeconfig").write_text(f"users: [{{name: {SECRET}, expiry: 2026-99-99}}]")
    assert problem(caplog, str(tmp_path / "kubeconfig")).endswith("kubeconfig: not valid YAML")


def test_the_proxy_of_the_environment_may_lack_its_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy:3128")
    assert environment_proxy("https://10.0.0.1:6443") == "http://proxy:3128"
    assert environment_proxy("http://10.0.0.1:6443") == ""
    monkeypatch.setenv("HTTPS_PROXY", f"socks5://{SECRET}@proxy")
    with pytest.raises(ApiConfigError, match=r"^the HTTPS_PROXY of the environment must be one for HTTP"):
        environment_proxy("https://10.0.0.1:6443")
