"""Credentials: from where, for how long, and what is said if they cannot be had. Secrets are never said."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kubewasp.apiserver import auth
from kubewasp.apiserver.auth import from_kubeconfig, in_cluster
from kubewasp.apiserver.client import ApiClient
from kubewasp.apiserver.errors import UNTRUSTED, ApiConfigError, ApiError
from tests.apiserver.certificates import Authority
from tests.apiserver.fake_server import Answer, FakeServer, status_answer
from tests.apiserver.running import FakeClock, asynchronous

if TYPE_CHECKING:
    from collections.abc import Callable

# The library's, not ours: it asks for the time in a way that newer Pythons frown upon.
pytestmark = pytest.mark.filterwarnings("ignore:datetime.datetime.utc:DeprecationWarning")

SECRET = "s3cret-t0ken"
POD = "/api/v1/namespaces/default/pods/a"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "no_proxy",
        "NO_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


def write(folder: Path, *, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> str:
    """A kubeconfig with the context `main`."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"} | (cluster or {})}],
        "users": [{"name": "u", "user": user or {}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return str(path)


def inline(content: bytes) -> str:
    return base64.b64encode(content).decode()


def plugin(folder: Path, code: str, **more: Any) -> dict[str, Any]:
    """A user whose exec plugin runs that Python code."""
    script = folder / "plugin.py"
    script.write_text(code)
    command = {"apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": [str(script)]}
    return {"exec": command | more}


def credential(**status: Any) -> str:
    return json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status})


def problem(caplog: pytest.LogCaptureFixture, files: str, context: str | None = None) -> str:
    """The text of the error, after a look for secrets in it and in the log."""
    caught: list[str] = []

    @asynchronous
    async def run() -> None:
        with pytest.raises(ApiConfigError) as error:
            await from_kubeconfig(files, context)
        caught.append(f"{error.value}")
        assert error.value.__suppress_context__ or error.value.__context__ is None

    with caplog.at_level(logging.DEBUG):
        run()
    assert SECRET not in caught[0]
    assert SECRET not in caplog.text
    return caught[0]


@asynchronous
async def test_a_token_of_the_kubeconfig_is_sent(tmp_path: Path) -> None:
    async with FakeServer() as server:
        server.on("GET", POD, Answer(b"x"))
        credentials = await from_kubeconfig(write(tmp_path, cluster={"server": server.url}, user={"token": SECRET}))
        async with ApiClient(credentials, qps=-1) as client:
            await client.request("GET", POD)
        assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"
        assert SECRET not in repr(await credentials.fresh())


@asynchronous
async def test_a_token_file_is_read_again_after_a_minute_and_next_to_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one\n")
    clock = FakeClock()
    credentials = await from_kubeconfig(write(tmp_path, user={"tokenFile": "token"}), clock=clock)
    assert (await credentials.fresh()).authorization == "Bearer one"
    (tmp_path / "token").write_text("two\n")
    clock.time += 59
    assert (await credentials.fresh()).authorization == "Bearer one"
    clock.time += 2
    assert (await credentials.fresh()).authorization == "Bearer two"


@asynchronous
async def test_a_token_file_that_vanished_leaves_the_old_token_in_use(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "token").write_text(SECRET)
    clock = FakeClock()
    credentials = await from_kubeconfig(write(tmp_path, user={"tokenFile": "token"}), clock=clock)
    (tmp_path / "token").unlink()
    clock.time += 61
    assert (await credentials.fresh()).authorization == f"Bearer {SECRET}"
    assert "the old ones stay in use" in caplog.text
    (tmp_path / "token").write_text("new")
    clock.time += 11
    assert (await credentials.fresh()).authorization == "Bearer new"


@asynchronous
async def test_a_401_makes_a_rotated_token_be_read_at_once(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("old")
    clock = FakeClock()
    async with FakeServer() as server:
        files = write(tmp_path, cluster={"server": server.url}, user={"tokenFile": "token"})
        credentials = await from_kubeconfig(files, clock=clock)
        (tmp_path / "token").write_text("new")
        clock.time += 11
        server.on("GET", POD, status_answer(401, "Unauthorized"), Answer(b"x"))
        async with ApiClient(credentials, qps=-1) as client:
            assert await client.request("GET", POD) == b"x"
        assert [request.headers["authorization"] for request in server.requests] == ["Bearer old", "Bearer new"]


@asynchronous
async def test_refusals_do_not_make_us_load_over_and_over(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    code = f"open({str(counter)!r}, 'a').write('x')\nprint({credential(token='t')!r})"
    clock = FakeClock()
    credentials = await from_kubeconfig(write(tmp_path, user=plugin(tmp_path, code)), clock=clock)
    access = await credentials.fresh()
    for _ in range(5):
        assert await credentials.renewed(access) is access
    assert counter.read_text() == "x"
    clock.time += 11
    assert await credentials.renewed(access) is access  # the plugin gave the same token
    assert counter.read_text() == "xx"


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


@asynchronous
async def test_certificates_inline_open_a_server_that_asks_for_them(tmp_path: Path, authority: Authority) -> None:
    signed = authority.sign("scheduler")
    async with FakeServer(authority.server_context(tmp_path, clients=True)) as server:
        server.on("GET", POD, Answer(b"x"))
        cluster = {"server": server.url, "certificate-authority-data": inline(authority.certificate)}
        user = {"client-certificate-data": inline(signed.certificate), "client-key-data": inline(signed.key)}
        async with ApiClient(await from_kubeconfig(write(tmp_path, cluster=cluster, user=user)), qps=-1) as client:
            assert await client.request("GET", POD) == b"x"


@asynchronous
async def test_certificate_files_that_are_replaced_are_used(tmp_path: Path, authority: Authority) -> None:
    signed = authority.sign("scheduler")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    (tmp_path / "me.crt").write_bytes(signed.certificate)
    (tmp_path / "me.key").write_bytes(signed.key)
    cluster = {"server": "https://127.0.0.1:1", "certificate-authority": "ca.crt"}
    clock = FakeClock()
    files = write(tmp_path, cluster=cluster, user={"client-certificate": "me.crt", "client-key": "me.key"})
    credentials = await from_kubeconfig(files, clock=clock)
    first = await credentials.fresh()
    clock.time += 61
    assert await credentials.fresh() is first  # nothing changed: connections stay
    renewed = authority.sign("scheduler")
    (tmp_path / "me.crt").write_bytes(renewed.certificate)
    (tmp_path / "me.key").write_bytes(renewed.key)
    clock.time += 61
    assert (await credentials.fresh()).ssl is not first.ssl


@asynchronous
async def test_a_wrong_authority_is_said_and_not_tried_again(tmp_path: Path, authority: Authority) -> None:
    clock = FakeClock()
    async with FakeServer(authority.server_context(tmp_path)) as server:
        cluster = {"server": server.url, "certificate-authority-data": inline(Authority("another").certificate)}
        async with ApiClient(await from_kubeconfig(write(tmp_path, cluster=cluster)), qps=-1, clock=clock) as client:
            with pytest.raises(
                ApiError, match=r"the certificate of https://\S+ is not trusted: .*certificate authority"
            ) as caught:
                await client.request("GET", POD)
        assert caught.value.reason == UNTRUSTED
        assert not caught.value.maybe_done
        assert server.requests == []
        assert clock.sleeps == []


@asynchronous
async def test_the_name_of_the_certificate_can_be_given(tmp_path: Path, authority: Authority) -> None:
    async with FakeServer(authority.server_context(tmp_path)) as server:
        server.on("GET", POD, Answer(b"x"))
        cluster = {"server": server.url, "certificate-authority-data": inline(authority.certificate)}
        right = await from_kubeconfig(write(tmp_path, cluster=cluster | {"tls-server-name": "kubernetes"}))
        async with ApiClient(right, qps=-1) as client:
            assert await client.request("GET", POD) == b"x"
        wrong = await from_kubeconfig(write(tmp_path, cluster=cluster | {"tls-server-name": "elsewhere"}))
        async with ApiClient(wrong, qps=-1) as client:
            with pytest.raises(ApiError, match="is not trusted: Hostname mismatch"):
                await client.request("GET", POD)


@asynchronous
async def test_verification_can_be_skipped_by_the_kubeconfig(tmp_path: Path, authority: Authority) -> None:
    async with FakeServer(authority.server_context(tmp_path)) as server:
        server.on("GET", POD, Answer(b"x"))
        cluster = {"server": server.url, "insecure-skip-tls-verify": True}
        async with ApiClient(await from_kubeconfig(write(tmp_path, cluster=cluster)), qps=-1) as client:
            assert await client.request("GET", POD) == b"x"


@asynchronous
async def test_a_server_that_wants_a_certificate_we_have_not_says_so(tmp_path: Path, authority: Authority) -> None:
    async with FakeServer(authority.server_context(tmp_path, clients=True)) as server:
        cluster = {"server": server.url, "certificate-authority-data": inline(authority.certificate)}
        async with ApiClient(await from_kubeconfig(write(tmp_path, cluster=cluster)), qps=-1) as client:
            with pytest.raises(ApiError, match=r"cannot create pods default/a: https://"):
                await client.request("POST", POD, tries=1)


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
         "its credentials cannot be loaded"),
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
    assert "certificate authority of the API server cannot be used: not a valid PEM" in problem(caplog, files)
    one, two = authority.sign("a"), authority.sign("b")
    for certificate, key in (
        (SECRET.encode(), one.key),
        (one.certificate, SECRET.encode()),
        (one.certificate, two.key),
    ):
        user = {"client-certificate-data": inline(certificate), "client-key-data": inline(key)}
        files = write(tmp_path, cluster=server, user=user)
        assert "the client certificate and its key cannot be used: not a valid PEM" in problem(caplog, files)


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
    monkeypatch.setattr(auth, "_LOAD_TIMEOUT", timeout)
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


@asynchronous
async def test_a_proxy_of_the_kubeconfig_or_the_environment_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured = await from_kubeconfig(write(tmp_path, cluster={"proxy-url": "http://127.0.0.1:9"}))
    assert (await configured.fresh()).proxy == "http://127.0.0.1:9"
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:8")
    assert (await (await from_kubeconfig(write(tmp_path))).fresh()).proxy == "http://127.0.0.1:8"
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert (await (await from_kubeconfig(write(tmp_path))).fresh()).proxy is None


@asynchronous
async def test_a_pod_uses_its_service_account_and_follows_its_token(tmp_path: Path, authority: Authority) -> None:
    (tmp_path / "token").write_text("one\n")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    clock = FakeClock()
    async with FakeServer(authority.server_context(tmp_path)) as server:
        server.always("GET", POD, Answer(b"x"))
        environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(server.port)}
        files = {"token_file": str(tmp_path / "token"), "ca_file": str(tmp_path / "ca.crt")}
        async with ApiClient(await in_cluster(**files, environ=environ, clock=clock), qps=-1) as client:
            await client.request("GET", POD)
            (tmp_path / "token").write_text("two\n")
            clock.time += 61
            await client.request("GET", POD)
        assert [request.headers["authorization"] for request in server.requests] == ["Bearer one", "Bearer two"]


@asynchronous
async def test_outside_a_pod_a_kubeconfig_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ApiConfigError, match=r"Service host/port is not set .*Then name a kubeconfig"):
        await in_cluster(environ={})
    environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"}
    with pytest.raises(ApiConfigError, match="Service token file does not exist"):
        await in_cluster(token_file=str(tmp_path / "none"), environ=environ)
