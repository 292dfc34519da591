"""Connections: responses in any pieces, streams with backpressure, garbage, and the pool."""

import asyncio
import gc
import itertools
import ssl
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.apiserver import http_connection
from kubewasp.apiserver.http_connection import (
    Access,
    Connection,
    ConnectionLostError,
    ConnectionPool,
    NotHttpError,
    Response,
)
from tests.apiserver.certificates import Authority
from tests.apiserver.fake_proxy import FakeProxy
from tests.apiserver.fake_server import Answer, FakeServer, Stream
from tests.apiserver.running import asynchronous


class Wire:
    """Records written bytes and the close."""

    def __init__(self) -> None:
        self.written = b""
        self.is_closed = self.is_paused = False

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def write(self, data: bytes) -> None:
        self.written += data

    def abort(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed


def connected(loop: asyncio.AbstractEventLoop) -> tuple[Connection, Wire]:
    wire: Any = Wire()
    made = Connection(loop)
    made.connection_made(wire)
    return made, wire


def heard(*pieces: bytes, ends: bool = False) -> tuple[Response, Connection]:
    """Response that arrives in these pieces, and its connection."""

    async def ask() -> tuple[Response, Connection]:
        made, _ = connected(asyncio.get_running_loop())
        waiter = made.send(b"GET / HTTP/1.1\r\n\r\n")
        for piece in pieces:
            made.feed(piece)
        if ends:
            made.eof_received()
            made.connection_lost(None)
        assert waiter.done()
        return await waiter, made

    return asyncio.run(ask())


PLAIN = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"


@given(st.lists(st.integers(1, len(PLAIN) - 1), max_size=8), st.booleans())
def test_an_answer_is_the_same_however_it_is_cut(places: list[int], chunked: bool) -> None:
    whole = CHUNKED if chunked else PLAIN
    cuts = sorted({0, *(place for place in places if place < len(whole)), len(whole)})
    pieces = [whole[start:end] for start, end in itertools.pairwise(cuts)]
    answer, made = heard(*pieces)
    assert answer.body == b"hello"
    assert (answer.status, answer.retry_after) == ((200, "") if chunked else (429, "7"))
    assert made.is_reusable


@given(st.binary(min_size=1, max_size=200))
def test_garbage_is_an_error_and_ends_the_connection(garbage: bytes) -> None:
    async def ask() -> None:
        made, _ = connected(asyncio.get_running_loop())
        waiter = made.send(b"GET / HTTP/1.1\r\n\r\n")
        made.feed(b"\0" + garbage)
        made.connection_lost(None)
        with pytest.raises((NotHttpError, ConnectionLostError)):
            await waiter
        assert not made.is_reusable

    asyncio.run(ask())


def test_an_interim_answer_is_not_the_answer() -> None:
    answer, _ = heard(b"HTTP/1.1 100 Continue\r\n\r\n", PLAIN)
    assert (answer.status, answer.phrase) == (429, "Too Many Requests")


def test_a_server_that_says_so_is_not_asked_again_on_that_connection() -> None:
    _, made = heard(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    assert not made.is_reusable


def test_an_answer_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connection, "_MOST_BODY_BYTES", 4)
    with pytest.raises(NotHttpError):
        heard(PLAIN)


def test_too_many_headers_are_refused() -> None:
    with pytest.raises(NotHttpError):
        heard(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 300 + b"\r\n")


@asynchronous
async def test_what_nobody_asked_for_ends_the_connection() -> None:
    made, wire = connected(asyncio.get_running_loop())
    made.feed(PLAIN)
    assert wire.is_closed
    with pytest.raises(ConnectionLostError):
        await made.send(b"GET / HTTP/1.1\r\n\r\n")


@asynchronous
async def test_connections_that_wait_too_long_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeServer() as server:
        pool, access = ConnectionPool(), Access(server.url)
        first, second = await pool.opened(access), await pool.opened(access)
        pool.put_back(access, first)
        pool.put_back(access, second)
        assert pool.idle(access) is second  # the one that was used last
        pool.put_back(access, second)
        later = time.monotonic() + http_connection.IDLE_SECONDS + 1
        monkeypatch.setattr(http_connection, "time", SimpleNamespace(monotonic=lambda: later))
        assert pool.idle(access) is None
        third = await pool.opened(access)
        assert not first.is_reusable
        assert not second.is_reusable
        assert third.is_reusable
        pool.close()


@asynchronous
async def test_those_of_another_certificate_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeServer() as server:
        pool, before, after = ConnectionPool(), Access(server.url), Access(server.url, server_name="other")
        old = await pool.opened(before)
        pool.put_back(before, old)
        assert pool.idle(after) is None
        later = time.monotonic() + http_connection.IDLE_SECONDS + 1
        monkeypatch.setattr(http_connection, "time", SimpleNamespace(monotonic=lambda: later))
        await pool.opened(after)
        assert not old.is_reusable
        pool.close()


def streamed(made: Connection) -> asyncio.Future[Response]:
    return made.open_stream(b"GET / HTTP/1.1\r\n\r\n")


HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(content), content)


@asynchronous
async def test_a_stream_stops_reading_while_its_chunks_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connection, "_MOST_BUFFERED_BYTES", 10)
    made, wire = connected(asyncio.get_running_loop())
    waiter = streamed(made)
    made.feed(HEAD + chunk(b"12345"))
    stream = (await waiter).stream
    assert stream is not None
    assert not wire.is_paused
    made.feed(chunk(b"67890"))
    made.feed(chunk(b"x"))  # was on its way
    assert wire.is_paused
    assert await stream.read() == b"1234567890x"
    assert not wire.is_paused
    made.feed(b"0\r\n\r\n")
    assert await stream.read() == b""
    assert await stream.read() == b""


@asynchronous
async def test_a_stream_without_a_length_ends_with_the_connection() -> None:
    made, _ = connected(asyncio.get_running_loop())
    waiter = streamed(made)
    made.feed(b"HTTP/1.0 200 OK\r\n\r\none")
    stream = (await waiter).stream
    assert stream is not None
    made.eof_received()
    made.connection_lost(None)
    assert await stream.read() == b"one"
    assert await stream.read() == b""


@asynchronous
async def test_a_stream_that_is_lost_gives_its_bytes_first() -> None:
    made, _ = connected(asyncio.get_running_loop())
    waiter = streamed(made)
    made.feed(HEAD + chunk(b"one"))
    stream = (await waiter).stream
    assert stream is not None
    made.connection_lost(ConnectionResetError())
    assert await stream.read() == b"one"
    with pytest.raises(ConnectionLostError) as caught:
        await stream.read()
    assert caught.value.began


@asynchronous
async def test_garbage_in_a_stream_ends_it() -> None:
    made, wire = connected(asyncio.get_running_loop())
    waiter = streamed(made)
    made.feed(HEAD + b"zz\r\n")
    stream = (await waiter).stream
    assert stream is not None
    assert wire.is_closed
    with pytest.raises(NotHttpError):
        await stream.read()


@asynchronous
async def test_bytes_after_the_end_of_a_stream_close_the_connection() -> None:
    made, wire = connected(asyncio.get_running_loop())
    waiter = streamed(made)
    made.feed(HEAD + b"0\r\n\r\n")
    await waiter
    made.feed(b"HTTP/1.1 200 OK\r\n\r\n")
    assert wire.is_closed


def test_another_protocol_is_no_answer() -> None:
    with pytest.raises(NotHttpError):
        heard(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc")


@pytest.fixture
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_collector")
@pytest.mark.parametrize("answer", [Answer(b"{}"), Stream([b"one"], "holds"), Stream([b"one"], "cut")])
@pytest.mark.parametrize("is_tunnelled", [False, True])
@asynchronous
async def test_a_closed_connection_is_freed_without_the_garbage_collector(
    answer: Answer | Stream, is_tunnelled: bool, authority: Authority, tmp_path: Path
) -> None:
    async with FakeServer(authority.server_context(tmp_path)) as server, FakeProxy() as proxy:
        server.on("GET", "/x", answer)
        trusting = ssl.create_default_context(cadata=authority.certificate.decode())
        pool = ConnectionPool()
        made = await pool.opened(
            Access(server.url, trusting, proxy=f"http://{proxy.address}" if is_tunnelled else None)
        )
        tls = made._transport.get_extra_info("ssl_object")
        gone = [weakref.ref(made), weakref.ref(tls)]
        response = await made.open_stream(b"GET /x HTTP/1.1\r\nHost: server\r\n\r\n")
        assert response.stream is not None
        await response.stream.read()
        pool.drop(made)
        del made, tls, response
        for _ in range(20):
            await asyncio.sleep(0)
        assert [item() for item in gone] == [None, None]
