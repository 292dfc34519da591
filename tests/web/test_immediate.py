"""Short requests without a task, with instances from a pool: isolation, failures, places of the pool."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from wasmtime import WasmtimeError

from kubewasp.server.immediate import Answer
from kubewasp.wasm import engine_settings
from kubewasp.web import WebApp
from tests.web.client import app_of, one_handler, with_middlewares
from tests.web.guests import handler, middleware

_HELLO = '(data (i32.const 0) "hello")'
_WRITES = "(call $write (i32.const 0) (i32.const 5)) (i64.const 0)"


def scope(path: str = "/", method: str = "GET", **more: Any) -> dict[str, Any]:
    return {"type": "http", "method": method, "path": path, "headers": [], **more}


def with_app(document: dict[str, Any], test: Callable[[WebApp], None]) -> None:
    async def run() -> None:
        app = app_of(document)
        try:
            test(app)
        finally:
            app.close()

    asyncio.run(run())


def asked(app: WebApp, **more: Any) -> Answer:
    """The answer to a request of a route whose requests are short."""
    pipeline = app.table.routes.match(more.get("path", "/"), "GET").pipeline
    assert pipeline is not None
    pipeline.pace.is_short = True
    answer = app.immediate(scope(**more))
    assert answer is not None
    return answer


def places(app: WebApp, name: str = "main") -> int:
    return len(app.guests[name]._runner._places)  # type: ignore[attr-defined]


def test_route_with_short_requests_is_answered_at_once() -> None:
    def test(app: WebApp) -> None:
        assert app.immediate(scope()) is None  # not known to be short
        answer = asked(app, headers=[(b"x-request-id", b"abc")])
        assert answer == Answer(200, [(b"content-length", b"5"), (b"x-request-id", b"abc")], b"hello")
        exposed = app.metrics.exposed()[0].decode()
        assert 'kubewasp_http_requests_total{code="200",method="GET",route="/*"} 1.0' in exposed
        assert 'kubewasp_http_instances_created_total{guest="main"} 1.0' in exposed

    with_app(one_handler(handler(_WRITES, more=_HELLO)), test)


def test_requests_see_nothing_of_each_other() -> None:
    # Counts what earlier requests left in memory (first pages, a later one, a grown one), a global and a table.
    run = """(local $found i32)
      (drop (memory.grow (i32.const 1)))
      (local.set $found (i32.add (i32.load (i32.const 8)) (i32.load (i32.const 1500000))))
      (local.set $found (i32.add (local.get $found) (i32.load (i32.const 2099000))))
      (local.set $found (i32.add (local.get $found) (global.get $seen)))
      (local.set $found (i32.add (local.get $found) (i32.sub (i32.const 1) (ref.is_null (table.get $t (i32.const 3))))))
      (i32.store (i32.const 8) (i32.const 1))
      (i32.store (i32.const 1500000) (i32.const 1))
      (i32.store (i32.const 2099000) (i32.const 1))
      (i32.store (i32.const 0) (i32.const 0))
      (global.set $seen (i32.const 1))
      (table.set $t (i32.const 3) (ref.func $malloc))
      (i32.store8 (i32.const 4000) (i32.add (i32.const 48) (local.get $found)))
      (call $write (i32.const 4000) (i32.const 1))
      (call $write (i32.const 2099000) (i32.const 4))
      (i64.const 0)"""
    more = f"{_HELLO} (global $seen (mut i32) (i32.const 0)) (table $t 4 funcref) (elem declare func $malloc)"

    def test(app: WebApp) -> None:
        assert places(app)
        assert {asked(app).body for _ in range(40)} == {b"0\x01\0\0\0"}

    with_app(one_handler(handler(run, more=more, memory="32")), test)


def test_failures_give_their_places_back(caplog: pytest.LogCaptureFixture) -> None:
    def test(app: WebApp) -> None:
        before = places(app)
        kept = []  # as a debugger or a log handler does
        with caplog.at_level(logging.ERROR):
            for _ in range(100):
                answer = asked(app)
                assert answer.status == 500
                assert answer.body.startswith(b"500 Internal Server Error\nrequest id: ")
                kept += caplog.records
        assert places(app) == before
        assert caplog.messages.count("Guest failed") == 100
        assert 'kubewasp_http_guest_failures_total{guest="main",kind="trap"} 100.0' in app.metrics.exposed()[0].decode()

    with_app(one_handler(handler("unreachable")), test)


def test_long_request_has_no_answer_and_gives_its_place_back() -> None:
    def test(app: WebApp) -> None:
        before = places(app)
        pipeline = app.table.routes.match("/", "GET").pipeline
        assert pipeline is not None
        for _ in range(40):
            pipeline.pace.is_short = True
            assert app.immediate(scope()) is None
        assert places(app) == before
        assert "kubewasp_http_requests_total{" not in app.metrics.exposed()[0].decode()

    with_app(one_handler(handler("(call $write (i32.const 0) (i32.const 65536)) (i64.const 0)")), test)


def test_more_guests_in_a_route_than_places_in_the_pool() -> None:
    def test(app: WebApp) -> None:
        assert asked(app).status == 201

    with_app(with_middlewares([middleware("(i64.const 1)")] * 40), test)


def test_reused_instances_take_no_place() -> None:
    def test(app: WebApp) -> None:
        assert not places(app)
        assert asked(app).body == b"hello"

    with_app(one_handler(handler(_WRITES, more=_HELLO), reuse=3), test)


def test_without_room_for_a_pool_instances_are_made_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise WasmtimeError("mmap failed")

    monkeypatch.setattr(engine_settings, "use_pool", refuse)

    def test(app: WebApp) -> None:
        assert not places(app)
        assert asked(app).body == b"hello"

    # A stack of its own has an engine of its own.
    with_app(one_handler(handler(_WRITES, more=_HELLO), limits={"stack": "300Ki"}), test)


def test_module_beyond_the_pool_is_served_without_it(tmp_path: Path) -> None:
    file = tmp_path / "table.wat"
    file.write_text("""(module (memory (export "memory") 1) (table 200000 funcref)
      (func (export "malloc") (param i32) (result i32) (i32.const 64)) (func (export "free") (param i32))
      (data (i32.const 0) "hello") (func (export "run") (result i64) (i64.const 5)))""")

    def test(app: WebApp) -> None:
        assert not places(app)
        assert asked(app).body == b"hello"

    with_app(one_handler(file), test)


@pytest.mark.parametrize(("method", "path"), [("GET", "/elsewhere"), ("POST", "/only")])
def test_requests_without_a_route_go_the_way_of_asgi(method: str, path: str) -> None:
    document = one_handler(handler(_WRITES, more=_HELLO))
    document["routes"] = [{"path": "/only", "methods": ["GET"], "handler": "main"}]

    def test(app: WebApp) -> None:
        assert asked(app, path="/only").status == 200
        assert app.immediate(scope(path, method)) is None

    with_app(document, test)
