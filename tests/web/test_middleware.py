"""Guests of the public http-wasm handler ABI."""

from typing import Any

import httpx
import pytest

from tests.web.client import ask, with_middlewares
from tests.web.guests import ECHO, handler, middleware

# A guest that writes the result of a getter as its answer. The buffer is at 1024.
_TELL = "(call $write_body (i32.const 1) (i32.const 1024) {length}) (i64.const 0)"
_SHOWS = handler(
    """(call $write_string (call $method)) (call $write (i32.const 0) (i32.const 1))
       (call $write_string (call $path)) (call $write (i32.const 1) (i32.const 1))
       (call $write_string (call $query)) (call $write (i32.const 0) (i32.const 1))
       (call $write_string (call $headers)) (i64.const 0)""",
    more='(data (i32.const 0) " ?")',
)


def answer(*guests: Any, settings: dict[str, Any] | None = None, to: Any = None, **request: Any) -> httpx.Response:
    return ask(with_middlewares(guests, to, **(settings or {})), **request)


def value_of(getter: str, **request: Any) -> str:
    return answer(middleware(_TELL.format(length=getter)), **request).text


def test_goes_on_to_the_next_handler_or_answers_itself() -> None:
    response = answer(middleware())
    assert (response.status_code, response.text, response.headers["x-from"]) == (201, "next", "handler")
    response = answer(middleware("(i64.const 0)"))
    assert (response.status_code, response.text) == (200, "")
    own = middleware(
        """(call $set_status_code (i32.const 401))
           (call $set_header_value (i32.const 1) (i32.const 0) (i32.const 16) (i32.const 16) (i32.const 5))
           (call $write_body (i32.const 1) (i32.const 16) (i32.const 5))
           (i64.const 0)""",
        more='(data (i32.const 0) "WWW-AuthenticateBasic")',
    )
    response = answer(own)
    assert (response.status_code, response.text, response.headers["www-authenticate"]) == (401, "Basic", "Basic")


def test_getters() -> None:
    buffer = "(i32.const 1024) (i32.const 1000)"
    assert value_of(f"(call $get_method {buffer})", method="PATCH") == "PATCH"
    assert value_of(f"(call $get_uri {buffer})", path="/a%26b?c=d%20e") == "/a%26b?c=d%20e"
    assert value_of(f"(call $get_uri {buffer})", path="") == "/"
    assert value_of(f"(call $get_protocol_version {buffer})") == "HTTP/1.1"
    assert value_of(f"(call $get_source_addr {buffer})") == "192.0.2.1:1234"
    configured = middleware(_TELL.format(length=f"(call $get_config {buffer})"))
    assert answer(configured, settings={"config": "a=1"}).text == "a=1"


def test_nothing_is_written_over_the_limit_of_the_buffer() -> None:
    guest = middleware(
        """(if (i32.ne (call $get_uri (i32.const 1024) (i32.const 3)) (i32.const 4)) (then unreachable))
           (if (i32.ne (call $get_uri (i32.const 0) (i32.const 0)) (i32.const 4)) (then unreachable))
           (if (i32.ne (i32.load (i32.const 1024)) (i32.const 0)) (then unreachable))
           (if (i32.ne (call $get_uri (i32.const 1024) (i32.const 4)) (i32.const 4)) (then unreachable))
           (call $write_body (i32.const 1) (i32.const 1024) (i32.const 4)) (i64.const 0)"""
    )
    assert answer(guest, path="/abc").text == "/abc"


def test_header_names_and_values() -> None:
    names = "(call $get_header_names (i32.const 0) (i32.const 1024) (i32.const 1000))"
    text = value_of(f"(i32.wrap_i64 {names})", headers={"X-One": "1"})
    assert text.endswith("\0")
    assert {"host", "x-one", "x-request-id"} <= set(text.split("\0"))
    values = """(call $get_header_values (i32.const 0) (i32.const 0) (i32.const 5) (i32.const 1024) (i32.const 1000))"""
    guest = middleware(
        f"""(local $found i64) (local.set $found {values})
            (if (i64.ne (i64.shr_u (local.get $found) (i64.const 32)) (i64.const 2)) (then unreachable))
            {_TELL.format(length="(i32.wrap_i64 (local.get $found))")}""",
        more='(data (i32.const 0) "X-TWO")',
    )
    request = {"headers": [("x-two", "a"), ("x-two", "")]}
    assert answer(guest, **request).text == "a\0\0"
    absent = middleware(f"(if (i64.ne {values} (i64.const 0)) (then unreachable)) (i64.const 0)")
    assert answer(absent).status_code == 200


def test_request_is_changed_before_the_next_handler() -> None:
    guest = middleware(
        """(call $set_method (i32.const 0) (i32.const 4))
           (call $set_uri (i32.const 4) (i32.const 8))
           (call $set_header_value (i32.const 0) (i32.const 12) (i32.const 3) (i32.const 0) (i32.const 1))
           (call $add_header_value (i32.const 0) (i32.const 15) (i32.const 3) (i32.const 1) (i32.const 1))
           (call $remove_header (i32.const 0) (i32.const 18) (i32.const 3))
           (i64.const 1)""",
        more='(data (i32.const 0) "POST/new?a=bx-ax-bx-c")',
    )
    request = {"headers": [("x-a", "old"), ("x-a", "older"), ("x-b", "first"), ("x-c", "gone")]}
    text = answer(guest, to=_SHOWS, path="/old?gone", **request).text
    assert text.startswith("POST /new?a=b ")
    assert "x-a: P\n" in text
    assert text.index("x-b: first\n") < text.index("x-b: O\n")
    assert "old" not in text
    assert "x-c" not in text


_READS = """(func $read_all (param $kind i32) (result i32)
  (local $found i64)
  (local.set $found (call $read_body (local.get $kind) (i32.const 1024) (i32.const 60000)))
  (if (i64.ne (i64.shr_u (local.get $found) (i64.const 32)) (i64.const 1)) (then unreachable))
  (i32.wrap_i64 (local.get $found)))"""


def test_request_body_that_is_read_is_gone_unless_it_is_buffered() -> None:
    echo = handler(ECHO, memory="3")
    reads = "(drop (call $read_all (i32.const 0))) (i64.const 1)"
    request = {"method": "POST", "content": b"the body"}
    assert answer(middleware(reads, more=_READS), to=echo, **request).text == ""
    buffered = middleware(f"(drop (call $enable_features (i32.const 1))) {reads}", more=_READS)
    assert answer(buffered, to=echo, **request).text == "the body"
    at_start = middleware(
        reads, more=f"{_READS} (func $begin (drop (call $enable_features (i32.const 1)))) (start $begin)"
    )
    assert answer(at_start, to=echo, **request).text == "the body"
    assert answer(at_start, to=echo, method="POST").text == ""


def test_body_in_pieces_and_its_end() -> None:
    guest = middleware(
        """(if (i64.ne (call $read_body (i32.const 0) (i32.const 1024) (i32.const 5)) (i64.const 5)) (then unreachable))
           (if (i64.ne (call $read_body (i32.const 0) (i32.const 1029) (i32.const 50)) (i64.const 0x100000003))
             (then unreachable))
           (if (i64.ne (call $read_body (i32.const 0) (i32.const 1029) (i32.const 50)) (i64.const 0x100000000))
             (then unreachable))
           (call $write_body (i32.const 1) (i32.const 1024) (i32.const 8)) (i64.const 0)"""
    )
    assert answer(guest, method="POST", content=b"the body").text == "the body"


def test_request_body_is_replaced() -> None:
    guest = middleware(
        """(call $write_body (i32.const 0) (i32.const 0) (i32.const 3))
           (call $write_body (i32.const 0) (i32.const 3) (i32.const 3)) (i64.const 1)""",
        more='(data (i32.const 0) "onetwo")',
    )
    assert answer(guest, to=handler(ECHO, memory="3"), method="POST", content=b"x" * 100).text == "onetwo"
    assert "content-length: 6\n" in answer(guest, to=_SHOWS, method="POST", content=b"x" * 100).text


_BUFFER_RESPONSE = "(func $begin (drop (call $enable_features (i32.const 2)))) (start $begin)"


def test_response_is_seen_and_changed_when_it_is_buffered() -> None:
    guest = middleware(
        response="""(local $length i32)
          (if (i32.ne (call $get_status_code) (i32.const 201)) (then unreachable))
          (local.set $length (call $read_all (i32.const 1)))
          (call $set_status_code (i32.const 203))
          (call $set_header_value (i32.const 1) (i32.const 0) (i32.const 6) (i32.const 6) (i32.const 1))
          (call $write_body (i32.const 1) (i32.const 6) (i32.const 1))
          (call $write_body (i32.const 1) (i32.const 1024) (local.get $length))""",
        more=f'{_READS} {_BUFFER_RESPONSE} (data (i32.const 0) "X-From<")',
    )
    response = answer(guest)
    assert (response.status_code, response.text, response.headers["x-from"]) == (203, "<next", "<")
    assert response.headers["content-length"] == "5"
    # Two of them, one around the other.
    nested = middleware(
        response="(call $write_body (i32.const 1) (i32.const 1024) (call $read_all (i32.const 1)))",
        more=f"{_READS} {_BUFFER_RESPONSE}",
    )
    assert answer(nested, guest).text == "<next"


def test_context_reaches_handle_response() -> None:
    guest = middleware(
        "(i64.const 0x1000000001)",
        "(if (i32.ne (local.get $ctx) (i32.const 16)) (then unreachable))"
        "(if (i32.ne (local.get $error) (i32.const 0)) (then unreachable))",
    )
    assert answer(guest).status_code == 201


def test_handle_response_hears_of_a_handler_that_failed(caplog: pytest.LogCaptureFixture) -> None:
    guest = middleware(
        response="(if (local.get $error) (then (call $log (i32.const 1) (i32.const 0) (i32.const 5))))",
        more='(data (i32.const 0) "heard")',
    )
    assert answer(guest, to=handler("unreachable")).status_code == 500
    assert "heard" in caplog.messages


def test_what_is_not_allowed_costs_one_answer() -> None:
    late = (
        "(call $set_status_code (i32.const 200))",
        "(drop (call $get_status_code))",
        "(drop (call $read_body (i32.const 1) (i32.const 1024) (i32.const 10)))",
        "(drop (call $read_body (i32.const 0) (i32.const 1024) (i32.const 10)))",
        "(call $write_body (i32.const 1) (i32.const 0) (i32.const 1))",
        "(call $write_body (i32.const 0) (i32.const 0) (i32.const 1))",
        "(call $set_method (i32.const 0) (i32.const 1))",
        "(call $set_uri (i32.const 0) (i32.const 1))",
        "(call $set_header_value (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 1))",
        "(call $set_header_value (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 1))",
    )
    for call in late:
        assert answer(middleware(response=call, more='(data (i32.const 0) "A")')).status_code == 500, call
    early = (
        "(drop (call $read_body (i32.const 0) (i32.const 1024) (i32.const 0)))",
        "(drop (call $read_body (i32.const 2) (i32.const 1024) (i32.const 1)))",
        "(drop (call $read_body (i32.const 0) (i32.const 131000) (i32.const 1000)))",
        "(call $write_body (i32.const 5) (i32.const 0) (i32.const 1))",
        "(call $set_method (i32.const 0) (i32.const 0))",
        "(call $set_uri (i32.const 0) (i32.const 1))",
        "(drop (call $get_header_names (i32.const 9) (i32.const 0) (i32.const 0)))",
        "(drop (call $get_header_values (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))",
        "(drop (call $get_method (i32.const 131072) (i32.const 100)))",
        "(call $set_header_value (i32.const 3) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 1))",
    )
    for call in early:
        guest = middleware(f"{call} (i64.const 1)", more='(data (i32.const 0) "A")')
        assert answer(guest).status_code == 500, call


def test_trailers_are_not_offered() -> None:
    guest = middleware(
        """(if (i32.ne (call $enable_features (i32.const 7)) (i32.const 3)) (then unreachable))
           (if (i64.ne (call $get_header_names (i32.const 2) (i32.const 0) (i32.const 10)) (i64.const 0))
             (then unreachable))
           (i64.const 1)"""
    )
    assert answer(guest).status_code == 201


def test_body_larger_than_a_middleware_may_hold() -> None:
    reads = middleware(
        "(drop (call $enable_features (i32.const 1))) (drop (call $read_all (i32.const 0))) (i64.const 1)", more=_READS
    )
    limited = {"limits": {"buffer": 1024}}
    assert answer(reads, settings=limited, method="POST", content=b"x" * 1025).status_code == 413
    holds = middleware(more=_BUFFER_RESPONSE)
    big = handler("(call $write (i32.const 0) (i32.const 2000)) (i64.const 0)")
    assert answer(holds, settings=limited, to=big).status_code == 502
    assert answer(holds, settings={"limits": {"buffer": 2000}}, to=big).status_code == 200


def test_log(caplog: pytest.LogCaptureFixture) -> None:
    guest = middleware(
        """(call $log (i32.const 2) (i32.const 0) (i32.const 5))
           (if (i32.eqz (call $log_enabled (i32.const 2))) (then unreachable))
           (if (call $log_enabled (i32.const 3)) (then unreachable))
           (i64.const 1)""",
        more='(data (i32.const 0) "hello")',
    )
    assert answer(guest, headers={"x-request-id": "r1"}).status_code == 201
    record = next(record for record in caplog.records if record.message == "hello")
    assert (record.levelname, record.__dict__["guest"], record.__dict__["requestID"]) == ("ERROR", "middleware0", "r1")
