"""Lists of all objects of a cluster, once, for a snapshot."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest

from kubewasp.apiserver.api_resources import RESOURCES
from kubewasp.apiserver.errors import ApiError, ServerTooOldError
from kubewasp.live.cluster_lists import LISTED, ClusterLists, read_cluster
from kubewasp.simulation.workloads import WORKLOADS
from kubewasp.state.object_kinds import KINDS
from tests.apiserver.fake_server import Answer, FakeServer, Request, object_answer, status_answer
from tests.apiserver.running import asynchronous, client_of
from tests.live.test_snapshot import stored
from tests.simulation.simulating import Object, node, pod, workload

VERSION = "77"


class Listener:
    def __init__(self) -> None:
        self.phases: dict[str, int] = {}
        self._phase = ""

    def phase(self, text: str) -> None:
        self._phase = text
        self.phases[text] = 0

    def moved(self, count: int) -> None:
        self.phases[self._phase] += count


def listed(resource: str, objects: Sequence[Object] = (), more: str = "", version: str = VERSION) -> Answer:
    found = RESOURCES[resource]
    body = {"metadata": {"resourceVersion": version, "continue": more}, "items": list(objects)}
    return object_answer(f"{found.kind}List", body, found.api_version)


def version_answer(text: str = "v1.36.0") -> Answer:
    _, minor, _ = text.split(".")
    body = orjson.dumps({"major": "1", "minor": minor, "gitVersion": text})
    return Answer(body, content_type="application/json")


def lay_out(server: FakeServer, *objects: Object) -> None:
    server.always("GET", "/version", version_answer())
    for name in LISTED:
        kind = RESOURCES[name].kind
        server.always("GET", RESOURCES[name].path, listed(name, [one for one in objects if one["kind"] == kind]))


async def read(server: FakeServer, listener: Listener | None = None) -> ClusterLists:
    async with client_of(server) as client:
        return await read_cluster(client, orjson.dumps, listener or Listener())


def names(found: ClusterLists, kind: str) -> list[str]:
    return [orjson.loads(line)["metadata"]["name"] for line in found.objects[kind]]


def queries(server: FakeServer, resource: str) -> list[Mapping[str, str]]:
    return [request.query for request in server.requests if request.path == RESOURCES[resource].path]


def test_every_kind_that_a_simulation_reads_is_listed() -> None:
    assert {RESOURCES[name].kind for name in LISTED} == {"Node", "Pod", *WORKLOADS, *KINDS}


@asynchronous
async def test_everything_is_read_at_the_version_of_the_nodes_and_nothing_is_written() -> None:
    async with FakeServer() as server:
        lay_out(server, *map(stored, (node("a"), pod("web"), workload("Deployment", "api", 2))))
        listener = Listener()
        found = await read(server, listener)
        assert (found.server, found.warnings) == ("v1.36.0", [])
        assert [RESOURCES[name].kind for name in LISTED] == list(found.objects)
        assert (names(found, "Node"), names(found, "Pod"), names(found, "Deployment")) == (["a"], ["web"], ["api"])
        first = orjson.loads(found.objects["Deployment"][0])
        assert (first["apiVersion"], first["kind"], first["spec"]["replicas"]) == ("apps/v1", "Deployment", 2)
        exact = {"limit": "500", "resourceVersion": VERSION, "resourceVersionMatch": "Exact"}
        assert queries(server, "nodes") == [{"limit": "500"}]
        assert queries(server, "services") == [exact]
        assert queries(server, "pods") == [exact | {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}]
        assert {request.method for request in server.requests} == {"GET"}
        assert listener.phases["reading pods"] == 1


@asynchronous
async def test_pages_follow_the_token_without_a_version() -> None:
    async with FakeServer() as server:
        lay_out(server, stored(node("a")))
        server.on("GET", RESOURCES["jobs"].path, listed("jobs", [workload("Job", "one")], more="next"))
        server.on("GET", RESOURCES["jobs"].path, listed("jobs", [workload("Job", "two")]))
        found = await read(server)
        assert names(found, "Job") == ["one", "two"]
        assert queries(server, "jobs")[1] == {"limit": "500", "continue": "next"}


@pytest.mark.parametrize(
    ("answer", "warning"),
    [
        (
            status_answer(403, "Forbidden", "jobs is forbidden"),
            'without jobs: RBAC does not allow the verb "list" on them, in API group "batch"',
        ),
        (status_answer(404, "NotFound"), "without jobs: the API server has none of batch/v1"),
    ],
)
@asynchronous
async def test_a_resource_that_cannot_be_listed_is_left_out_with_a_warning(answer: Answer, warning: str) -> None:
    async with FakeServer() as server:
        lay_out(server, stored(node("a")))
        server.always("GET", RESOURCES["jobs"].path, answer)
        found = await read(server)
        assert found.warnings == [warning]
        assert "Job" not in found.objects


@pytest.mark.parametrize("name", ["nodes", "pods"])
@asynchronous
async def test_nodes_and_pods_are_required(name: str) -> None:
    async with FakeServer() as server:
        lay_out(server)
        server.always("GET", RESOURCES[name].path, status_answer(403, "Forbidden", "forbidden"))
        with pytest.raises(ApiError, match=f'RBAC must allow the verb "list" on "{name}"'):
            await read(server)


@asynchronous
async def test_a_version_that_expired_is_given_up_with_a_warning() -> None:
    async with FakeServer() as server:
        lay_out(server, *map(stored, (node("a"), pod("web"))))
        server.on("GET", RESOURCES["pods"].path, status_answer(410, "Expired"))
        found = await read(server)
        assert names(found, "Pod") == ["web"]
        assert found.warnings == ["read at a later time than the nodes: pods"]
        assert "resourceVersion" not in queries(server, "pods")[1]


@asynchronous
async def test_a_list_that_outlives_its_tokens_is_read_at_once_and_no_object_is_there_twice() -> None:
    async with FakeServer() as server:
        lay_out(server, stored(node("a")))

        def answer(request: Request) -> Answer:
            if "continue" in request.query:
                return status_answer(410, "Expired")
            pods = [stored(pod(name)) for name in ("a", "b")]
            return listed("pods", pods[:1], more="next") if "limit" in request.query else listed("pods", pods)

        server.always("GET", RESOURCES["pods"].path, answer)
        assert names(await read(server), "Pod") == ["a", "b"]


@asynchronous
async def test_no_disruption_allowed_is_kept() -> None:
    budget: dict[str, Any] = {"kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "shop"}}
    async with FakeServer() as server:
        lay_out(server, stored(node("a")), budget | {"status": {"disruptionsAllowed": 0, "expectedPods": 3}})
        (line,) = (await read(server)).objects["PodDisruptionBudget"]
        assert orjson.loads(line)["status"] == {"disruptionsAllowed": 0, "expectedPods": 3}


@asynchronous
async def test_a_server_that_is_too_old_is_refused() -> None:
    async with FakeServer() as server:
        lay_out(server)
        server.always("GET", "/version", version_answer("v1.20.0"))
        with pytest.raises(ServerTooOldError, match=r"v1\.20\.0"):
            await read(server)


@asynchronous
async def test_the_version_of_the_server_may_be_forbidden() -> None:
    async with FakeServer() as server:
        lay_out(server)
        server.always("GET", "/version", status_answer(403, "Forbidden", json=True))
        assert (await read(server)).server == ""
