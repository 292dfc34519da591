"""Credentials: origin, renewal and TLS. Error texts and logs never hold a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kubewasp.apiserver.auth import from_kubeconfig, in_cluster
from kubewasp.apiserver.client import ApiClient
from kubewasp.apiserver.errors import UNTRUSTED, ApiConfigError, ApiError
from tests.apiserver.certificates import Authority
from tests.apiserver.fake_server import Answer, FakeServer, status_answer
from tests.apiserver.kubeconfigs import SECRET, credential, inline, plugin, write
from tests.apiserver.running import FakeClock, asynchronous

if TYPE_CHECKING:
    from pathlib import Path

POD = "/api/v1/namespaces/default/pods/a"


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
    with pytest.raises(ApiConfigError, match=r"KUBERNETES_SERVICE_PORT are not set .*Then name a kubeconfig"):
        await in_cluster(environ={})
    environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"}
    with pytest.raises(ApiConfigError, match=r"none cannot be read: No such file .*Then name a kubeconfig"):
        await in_cluster(token_file=str(tmp_path / "none"), environ=environ)


@asynchronous
async def test_a_user_and_a_password_are_sent(tmp_path: Path) -> None:
    credentials = await from_kubeconfig(write(tmp_path, user={"username": "me", "password": SECRET}))
    encoded = inline(f"me:{SECRET}".encode())
    assert (await credentials.fresh()).authorization == f"Basic {encoded}"


@pytest.mark.parametrize("file", ["token", "ca.crt"])
def test_a_service_account_with_an_empty_file_is_refused(tmp_path: Path, file: str, authority: Authority) -> None:
    (tmp_path / "token").write_text(SECRET)
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    (tmp_path / file).write_text("")
    environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"}

    @asynchronous
    async def run() -> None:
        with pytest.raises(ApiConfigError, match=rf"{file} is empty .*Then name a kubeconfig"):
            await in_cluster(token_file=str(tmp_path / "token"), ca_file=str(tmp_path / "ca.crt"), environ=environ)

    run()


@asynchronous
async def test_the_address_of_a_pods_server_may_be_of_version_6(tmp_path: Path, authority: Authority) -> None:
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    files = {"token_file": str(tmp_path / "token"), "ca_file": str(tmp_path / "ca.crt")}
    assert (await (await in_cluster(**files, environ=environ)).fresh()).server == "https://[fd00::1]:443"
