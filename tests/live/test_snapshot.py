"""One-time snapshot of a cluster from an API server."""

from collections.abc import Iterable

import pytest

from kubewasp.apiserver.api_resources import RESOURCES
from kubewasp.apiserver.errors import ApiError
from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.explain.dry_run import ExplainError
from kubewasp.explain.explanation import Explanation
from kubewasp.framework.handle import ReadOnlyClient
from kubewasp.live.cluster_watch import WATCHED
from kubewasp.live.snapshot import explain_snapshot, take_snapshot
from kubewasp.scheduler.composition import Environment, set_up
from tests.apiserver.fake_server import Answer, FakeServer, object_answer, status_answer
from tests.apiserver.running import asynchronous, client_of
from tests.framework.configs import read
from tests.simulation.simulating import Object, node, pod

POD = "/api/v1/namespaces/shop/pods/web"


def stored(manifest: Object) -> Object:
    """Manifest with the fields of the API server."""
    namespace = {"namespace": "shop"} if manifest["kind"] == "Pod" else {}
    metadata = {"uid": f"uid-{manifest['metadata']['name']}", "resourceVersion": "7", **namespace}
    return {**manifest, "metadata": {**manifest["metadata"], **metadata}}


def listed(resource: str, objects: Iterable[Object] = (), *, more: str = "") -> Answer:
    found = RESOURCES[resource]
    body = {"metadata": {"resourceVersion": "9", "continue": more}, "items": list(objects)}
    return object_answer(f"{found.kind}List", body, found.api_version)


def lay_out(server: FakeServer, *objects: Object) -> None:
    """A cluster of nodes and pods; one of the pods is `shop/web`."""
    for name in WATCHED:
        kind = RESOURCES[name].kind
        server.always("GET", RESOURCES[name].path, listed(name, [one for one in objects if one["kind"] == kind]))
    for one in objects:
        if one["kind"] == "Pod":
            server.always("GET", f"/api/v1/namespaces/shop/pods/{one['metadata']['name']}", object_answer("Pod", one))


async def explained(server: FakeServer, profile: str = "", namespace: str = "shop", name: str = "web") -> Explanation:
    scheduler = set_up(read()).scheduler(Environment(clock=SYSTEM_CLOCK, client=ReadOnlyClient()))
    async with client_of(server) as client:
        return explain_snapshot(scheduler, await take_snapshot(client, namespace, name), profile)


@asynchronous
async def test_a_pending_pod_is_explained_and_nothing_is_written() -> None:
    async with FakeServer() as server:
        busy = pod("busy", on="a", cpu="3")
        lay_out(server, *map(stored, (node("a"), node("b"), busy, pod("web", cpu="2"), pod("other", cpu="4"))))
        found = await explained(server)
        assert (found.node, list(found.notes)) == ("b", [])
        assert {item.name: item.rejected_by for item in found.nodes} == {"a": "NodeResourcesFit", "b": None}
        paths = [request.path for request in server.requests]
        assert paths[0] == POD
        assert sorted(paths[1:]) == sorted(RESOURCES[name].path for name in WATCHED)
        assert {request.method for request in server.requests} == {"GET"}
        assert not any("watch" in request.query for request in server.requests)


@asynchronous
async def test_lists_come_in_pages() -> None:
    async with FakeServer() as server:
        lay_out(server, stored(pod("web")))
        server.on("GET", "/api/v1/nodes", listed("nodes", [stored(node("a"))], more="next"))
        server.on("GET", "/api/v1/nodes", listed("nodes", [stored(node("b"))]))
        assert {item.name for item in (await explained(server)).nodes} == {"a", "b"}
        limits = [request.query for request in server.requests if request.path == "/api/v1/nodes"]
        assert limits == [{"limit": "500"}, {"limit": "500", "continue": "next"}]


@asynchronous
async def test_a_bound_pod_takes_no_room_from_itself() -> None:
    async with FakeServer() as server:
        lay_out(server, stored(node("a")), stored(pod("web", on="a", cpu="3")))
        found = await explained(server)
        assert found.node == "a"
        assert list(found.notes) == ["bound to a: explained as pending, without its requests there"]


@asynchronous
async def test_pods_of_other_schedulers_take_room() -> None:
    async with FakeServer() as server:
        theirs = stored(pod("theirs", on="a", cpu="3", schedulerName="other"))
        lay_out(server, stored(node("a")), theirs, stored(pod("web", cpu="3")))
        assert (await explained(server)).node is None
        assert (await explained(server, "default-scheduler", name="theirs")).node == "a"


def names(kind: str, *found: str) -> list[Object]:
    return [{"kind": kind, "metadata": {"name": name, "resourceVersion": "1"}} for name in found]


@pytest.mark.parametrize(
    ("pods", "elsewhere", "text"),
    [
        (["web-5d8-x2x", "web-5d8-z9z", "db"], [], "; did you mean web-5d8-x2x, web-5d8-z9z?"),
        (["wbe", "database"], [], "; did you mean wbe?"),
        (["database"], [], ""),
        ([], ["team", "blog"], ", but there is one in blog, team"),
    ],
)
def test_a_missing_pod_is_told_with_what_may_have_been_meant(pods: list[str], elsewhere: list[str], text: str) -> None:
    @asynchronous
    async def check() -> None:
        async with FakeServer() as server:
            server.always("GET", POD, status_answer(404, "NotFound", name="web"))
            server.always("GET", "/api/v1/namespaces", listed("namespaces", names("Namespace", "shop")))
            same = [{"metadata": {"name": "web", "namespace": place}} for place in elsewhere]
            server.always("GET", "/api/v1/pods", listed("pods", same))
            server.always("GET", "/api/v1/namespaces/shop/pods", listed("pods", names("Pod", *pods)))
            with pytest.raises(ExplainError) as raised:
                await explained(server)
            assert str(raised.value) == f"there is no pod web in namespace shop{text}"

    check()


@asynchronous
async def test_a_missing_namespace_is_told() -> None:
    async with FakeServer() as server:
        server.always("GET", POD, status_answer(404, "NotFound", name="web"))
        server.always("GET", "/api/v1/namespaces", listed("namespaces", names("Namespace", "shop-a", "blog")))
        with pytest.raises(ExplainError, match="there is no namespace shop; did you mean shop-a"):
            await explained(server)


@asynchronous
async def test_every_right_that_is_missing_is_told() -> None:
    async with FakeServer() as server:
        lay_out(server, stored(pod("web")))
        for path in ("/api/v1/nodes", "/apis/apps/v1/replicasets"):
            server.always("GET", path, status_answer(403, "Forbidden", "not you"))
        with pytest.raises(ExplainError) as raised:
            await explained(server)
        assert str(raised.value).splitlines() == [
            "cannot list replicasets: not you "
            '(RBAC must allow the verb "list" on "replicasets" of API group "apps" in the whole cluster)',
            "cannot list nodes: not you "
            '(RBAC must allow the verb "list" on "nodes" of API group "" in the whole cluster)',
        ]
        server.always("GET", POD, status_answer(403, "Forbidden", "not you"))
        with pytest.raises(ApiError, match='RBAC must allow the verb "get" on "pods"'):
            await explained(server)
