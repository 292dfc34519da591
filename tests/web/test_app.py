"""The ASGI app: routes, request ids, limits, failures, isolation, streaming."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.guests.build import wat_text
from tests.web.client import CHUNKED, app_of, ask, client_of, one_handler
from tests.web.guests import ECHO, handler

_COUNTS = handler(
    # A global and a byte of memory that outlive a request, unless the instance does not.
    """(global.set $seen (i32.add (global.get $seen) (i32.const 1)))
       (i32.store8 (i32.const 8) (i32.add (i32.load8_u (i32.const 8)) (i32.const 1)))
       (i32.store8 (i32.const 0) (i32.add (i32.const 48) (global.get $seen)))
       (i32.store8 (i32.const 1) (i32.add (i32.const 48) (i32.load8_u (i32.const 8))))
       (call $write (i32.const 0) (i32.const 2)) (i64.const 0)""",
    more="(global $seen (mut i32) (i32.const 0))",
)


async def _ask_all(document: dict[str, Any], *requests: tuple[str, str]) -> list[httpx.Response]:
    app = app_of(document)
    try:
        async with client_of(app) as client:
            return [await client.request(method, path) for method, path in requests]
    finally:
        app.close()


def ask_all(document: dict[str, Any], *requests: tuple[str, str]) -> list[httpx.Response]:
    return asyncio.run(_ask_all(document, *requests))


def test_no_request_sees_the_data_of_another() -> None:
    found = ask_all(one_handler(_COUNTS), *[("GET", "/")] * 3)
    assert [response.text for response in found] == ["11", "11", "11"]
    # That the guest does keep something, if it may, shows that this test can fail.
    kept = ask_all(one_handler(_COUNTS, reuse=True), *[("GET", "/")] * 3)
    assert [response.text for response in kept] == ["11", "22", "33"]


def test_instance_that_is_started_ahead_is_used_once_too() -> None:
    counts = handler(
        """(global.set $seen (i32.add (global.get $seen) (i32.const 1)))
           (i32.store8 (i32.const 0) (i32.add (i32.const 48) (global.get $seen)))
           (call $write (i32.const 0) (i32.const 1)) (i64.const 0)""",
        more="""(global $seen (mut i32) (i32.const 0))
                (func (export "_initialize") (global.set $seen (i32.const 4)))""",
    )
    found = ask_all(one_handler(counts), *[("GET", "/")] * 6)
    assert [response.text for response in found] == ["5"] * 6


def test_reused_instance_that_failed_is_thrown_away() -> None:
    guest = handler(
        """(if (global.get $seen) (then unreachable))
           (global.set $seen (i32.const 1)) (i64.const 0)""",
        more="(global $seen (mut i32) (i32.const 0))",
    )
    found = ask_all(one_handler(guest, reuse=True), *[("GET", "/")] * 4)
    assert [response.status_code for response in found] == [200, 500, 200, 500]


_BAD = {
    "/loops": (handler("(loop $again (br $again)) (i64.const 0)"), 504),
    "/traps": (handler("unreachable"), 500),
    "/recurses": (handler("(call $deep) (i64.const 0)", more="(func $deep (call $deep))"), 500),
    "/leaks": (
        handler(
            """(loop $again
                 (if (i32.eq (memory.grow (i32.const 1)) (i32.const -1)) (then unreachable))
                 (br $again))
               (i64.const 0)"""
        ),
        500,
    ),
    "/garbage": (handler("(i64.const -1)"), 502),
    "/sleeps": (
        wat_text(
            """(module
              (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
              (memory (export "memory") 1)
              (func (export "malloc") (param i32) (result i32) (i32.const 0))
              (func (export "free") (param i32))
              (func (export "run") (result i64)
                (i64.store (i32.const 24) (i64.const 3600000000000)) ;; an hour
                (i64.extend_i32_u (call $poll (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 128)))))""",
            "web-sleeps",
        ),
        504,
    ),
}


def test_bad_handlers_cost_one_answer_each_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    endless = {"/loops", "/sleeps"}  # the others fail by themselves, however long that takes
    guests = {
        path[1:]: {
            "file": str(file),
            "style": "module",
            "limits": {"memory": "8Mi"} | ({"timeout": "200ms"} if path in endless else {}),
        }
        for path, (file, _) in _BAD.items()
    } | {"good": {"file": str(_COUNTS), "style": "module"}}
    routes = [{"path": f"/{name}", "handler": name} for name in guests]

    async def run() -> None:
        app = app_of({"guests": guests, "routes": routes})
        async with client_of(app) as client:
            bad = [client.get(path) for path in _BAD for _ in range(3)]
            good = [client.get("/good") for _ in range(20)]
            found = await asyncio.gather(*bad, *good)
            assert [response.text for response in found[-20:]] == ["11"] * 20
            for response in found[:-20]:
                identity = response.headers["x-request-id"]
                assert response.status_code == _BAD[response.url.path][1]
                assert response.text.endswith(f"\nrequest id: {identity}\n")
                assert "wasm" not in response.text
                logged = [item for item in caplog.records if getattr(item, "requestID", "") == identity]
                assert any(getattr(item, "problem", "") for item in logged), "the log has the details"
        app.close()
        exposed = app.metrics.exposed()[0].decode()
        for name, kind in (("loops", "timeout"), ("traps", "trap"), ("garbage", "answer"), ("leaks", "memory")):
            assert f'kubewasp_http_guest_failures_total{{guest="{name}",kind="{kind}"}} 3.0' in exposed
        assert 'kubewasp_http_instances_in_use{guest="loops"} 0.0' in exposed
        assert "kubewasp_http_requests_in_flight 0.0" in exposed

    with caplog.at_level("INFO", "kubewasp"):
        asyncio.run(run())


def test_request_ids_are_taken_or_made() -> None:
    document = one_handler(_COUNTS)
    assert ask(document, headers={"x-request-id": "abc-1.2"}).headers["x-request-id"] == "abc-1.2"
    for bad in ("a b", "x" * 200, "a\u00e9"):
        made = ask(document, headers={"x-request-id": bad.encode()}).headers["x-request-id"]
        assert len(made) == 32


def test_routes() -> None:
    texts = {"exact": "/a", "short": "/a*", "long": "/a/b*", "slash": "/s/*"}
    routes: list[dict[str, Any]] = [
        {"path": "/a", "methods": ["GET"], "respond": {"body": texts["exact"]}},
        {"prefix": "/a", "respond": {"body": texts["short"]}},
        {"prefix": "/a/b", "methods": ["GET", "PUT"], "respond": {"body": texts["long"]}},
        {"prefix": "/s/", "methods": ["POST"], "respond": {"body": texts["slash"]}},
    ]
    asked = [("GET", "/a"), ("PUT", "/a"), ("GET", "/a/x"), ("GET", "/a/b"), ("DELETE", "/a/b/c"), ("POST", "/s/x")]
    found = ask_all({"routes": routes}, *asked)
    assert [response.text for response in found] == ["/a", "/a*", "/a*", "/a/b*", "/a*", "/s/*"]
    refused = ask_all({"routes": routes}, ("GET", "/ab"), ("GET", "/s"), ("PUT", "/s/x"), ("HEAD", "/a"))
    assert [response.status_code for response in refused] == [404, 404, 405, 200]
    assert refused[2].headers["allow"] == "POST"
    assert "request id" in refused[0].text


def test_body_over_the_limit() -> None:
    document = one_handler(handler(ECHO, memory="3"), limits={"requestBody": 100_000})
    assert ask(document, "POST", content=b"x" * 100_000).status_code == 200
    assert ask(document, "POST", content=b"x" * 100_001).status_code == 413

    async def unannounced() -> Any:
        for _ in range(20):
            yield b"x" * 10_000

    response = ask(document, "POST", content=unannounced())
    # The guest had begun to answer when the limit was reached.
    assert response.status_code == 413 or len(response.content) < 200_000


@pytest.mark.parametrize("given", [[b"70_000"], [b"+5"], [b""], [b"5", b"5"], [b"9" * 5000]])
def test_length_that_is_none(given: list[bytes]) -> None:
    """From other ASGI servers; the own one refuses it before."""

    async def run() -> int:
        app = app_of(one_handler(handler(ECHO, memory="3")))
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"12345", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"content-length", value) for value in given]
        await app({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive, send)
        app.close()
        status: int = sent[0]["status"]
        return status

    assert asyncio.run(run()) == 400


def test_slow_uploads_leave_half_of_the_threads_to_others() -> None:
    async def run() -> tuple[list[int], int]:
        app = app_of({**one_handler(handler(ECHO, memory="3")), "threads": 4})
        go_on = asyncio.Event()
        statuses: list[int] = []

        async def upload() -> None:
            begun = False

            async def receive() -> Any:
                nonlocal begun
                if not begun:
                    begun = True
                    return {"type": "http.request", "body": b"x" * 65536, "more_body": True}
                await go_on.wait()
                return {"type": "http.request", "body": b"", "more_body": False}

            async def send(message: Any) -> None:
                if message["type"] == "http.response.start":
                    statuses.append(message["status"])

            await app({"type": "http", "method": "POST", "path": "/", "headers": CHUNKED}, receive, send)

        uploads = [asyncio.create_task(upload()) for _ in range(8)]
        async with client_of(app) as client, asyncio.timeout(300):  # instead of waiting for ever
            response = await client.post("/", content=b"small")
        go_on.set()
        await asyncio.gather(*uploads)
        app.close()
        return statuses, response.status_code

    statuses, small = asyncio.run(run())
    assert (small, statuses) == (200, [200] * 8)


def test_client_that_sends_nothing() -> None:
    async def run() -> list[Any]:
        app = app_of(one_handler(handler(ECHO, memory="3"), limits={"clientTimeout": "50ms"}))
        sent: list[Any] = []

        async def receive() -> Any:
            await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/", "headers": CHUNKED, "http_version": "1.1"}
        await app(scope, receive, send)
        app.close()
        return sent

    assert asyncio.run(run())[0]["status"] == 408


def test_time_that_the_client_takes_is_not_the_guests() -> None:
    """The body comes in pieces, over a longer time than the guest has for itself."""

    async def run() -> bytes:
        app = app_of(one_handler(handler(ECHO, memory="3"), limits={"timeout": "1s"}))
        pieces = [{"type": "http.request", "body": b"x" * 65536, "more_body": True}] * 3
        messages = [*pieces, {"type": "http.request", "body": b"end", "more_body": False}]
        body = bytearray()

        async def receive() -> Any:
            if len(messages) < 4:  # the first piece comes before the guest is called
                await asyncio.sleep(0.4)
            return messages.pop(0)

        async def send(message: Any) -> None:
            body.extend(message.get("body", b""))

        scope = {"type": "http", "method": "POST", "path": "/", "headers": CHUNKED, "http_version": "1.1"}
        await app(scope, receive, send)
        app.close()
        return bytes(body)

    assert asyncio.run(run()) == b"x" * 65536 * 3 + b"end"


def test_large_bodies_both_ways_are_not_held() -> None:
    async def run() -> None:
        app = app_of(one_handler(handler(ECHO, memory="3")))
        count, ahead, most, received = 400, 0, 0, 0

        async def receive() -> Any:
            nonlocal ahead, most, count
            count -= 1
            ahead += 65536
            most = max(most, ahead)
            return {"type": "http.request", "body": b"x" * 65536, "more_body": count > 0}

        async def send(message: Any) -> None:
            nonlocal ahead, received
            size = len(message.get("body", b""))
            received += size
            ahead -= size

        scope = {"type": "http", "method": "POST", "path": "/", "headers": CHUNKED, "http_version": "1.1"}
        await app(scope, receive, send)
        app.close()
        assert received == 400 * 65536
        assert most <= 4 * 65536  # received and not yet sent

    asyncio.run(run())


def test_failure_after_the_head_was_sent_aborts_the_response() -> None:
    half = handler("(call $write (i32.const 0) (i32.const 100000)) unreachable")

    async def run() -> tuple[list[Any], bool]:
        app = app_of(one_handler(half))
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "http_version": "1.1"}
        try:
            await app(scope, receive, send)
        except ConnectionAbortedError:
            return sent, True
        finally:
            app.close()
        return sent, False

    sent, broken_off = asyncio.run(run())
    assert broken_off
    assert sent[0]["status"] == 200
    assert all(message.get("more_body", True) for message in sent)


def test_requests_run_at_the_same_time() -> None:
    """No request gets the rest of its body before four are in their guests at once: half of the threads."""

    async def run() -> tuple[list[int], int]:
        app = app_of(one_handler(handler(ECHO, memory="3")) | {"threads": 8})
        all_in = asyncio.Event()
        waiting, most, statuses = 0, 0, list[int]()

        async def one() -> None:
            pieces = 0

            async def receive() -> Any:
                nonlocal pieces, waiting, most
                pieces += 1
                if pieces == 1:  # large enough for the guest to be called
                    return {"type": "http.request", "body": b"x" * 65536, "more_body": True}
                waiting += 1
                most = max(most, app.guests["main"].stats.in_use)
                if waiting == 4:
                    all_in.set()
                await all_in.wait()
                return {"type": "http.request", "body": b"end", "more_body": False}

            async def send(message: Any) -> None:
                if "status" in message:
                    statuses.append(message["status"])

            scope = {"type": "http", "method": "POST", "path": "/", "headers": CHUNKED, "http_version": "1.1"}
            await app(scope, receive, send)

        async with asyncio.timeout(300):  # instead of waiting for ever
            await asyncio.gather(*[one() for _ in range(40)])
        app.close()
        return statuses, most

    statuses, most = asyncio.run(run())
    assert statuses == [200] * 40
    assert most == 4


def test_mounted_in_another_app() -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    shows = handler("(call $write_string (call $path)) (i64.const 0)")
    app = app_of({**one_handler(shows), "routes": [{"path": "/inner", "handler": "main"}]})
    outer = Starlette(routes=[Mount("/outer", app)])

    async def run() -> tuple[httpx.Response, httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(outer), base_url="http://test") as client:
            return await client.get("/outer/inner"), await client.get("/inner")

    inside, outside = asyncio.run(run())
    app.close()
    assert inside.text == "/outer/inner"
    assert outside.status_code == 404
