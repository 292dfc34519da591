"""Framing of requests: heads and bodies that are accepted, and all that RFC 9112 refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.server.http_framing import Head, RequestError, RequestReader

HOST = b"Host: localhost\r\n"


def read(stream: bytes, step: int = 0, max_head: int = 32 * 1024) -> tuple[list[Head], bytes]:
    """Heads of a stream that arrives in pieces of `step` bytes, and everything that was handed over."""
    reader, pending, heads, passed = RequestReader(max_head), bytearray(), [], b""
    for at in range(0, len(stream), step or len(stream)):
        pending += stream[at : at + (step or len(stream))]
        while pending:
            if not reader.expects_head:
                passed += reader.body(pending)
                continue
            found = reader.head(pending)
            if found is None:
                break
            heads.append(found[0])
            passed += found[1]
    return heads, passed


def post(fields: bytes, body: bytes = b"") -> bytes:
    return b"POST /a HTTP/1.1\r\n" + HOST + fields + b"\r\n" + body


def chunked(body: bytes) -> bytes:
    return post(b"Transfer-Encoding: chunked\r\n", body)


ACCEPTED = {
    "no body": (post(b""), 0),
    "length": (post(b"Content-Length: 5\r\n", b"abcde"), 5),
    "length with white space": (post(b"Content-Length:\t 5 \r\n", b"abcde"), 5),
    "length 0": (post(b"content-length: 0\r\n"), 0),
    "chunked": (chunked(b"5\r\nabcde\r\n0\r\n\r\n"), None),
    "chunk extension and trailer": (chunked(b"a;n=v\r\n0123456789\r\n000\r\nX-Sum: 1\r\n\r\n"), None),
    "line end before the request": (b"\r\n" + post(b""), 0),
    "values of any bytes": (post(b"X: \xc3\xa9 \t:\r\nY:\r\n"), 0),
    "HTTP/1.0 without host": (b"GET / HTTP/1.0\r\n\r\n", 0),
    "expectation": (post(b"Expect: 100-continue\r\nContent-Length: 1\r\n", b"a"), 1),
}


@pytest.mark.parametrize("step", [0, 1, 3])
@pytest.mark.parametrize("name", ACCEPTED)
def test_a_valid_request_is_handed_over_and_the_next_one_begins_after_it(name: str, step: int) -> None:
    stream, length = ACCEPTED[name]
    heads, passed = read(stream + post(b""), step)
    assert [head.length for head in heads] == [length, 0]
    assert passed == stream.removeprefix(b"\r\n") + post(b"")


REFUSED = {
    "two lengths": (400, post(b"Content-Length: 2\r\nContent-Length: 3\r\n", b"abc")),
    "the same length twice": (400, post(b"Content-Length: 2\r\nContent-Length: 2\r\n", b"ab")),
    "list of lengths": (400, post(b"Content-Length: 2, 2\r\n", b"ab")),
    "underscore": (400, post(b"Content-Length: 70_000\r\n")),
    "plus": (400, post(b"Content-Length: +5\r\n")),
    "minus": (400, post(b"Content-Length: -5\r\n")),
    "white space that is none": (400, post(b"Content-Length: \x0b5\r\n")),
    "white space within": (400, post(b"Content-Length: 5 5\r\n")),
    "empty length": (400, post(b"Content-Length:\r\n")),
    "hexadecimal length": (400, post(b"Content-Length: 0x5\r\n")),
    "length of thousands of digits": (400, post(b"Content-Length: " + b"9" * 5000 + b"\r\n")),
    "chunked with length": (400, post(b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n")),
    "chunked twice": (400, post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n")),
    "chunked in HTTP/1.0": (400, b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    "other encoding": (501, post(b"Transfer-Encoding: xchunked\r\n")),
    "encoding after chunked": (501, post(b"Transfer-Encoding: chunked, gzip\r\n")),
    "obs-fold": (400, post(b"X: a\r\n b\r\n")),
    "bare LF in a head": (400, post(b"X: a\nY: b\r\n")),
    "bare LF only": (400, b"GET / HTTP/1.1\nHost: localhost\n\n"),
    "bare CR": (400, post(b"X: a\rb\r\n")),
    "NUL": (400, post(b"X: a\0b\r\n")),
    "space before the colon": (400, post(b"X : a\r\n")),
    "no name": (400, post(b": a\r\n")),
    "no colon": (400, post(b"X\r\n")),
    "no host": (400, b"GET / HTTP/1.1\r\n\r\n"),
    "two hosts": (400, post(b"Host: other\r\n")),
    "host with a path": (400, b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    "user in the target": (400, b"GET http://a@b/ HTTP/1.1\r\n" + HOST + b"\r\n"),
    "authority as target": (400, b"CONNECT a:1 HTTP/1.1\r\n" + HOST + b"\r\n"),
    "fragment": (400, b"GET /#a HTTP/1.1\r\n" + HOST + b"\r\n"),
    "two spaces": (400, b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n"),
    "space at the start": (400, b" GET / HTTP/1.1\r\n" + HOST + b"\r\n"),
    "two line ends before the request": (400, b"\r\n\r\n" + post(b"")),
    "HTTP/2.0": (505, b"GET / HTTP/2.0\r\n" + HOST + b"\r\n"),
    "unknown expectation": (417, post(b"Expect: a-miracle\r\n")),
    "too many fields": (431, post(b"X: y\r\n" * 100)),
    "chunk size 0x5": (400, chunked(b"0x5\r\nabcde\r\n0\r\n\r\n")),
    "chunk size -5": (400, chunked(b"-5\r\nabcde\r\n0\r\n\r\n")),
    "chunk size with a space": (400, chunked(b"5 \r\nabcde\r\n0\r\n\r\n")),
    "chunk size 5_0": (400, chunked(b"5_0\r\nabcde\r\n0\r\n\r\n")),
    "chunk size beyond 64 bits": (400, chunked(b"fffffffffffffffff\r\nabcde\r\n0\r\n\r\n")),
    "empty chunk size": (400, chunked(b"\r\nabcde\r\n0\r\n\r\n")),
    "chunk size with bare LF": (400, chunked(b"5\nabcde\r\n0\r\n\r\n")),
    "chunk without its line end": (400, chunked(b"5\r\nabcdeXX0\r\n\r\n")),
    "chunk line without an end": (400, chunked(b"5;" + b"a" * 2000)),
    "many long chunk lines": (400, chunked((b"1;" + b"a" * 1000 + b"\r\nx\r\n") * 30)),
    "many trailers": (400, chunked(b"0\r\n" + (b"X: " + b"a" * 1000 + b"\r\n") * 30)),
    "malformed trailer": (400, chunked(b"0\r\nX\r\n\r\n")),
}


@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize("name", REFUSED)
def test_an_ambiguous_request_is_refused(name: str, step: int) -> None:
    status, stream = REFUSED[name]
    with pytest.raises(RequestError) as error:
        read(stream, step)
    assert error.value.status == status


@pytest.mark.parametrize("step", [0, 7])
def test_a_head_over_the_limit_is_refused_complete_or_not(step: int) -> None:
    for end in (b"", b"\r\n\r\n"):
        with pytest.raises(RequestError) as error:
            read(b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 1000 + end, step, max_head=1000)
        assert error.value.status == 431


def test_an_absolute_target_replaces_the_host_field() -> None:
    ((head,), _) = read(b"GET http://evil.example:80/a?b HTTP/1.1\r\n" + HOST + b"\r\n")
    assert (head.host, head.path) == (b"evil.example:80", b"/a")


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=20), st.integers(1, 40))
def test_chunks_of_any_content_end_where_they_say(parts: list[bytes], step: int) -> None:
    body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    heads, passed = read(chunked(body) + post(b""), step)
    assert len(heads) == 2
    assert passed == chunked(body) + post(b"")
