"""The extender over HTTP: refusals, health endpoints, concurrent requests."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest

from kubewasp.apiserver.api_resources import request_info
from kubewasp.apiserver.errors import ApiError
from kubewasp.apiserver.writes import ClusterWrites
from kubewasp.extender.protocol import ProtocolError
from kubewasp.extender.service import Binder, ExtenderService
from kubewasp.extender.verbs import ExtenderMetrics, Gate, create_app
from kubewasp.extender.worker import Worker
from kubewasp.live.inbox import on_owner_thread
from kubewasp.server.endpoints import create_app as operations_app
from kubewasp.server.health import Health
from kubewasp.server.metrics import Metrics
from tests.extender.extending import node, pod, profile, scores, service, whole
from tests.guests.build import example
from tests.server.asking import Client

Answer = Callable[[bytes], Awaitable[bytes]]
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    made.start()
    yield made
    made.stop()


def app(answers: dict[str, Answer], metrics: Metrics | None = None, gate: Gate | None = None) -> Any:
    metrics = metrics or Metrics()
    return create_app(answers, operations_app(Health(), metrics, dict), ExtenderMetrics(metrics), gate or Gate())


def answers(found: ExtenderService, worker: Worker) -> dict[str, Answer]:
    def ask(question: Callable[[bytes], bytes]) -> Answer:
        return lambda body: worker.ask(question, body)

    return {"filter": ask(found.filter), "prioritize": ask(found.prioritize), "preempt": ask(found.preempt)}


def post(client: Client, verb: str, body: bytes, **headers: str) -> httpx.Response:
    return client.ask("POST", f"/{verb}", content=body, headers={**JSON, **headers})


async def echo(body: bytes) -> bytes:
    return body


def test_a_verb_is_answered_in_json_and_counted(worker: Worker) -> None:
    metrics = Metrics()
    client = Client(app(answers(service(profile("Zones")), worker), metrics))
    answer = post(client, "filter", whole(node("a"), node("b", closed="now")))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["FailedNodes"] == {"b": "closed now"}
    told = client.get("/metrics").text
    assert 'kubewasp_extender_requests_total{code="200",verb="filter"} 1.0' in told
    assert 'kubewasp_extender_request_duration_seconds_count{verb="filter"} 1.0' in told


def test_large_answers_are_not_compressed(worker: Worker) -> None:
    client = Client(app(answers(service(profile("Zones")), worker)))
    body = whole(*(node(f"node-{number}") for number in range(100)))
    answer = post(client, "filter", body, **{"Accept-Encoding": "gzip"})
    assert "content-encoding" not in answer.headers


def test_health_is_served_beside_the_verbs() -> None:
    client = Client(app({}))
    assert [client.get(path).text for path in ("/healthz", "/livez", "/readyz")] == ["ok", "ok", "ok"]
    assert client.get("/nothing").status_code == 404


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_only_post_is_allowed(method: str) -> None:
    answer = Client(app({"filter": echo})).ask(method, "/filter")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json() == {"Error": f"{method} is not allowed: /filter expects POST"}


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded"])
def test_only_json_is_taken(kind: str) -> None:
    answer = Client(app({"filter": echo})).ask("POST", "/filter", content=b"{}", headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert answer.json() == {"Error": f"Content-Type: expected application/json, got {kind or 'none'}"}
    assert post(Client(app({"filter": echo})), "filter", b"{}", **{"Content-Type": "application/json; charset=utf-8"})


def test_a_body_that_is_wrong_is_told_with_its_field(worker: Worker) -> None:
    client = Client(app(answers(service(profile("Zones")), worker)))
    answer = post(client, "filter", b'{"Pod": 3}')
    assert (answer.status_code, answer.json()) == (400, {"Error": "Pod: expected an object, got 3"})
    answer = post(client, "preempt", b"nonsense")
    assert answer.status_code == 400
    assert answer.json()["Error"].startswith("the body is not JSON: ")


def test_bodies_that_are_too_large_are_refused_whether_they_say_so_or_not() -> None:
    client = Client(app({"filter": echo}, gate=Gate(max_body=1000)))
    assert post(client, "filter", b"x" * 1000).status_code == 200
    answer = post(client, "filter", b"x" * 1001)
    assert (answer.status_code, answer.json()) == (413, {"Error": "the body has more than 1,000 bytes: see --max-body"})

    async def parts() -> Any:
        for _ in range(3):
            yield b"x" * 400

    assert client.ask("POST", "/filter", content=parts(), headers=JSON).status_code == 413


def test_bodies_in_progress_share_one_budget() -> None:
    async def asked() -> list[int]:
        go = asyncio.Event()

        async def waiting(body: bytes) -> bytes:
            await go.wait()
            return body

        transport = httpx.ASGITransport(app({"filter": waiting}, gate=Gate(max_body=1000)))
        async with httpx.AsyncClient(transport=transport, base_url="http://extender") as client:
            tasks = [asyncio.create_task(client.post("/filter", content=b"x" * 900, headers=JSON)) for _ in range(5)]
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED, timeout=300)
            assert done.pop().result().json() == {"Error": "all bodies in progress have more than 2,000 bytes"}
            go.set()
            found = [answer.status_code for answer in await asyncio.gather(*tasks)]
            again = await client.post("/filter", content=b"x" * 900, headers=JSON)  # all of it was given back
            return [*sorted(found), again.status_code]

    assert asyncio.run(asked()) == [200, 200, 503, 503, 503, 200]


def test_refused_requests_cost_one_log_line(caplog: pytest.LogCaptureFixture) -> None:
    client = Client(app({"filter": echo}))
    for _ in range(20):
        assert client.get("/filter").status_code == 405
    assert len([record for record in caplog.records if record.message == "Request refused"]) == 1


def test_nothing_is_answered_until_the_cluster_is_known() -> None:
    client = Client(app({"filter": echo}, gate=Gate(lambda: "the cluster state is not synced yet: try again")))
    answer = post(client, "filter", b"{}")
    assert (answer.status_code, answer.json()) == (503, {"Error": "the cluster state is not synced yet: try again"})


def test_a_plugin_that_fails_at_scoring_is_a_server_error(worker: Worker) -> None:
    client = Client(app(answers(service(profile("Zones")), worker)))
    answer = post(client, "prioritize", whole(node("a", points="101")))
    assert answer.status_code == 500
    assert "Zones" in answer.json()["Error"]


def test_a_mistake_of_ours_is_told_without_its_details(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(_body: bytes) -> bytes:
        raise ZeroDivisionError("a secret")

    answer = post(Client(app({"filter": broken})), "filter", b"{}")
    assert (answer.status_code, answer.json()) == (500, {"Error": "internal error, see the log of kubewasp extender"})
    assert "a secret" in caplog.text


def test_verbs_that_are_not_offered_say_what_to_do() -> None:
    answer = post(Client(app({})), "bind", b"{}")
    assert answer.status_code == 404
    assert answer.json()["Error"].startswith("bind is disabled: start kubewasp extender with ")
    assert post(Client(app({})), "filter", b"{}").json() == {"Error": "the verb filter is not available"}


def test_many_requests_at_once_have_each_their_own_answer(worker: Worker) -> None:
    made = app(answers(service(profile(nodenumber=example("nodenumber"))), worker))

    async def asked() -> list[dict[str, int]]:
        transport = httpx.ASGITransport(made)
        async with httpx.AsyncClient(transport=transport, base_url="http://extender") as client:
            bodies = [
                whole(*(node(f"node-{digit}") for digit in range(10)), asking=pod(f"web-{number % 10}"))
                for number in range(50)
            ]
            found = await asyncio.gather(*(client.post("/prioritize", content=body, headers=JSON) for body in bodies))
            return [scores(answer.content) for answer in found]

    for number, found in enumerate(asyncio.run(asked())):
        assert [name for name, score in found.items() if score] == [f"node-{number % 10}"]


def test_too_many_requests_at_once_are_refused() -> None:
    async def asked() -> list[int]:
        go = asyncio.Event()

        async def waiting(body: bytes) -> bytes:
            await go.wait()
            return body

        transport = httpx.ASGITransport(app({"filter": waiting}))
        async with httpx.AsyncClient(transport=transport, base_url="http://extender") as client:
            tasks = [asyncio.create_task(client.post("/filter", content=b"{}", headers=JSON)) for _ in range(70)]
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            assert {task.result().status_code for task in done} == {503}
            go.set()
            return [answer.status_code for answer in await asyncio.gather(*tasks)]

    codes = asyncio.run(asked())
    assert (codes.count(200), codes.count(503)) == (64, 6)


def test_who_has_gone_is_not_answered_and_keeps_nobody_waiting(worker: Worker) -> None:
    """A request that waits behind another one is dropped when its sender leaves."""
    busy, asked = threading.Event(), []

    def keep_busy() -> None:
        busy.wait(30)

    worker.post(keep_busy)

    def question(body: bytes) -> bytes:
        asked.append(body)
        return body

    made = app({"filter": lambda body: worker.ask(question, body)})
    scope = {
        "type": "http", "method": "POST", "path": "/filter", "root_path": "", "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }  # fmt: skip

    async def leave() -> None:
        messages = [{"type": "http.request", "body": b"{}"}, {"type": "http.disconnect"}]

        async def receive() -> Any:
            return messages.pop(0)

        async def send(_message: Any) -> None:
            raise AssertionError("nobody is there")

        await made(scope, receive, send)
        busy.set()
        await on_owner_thread(worker, lambda: None)

    asyncio.run(leave())
    assert asked == []


# ---------------------------------------------------------------------- bind


class Requests:
    """Stands for the API server's client: answers the binding as told."""

    def __init__(self, error: ApiError | None = None) -> None:
        self.sent: list[str] = []
        self._error = error

    async def send(self, prepared: Any) -> bytes:
        self.sent.append(f"{prepared.method} {prepared.path}")
        if self._error is not None:
            raise self._error
        return b""


BINDING = json.dumps({"PodName": "web", "PodNamespace": "shop", "PodUID": "u1", "Node": "a"}).encode()


def test_a_pod_is_bound_as_the_scheduler_does() -> None:
    requests = Requests()
    client = Client(app({"bind": Binder(ClusterWrites(requests)).bind}))  # type: ignore[arg-type]
    answer = post(client, "bind", BINDING)
    assert (answer.status_code, answer.json()) == (200, {"Error": ""})
    assert requests.sent == ["POST /api/v1/namespaces/shop/pods/web/binding"]


def test_what_the_api_server_says_is_the_answers_error() -> None:
    info = request_info("POST", "/api/v1/namespaces/shop/pods/web/binding")
    requests = Requests(ApiError(info, 403, "Forbidden", "pods/binding is forbidden"))
    client = Client(app({"bind": Binder(ClusterWrites(requests)).bind}))  # type: ignore[arg-type]
    answer = post(client, "bind", BINDING)
    assert answer.status_code == 200
    assert "pods/binding is forbidden" in answer.json()["Error"]


def test_a_binding_without_a_uid_is_not_sent() -> None:
    requests = Requests()
    with pytest.raises(ProtocolError, match="PodUID"):
        asyncio.run(Binder(ClusterWrites(requests)).bind(b'{"PodName": "a", "PodNamespace": "b"}'))  # type: ignore[arg-type]
    assert requests.sent == []


# ---------------------------------------------------------------------- worker


def test_a_change_that_cannot_be_taken_in_is_remembered(worker: Worker) -> None:
    def fail() -> None:
        raise KeyError("node")

    async def posted() -> None:
        worker.post(fail)
        worker.post(lambda: None)
        await on_owner_thread(worker, lambda: None)

    asyncio.run(posted())
    assert worker.problem == "KeyError: 'node'"
    assert len(worker) == 0
