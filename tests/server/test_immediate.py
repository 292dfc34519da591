"""Responses without a task: which requests, what is sent, and other requests of the connection."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Scope

from kubewasp.server.http_framing import RequestReader
from kubewasp.server.immediate import Answer, immediate_scope
from tests.server.test_http_protocol import GET, HOST, response, rest, run, served


def answered(scope: Scope) -> Answer | None:
    """`/later` goes to ASGI, everything else is answered at once."""
    if scope["path"] == "/later":
        return None
    body = b"at once " + scope["path"].encode() + b"?" + scope["query_string"]
    return Answer(200, [(b"content-length", b"%d" % len(body))], body)


def scope_of(text: bytes) -> Scope | None:
    found = RequestReader().head(bytearray(text))
    assert found is not None
    return immediate_scope(found[0], ("192.0.2.1", 1), ("127.0.0.1", 2), "http")


def test_scope_is_that_of_asgi() -> None:
    asked = b"GET /a%20b/%C3%A4?c=%20 HTTP/1.1\r\nHOST: x\r\nX-A:  1\r\nx-a:2\r\nEmpty:\r\n\r\n"
    scope = scope_of(asked)
    seen: list[Scope] = []

    async def note(given: Scope, _receive: object, send: object) -> None:
        seen.append(given)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})  # type: ignore[operator]
        await send({"type": "http.response.body"})  # type: ignore[operator]

    async def test() -> None:
        async with served(note, allowed_hosts=["*"]) as server:
            await server.answer(asked)

    run(test)
    assert scope is not None
    names = ("type", "http_version", "method", "scheme", "path", "raw_path", "query_string", "root_path", "headers")
    assert {name: scope[name] for name in names} == {name: seen[0][name] for name in names}


@pytest.mark.parametrize(
    "text",
    [
        b"GET / HTTP/1.0\r\nHost: x\r\n\r\n",
        b"GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
        b"FETCH / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
def test_other_requests_go_the_way_of_asgi(text: bytes) -> None:
    assert scope_of(text) is None


@given(st.lists(st.tuples(st.from_regex(r"\A[!-9;-~]{0,9}[A-Za-z]\Z"), st.text(st.characters(codec="latin-1")))))
def test_any_accepted_head_has_its_fields(pairs: list[tuple[str, str]]) -> None:
    from kubewasp.server.http_framing import RequestError

    fields = "".join(f"X{name}: {value}\r\n" for name, value in pairs).encode("latin-1")
    try:
        scope = scope_of(b"GET / HTTP/1.1\r\nHost: x\r\n" + fields + b"\r\n")
    except (RequestError, AssertionError):
        return
    assert scope is not None
    expected = [(f"X{name}".lower().encode(), value.strip(" \t").encode("latin-1")) for name, value in pairs]
    assert scope["headers"] == [(b"host", b"x"), *expected]


def test_answers_are_sent_in_one_piece_and_the_connection_goes_on() -> None:
    async def test() -> None:
        async with served(immediate=answered) as server:
            reader, writer = await server.connect()
            for number in range(3):
                writer.write(b"GET /%d?q HTTP/1.1\r\n%b\r\n" % (number, HOST))
                assert await response(reader) == b"200 OK|at once /%d?q" % number
                writer.write(b"GET /later HTTP/1.1\r\n" + HOST + b"\r\n")
                assert await response(reader) == b"200 OK|/later "
                writer.write(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\n\r\nabc")
                assert await response(reader) == b"200 OK|/ abc"
            writer.write(b"HEAD /h HTTP/1.1\r\n" + HOST + b"\r\n" + GET)
            head = await reader.readuntil(b"\r\n\r\n")
            assert b"content-length: 11\r\n" in head
            assert b"\r\ndate: " in head
            assert await response(reader) == b"200 OK|at once /?"
            assert server.table._requests == 0

    run(test)


def test_requests_sent_ahead_are_answered_in_order_and_in_turns() -> None:
    count = 500
    turns = 0

    async def test() -> None:
        nonlocal turns

        async def count_turns() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        async with served(immediate=answered) as server:
            reader, writer = await server.connect()
            sent = b"".join(
                b"GET /%b%d HTTP/1.1\r\n%b\r\n" % (b"later?" if number % 7 == 0 else b"", number, HOST)
                for number in range(count)
            )
            counting = asyncio.create_task(count_turns())
            writer.write(sent)
            for number in range(count):
                expected = b"/later " if number % 7 == 0 else b"at once /%d?" % number
                assert await response(reader) == b"200 OK|" + expected
            counting.cancel()
            assert server.table.bodies == 0
            (connection,) = server.table._idle
            assert not connection.flow.is_held  # type: ignore[attr-defined]

    run(test)
    assert turns > count  # others had a turn between two of them


def test_an_idle_connection_is_closed() -> None:
    async def test() -> None:
        async with served(immediate=answered) as server:
            reader = await server.send(GET)
            assert await response(reader) == b"200 OK|at once /?"
            server.pass_time(11)
            assert await rest(reader) == b""

    run(test)


@pytest.mark.parametrize(("proxies", "client"), [([], b"127.0.0.1 http"), (["127.0.0.0/8"], b"192.0.2.7 https")])
def test_forwarded_addresses_count_from_trusted_proxies_only(proxies: list[str], client: bytes) -> None:
    def shown(scope: Scope) -> Answer:
        content = f"{scope['client'][0]} {scope['scheme']}".encode()
        return Answer(200, [(b"content-length", b"%d" % len(content))], content)

    async def test() -> None:
        async with served(immediate=shown, trusted_proxies=proxies) as server:
            fields = HOST + b"X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n"
            assert await server.answer(b"GET / HTTP/1.1\r\n" + fields + b"\r\n") == b"200 OK|" + client

    run(test)
