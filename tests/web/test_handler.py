"""Guests of style module: the three cases of memory ownership, and violations."""

import httpx

from tests.web.client import ask, one_handler
from tests.web.guests import ECHO, handler


def answer(run: str, **settings: object) -> httpx.Response:
    request = {key: settings.pop(key) for key in ("method", "path", "content", "headers") if key in settings}
    guest = {key: settings.pop(key) for key in ("config", "limits") if key in settings}
    return ask(one_handler(handler(run, **settings), **guest), **request)


def test_guest_passes_a_string_and_keeps_it() -> None:
    # The host has copied it: later writes of the guest are not visible.
    response = answer(
        """(call $write (i32.const 16) (i32.const 5))
           (i32.store8 (i32.const 16) (i32.const 72))
           (call $write (i32.const 16) (i32.const 5))
           (i64.const 0)""",
        more='(data (i32.const 16) "hello")',
    )
    assert (response.status_code, response.text) == (200, "helloHello")


def test_host_allocates_and_guest_owns() -> None:
    response = answer(
        """(call $write_string (call $method)) (call $write_string (call $path)) (call $write_string (call $query))
           (i32.store8 (i32.const 0) (i32.add (i32.const 48) (global.get $pieces)))
           (call $write (i32.const 0) (i32.const 1))
           (i64.const 0)""",
        method="PUT",
        path="/a%20b?c=d",
    )
    assert response.text == "PUT/a%20bc=d0"  # no piece is left: the host freed nothing, and the guest everything


def test_guest_returns_a_string_and_host_frees_it() -> None:
    run = """(local $at i32)
      (local.set $at (call $malloc (i32.const 2)))
      (i32.store16 (local.get $at) (i32.const 0x6b6f))
      (call $pack (local.get $at) (i32.const 2))"""
    # `free` shouts when it is called with the pointer that was returned.
    shouting = handler(run, allocator="""
      (func $malloc (export "malloc") (param i32) (result i32) (i32.const 4096))
      (func $free (export "free") (param $at i32)
        (if (i32.eq (local.get $at) (i32.const 4096)) (then
          (call $log (i32.const 2) (i32.const 100) (i32.const 5))
          (call $status (i32.const 202)))))
      (func $pack (param i32 i32) (result i64)
        (i64.or (i64.shl (i64.extend_i32_u (local.get 0)) (i64.const 32)) (i64.extend_i32_u (local.get 1))))
      """)  # fmt: skip
    response = ask(one_handler(shouting))
    assert (response.status_code, response.text) == (202, "ok")


def test_header_that_is_there_empty_or_absent() -> None:
    run = """(call $write_string (call $header (i32.const 0) (i32.const 5)))
      (if (i64.ne (call $header (i32.const 5) (i32.const 7)) (i64.const 0)) (then (call $status (i32.const 201))))
      (if (i64.ne (call $header (i32.const 12) (i32.const 8)) (i64.const 0)) (then (call $status (i32.const 500))))
      (i64.const 0)"""
    more = '(data (i32.const 0) "X-OneX-EmptyX-Absent")'
    response = answer(run, more=more, headers={"x-one": "1", "x-empty": ""})
    assert (response.status_code, response.text) == (201, "1")


def test_all_headers_and_config() -> None:
    run = "(call $write_string (call $headers)) (call $write_string (call $config)) (i64.const 0)"
    text = answer(run, headers={"x-request-id": "abc"}, config="set").text
    assert "host: test\n" in text
    assert "x-request-id: abc\n" in text
    assert text.endswith("set")


def test_body_is_read_in_pieces() -> None:
    content = bytes(range(256)) * 1000
    assert answer(ECHO, memory="3", method="POST", content=content).content == content
    assert answer(ECHO, memory="3", method="POST", content=b"").content == b""


def test_status_and_headers_are_the_guests() -> None:
    response = answer(
        """(call $status (i32.const 418))
           (call $add_header (i32.const 0) (i32.const 5) (i32.const 5) (i32.const 3))
           (call $add_header (i32.const 0) (i32.const 5) (i32.const 5) (i32.const 1))
           (i64.const 0)""",
        more='(data (i32.const 0) "X-Twoa b")',
    )
    assert response.status_code == 418
    assert response.headers.get_list("x-two") == ["a b", "a"]


def failed(response: httpx.Response, status: int) -> None:
    """One answer, with an id and without details."""
    assert response.status_code == status
    identity = response.headers["x-request-id"]
    assert response.text.splitlines()[1] == f"request id: {identity}"
    assert len(response.text.splitlines()) == 2


def test_pointers_outside_of_memory() -> None:
    failed(answer("(call $write (i32.const 131072) (i32.const 1)) (i64.const 0)"), 500)
    failed(answer("(call $write (i32.const -1) (i32.const -1)) (i64.const 0)"), 500)
    failed(answer("(drop (call $header (i32.const 131070) (i32.const 3))) (i64.const 0)"), 500)
    failed(answer("(drop (call $read (i32.const 131070) (i32.const 3))) (i64.const 0)"), 500)
    failed(answer("(call $log (i32.const 0) (i32.const 131070) (i32.const 3)) (i64.const 0)"), 500)
    failed(answer("(call $pack (i32.const 131070) (i32.const 3))"), 502)
    failed(answer("(i64.const -1)"), 502)


def test_malloc_that_has_nothing_lies_or_traps() -> None:
    rest = '(func $free (export "free") (param i32))'
    for result in ("(i32.const 0)", "(i32.const 131072)", "(i32.const -4)", "unreachable"):
        allocator = f'(func (export "malloc") (param i32) (result i32) {result}) {rest}'
        failed(answer("(drop (call $method)) (i64.const 0)", allocator=allocator), 500)


def test_free_that_traps() -> None:
    allocator = """(func (export "malloc") (param i32) (result i32) (i32.const 64))
                   (func (export "free") (param i32) unreachable)"""
    failed(answer("(i64.const 0x1000000001)", allocator=allocator), 500)


def test_nonsense_as_an_answer() -> None:
    failed(answer("(call $status (i32.const 99)) (i64.const 0)"), 502)
    failed(answer("(call $status (i32.const 101)) (i64.const 0)"), 502)
    failed(answer("(call $status (i32.const -1)) (i64.const 0)"), 502)
    crlf = '(data (i32.const 0) "a\\0d\\0ab: c")'
    run = "(call $add_header (i32.const {}) (i32.const {}) (i32.const 0) (i32.const {})) (i64.const 0)"
    failed(answer(run.format(0, 1, 4), more=crlf), 502)
    failed(answer(run.format(0, 4, 1), more=crlf), 502)
    failed(answer(run.format(0, 0, 1), more=crlf), 502)


def test_head_of_the_response_after_its_body() -> None:
    # 64 KiB are on their way when the head would be changed.
    run = """(call $write (i32.const 0) (i32.const 65536)) (call $write (i32.const 0) (i32.const 1))
             (call $status (i32.const 404)) (i64.const 0)"""
    response = answer(run)
    assert response.status_code == 200
    assert len(response.content) < 65537


def test_response_over_the_limit() -> None:
    failed(answer("(call $write (i32.const 0) (i32.const 2000)) (i64.const 0)", limits={"responseBody": 1000}), 502)


def test_host_functions_while_it_starts() -> None:
    # There is no request yet; the config can be read.
    run = "(call $write_string (global.get $kept)) (i64.const 0)"
    more = """(global $kept (mut i64) (i64.const 0))
              (func (export "_initialize") (global.set $kept (call $config)))"""
    assert answer(run, more=more, config="early").text == "early"
