"""Credential plugins: exec commands, OIDC and GCP. No secret in errors, no process left behind."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import pytest

from kubewasp.apiserver import credential_plugins
from kubewasp.apiserver.auth import from_kubeconfig
from kubewasp.apiserver.client import ApiClient
from kubewasp.apiserver.errors import ApiConfigError
from tests.apiserver.fake_server import Answer, FakeServer
from tests.apiserver.kubeconfigs import SECRET, credential, inline, plugin, problem, write
from tests.apiserver.running import FakeClock, asynchronous

if TYPE_CHECKING:
    from tests.apiserver.certificates import Authority


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: False)


@asynchronous
async def test_an_exec_plugin_is_run_again_shortly_before_its_token_expires(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    expiry = (datetime.now(UTC) + timedelta(minutes=10)).strftime("%Y-%m-%dT%H:%M:%SZ")
    status = credential(token="TOKEN", expirationTimestamp=expiry)
    code = (
        f"file = open({str(counter)!r}, 'a+')\nfile.write('x')\nfile.seek(0)\n"
        f"print({status!r}.replace('TOKEN', 'token-' + str(len(file.read()))))"
    )
    clock = FakeClock()
    credentials = await from_kubeconfig(write(tmp_path, user=plugin(tmp_path, code)), clock=clock)
    assert (await credentials.fresh()).authorization == "Bearer token-1"
    clock.time += 500
    assert (await credentials.fresh()).authorization == "Bearer token-1"
    clock.time += 60
    assert (await credentials.fresh()).authorization == "Bearer token-2"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            f"import sys; print({SECRET!r}, file=sys.stderr); sys.exit(3)",
            "failed with exit code 3; run it by hand to see why",
        ),
        (f"print({SECRET!r})", "did not print an ExecCredential"),
        ("print('{}')", "did not print an ExecCredential"),
        (f"print({credential(nothing=SECRET)!r})", "gave neither a token nor a certificate"),
        (f"print({credential(token=SECRET)!r}.replace('/v1', '/v9'))", "did not print an ExecCredential"),
        ("print('[]')", "did not print an ExecCredential"),
    ],
)
def test_an_exec_plugin_that_fails_is_named_without_what_it_printed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, code: str, expected: str
) -> None:
    files = write(tmp_path, user=plugin(tmp_path, code))
    found = problem(caplog, files)
    assert found.startswith(f'{files}: context "main": the exec plugin "')
    assert expected in found


def test_an_exec_plugin_that_is_missing_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = write(tmp_path, user=plugin(tmp_path, "", command="no-such-plugin", args=[SECRET]))
    expected = f'{files}: context "main": the exec plugin "no-such-plugin" cannot be run: No such file or directory'
    assert problem(caplog, files) == f"{expected}; is it installed?"


@pytest.mark.parametrize("timeout", [2.0, 60.0])
def test_an_exec_plugin_that_hangs_is_ended_when_time_is_up_or_nobody_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timeout: float
) -> None:
    monkeypatch.setattr(credential_plugins, "_COMMAND_TIMEOUT", timeout)
    started = tmp_path / "started"
    code = f"import os, signal\nopen({str(started)!r}, 'w').write(f'{{os.getpid()}} ')\nsignal.pause()"
    files = write(tmp_path, user=plugin(tmp_path, code))

    @asynchronous
    async def run() -> None:
        loading = asyncio.create_task(from_kubeconfig(files))
        while not (started.exists() and started.read_text().endswith(" ")):
            await asyncio.sleep(0)
        pid = int(started.read_text())
        if timeout == 60.0:
            loading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await loading
        else:
            with pytest.raises(ApiConfigError, match=r"the exec plugin .* took more than 2 s"):
                await loading
        assert not _is_there(pid)

    run()


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def echoing(tmp_path: Path, **entry: Any) -> dict[str, Any]:
    """A user whose exec plugin writes arguments, environment and input to a file."""
    code = (
        "import json, os, sys\n"
        f"seen = {{'args': sys.argv[1:], 'env': dict(os.environ), 'input': sys.stdin.read()}}\n"
        f"open({str(tmp_path / 'seen')!r}, 'w').write(json.dumps(seen))\n"
        "version = json.loads(os.environ['KUBERNETES_EXEC_INFO'])['apiVersion']\n"
        f"print({credential(token='t')!r}.replace('client.authentication.k8s.io/v1', version))"
    )
    user = plugin(tmp_path, code, **entry)
    user["exec"]["args"] += ["one", "two words"]
    return user


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_an_exec_plugin_has_arguments_environment_and_no_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setenv("INHERITED", "1")
    api_version = f"client.authentication.k8s.io/{version}"

    @asynchronous
    async def run() -> None:
        user = echoing(tmp_path, apiVersion=api_version, env=[{"name": "REGION", "value": "x"}])
        credentials = await from_kubeconfig(write(tmp_path, user=user))
        assert (await credentials.fresh()).authorization == "Bearer t"

    run()
    seen = json.loads((tmp_path / "seen").read_text())
    assert seen["args"] == ["one", "two words"]
    assert (seen["env"]["REGION"], seen["env"]["INHERITED"], seen["input"]) == ("x", "1", "")
    info = {"apiVersion": api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
    assert json.loads(seen["env"]["KUBERNETES_EXEC_INFO"]) == info


@asynchronous
async def test_an_exec_plugin_may_be_given_its_cluster(tmp_path: Path) -> None:
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    cluster = {
        "server": "http://127.0.0.1:1",
        "tls-server-name": "kubernetes",
        "certificate-authority-data": inline(b"CA"),
        "extensions": [{"name": "other"}, extension],
    }
    await from_kubeconfig(write(tmp_path, cluster=cluster, user=echoing(tmp_path, provideClusterInfo=True)))
    seen = json.loads((tmp_path / "seen").read_text())
    assert json.loads(seen["env"]["KUBERNETES_EXEC_INFO"])["spec"]["cluster"] == {
        "server": "http://127.0.0.1:1",
        "tls-server-name": "kubernetes",
        "certificate-authority-data": inline(b"CA"),
        "config": {"audience": "a"},
    }


@asynchronous
async def test_a_relative_command_is_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    script = tmp_path / "bin" / "login"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\necho '{credential(token='t')}'\n")
    script.chmod(0o700)
    entry = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./bin/login"}
    credentials = await from_kubeconfig(write(tmp_path, user={"exec": entry}))
    assert (await credentials.fresh()).authorization == "Bearer t"


@asynchronous
async def test_the_certificate_of_an_exec_plugin_opens_a_server_that_asks_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, authority: Authority
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    signed = authority.sign("scheduler")
    status = credential(clientCertificateData=signed.certificate.decode(), clientKeyData=signed.key.decode())
    async with FakeServer(authority.server_context(tmp_path, clients=True)) as server:
        server.on("GET", "/healthz", Answer(b"ok"))
        cluster = {"server": server.url, "certificate-authority-data": inline(authority.certificate)}
        files = write(tmp_path, cluster=cluster, user=plugin(tmp_path, f"print({status!r})"))
        credentials = await from_kubeconfig(files)
        async with ApiClient(credentials, qps=-1) as client:
            assert await client.request("GET", "/healthz") == b"ok"
        assert (await credentials.fresh()).authorization == ""
        assert credentials.may_change
    assert list((tmp_path / "tmp").iterdir()) == []  # the key is nowhere on the disk


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"clientCertificateData": SECRET}, "gave a client certificate without its key, or a key"),
        ({"token": "t", "clientKeyData": SECRET}, "gave a client certificate without its key"),
        ({"token": SECRET, "expirationTimestamp": "soon"}, "expirationTimestamp is not an RFC 3339 time"),
    ],
)  # fmt: skip
def test_a_credential_that_makes_no_sense_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, status: dict[str, str], expected: str
) -> None:
    assert expected in problem(caplog, write(tmp_path, user=plugin(tmp_path, f"print({credential(**status)!r})")))


def test_the_hint_of_a_missing_exec_plugin_is_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    user = plugin(tmp_path, "", command="no-such-plugin", installHint="Install it:\n\x1b[1mpip install login")
    assert problem(caplog, write(tmp_path, user=user)).endswith("; is it installed? Install it: [1mpip install login")


def test_an_exec_plugin_knows_whether_it_has_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: True)

    @asynchronous
    async def run(mode: str) -> None:
        await from_kubeconfig(write(tmp_path, user=echoing(tmp_path, interactiveMode=mode)))

    for mode, expected in (("Never", False), ("IfAvailable", True), ("Always", True)):
        run(mode)
        seen = json.loads((tmp_path / "seen").read_text())
        assert json.loads(seen["env"]["KUBERNETES_EXEC_INFO"])["spec"] == {"interactive": expected}


def test_an_exec_plugin_that_needs_a_terminal_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    user = plugin(tmp_path, "", interactiveMode="Always")
    expected = "needs a terminal (interactiveMode Always), and there is none"
    assert problem(caplog, write(tmp_path, user=user)).endswith(expected)


@asynchronous
async def test_the_children_of_an_exec_plugin_end_with_it(tmp_path: Path) -> None:
    started = tmp_path / "started"
    child = f"import os, time; open({str(started)!r}, 'w').write(f'{{os.getpid()}} '); time.sleep(600)"
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])"
    loading = asyncio.create_task(from_kubeconfig(write(tmp_path, user=plugin(tmp_path, code))))
    while not (started.exists() and started.read_text().endswith(" ")):
        await asyncio.sleep(0)
    loading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loading
    while _runs(int(started.read_text())):
        await asyncio.sleep(0.01)


def _runs(pid: int) -> bool:
    """Whether a process runs; one that has ended may wait for its new parent to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return not Path("/proc/self").exists() and _is_there(pid)


# ---------------------------------------------------------------------- oidc


def id_token(name: str, expires_in: float | None = 3600.0) -> str:
    """A JSON Web Token without a valid signature."""
    claims: dict[str, Any] = {"sub": f"{name}ÿ>?"}
    if expires_in is not None:
        claims["exp"] = int(time.time() + expires_in)
    payload = base64.urlsafe_b64encode(json.dumps(claims, ensure_ascii=False).encode()).decode().rstrip("=")
    return f"e30.{payload}.{name}"


def oidc(issuer: str = "http://127.0.0.1:1", **config: str) -> dict[str, Any]:
    known = {"idp-issuer-url": f"{issuer}/realm/", "client-id": "kube", "client-secret": "se:cret"}
    return {"auth-provider": {"name": "oidc", "config": known | config}}


def lay_out_issuer(server: FakeServer, *reactions: Answer) -> None:
    discovery = json.dumps({"token_endpoint": f"{server.url}/token?tenant=a"}).encode()
    server.always("GET", "/realm/.well-known/openid-configuration", Answer(discovery, content_type="application/json"))
    server.on("POST", "/token", *reactions)


def tokens(**found: str) -> Answer:
    return Answer(json.dumps(found).encode(), content_type="application/json")


@pytest.mark.parametrize("expires_in", [3600.0, None])
def test_an_id_token_that_is_valid_is_used(tmp_path: Path, expires_in: float | None) -> None:
    token = id_token("one", expires_in)

    @asynchronous
    async def run() -> None:
        credentials = await from_kubeconfig(write(tmp_path, user=oidc(**{"id-token": token})))
        assert (await credentials.fresh()).authorization == f"Bearer {token}"

    run()


@asynchronous
async def test_an_id_token_is_refreshed_with_the_newest_refresh_token(tmp_path: Path) -> None:
    clock = FakeClock()
    second = id_token("two", 600)
    async with FakeServer() as server:
        lay_out_issuer(server, tokens(id_token=id_token("old", -1), refresh_token="r2"), tokens(id_token=second))
        user = oidc(server.url, **{"id-token": id_token("one", 30), "refresh-token": "r1"})
        path = write(tmp_path, user=user)
        credentials = await from_kubeconfig(path, clock=clock)
        clock.time += 11
        assert (await credentials.fresh()).authorization == f"Bearer {second}"
        posts = [request for request in server.requests if request.method == "POST"]
        assert [parse_qs(request.body.decode())["refresh_token"] for request in posts] == [["r1"], ["r2"]]
        assert posts[0].query == {"tenant": "a"}
        basic = base64.b64encode(b"kube:se%3Acret").decode()
        assert posts[0].headers["authorization"] == f"Basic {basic}"
        assert posts[0].headers["content-type"] == "application/x-www-form-urlencoded"


@asynchronous
async def test_a_new_login_in_the_kubeconfig_is_used(tmp_path: Path) -> None:
    clock = FakeClock()
    first, second = id_token("one", 100), id_token("two", 100)
    credentials = await from_kubeconfig(write(tmp_path, user=oidc(**{"id-token": first})), clock=clock)
    write(tmp_path, user=oidc(**{"id-token": second}))
    clock.time += 50
    assert (await credentials.fresh()).authorization == f"Bearer {second}"


@asynchronous
async def test_a_client_that_may_not_authenticate_by_header_does_so_in_the_form(tmp_path: Path) -> None:
    token = id_token("one")
    async with FakeServer() as server:
        lay_out_issuer(server, Answer(b"{}", 401), tokens(id_token=token))
        credentials = await from_kubeconfig(write(tmp_path, user=oidc(server.url, **{"refresh-token": "r"})))
        assert (await credentials.fresh()).authorization == f"Bearer {token}"
        form = parse_qs(server.requests[-1].body.decode())
        assert (form["client_id"], form["client_secret"]) == (["kube"], ["se:cret"])
        assert "authorization" not in server.requests[-1].headers


@asynchronous
async def test_the_issuer_may_have_an_authority_of_its_own(tmp_path: Path, authority: Authority) -> None:
    token = id_token("one")
    (tmp_path / "idp.crt").write_bytes(authority.certificate)
    for trusted in (
        {"idp-certificate-authority": "idp.crt"},
        {"idp-certificate-authority-data": inline(authority.certificate)},
    ):
        async with FakeServer(authority.server_context(tmp_path)) as server:
            lay_out_issuer(server, tokens(id_token=token))
            user = oidc(server.url, **{"refresh-token": "r"}, **trusted)
            credentials = await from_kubeconfig(write(tmp_path, user=user))
            assert (await credentials.fresh()).authorization == f"Bearer {token}"
    async with FakeServer(authority.server_context(tmp_path)) as server:
        with pytest.raises(ApiConfigError, match=r"cannot refresh its id-token: the certificate of https://\S+ is not"):
            await from_kubeconfig(write(tmp_path, user=oidc(server.url, **{"refresh-token": SECRET})))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"id-token": id_token("x", -1)}, "has no valid id-token and no refresh-token; log in again"),
        ({"id-token": f"{SECRET}.{SECRET}.x"}, ": its id-token is not a JSON Web Token; log in again"),
        ({"refresh-token": SECRET, "client-id": ""}, "needs idp-issuer-url and client-id to refresh its id-token"),
        ({"refresh-token": SECRET}, "cannot be reached: Connection refused; log in again"),
        ({"refresh-token": SECRET, "idp-certificate-authority-data": SECRET}, "authority-data is not base64"),
    ],
)
def test_an_oidc_provider_that_cannot_be_used_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, config: dict[str, str], expected: str
) -> None:
    found = problem(caplog, write(tmp_path, user=oidc(**config)))
    assert 'context "main": the auth-provider "oidc"' in found
    assert found.endswith(expected)


@asynchronous
async def test_the_answers_of_an_issuer_are_not_shown(tmp_path: Path) -> None:
    async with FakeServer() as server:
        files = write(tmp_path, user=oidc(server.url, **{"refresh-token": SECRET}))
        lay_out_issuer(server, Answer(SECRET.encode(), 400), Answer(SECRET.encode(), 403))
        with pytest.raises(ApiConfigError, match=r"cannot refresh its id-token: HTTP status 403; log in again$"):
            await from_kubeconfig(files)
        lay_out_issuer(server, tokens(access_token=SECRET))
        with pytest.raises(ApiConfigError, match=r"the issuer gave none; log in again$"):
            await from_kubeconfig(files)
        server.always("GET", "/realm/.well-known/openid-configuration", Answer(SECRET.encode()))
        with pytest.raises(ApiConfigError, match=r"its idp-issuer-url is no OIDC issuer: no token_endpoint$"):
            await from_kubeconfig(files)


# ---------------------------------------------------------------------- gcp


@asynchronous
async def test_a_gcp_token_is_used_until_it_expires_then_its_command_is_run(tmp_path: Path) -> None:
    script = tmp_path / "gcloud.py"
    expiry = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    answer = json.dumps({"credential": {"access_token": "new", "token_expiry": expiry}})
    script.write_text(f"import sys; assert sys.argv[1] == 'a b'; print({answer!r})")
    command = {"cmd-path": sys.executable, "cmd-args": f"{script} 'a b'"}
    for expires, expected in ((expiry, "Bearer old"), ("2020-01-01T00:00:00Z", "Bearer new")):
        config = {"access-token": "old", "expiry": expires} | command
        user = {"auth-provider": {"name": "gcp", "config": config}}
        assert (await (await from_kubeconfig(write(tmp_path, user=user))).fresh()).authorization == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, "has no valid access-token; use the exec plugin gke-gcloud-auth-plugin"),
        ({"access-token": SECRET, "expiry": "soon"}, "expiry is not an RFC 3339 time"),
        ({"cmd-path": sys.executable, "cmd-args": f"-c 'print(\"{SECRET}\")'"}, "did not print a credential"),
        ({"cmd-path": sys.executable, "cmd-args": f"-c '{SECRET}"}, "cmd-args have an open quotation mark"),
        ({"cmd-path": "no-such-gcloud", "cmd-args": SECRET}, 'its cmd-path "no-such-gcloud" cannot be run: No such'),
    ],
)
def test_a_gcp_provider_that_cannot_be_used_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, config: dict[str, str], expected: str
) -> None:
    user = {"auth-provider": {"name": "gcp", "config": config}}
    found = problem(caplog, write(tmp_path, user=user))
    assert 'context "main": the auth-provider "gcp"' in found
    assert expected in found
