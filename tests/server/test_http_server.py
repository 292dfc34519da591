"""HTTP server on a loopback port."""

import asyncio
import datetime as dt
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from kubewasp.server.http_server import Address, AppServer, ServeError, host_and_port


async def hello(_: Request) -> Response:
    return PlainTextResponse("hello")


APP = Starlette(routes=[Route("/", hello)])


@asynccontextmanager
async def served(address: Address, app: Starlette = APP) -> AsyncIterator[AppServer]:
    server = AppServer(app, address)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        await asyncio.wait_for(test(), 30)

    asyncio.run(within())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_requests_are_answered_on_any_free_port(host: str) -> None:
    if host == "::1" and not socket.has_ipv6:
        pytest.skip("no IPv6")

    async def test() -> None:
        async with served(Address(host, 0)) as server, httpx.AsyncClient() as client:
            assert server.address.port > 0
            assert (await client.get(server.url)).text == "hello"

    run(test)


def test_after_the_stop_nobody_listens_and_the_port_is_free() -> None:
    async def test() -> None:
        async with served(Address(port=0)) as server:
            address = server.address
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(address.host, address.port)
        async with served(address):
            pass

    run(test)


def test_a_request_that_is_under_way_is_answered_before_the_stop() -> None:
    async def test() -> None:
        reached, go_on = asyncio.Event(), asyncio.Event()

        async def slow(_: Request) -> Response:
            reached.set()
            await go_on.wait()
            return PlainTextResponse("done")

        async with (
            served(Address(port=0), Starlette(routes=[Route("/", slow)])) as server,
            httpx.AsyncClient() as client,
        ):
            request = asyncio.create_task(client.get(server.url))
            await reached.wait()
            stopping = asyncio.create_task(server.stop())
            go_on.set()
            assert (await request).text == "done"
            await stopping

    run(test)


def test_a_port_that_is_taken_is_one_clear_error() -> None:
    async def test() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = Address(port=taken.getsockname()[1])
            with pytest.raises(ServeError) as error:
                await AppServer(APP, address).start()
        assert str(error.value) == (
            f"cannot listen on {address}: the port is in use; choose another (0: any free port)"
        )

    run(test)


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (Address("192.0.2.1", 0), "cannot listen on 192.0.2.1:0: "),
        (Address("no such host.invalid", 0), "cannot listen on no such host.invalid:0: "),
        (Address(port=70000), "expected a port from 0 to 65535"),
        (Address(port=0, certificate="/nowhere/tls.crt"), "HTTPS needs both a certificate and its key"),
        (Address(port=0, certificate="/nowhere/tls.crt", key="/nowhere/tls.key"), "No such file or directory"),
    ],
)
def test_an_address_that_cannot_be_used(address: Address, text: str) -> None:
    async def test() -> None:
        with pytest.raises(ServeError) as error:
            await AppServer(APP, address).start()
        assert text in str(error.value)

    run(test)


def test_signals_are_left_to_the_process() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)

    async def test() -> None:
        async with served(Address(port=0)):
            assert signal.getsignal(signal.SIGTERM) == before[0]

    run(test)
    assert signal.getsignal(signal.SIGTERM) == before[0]


# ---------------------------------------------------------------------- HTTPS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Self-signed certificate for localhost, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "tls.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "tls.key").write_bytes(text)
    return folder / "tls.crt", folder / "tls.key"


def test_https_with_a_certificate(certificate: tuple[Path, Path]) -> None:
    async def test() -> None:
        trusted = ssl.create_default_context(cafile=str(certificate[0]))
        address = Address("localhost", 0, str(certificate[0]), str(certificate[1]))
        async with served(address) as server, httpx.AsyncClient(verify=trusted) as client:
            assert server.url.startswith("https://localhost:")
            assert (await client.get(server.url)).text == "hello"

    run(test)


def test_a_key_that_is_none_is_one_clear_error(certificate: tuple[Path, Path]) -> None:
    async def test() -> None:
        with pytest.raises(ServeError, match=r"cannot use .*tls\.crt"):
            await AppServer(APP, Address(port=0, certificate=str(certificate[0]), key=str(certificate[0]))).start()

    run(test)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("127.0.0.1:8888", ("127.0.0.1", 8888)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:80", ("::1", 80)),
        (":8888", ("0.0.0.0", 8888)),
    ],
)
def test_where_to_listen(text: str, place: tuple[str, int]) -> None:
    assert host_and_port(text) == place


@pytest.mark.parametrize("text", ["", "8888", "host", "host:", "host:-1", "host:65536", "host:http", "::1:80", "[::1]"])
def test_places_that_nobody_can_listen_on(text: str) -> None:
    with pytest.raises(ServeError, match="expected HOST:PORT"):
        host_and_port(text)
