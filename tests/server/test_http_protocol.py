"""Connections to a server on loopback: limits of time, size and number, hosts, and log lines. Time is simulated."""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from kubewasp.server.connection_table import HELD_PER_BODY, ConnectionTable, HttpLimits
from kubewasp.server.http_server import Address, AppServer
from tests.apiserver.certificates import Authority
from tests.server.test_limited_log import Clock

HOST = b"Host: localhost\r\n"
LIVEZ = b"GET /livez HTTP/1.1\r\n" + HOST + b"\r\n"
GET = b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with path and body; `/stuck` never, `/large` with 32 MiB in one piece."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message["body"], message["more_body"]
    if scope["path"] == "/stuck":
        await receive()
        return
    content = b"x" * (32 << 20) if scope["path"] == "/large" else scope["path"].encode() + b" " + body
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(content))]})
    await send({"type": "http.response.body", "body": content})


class Served:
    def __init__(self, server: AppServer, clock: Clock) -> None:
        self.server = server
        self._clock = clock
        self._open: list[asyncio.StreamWriter] = []

    @property
    def table(self) -> ConnectionTable:
        assert self.server._server is not None
        return self.server._server._guard.table

    async def connect(self, **more: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(self.server.address.host, self.server.address.port, **more)
        self._open.append(writer)
        return reader, writer

    async def send(self, data: bytes) -> asyncio.StreamReader:
        reader, writer = await self.connect()
        writer.write(data)
        return reader

    async def answer(self, data: bytes) -> bytes:
        """First line and body of the response."""
        return await response(await self.send(data))

    async def until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():  # the caller's time limit ends it
            await asyncio.sleep(0.001)

    def pass_time(self, seconds: int) -> None:
        for _ in range(seconds):
            self._clock.time += 1
            self.table.check(self._clock.time)

    def close(self) -> None:
        for writer in self._open:
            writer.transport.abort()


async def response(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return head.split(b"\r\n")[0].removeprefix(b"HTTP/1.1 ") + b"|" + await reader.readexactly(length)


async def rest(reader: asyncio.StreamReader) -> bytes:
    with contextlib.suppress(ConnectionResetError):
        return await reader.read()
    return b""


@asynccontextmanager
async def served(app: ASGIApp = echo, address: Address | None = None, **settings: Any) -> AsyncIterator[Served]:
    clock = Clock()
    limits = settings.pop("limits", HttpLimits(requests=4, reserved=2))
    server = AppServer(app, address or Address(port=0), clock=clock, limits=limits, grace_seconds=1, **settings)
    await server.start()
    found = Served(server, clock)
    try:
        yield found
    finally:
        found.close()
        await server.stop()


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        await asyncio.wait_for(test(), 120)

    asyncio.run(within())


# ---------------------------------------------------------------------- number of connections


def test_health_is_answered_beside_any_number_of_silent_connections(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served() as server:
            for _ in range(100):
                await server.connect()
            assert (await server.answer(LIVEZ)).startswith(b"200 OK")
            assert len(server.table) <= 6

    run(test)
    lines = [item for item in caplog.records if item.levelno >= logging.WARNING]
    assert 1 <= len(lines) <= 3
    assert max(getattr(item, "leftOut", 0) for item in lines) > 50


def test_health_is_answered_while_all_requests_are_stuck() -> None:
    async def test() -> None:
        async with served() as server:
            for _ in range(4):
                await server.send(b"GET /stuck HTTP/1.1\r\n" + HOST + b"\r\n")
            await server.until(lambda: server.table._requests == 4)
            assert (await server.answer(GET)).startswith(b"503 ")
            for path in (b"/livez", b"/readyz?verbose", b"/healthz/ping"):
                answer = await server.answer(b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n")
                assert answer.startswith(b"200 OK|" + path.partition(b"?")[0])

    run(test)


def test_paths_are_reserved_only_where_they_are_health() -> None:
    async def test() -> None:
        async with served(reserved_paths=()) as server:
            for _ in range(4):
                await server.send(b"GET /stuck HTTP/1.1\r\n" + HOST + b"\r\n")
            await server.until(lambda: server.table._requests == 4)
            assert (await server.answer(LIVEZ)).startswith(b"503 ")

    run(test)


def test_open_tls_handshakes_are_connections_too(tmp_path: Path) -> None:
    authority = Authority()
    signed = authority.sign("localhost")
    (tmp_path / "tls.crt").write_bytes(signed.certificate)
    (tmp_path / "tls.key").write_bytes(signed.key)
    address = Address("localhost", 0, str(tmp_path / "tls.crt"), str(tmp_path / "tls.key"))
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    async def test() -> None:
        async with served(address=address) as server:
            silent = [await server.connect() for _ in range(50)]
            reader, writer = await server.connect(ssl=context)
            writer.write(LIVEZ)
            assert (await response(reader)).startswith(b"200 OK")
            assert len(server.table) <= 6
            assert await rest(silent[0][0]) == b""  # closed

    run(test)


# ---------------------------------------------------------------------- size and time


def test_a_large_head_is_refused() -> None:
    async def test() -> None:
        async with served() as server:
            assert (await server.answer(b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 40_000)).startswith(b"431 ")

    run(test)


@pytest.mark.parametrize(("sent", "answer"), [(b"", b""), (GET[:-2], b"HTTP/1.1 408 Request Timeout")])
def test_a_head_has_to_arrive_in_time(sent: bytes, answer: bytes) -> None:
    async def test() -> None:
        async with served() as server:
            reader = await server.send(sent)
            await server.until(lambda: len(server.table) == 1 and (not sent or _pending(server.table) == len(sent)))
            server.pass_time(10)
            assert len(server.table) == 1
            server.pass_time(1)
            assert (await rest(reader)).partition(b"\r\n")[0] == answer
            await server.until(lambda: len(server.table) == 0)

    run(test)


def _pending(table: ConnectionTable) -> int:
    return sum(len(connection._pending) for connection in table._idle)  # type: ignore[attr-defined]


def test_a_slow_body_is_ended_and_a_steady_one_is_not() -> None:
    head = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 100000\r\n\r\n"

    async def test() -> None:
        async with served() as server:
            slow = await server.send(head + b"x" * 100)
            reader, writer = await server.connect()
            writer.write(head + b"x" * 90_000)
            await server.until(lambda: _received(server.table) == [100, 90_000])
            server.pass_time(12)
            assert (await rest(slow)).startswith(b"HTTP/1.1 408 ")
            writer.write(b"x" * 10_000)
            assert (await response(reader)).startswith(b"200 OK")

    run(test)


def _received(table: ConnectionTable) -> list[int]:
    return sorted(connection._received for connection in table._busy)  # type: ignore[attr-defined]


def test_waiting_for_the_application_is_no_fault_of_the_client() -> None:
    async def test() -> None:
        go_on = asyncio.Event()

        async def late(scope: Scope, receive: Receive, send: Send) -> None:
            await go_on.wait()
            await echo(scope, receive, send)

        async with served(late) as server:
            head = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 1000000\r\n"
            full, writer = await server.connect()
            writer.write(head + b"\r\n" + b"x" * 1_000_000)
            asking = await server.send(head + b"Expect: 100-continue\r\n\r\n")
            busy = server.table._busy
            await server.until(lambda: len(busy) == 2 and any(item.flow.read_paused for item in busy))  # type: ignore[attr-defined]
            server.pass_time(1000)
            go_on.set()
            assert (await response(full)).startswith(b"200 OK")
            assert (await asking.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")

    run(test)


def test_a_response_that_nobody_reads_is_ended() -> None:
    async def test() -> None:
        async with served() as server:
            _, writer = await server.connect(limit=1024)
            writer.write(b"GET /large HTTP/1.1\r\n" + HOST + b"\r\n")
            await server.until(lambda: any(item.flow.write_paused for item in _all(server.table)))
            server.pass_time(12)
            await server.until(lambda: len(server.table) == 0)

    run(test)


def _all(table: ConnectionTable) -> list[Any]:
    return [item for item in (*table._idle, *table._busy) if getattr(item, "flow", None) is not None]


def test_bodies_share_one_budget() -> None:
    head = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 1000000\r\n\r\n"

    async def test() -> None:
        async with served(limits=HttpLimits(requests=4, reserved=2, bodies=2 * HELD_PER_BODY)) as server:
            readers = [await server.send(head), await server.send(head)]
            await server.until(lambda: server.table.bodies == 2 * HELD_PER_BODY)
            assert (await server.answer(head)).startswith(b"503 ")
            assert (await server.answer(GET)).startswith(b"200 ")
            server.pass_time(12)
            assert all([(await rest(reader)).startswith(b"HTTP/1.1 408 ") for reader in readers])
            await server.until(lambda: server.table.bodies == 0)

    run(test)


def test_requests_sent_ahead_wait_in_the_socket_and_are_answered_in_order() -> None:
    count = 500

    async def test() -> None:
        async with served() as server:
            reader, writer = await server.connect()
            fields = HOST + b"X: " + b"x" * 2000 + b"\r\n"
            writer.write(b"".join(b"GET /%d HTTP/1.1\r\n%b\r\n" % (number, fields) for number in range(count)))
            for number in range(count):
                assert await response(reader) == b"200 OK|/%d " % number
                (connection,) = _all(server.table)
                assert not connection.pipeline
                assert len(connection._pending) <= 256 * 1024

    run(test)


def test_requests_sent_ahead_share_the_budget_of_bodies() -> None:
    stuck = b"GET /stuck HTTP/1.1\r\n" + HOST + b"\r\n"

    async def test() -> None:
        async with served(limits=HttpLimits(requests=4, reserved=2, bodies=1500)) as server:
            await server.send(stuck + b"x" * 1000)
            await server.until(lambda: server.table.bodies == 1000)
            assert await rest(await server.send(stuck + b"x" * 1000)) == b""
            assert server.table.bodies == 1000
            server.table.drop_all()  # nothing is read from them, not even their end
            await server.until(lambda: server.table.bodies == 0)

    run(test)


def test_a_response_before_the_end_of_its_request_is_the_only_one() -> None:
    async def early(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    async def test() -> None:
        async with served(early) as server:
            reader = await server.send(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 100000\r\n\r\nabc")
            assert await response(reader) == b"200 OK|"
            server.pass_time(12)
            assert await rest(reader) == b""

    run(test)


@pytest.mark.parametrize(
    "framing", [b"Content-Length: 5\r\n\r\nabcde", b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"]
)
def test_the_next_request_begins_after_a_body(framing: bytes) -> None:
    async def test() -> None:
        async with served() as server:
            reader = await server.send((b"POST /a HTTP/1.1\r\n" + HOST + framing) * 2)
            assert [await response(reader), await response(reader)] == [b"200 OK|/a abcde"] * 2

    run(test)


# ---------------------------------------------------------------------- refusals


def test_an_ambiguous_request_is_the_last_one_of_its_connection() -> None:
    async def test() -> None:
        async with served() as server:
            smuggled = b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + GET
            answer = await rest(await server.send(b"POST / HTTP/1.1\r\n" + HOST + smuggled))
            assert answer.startswith(b"HTTP/1.1 400 ")
            assert answer.count(b"HTTP/1.1") == 1

    run(test)


@pytest.mark.parametrize("bad", [b"\0\r\n\r\n", b"GE5T / HTTP/1.1\r\n" + HOST + b"\r\n"])
def test_bad_requests_cost_one_log_line(bad: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served() as server:
            for _ in range(50):
                assert (await server.answer(bad)).startswith(b"400 ")
            upgrade = b"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n"
            assert (await server.answer(b"GET / HTTP/1.1\r\n" + HOST + upgrade)).startswith(b"200 ")

    run(test)
    assert [getattr(item, "leftOut", 0) for item in caplog.records if item.levelno >= logging.WARNING] == [0, 49]


def test_a_page_with_another_name_cannot_read_a_loopback_server() -> None:
    async def test() -> None:
        async with served() as server:
            assert (await server.answer(b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")).startswith(b"421 ")
            absolute = b"GET http://evil.example/ HTTP/1.1\r\n" + HOST + b"\r\n"
            assert (await server.answer(absolute)).startswith(b"421 ")
            assert (await server.answer(GET)).startswith(b"200 ")

    run(test)


def test_nor_one_on_all_interfaces_through_loopback() -> None:
    async def test() -> None:
        async with served(address=Address("0.0.0.0", 0)) as server:
            assert (await server.answer(b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")).startswith(b"421 ")

    run(test)


def test_further_hosts_can_be_allowed() -> None:
    async def test() -> None:
        async with served(allowed_hosts=["site.example"]) as server:
            assert (await server.answer(b"GET / HTTP/1.1\r\nHost: site.example:80\r\n\r\n")).startswith(b"200 ")

    run(test)


@pytest.mark.parametrize(("proxies", "client"), [([], "127.0.0.1"), (["127.0.0.0/8"], "192.0.2.7")])
def test_forwarded_addresses_count_from_trusted_proxies_only(proxies: list[str], client: str) -> None:
    async def shown(scope: Scope, receive: Receive, send: Send) -> None:
        content = scope["client"][0].encode()
        headers = [(b"content-length", b"%d" % len(content))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def test() -> None:
        async with served(shown, trusted_proxies=proxies) as server:
            answer = await server.answer(b"GET / HTTP/1.1\r\n" + HOST + b"X-Forwarded-For: 192.0.2.7\r\n\r\n")
            assert answer == f"200 OK|{client}".encode()

    run(test)
