"""Guests of style run: lines by igets, a message by run(ptr, len), ownership, violations."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.web.errors import ClientError
from kubewasp.web.http_messages import BytesBody, Headers, Request, Response
from kubewasp.web.run_abi import RunExchange
from tests.guests.build import wat_text
from tests.web.client import app_of, ask, client_of, one_handler
from tests.web.guests import runner

# Every line of the input, in brackets; then the number of allocations that are not freed.
_LINES = """
  (local $line i64)
  (loop $again
    (local.set $line (call $igets))
    (if (i64.ne (local.get $line) (i64.const 0)) (then
      (call $oputs (i32.const 0) (i32.const 1))
      (call $oputs (i32.wrap_i64 (i64.shr_u (local.get $line) (i64.const 32))) (i32.wrap_i64 (local.get $line)))
      (br $again))))
  (i32.store8 (i32.const 8) (i32.add (i32.const 48) (global.get $pieces)))
  (call $oputs (i32.const 8) (i32.const 1))
"""
_BRACKET = '(data (i32.const 0) ">")'
_GREET = """
  (call $oputs (i32.const 0) (i32.const 7))
  (call $oputs (local.get $at) (local.get $length))
  (i32.store8 (i32.const 8) (i32.add (i32.const 48) (global.get $pieces)))
  (call $oputs (i32.const 8) (i32.const 1))
"""
_HELLO = '(data (i32.const 0) "hello, ")'


def several(document: dict[str, Any], bodies: list[bytes]) -> list[httpx.Response]:
    """Requests to one app, in sequence."""

    async def run() -> list[httpx.Response]:
        app = app_of(document)
        async with client_of(app) as client:
            found = [await client.post("/", content=body) for body in bodies]
        app.close()
        return found

    return asyncio.run(run())


def answer(file: Path, body: bytes = b"", **settings: Any) -> httpx.Response:
    return ask(one_handler(file, "run", **settings), "POST", content=body)


def test_lines_are_the_body_and_a_newline() -> None:
    guest = runner(_LINES, more=_BRACKET)
    assert answer(guest, b"one\ntwo").text == ">one\n>two\n2"
    assert answer(guest, b"one\n").text == ">one\n>\n2"
    assert answer(guest, b"").text == ">\n1"


def test_the_body_is_text_unless_configured() -> None:
    guest = runner(_LINES, more=_BRACKET)
    assert answer(guest).headers["content-type"] == "text/plain; charset=utf-8"
    assert answer(guest, contentType="text/html").headers["content-type"] == "text/html"


def test_lines_are_freed_after_run_and_every_call_has_its_own() -> None:
    found = several(one_handler(runner(_LINES, more=_BRACKET), "run", reuse=True), [b"a", b"b\nc", b"d"])
    # The last figure is the number of allocations of this call: those of earlier calls were freed.
    assert [response.text for response in found] == [">a\n1", ">b\n>c\n2", ">d\n1"]


def test_message_is_allocated_and_freed_by_the_host() -> None:
    guest = runner(_GREET, more=_HELLO, message=True)
    found = several(one_handler(guest, "run", reuse=True), [b"ada", b"", b"bob"])
    assert [response.text for response in found] == ["hello, ada1", "hello, 1", "hello, bob1"]


def test_reuse_of_a_number_of_requests() -> None:
    counts = runner(
        """(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
           (i32.store8 (i32.const 8) (i32.add (i32.const 48) (global.get $calls)))
           (call $oputs (i32.const 8) (i32.const 1))""",
        more="(global $calls (mut i32) (i32.const 0))",
        message=True,
    )
    found = several(one_handler(counts, "run", reuse=3), [b""] * 7)
    assert "".join(response.text for response in found) == "1231231"
    found = several(one_handler(counts, "run"), [b""] * 3)
    assert "".join(response.text for response in found) == "111"


def test_errors_go_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    guest = runner("(call $eputs (i32.const 0) (i32.const 5))", more='(data (i32.const 0) "wrong")')
    with caplog.at_level(logging.INFO):
        response = answer(guest)
    assert (response.status_code, response.content) == (200, b"")
    assert "wrong" in caplog.messages


def test_name_of_the_imports_is_configured() -> None:
    guest = runner(_LINES, more=_BRACKET, module="textio")
    assert answer(guest, b"a", importModule="textio").text == ">a\n1"
    with pytest.raises(Exception, match=r'module "textio" name "oputs".*the name is set by importModule'):
        answer(guest)


def test_guest_without_input_needs_no_allocator() -> None:
    guest = wat_text("""(module
      (import "httpwasm" "oputs" (func $oputs (param i32 i32)))
      (memory (export "memory") 1)
      (data (i32.const 0) "hello")
      (func (export "run") (call $oputs (i32.const 0) (i32.const 5))))""")
    assert answer(guest).text == "hello"
    with pytest.raises(Exception, match=r"doesn't export func\[malloc\]"):
        answer(runner("(drop (call $igets))", allocator=""))
    with pytest.raises(Exception, match=r"doesn't export func\[malloc\]"):
        answer(runner("", message=True, allocator=""))


def failed(response: httpx.Response, status: int, caplog: pytest.LogCaptureFixture, problem: str) -> None:
    """One answer, and one line in the log."""
    assert response.status_code == status
    assert len(response.text.splitlines()) == 2
    lines = [record for record in caplog.records if record.message == "Guest failed"]
    assert [record.__dict__["problem"] for record in lines] == [problem]
    caplog.clear()


def test_violations_are_one_line_and_a_500(caplog: pytest.LogCaptureFixture) -> None:
    outside = "httpwasm.oputs: 9 bytes at 131070 are outside of the guest's memory of 131072 bytes"
    failed(answer(runner("(call $oputs (i32.const 131070) (i32.const 9))")), 500, caplog, outside)
    failed(answer(runner("unreachable")), 500, caplog, "wasm trap: wasm `unreachable` instruction executed")
    none = _allocator("(i32.const 0)")
    problem = "malloc returned 0 for 3 bytes"
    failed(answer(runner("", message=True, allocator=none), b"ada"), 500, caplog, problem)
    failed(answer(runner("(drop (call $igets))", allocator=none), b"ad"), 500, caplog, problem)
    far = _allocator("(i32.const 131071)")
    problem = "result of malloc: 3 bytes at 131071 are outside of the guest's memory of 131072 bytes"
    failed(answer(runner("", message=True, allocator=far), b"ada"), 500, caplog, problem)
    trap = _allocator("(i32.const 64)", free="unreachable")
    problem = "wasm trap: wasm `unreachable` instruction executed"
    failed(answer(runner("", message=True, allocator=trap), b"ada"), 500, caplog, problem)


def _allocator(result: str, free: str = "") -> str:
    return f"""(func (export "malloc") (param i32) (result i32) {result}) (func (export "free") (param i32) {free})
               (global $pieces i32 (i32.const 0))"""


def test_input_and_output_are_bounded() -> None:
    lines, message = runner(_LINES, more=_BRACKET), runner(_GREET, more=_HELLO, message=True)
    limits = {"buffer": "1Ki"}
    assert answer(lines, b"x" * 1024, limits=limits).status_code == 200
    assert answer(lines, b"x" * 1025, limits=limits).status_code == 413
    assert answer(message, b"x" * 1024, limits=limits).status_code == 200
    assert answer(message, b"x" * 1025, limits=limits).status_code == 413
    assert answer(message, b"x" * 100, limits={"responseBody": 50}).status_code == 502
    endless = runner("(loop $again (call $oputs (i32.const 0) (i32.const 65536)) (br $again))", message=True)
    cut = answer(endless, limits={"responseBody": "1Mi"})
    assert len(cut.content) <= 2**20


def test_imports_during_the_start_are_refused() -> None:
    more = '(func (export "_initialize") (call $oputs (i32.const 0) (i32.const 1)))'
    with pytest.raises(Exception, match="no request during the start function"):
        answer(runner("", more=more, message=True))


def exchange(body: bytes, limit: int = 1 << 20) -> RunExchange:
    request = Request("POST", b"/", b"", Headers(), BytesBody(body))
    return RunExchange(request, Response(None, 0), limit)  # type: ignore[arg-type]


@given(st.binary(max_size=200).map(lambda content: content.replace(b"\x00", b"\n")))
def test_lines_of_any_body_are_the_body_and_a_newline(body: bytes) -> None:
    read = exchange(body)
    lines = []
    while line := read.line():
        lines.append(line)
    assert b"".join(lines) == body + b"\n"
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    assert read.line() == b""


@given(st.lists(st.integers(0, 200_000), max_size=4))
def test_lines_longer_than_a_chunk(lengths: list[int]) -> None:
    body = b"\n".join(b"x" * length for length in lengths)
    read = exchange(body)
    found = [len(read.line()) - 1 for _ in lengths or [0]]
    assert found == (lengths or [0])


def test_line_over_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(ClientError, match="line of the request body is over the limit of 10 bytes"):
        exchange(b"x" * 11 + b"\n", limit=10).line()
    assert exchange(b"x" * 10, limit=10).line() == b"x" * 10 + b"\n"
