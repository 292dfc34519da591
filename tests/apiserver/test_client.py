"""Client: responses, retries, rate limit and error texts."""

import asyncio
import socket

import orjson
import pytest

from kubewasp.apiserver.auth import Credentials, fixed
from kubewasp.apiserver.client import ApiClient, PreparedRequest
from kubewasp.apiserver.errors import DISCONNECTED, INVALID_ANSWER, TIMED_OUT, UNREACHABLE, ApiError
from kubewasp.apiserver.http_connection import Access
from kubewasp.k8s.codec import decode, unwrap_unknown
from tests.apiserver.fake_server import Answer, Drop, FakeServer, Silence, object_answer, pod, status_answer
from tests.apiserver.running import FakeClock, asynchronous, client_of

POD = "/api/v1/namespaces/default/pods/a"
BINDING = f"{POD}/binding"


@asynchronous
async def test_an_object_comes_back_as_the_server_sent_it() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.on("GET", POD, object_answer("Pod", pod("a", "7")))
        api_version, kind, data = unwrap_unknown(await client.request("GET", POD))
        assert (api_version, kind) == ("v1", "Pod")
        assert decode("Pod", data)["metadata"]["resourceVersion"] == "7"
        headers = server.requests[0].headers
        assert headers["accept"] == "application/vnd.kubernetes.protobuf"
        assert headers["accept-encoding"] == "identity"
        assert "content-type" not in headers
        assert "authorization" not in headers


@asynchronous
async def test_body_content_type_and_query_reach_the_server() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.on("PATCH", POD, Answer(b"{}"))
        await client.request(
            "PATCH", POD, query={"fieldManager": "a b&c"}, body=b"{}", content_type="x/y", accept="x/z"
        )
        request = server.requests[0]
        assert (request.query, request.body) == ({"fieldManager": "a b&c"}, b"{}")
        assert (request.headers["content-type"], request.headers["accept"]) == ("x/y", "x/z")


@asynchronous
async def test_one_connection_serves_many_requests() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.always("POST", BINDING, Answer(b"", 201))
        for _ in range(20):
            assert await client.send(PreparedRequest("POST", BINDING, b"x")) == b""
        assert server.open_connections == 1


@asynchronous
async def test_names_are_sent_as_the_path_has_them() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.on("GET", "/api/v1/nodes/a%2Fb", Answer(b"x"))
        assert await client.request("GET", "/api/v1/nodes/a%2Fb") == b"x"


@pytest.mark.parametrize("json", [False, True])
def test_a_status_becomes_an_error_that_names_the_call(json: bool) -> None:
    @asynchronous
    async def run() -> None:
        async with FakeServer() as server, client_of(server) as client:
            causes = [{"reason": "FieldValueInvalid", "message": "no", "field": "target"}]
            server.on(
                "POST", BINDING, status_answer(409, "Conflict", "pod a is bound", json=json, causes=causes, name="a")
            )
            with pytest.raises(ApiError) as caught:
                await client.request("POST", BINDING, body=b"x")
            error = caught.value
            assert (error.status, error.reason, error.message) == (409, "Conflict", "pod a is bound")
            assert error.causes == ("FieldValueInvalid",)
            assert not error.maybe_done
            assert str(error) == "cannot create pods/binding default/a: pod a is bound"

    run()


@asynchronous
async def test_missing_rights_name_the_verb_and_the_resource() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.on("GET", "/apis/storage.k8s.io/v1/csinodes", status_answer(403, "Forbidden", "csinodes is forbidden"))
        server.on("POST", BINDING, status_answer(403, "Forbidden", "no", name="a"))
        with pytest.raises(ApiError, match=r'"list" on "csinodes" of API group "storage.k8s.io" in the whole cluster'):
            await client.request("GET", "/apis/storage.k8s.io/v1/csinodes")
        with pytest.raises(ApiError, match='"create" on "pods/binding" of API group "" in namespace default'):
            await client.request("POST", BINDING, body=b"x")


@asynchronous
async def test_an_api_that_is_missing_is_not_an_object_that_is_missing() -> None:
    async with FakeServer() as server, client_of(server) as client:
        path = "/apis/storage.k8s.io/v1/csistoragecapacities"
        server.on("GET", path, Answer(b"404 page not found\n", 404, content_type="text/plain"))
        with pytest.raises(ApiError, match=r"no csistoragecapacities of storage.k8s.io/v1: its version is too old"):
            await client.request("GET", path)
        server.on("GET", POD, status_answer(404, "NotFound", 'pods "a" not found', name="a", kind="pods"))
        with pytest.raises(ApiError) as caught:
            await client.request("GET", POD)
        assert str(caught.value) == 'cannot get pods default/a: pods "a" not found'


@asynchronous
async def test_what_a_proxy_answers_is_shown_short_and_printable() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.on("GET", POD, Answer(b"<h1>\x1b[31mno\n such" + b"x" * 9999, 400, content_type="text/html"))
        with pytest.raises(ApiError) as caught:
            await client.request("GET", POD)
        assert str(caught.value).startswith("cannot get pods default/a: HTTP status 400 Whatever: <h1>[31mno such")
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b'{"kind":"Status","details":7}', b"k8s\0\xff", b'{"kind":"Status","details":{"causes":[1]}}']
)
def test_a_status_that_makes_no_sense_is_still_an_error(body: bytes) -> None:
    @asynchronous
    async def run() -> None:
        async with FakeServer() as server, client_of(server) as client:
            server.on("GET", POD, Answer(body, 400))
            with pytest.raises(ApiError) as caught:
                await client.request("GET", POD)
            assert caught.value.status == 400

    run()


@asynchronous
async def test_a_busy_server_is_asked_again_when_it_said() -> None:
    clock = FakeClock()
    async with FakeServer() as server, client_of(server, clock) as client:
        busy = status_answer(429, "TooManyRequests", retryAfterSeconds=7)
        server.on("POST", BINDING, busy, busy, Answer(b"done", 201))
        assert await client.request("POST", BINDING, body=b"x") == b"done"
        assert clock.sleeps == [7.0, 7.0]


@asynchronous
async def test_a_get_is_tried_again_after_errors_of_server_and_connection() -> None:
    clock = FakeClock()
    async with FakeServer() as server, client_of(server, clock) as client:
        server.on("GET", POD, Answer(b"abc", cut=1), *[status_answer(500, "InternalError")] * 2, Answer(b"done"))
        assert await client.request("GET", POD) == b"done"
        assert len(clock.sleeps) == 3
        assert 0.1 <= clock.sleeps[0] <= 0.2 <= clock.sleeps[1] <= 0.4 <= clock.sleeps[2] <= 0.8


@asynchronous
async def test_what_is_not_idempotent_is_sent_once() -> None:
    async with FakeServer() as server, client_of(server) as client:
        for reaction in (
            status_answer(500, "InternalError", retryAfterSeconds=2),
            status_answer(504, "Timeout"),
            Drop(),
        ):
            server.on("POST", BINDING, reaction, Answer(b"done"))
            with pytest.raises(ApiError) as caught:
                await client.request("POST", BINDING, body=b"x")
            assert caught.value.maybe_done
            assert await client.request("POST", BINDING, body=b"x") == b"done"


@asynchronous
async def test_tries_come_to_an_end() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.always("GET", POD, status_answer(503, "ServiceUnavailable"))
        with pytest.raises(ApiError) as caught:
            await client.request("GET", POD, tries=3)
        assert caught.value.status == 503
        assert len(server.requests) == 3


@asynchronous
async def test_other_errors_are_not_tried_again() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.on("GET", POD, status_answer(410, "Expired"), Answer(b"never"))
        with pytest.raises(ApiError) as caught:
            await client.request("GET", POD)
        assert caught.value.is_expired


@asynchronous
async def test_a_slow_answer_is_given_up_and_may_have_been_carried_out() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.on("POST", BINDING, Silence())
        with pytest.raises(ApiError, match="did not answer in time") as caught:
            await client.request("POST", BINDING, body=b"x", timeout=0.05)
        assert (caught.value.reason, caught.value.maybe_done) == (TIMED_OUT, True)


@asynchronous
async def test_a_connection_that_is_dropped_says_so() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.on("POST", BINDING, Drop())
        with pytest.raises(ApiError, match="closed the connection without an answer") as caught:
            await client.request("POST", BINDING, body=b"x")
        assert caught.value.reason == DISCONNECTED


@asynchronous
async def test_something_that_does_not_speak_http_is_named() -> None:
    async def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-babble\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(babble, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with ApiClient(fixed(Access(f"http://127.0.0.1:{port}")), qps=-1) as client:
            with pytest.raises(ApiError, match="did not answer in HTTP") as caught:
                await client.request("GET", POD, tries=1)
            assert caught.value.reason == INVALID_ANSWER


@asynchronous
async def test_an_unreachable_server_is_tried_again_even_for_a_bind_then_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens here
        clock = FakeClock()
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        async with ApiClient(fixed(Access(url)), clock=clock, qps=-1) as client:
            with pytest.raises(
                ApiError, match=rf"{url} cannot be reached: Connection refused .*is the API server running"
            ) as caught:
                await client.request("POST", BINDING, body=b"x")
        assert (caught.value.status, caught.value.reason) == (0, UNREACHABLE)
        assert not caught.value.maybe_done
        assert len(clock.sleeps) == 4


@asynchronous
async def test_cancelling_closes_the_connection() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.on("GET", POD, Silence())
        task = asyncio.create_task(client.request("GET", POD))
        await server.asked(1)
        assert server.open_connections == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while server.open_connections:
            await asyncio.sleep(0)


@asynchronous
async def test_a_new_token_is_fetched_after_a_401() -> None:
    async with FakeServer() as server:
        old, new = Access(server.url, authorization="Bearer old"), Access(server.url, authorization="Bearer new")
        async with ApiClient(_Rotated(old, new), qps=-1) as client:
            server.on("POST", BINDING, status_answer(401, "Unauthorized"), Answer(b"done"))
            assert await client.request("POST", BINDING, body=b"x") == b"done"
        assert [request.headers["authorization"] for request in server.requests] == ["Bearer old", "Bearer new"]


@asynchronous
async def test_a_second_401_is_an_error_that_does_not_show_the_token() -> None:
    async with FakeServer() as server:
        old, new = (
            Access(server.url, authorization="Bearer old-s3cret"),
            Access(server.url, authorization="Bearer s3cret"),
        )
        async with ApiClient(_Rotated(old, new), qps=-1) as client:
            server.always("GET", POD, status_answer(401, "Unauthorized"))
            with pytest.raises(
                ApiError, match="does not accept the credentials: the token or client certificate"
            ) as caught:
                await client.request("GET", POD)
        assert len(server.requests) == 2
        assert "s3cret" not in f"{caught.value}{caught.value!r}{old!r}{new!r}"


class _Rotated(Credentials):
    def __init__(self, old: Access, new: Access) -> None:
        self._now, self._new = old, new

    async def fresh(self) -> Access:
        return self._now

    async def renewed(self, refused: Access) -> Access:
        self._now = self._new
        return self._now


@asynchronous
async def test_the_limit_holds_for_all_calls_but_not_for_siblings() -> None:
    clock = FakeClock()
    async with FakeServer() as server, client_of(server, clock, qps=10, burst=2) as client:
        server.always("GET", POD, Answer(orjson.dumps({})))
        for _ in range(4):
            await client.request("GET", POD)
        assert clock.sleeps == [pytest.approx(0.1), pytest.approx(0.1)]
        await client.sibling(qps=10, burst=1).request("GET", POD)
        assert len(clock.sleeps) == 2


@asynchronous
async def test_the_observer_hears_of_answers_and_of_none() -> None:
    from kubewasp.apiserver.transport import Transport

    heard: list[tuple[str, str, int]] = []

    def hear(method: str, path: str, status: int, seconds: float) -> None:
        assert 0 <= seconds < 10
        heard.append((method, path, status))

    async with (
        FakeServer() as server,
        ApiClient(fixed(Access(server.url)), qps=-1, transport=Transport(hear)) as client,
    ):
        server.on("POST", POD, Answer(b"x"), Drop())
        await client.request("POST", POD)
        with pytest.raises(ApiError):
            await client.request("POST", POD)
    assert heard == [("POST", POD, 200), ("POST", POD, 0)]


class _Listener:
    """Implements RequestObserver."""

    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        self.heard.append(("answered", method, status))

    def transferred(self, method: str, sent: int, received: int) -> None:
        self.heard.append(("transferred", method, sent, received))

    def limited(self, method: str, seconds: float) -> None:
        self.heard.append(("limited", method, seconds))

    def retried(self, method: str, status: int) -> None:
        self.heard.append(("retried", method, status))


@asynchronous
async def test_metrics_hear_of_limits_retries_and_sizes_of_siblings_too() -> None:
    listener, clock = _Listener(), FakeClock()
    async with (
        FakeServer() as server,
        ApiClient(fixed(Access(server.url)), clock=clock, qps=2, burst=1, observer=listener) as client,
    ):
        server.on("POST", POD, status_answer(429, "TooManyRequests"), Answer(b"four"))
        await client.request("POST", POD, body=b"two")
        clock.time += 10
        server.on("GET", POD, Answer(b""))
        await client.guarded(lambda: True).request("GET", POD)
        server.on("GET", POD, Answer(b"x"))
        await client.sibling(qps=-1).request("GET", POD)
    waited = listener.heard.pop(3)
    assert waited[:2] == ("limited", "POST")
    assert listener.heard == [
        ("limited", "POST", 0.0),
        ("answered", "POST", 429),
        ("retried", "POST", 429),
        ("answered", "POST", 200),
        ("transferred", "POST", 3, 4),
        ("limited", "GET", 0.0),
        ("answered", "GET", 200),
        ("transferred", "GET", 0, 0),
        ("limited", "GET", 0.0),
        ("answered", "GET", 200),
        ("transferred", "GET", 0, 1),
    ]


@asynchronous
async def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    """Example: the response of a TLS server to plain HTTP."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with ApiClient(fixed(Access(f"http://127.0.0.1:{port}")), qps=-1) as client:
            with pytest.raises(ApiError, match="HTTP status 400 Bad Request: Client sent an HTTP request") as caught:
                await client.request("GET", POD)
    assert caught.value.status == 400


@asynchronous
async def test_few_requests_are_under_way_at_once_and_siblings_do_not_wait_for_them() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.always("POST", BINDING, Silence())
        server.on("GET", POD, Answer(b"x"))
        bindings = [asyncio.create_task(client.request("POST", BINDING, body=b"x")) for _ in range(100)]
        await server.asked(32)
        assert await client.sibling(qps=-1).request("GET", POD) == b"x"
        assert len(server.requests) == 33
        for binding in bindings:
            binding.cancel()
        await asyncio.gather(*bindings, return_exceptions=True)


@asynchronous
async def test_a_write_that_waited_is_not_sent_if_it_may_not_be_any_more() -> None:
    leads = True
    async with FakeServer() as server, client_of(server) as client:
        server.always("POST", BINDING, Silence())
        server.on("GET", POD, Answer(b"x"))
        guarded = client.guarded(lambda: leads)
        first = [asyncio.create_task(client.request("POST", BINDING, body=b"x")) for _ in range(32)]
        await server.asked(32)
        waiting = asyncio.create_task(guarded.request("POST", BINDING, body=b"y"))
        await asyncio.sleep(0)
        leads = False
        for task in first:
            task.cancel()
        with pytest.raises(ApiError, match="no longer the leader") as caught:
            await waiting
        await asyncio.gather(*first, return_exceptions=True)
        assert not caught.value.maybe_done
        assert all(request.body != b"y" for request in server.requests)
        assert await guarded.request("GET", POD) == b"x"


@asynchronous
async def test_a_guarded_client_asks_at_the_last_moment_whether_it_may_write() -> None:
    clock = FakeClock()
    began = clock.time
    async with FakeServer() as server, client_of(server, clock, qps=1, burst=1) as client:
        server.on("POST", BINDING, Answer(b""), Answer(b""))
        server.on("GET", POD, object_answer("Pod", pod("a", "7")))
        guarded = client.guarded(lambda: clock.time < began + 1.5)
        await guarded.request("POST", BINDING)
        await guarded.request("POST", BINDING)  # a second later, as the limit is shared and used up
        with pytest.raises(ApiError, match="no longer the leader") as refused:
            await guarded.request("POST", BINDING)
        assert not refused.value.maybe_done
        await guarded.request("GET", POD)
        assert [request.method for request in server.requests] == ["POST", "POST", "GET"]
