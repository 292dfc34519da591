"""Short requests on the event loop: when, and what happens to those that are not short."""

import asyncio
import logging
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from kubewasp.web.handler_instance import HandlerInstance
from kubewasp.web.pace import SHORT_SECONDS, Pace
from tests.web.client import app_of, client_of, one_handler
from tests.web.guests import handler, middleware


def test_short_requests_in_a_row_go_to_the_event_loop() -> None:
    pace = Pace()
    for _ in range(8):
        assert not pace.is_short
        pace.took(SHORT_SECONDS / 2)
    assert pace.is_short
    pace.took(SHORT_SECONDS * 2)
    assert not pace.is_short


def test_many_short_requests_make_up_for_one_long_one() -> None:
    pace = Pace()
    for _ in range(64):
        pace.took(SHORT_SECONDS / 2)
    pace.took(SHORT_SECONDS * 2)
    assert pace.is_short
    pace.took(SHORT_SECONDS * 2)
    assert not pace.is_short


def requests_until_short(pace: Pace) -> int:
    for number in range(1, 100_000):
        pace.took(0)
        if pace.is_short:
            return number
    raise AssertionError("never")


def test_each_overrun_keeps_the_route_on_threads_for_longer() -> None:
    pace = Pace()
    assert requests_until_short(pace) == 8
    pace.overran(0.02, by_time=True)
    assert requests_until_short(pace) == 72
    pace.overran(0, by_time=False)
    assert requests_until_short(pace) == 136
    for _ in range(70_000):
        pace.took(0)
    pace.overran(0.02, by_time=True)
    assert requests_until_short(pace) == 72


def test_a_busy_machine_is_no_fault_of_the_guest() -> None:
    pace = Pace()
    requests_until_short(pace)
    pace.overran(0.0001, by_time=True)
    assert requests_until_short(pace) == 8


def asked(document: dict[str, Any], *contents: bytes, path: str = "/") -> tuple[list[httpx.Response], list[bool]]:
    """Responses of one app whose requests are short, and whether each was begun on the event loop."""
    begun: list[bool] = []
    begin = HandlerInstance.begin

    def noted(self: HandlerInstance, *, brief: bool) -> None:
        assert brief is (threading.current_thread() is threading.main_thread())
        begun.append(brief)
        begin(self, brief=brief)

    async def run() -> list[httpx.Response]:
        app = app_of(document)
        pipeline = app.table.routes.match(path, "POST").pipeline
        assert pipeline is not None
        async with client_of(app) as client:
            found = []
            for content in contents:
                pipeline.pace.is_short = True
                found.append(await client.post(path, content=content))
        app.close()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HandlerInstance, "begin", noted)
        return asyncio.run(run()), begun


_HELLO = '(data (i32.const 0) "hello")'
_TIMED = {"timeout": "1s"}


def test_short_request_runs_on_the_event_loop() -> None:
    guest = handler("(call $write (i32.const 0) (i32.const 5)) (i64.const 0)", more=_HELLO)
    found, begun = asked(one_handler(guest), b"", b"")
    assert [response.text for response in found] == ["hello", "hello"]
    assert begun == [True, True]


def test_long_request_is_repeated_on_a_thread_without_a_trace(caplog: pytest.LogCaptureFixture) -> None:
    # 300 million steps take longer than the event loop allows.
    run = """(local $count i32)
      (call $log (i32.const 0) (i32.const 0) (i32.const 5))
      (call $status (i32.const 202))
      (loop $again
        (local.set $count (i32.add (local.get $count) (i32.const 1)))
        (br_if $again (i32.lt_u (local.get $count) (i32.const 300000000))))
      (drop (call $read (i32.const 1000) (i32.const 10)))
      (call $write (i32.const 1000) (i32.const 3))
      (i64.const 0)"""
    with caplog.at_level(logging.INFO):
        (response,), begun = asked(one_handler(handler(run, more=_HELLO)), b"abc")
    assert (response.status_code, response.text) == (202, "abc")
    assert begun == [True, False]
    assert caplog.messages.count("hello") == 1


def test_long_response_is_repeated_on_a_thread() -> None:
    run = "(call $write (i32.const 0) (i32.const 65536)) (i64.const 0)"
    (response,), begun = asked(one_handler(handler(run)), b"")
    assert (len(response.content), begun) == (65536, [True, False])


def test_endless_loop_has_its_own_time_limit() -> None:
    (response,), begun = asked(one_handler(handler("(loop $again (br $again)) (i64.const 0)"), limits=_TIMED), b"")
    assert (response.status_code, begun) == (504, [True, False])


def test_changes_of_a_middleware_are_undone() -> None:
    change = """(call $add_header_value (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 1))
                (i64.const 1)"""
    run = """(local $headers i64)
             (local.set $headers (call $headers))
             (call $write_string (local.get $headers))
             (call $write (i32.const 0) (i32.const 65536)) (i64.const 0)"""
    document = {
        "guests": {
            "first": {"file": str(middleware(change, more='(data (i32.const 0) "x")')), "style": "http-wasm"},
            "main": {"file": str(handler(run)), "style": "module"},
        },
        "routes": [{"prefix": "/", "middlewares": ["first"], "handler": "main"}],
    }
    (response,), begun = asked(document, b"")
    assert response.text.partition("\0")[0].count("x: x\n") == 1
    assert begun == [True, True, False, False]


def test_failure_on_the_event_loop_is_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    (response,), begun = asked(one_handler(handler("unreachable")), b"")
    assert (response.status_code, begun) == (500, [True])
    assert caplog.messages.count("Guest failed") == 1


def test_instance_of_a_repeated_request_is_dropped() -> None:
    # The first request of an instance is long; a reused one would be short.
    run = """(if (i32.eqz (global.get $calls)) (then (call $write (i32.const 0) (i32.const 65536))))
             (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
             (i64.const 0)"""
    guest = handler(run, more="(global $calls (mut i32) (i32.const 0))")
    found, begun = asked(one_handler(guest, reuse=True), b"", b"")
    assert [len(response.content) for response in found] == [65536, 0]
    assert begun == [True, False, True]


def test_sleep_is_not_for_the_event_loop(tmp_path: Path) -> None:
    file = tmp_path / "sleeps.wat"
    # One subscription of the monotonic clock, 1 ns.
    file.write_text("""(module
      (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
      (memory (export "memory") 1)
      (func (export "malloc") (param i32) (result i32) (i32.const 64))
      (func (export "free") (param i32))
      (func (export "run") (result i64)
        (i32.store (i32.const 16) (i32.const 1))
        (i64.store (i32.const 24) (i64.const 1))
        (drop (call $poll (i32.const 0) (i32.const 100) (i32.const 1) (i32.const 200)))
        (i64.const 0)))""")
    (response,), begun = asked(one_handler(file), b"")
    assert (response.status_code, begun) == (200, [True, False])
