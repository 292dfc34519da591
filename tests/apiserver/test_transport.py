"""Requests and streams, straight and through proxies."""

from __future__ import annotations

import asyncio
import base64
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest

from kubewasp.apiserver.auth import fixed
from kubewasp.apiserver.client import ApiClient
from kubewasp.apiserver.errors import DISCONNECTED, TIMED_OUT, UNREACHABLE, UNTRUSTED, ApiError
from kubewasp.apiserver.http_connection import Access
from kubewasp.apiserver.tls import Pem, tls_context
from kubewasp.apiserver.transport import Transport
from tests.apiserver.certificates import Authority
from tests.apiserver.fake_proxy import FakeProxy
from tests.apiserver.fake_server import Answer, Drop, FakeServer, Silence, Stream, status_answer
from tests.apiserver.running import asynchronous

if TYPE_CHECKING:
    from pathlib import Path

POD = "/api/v1/namespaces/default/pods/a"
PODS = "/api/v1/pods"


async def watched(
    transport: Transport, access: Access, received: list[bytes] | None = None, timeout: float = 5.0
) -> bytes:
    """All bytes of a watch until its end; `received` has them even if it breaks."""
    received = [] if received is None else received
    async with aclosing(transport.stream(access, PODS, query={"watch": "1"}, timeout=timeout)) as chunks:
        async for chunk in chunks:
            received.append(chunk)
    return b"".join(received)


def trusting(authority: Authority, server: str, proxy: str) -> Access:
    return Access(server, tls_context(Pem("CA", authority.certificate)), proxy=proxy)


async def get(access: Access, times: int = 1) -> list[bytes]:
    async with ApiClient(fixed(access), qps=-1) as client:
        return [await client.request("GET", POD, tries=1) for _ in range(times)]


# ---------------------------------------------------------------------- streams


@asynchronous
async def test_a_stream_begins_with_an_empty_chunk_and_ends_with_its_body() -> None:
    async with FakeServer() as server:
        server.on("GET", PODS, Stream([b"one", b"two"], "ends"))
        transport = Transport()
        chunks = [
            chunk async for chunk in transport.stream(Access(server.url), PODS, query={"watch": "1"}, timeout=5.0)
        ]
        assert chunks[0] == b""
        assert b"".join(chunks) == b"onetwo"
        assert server.requests[0].headers["accept"] == "application/vnd.kubernetes.protobuf;stream=watch"
        while server.open_connections:  # a stream's connection is not used again
            await asyncio.sleep(0)


@asynchronous
async def test_a_stream_that_is_refused_has_the_error_of_its_body() -> None:
    async with FakeServer() as server:
        server.on("GET", PODS, status_answer(410, "Expired", "too old", retryAfterSeconds=3))
        with pytest.raises(ApiError, match="cannot watch pods: too old") as caught:
            await watched(Transport(), Access(server.url))
        assert (caught.value.is_expired, caught.value.retry_after) == (True, 3.0)


@pytest.mark.parametrize(
    ("reaction", "reason", "text"),
    [
        (Stream([b"one"], "cut"), DISCONNECTED, "closed the connection in the middle of its answer"),
        (Drop(), DISCONNECTED, "closed the connection without an answer"),
        (Stream([b"one"]), TIMED_OUT, "did not answer in time"),
        (Silence(), TIMED_OUT, "did not answer in time"),
    ],
)
def test_a_stream_that_breaks_is_an_error_after_its_bytes(reaction: Stream | Drop, reason: str, text: str) -> None:
    @asynchronous
    async def run() -> None:
        async with FakeServer() as server:
            server.on("GET", PODS, reaction)
            received: list[bytes] = []
            with pytest.raises(ApiError, match=text) as caught:
                await watched(Transport(), Access(server.url), received, timeout=0.2)
            assert caught.value.reason == reason
            assert b"".join(received) == (b"one" if isinstance(reaction, Stream) else b"")

    run()


@asynchronous
async def test_a_stream_that_nobody_reads_any_more_is_closed() -> None:
    async with FakeServer() as server:
        server.on("GET", PODS, Stream([b"one"]))
        reading = asyncio.create_task(watched(Transport(), Access(server.url)))
        await server.asked(1)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        while server.open_connections:
            await asyncio.sleep(0)


@asynchronous
async def test_closing_the_transport_ends_its_streams() -> None:
    async with FakeServer() as server:
        server.on("GET", PODS, Stream([b"one"]))
        transport = Transport()
        reading = asyncio.create_task(watched(transport, Access(server.url)))
        await server.asked(1)
        await asyncio.sleep(0.01)
        await transport.close()
        with pytest.raises(ApiError, match="closed the connection"):
            await reading


# ---------------------------------------------------------------------- proxies


@asynchronous
async def test_a_plain_request_names_its_server_to_the_proxy() -> None:
    async with FakeServer() as server, FakeProxy() as proxy:
        server.always("GET", "/api/v1/namespaces/default/pods/a", Answer(b"x"))
        server.on("GET", PODS, Stream([b"one"], "ends"))
        access = Access(f"{server.url}", proxy=f"http://us%40er:pass@{proxy.address}")
        assert await get(access, times=2) == [b"x", b"x"]
        assert await watched(Transport(), access) == b"one"
        assert proxy.heads[0].startswith(f"GET {server.url}{POD} HTTP/1.1\r\nHost: {server.url[7:]}\r\n")
        encoded = base64.b64encode(b"us@er:pass").decode()
        assert f"\r\nProxy-Authorization: Basic {encoded}\r\n" in proxy.heads[0]
        assert len(proxy.heads) == 2  # one connection for the requests, one for the stream


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_request_with_tls_goes_through_a_tunnel(tmp_path: Path, authority: Authority, scheme: str) -> None:
    @asynchronous
    async def run() -> None:
        context = authority.server_context(tmp_path)
        async with FakeServer(context) as server, FakeProxy(context if scheme == "https" else None) as proxy:
            server.always("GET", POD, Answer(b"x"))
            server.on("GET", PODS, Stream([b"one" * 100_000, b"two"], "ends"))
            access = trusting(authority, server.url, f"{scheme}://user:pass@{proxy.address}")
            assert await get(access, times=3) == [b"x"] * 3
            assert await watched(Transport(), access) == b"one" * 100_000 + b"two"
            target = server.url.removeprefix("https://")
            assert proxy.heads[0].startswith(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n")
            assert "Proxy-Authorization: Basic " in proxy.heads[0]
            assert len(proxy.heads) == 2
            assert "proxy-authorization" not in server.requests[0].headers

    run()


@pytest.mark.parametrize(
    ("refusal", "problem"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 3\r\n\r\nno\n",
         "the proxy answered HTTP status 407 Proxy Authentication Required"),
        (b"HTTP/1.0 502 Bad Gateway\r\n\r\n", "the proxy answered HTTP status 502 Bad Gateway"),
        (b"SSH-2.0\r\n\r\n", "the proxy closed the connection"),
        (b"", "the proxy closed the connection"),
    ],
)  # fmt: skip
def test_a_tunnel_that_is_refused_is_named_without_the_password(
    authority: Authority, refusal: bytes, problem: str
) -> None:
    @asynchronous
    async def run() -> None:
        async with FakeProxy(refusal=refusal) as proxy:
            access = trusting(authority, "https://10.0.0.1:6443", f"http://user:s3cret@{proxy.address}")
            with pytest.raises(ApiError) as caught:
                await get(access)
        expected = (
            f"https://10.0.0.1:6443 cannot be reached through its proxy: {problem} (see proxy-url of the kubeconfig"
        )
        assert expected in str(caught.value)
        assert caught.value.reason == UNREACHABLE
        assert "s3cret" not in str(caught.value)

    run()


@asynchronous
async def test_a_proxy_that_is_not_there_is_named(authority: Authority) -> None:
    async with FakeProxy() as proxy:
        address = proxy.address
    with pytest.raises(ApiError, match="cannot be reached through its proxy: Connection refused"):
        await get(trusting(authority, "https://10.0.0.1:6443", f"http://{address}"))


@asynchronous
async def test_the_certificate_is_checked_behind_a_proxy_too(tmp_path: Path, authority: Authority) -> None:
    async with FakeServer(authority.server_context(tmp_path)) as server, FakeProxy() as proxy:
        with pytest.raises(ApiError, match="is not trusted") as caught:
            await get(trusting(Authority("another"), server.url, f"http://{proxy.address}"))
        assert caught.value.reason == UNTRUSTED
        assert server.requests == []
        while any("_accept_connection2" in repr(task) for task in asyncio.all_tasks()):  # the server's handshake
            await asyncio.sleep(0)


@asynchronous
async def test_a_tunnel_that_is_never_opened_is_given_up(monkeypatch: pytest.MonkeyPatch, authority: Authority) -> None:
    monkeypatch.setattr("kubewasp.apiserver.http_connection.CONNECT_TIMEOUT", 0.05)
    async with FakeServer() as silent:
        silent.always("CONNECT", "10.0.0.1:6443", Silence())
        silent.always("CONNECT", "", Silence())
        with pytest.raises(ApiError, match="through its proxy: no connection in time"):
            await get(trusting(authority, "https://10.0.0.1:6443", silent.url))
        while silent.open_connections:
            await asyncio.sleep(0)
