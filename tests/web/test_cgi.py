"""Guests of style wasi: a command a request, as CGI."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from kubewasp.wasm.errors import GuestLoadError
from kubewasp.web.cgi import meta_variables
from kubewasp.web.http_messages import BytesBody, Headers, Request
from tests.guests.build import wat_text
from tests.web.client import ask, one_handler, with_middlewares
from tests.web.guests import middleware


def prints(text: str, *, more: str = "") -> Path:
    """Prints a text; `more` follows."""
    data = "".join(f"\\{byte:02x}" for byte in text.encode())
    return wat_text(
        f"""(module
          (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
          (memory (export "memory") 4)
          (data (i32.const 1024) "{data}")
          (func $print (param $fd i32) (param $at i32) (param $length i32)
            (i32.store (i32.const 0) (local.get $at)) (i32.store (i32.const 4) (local.get $length))
            (drop (call $fd_write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))
          (func $read (result i32)
            (i32.store (i32.const 0) (i32.const 65536)) (i32.store (i32.const 4) (i32.const 65536))
            (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
            (i32.load (i32.const 8)))
          (func (export "_start") (local $count i32)
            (call $print (i32.const 1) (i32.const 1024) (i32.const {len(text.encode())}))
            {more}))""",
        "web-cgi",
    )


_ECHO = """(loop $again
  (local.set $count (call $read))
  (if (local.get $count) (then
    (call $print (i32.const 1) (i32.const 65536) (local.get $count)) (br $again))))"""


def answer(text: str, *, more: str = "", settings: dict[str, Any] | None = None, **request: Any) -> httpx.Response:
    return ask(one_handler(prints(text, more=more), "wasi", **(settings or {})), **request)


def test_head_and_body() -> None:
    response = answer("Content-Type: text/css\n\nbody\n\nmore")
    assert (response.status_code, response.headers["content-type"], response.text) == (200, "text/css", "body\n\nmore")
    response = answer("Status: 404 Not Found\r\nX-A: 1\r\nX-A: 2\r\n\r\n")
    assert (response.status_code, response.headers.get_list("x-a"), response.text) == (404, ["1", "2"], "")
    assert "status" not in response.headers
    response = answer("Location: /there\n\n")
    assert (response.status_code, response.headers["location"]) == (302, "/there")
    assert answer("\nall of it").text == "all of it"


@pytest.mark.parametrize("size", [0, 1, 100_000, 3_000_000])
def test_body_from_stdin_to_stdout(size: int) -> None:
    content = b"0123456789" * (size // 10) + b"x" * (size % 10)
    assert answer("\n", more=_ECHO, method="POST", content=content).content == content


@pytest.mark.parametrize(
    "text", ["", "no head", "Nonsense\n\nbody", "Status: great\n\n", "Status: 99\n\n", "A B: c\n\n"]
)
def test_nonsense_as_an_answer(text: str) -> None:
    assert answer(text).status_code == 502


def test_failures() -> None:
    assert answer("\n", more="(call $exit (i32.const 3))").status_code == 500
    assert answer("\n", more="(call $exit (i32.const 0))").status_code == 200
    assert answer("\n", more="unreachable").status_code == 500
    assert answer("\n", more="(loop $l (br $l))", settings={"limits": {"timeout": "100ms"}}).status_code == 504
    assert answer("\nlong", settings={"limits": {"responseBody": 3}}).status_code == 502


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"limits": {"memory": "64Ki"}}, "initial memory of 256Ki is over the limit of 64Ki; raise limits.memory"),
        ({"dirs": ["/none:/data"]}, "dirs: /none:/data: /none: No such file or directory"),
        ({"dirs": ["a:b:c"]}, "dirs: a:b:c: expected HOST[:GUEST][:ro]"),
    ],
    ids=["memory", "missing folder", "wrong folder"],
)
def test_a_guest_that_cannot_be_loaded_names_settings_of_the_file(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(GuestLoadError) as caught:
        answer("\n", settings=settings)
    assert told in str(caught.value)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("(loop $l (br $l))", "time limit of 0.1 s exceeded; raise limits.timeout"),
        ("(call $deep)", "stack limit of 1Mi exceeded; raise limits.stack"),
    ],
    ids=["time", "stack"],
)
def test_a_limit_of_a_request_is_named_as_in_the_file(more: str, told: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "kubewasp"):
        answer("\n", more=more + ")(func $deep (call $deep)", settings={"limits": {"timeout": "100ms"}})
    shown = " ".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert told in shown


def test_stderr_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "kubewasp"):
        answer("\nsaid", more="(call $print (i32.const 2) (i32.const 1025) (i32.const 4))")
    assert "said" in caplog.messages


def test_headers_of_middlewares_stay_and_are_replaced() -> None:
    sets = middleware(
        """(call $set_header_value (i32.const 1) (i32.const 0) (i32.const 3) (i32.const 3) (i32.const 1))
           (call $set_header_value (i32.const 1) (i32.const 4) (i32.const 3) (i32.const 3) (i32.const 1))
           (i64.const 1)""",
        more='(data (i32.const 0) "x-a1x-b")',
    )
    document = with_middlewares([sets])
    document["guests"]["main"] = {"file": str(prints("X-B: mine\n\n")), "style": "wasi"}
    document["routes"][0].pop("respond")
    document["routes"][0]["handler"] = "main"
    response = ask(document)
    assert (response.headers["x-a"], response.headers.get_list("x-b")) == ("1", ["mine"])


def test_a_name_with_an_underscore_is_no_alias_of_another() -> None:
    headers = [(b"x-user", b"ada"), (b"x_user", b"root"), (b"content_length", b"9"), (b"x_only", b"1")]
    found = meta_variables(Request("GET", b"/", b"", Headers(headers), BytesBody(b"")))
    assert {name: value for name, value in found.items() if name.startswith("HTTP_")} == {"HTTP_X_USER": "ada"}


def test_configured_variables_are_not_replaced_by_a_request() -> None:
    prints_variables = wat_text(
        """(module
          (import "wasi_snapshot_preview1" "environ_sizes_get" (func $sizes (param i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "environ_get" (func $get (param i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
          (memory (export "memory") 2)
          (data (i32.const 16) "\\n")
          (func (export "_start")
            (drop (call $sizes (i32.const 0) (i32.const 4)))
            (drop (call $get (i32.const 1024) (i32.const 65536)))
            (i32.store (i32.const 32) (i32.const 16)) (i32.store (i32.const 36) (i32.const 1))
            (i32.store (i32.const 40) (i32.const 65536)) (i32.store (i32.const 44) (i32.load (i32.const 4)))
            (drop (call $write (i32.const 1) (i32.const 32) (i32.const 2) (i32.const 8)))))""",
        "web-variables",
    )
    document = one_handler(prints_variables, "wasi", env={"HTTP_X_ROLE": "guest", "QUERY_STRING": "fixed"})
    variables = ask(document, path="/?a=b", headers={"x-role": "admin", "x-team": "a"}).text.split("\0")
    assert {"HTTP_X_ROLE=guest", "QUERY_STRING=fixed", "HTTP_X_TEAM=a"} <= set(variables)
    assert "HTTP_X_ROLE=admin" not in variables


def test_variables_are_those_of_rfc_3875() -> None:
    headers = [(b"host", b"h"), (b"content-type", b"a/b"), (b"x-two", b"1"), (b"x-two", b"2"), (b"proxy", b"evil")]
    request = Request(
        method="POST",
        path=b"/app/a%20b",
        query=b"c=d",
        headers=Headers(headers),
        body=BytesBody(b"12345"),
        scheme="https",
        client=("192.0.2.1", 99),
        server=("127.0.0.1", 8080),
        script="/app",
        path_info="/a b",
    )
    assert meta_variables(request) == {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "SERVER_SOFTWARE": "kubewasp",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8080",
        "REMOTE_ADDR": "192.0.2.1",
        "REMOTE_PORT": "99",
        "REQUEST_METHOD": "POST",
        "REQUEST_URI": "/app/a%20b?c=d",
        "SCRIPT_NAME": "/app",
        "PATH_INFO": "/a b",
        "QUERY_STRING": "c=d",
        "CONTENT_TYPE": "a/b",
        "CONTENT_LENGTH": "5",
        "HTTPS": "on",
        "HTTP_HOST": "h",
        "HTTP_X_TWO": "1, 2",
    }


def test_raw_output_is_the_body_as_it_is() -> None:
    raw = {"raw": True}
    response = answer("Status: 404\n\nno head", settings=raw)
    assert (response.status_code, response.text) == (200, "Status: 404\n\nno head")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer("", settings=raw).content == b""
    echoed = answer(">", more=_ECHO, settings=raw, method="POST", content=b"x" * 200_000)
    assert echoed.content == b">" + b"x" * 200_000
    assert answer("<p>", settings={**raw, "contentType": "text/html"}).headers["content-type"] == "text/html"


def test_raw_output_of_a_command_that_fails_is_not_sent() -> None:
    response = answer("half", more="(call $exit (i32.const 3))", settings={"raw": True})
    assert (response.status_code, "half" in response.text) == (500, False)
