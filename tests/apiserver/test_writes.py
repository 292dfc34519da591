"""Writes of a scheduler against prepared answers."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import orjson
import pytest

from kubewasp.apiserver.api_resources import request_info
from kubewasp.apiserver.client import PreparedRequest
from kubewasp.apiserver.errors import DISCONNECTED, NOT_ALLOWED, TIMED_OUT, UNREACHABLE, ApiError
from kubewasp.apiserver.event_series import Write
from kubewasp.apiserver.writes import ClusterWrites, binding_request
from kubewasp.k8s.codec import decode, encode, unwrap_unknown, wrap_unknown
from tests.plugins.building import make_pod

POD = make_pod("web")


class FakeClient:
    """Answers requests in order: bytes, or a failure given as status and reason."""

    def __init__(self, *answers: bytes | tuple[int, str]) -> None:
        self._answers = list(answers)
        self.requests: list[tuple[str, str, bytes]] = []

    async def send(self, prepared: PreparedRequest, **_: Any) -> bytes:
        return await self.request(prepared.method, prepared.path, body=prepared.body)

    async def request(self, method: str, path: str, *, body: bytes = b"", **_: Any) -> bytes:
        self.requests.append((method, path, body))
        answer = self._answers.pop(0)
        if isinstance(answer, bytes):
            return answer
        raise ApiError(request_info(method, path), *answer, f"status {answer[0]}")

    @property
    def methods(self) -> list[str]:
        return [method for method, _, _ in self.requests]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_time(_seconds: float) -> None:
        pass

    monkeypatch.setattr("kubewasp.apiserver.writes.asyncio.sleep", no_time)


def run(request: Coroutine[Any, Any, None]) -> str:
    """The error of a write, empty if it succeeded."""
    try:
        asyncio.run(request)
    except ApiError as error:
        return str(error)
    return ""


def stored(*, node: str = "", uid: str = POD.uid, **annotations: str) -> bytes:
    metadata = {"name": "web", "namespace": "default", "uid": uid, "annotations": annotations}
    manifest = {"metadata": metadata, "spec": {"nodeName": node}}
    return wrap_unknown("v1", "Pod", encode("Pod", manifest))


def test_a_bind_names_the_pod_its_uid_and_the_node() -> None:
    client = FakeClient(b"")
    assert run(ClusterWrites(client).bind(POD, "a")) == ""
    ((method, path, body),) = client.requests
    assert (method, path) == ("POST", "/api/v1/namespaces/default/pods/web/binding")
    binding = decode("Binding", unwrap_unknown(body)[2])
    assert binding["metadata"]["uid"] == POD.uid
    assert (binding["target"]["kind"], binding["target"]["name"]) == ("Node", "a")


def test_a_bind_has_the_annotations_of_the_pod() -> None:
    client = FakeClient(b"")
    assert run(ClusterWrites(client).bind(POD, "a", {"example.com/gpu": "2", "note": "ä"})) == ""
    ((_, _, body),) = client.requests
    binding = decode("Binding", unwrap_unknown(body)[2])
    assert binding["metadata"]["annotations"] == {"example.com/gpu": "2", "note": "ä"}


def test_a_bind_by_another_request_with_other_annotations_is_an_error() -> None:
    client = FakeClient((409, "Conflict"), stored(node="a", gpu="1"))
    assert "status 409" in run(ClusterWrites(client).bind(POD, "a", {"gpu": "2"}))
    client = FakeClient((409, "Conflict"), stored(node="a", gpu="2", other="x"))
    assert run(ClusterWrites(client).bind(POD, "a", {"gpu": "2"})) == ""


@pytest.mark.parametrize("failure", [(0, DISCONNECTED), (500, "InternalError"), (409, "Conflict")])
def test_a_bind_that_was_made_although_it_seemed_to_fail_is_found_out(failure: tuple[int, str]) -> None:
    client = FakeClient(failure, (0, UNREACHABLE), (503, "Unavailable"), stored(node="a"))
    assert run(ClusterWrites(client).bind(POD, "a")) == ""
    assert client.methods == ["POST", "GET", "GET", "GET"]


@pytest.mark.parametrize("found", [stored(node="b"), stored(node="a", uid="another")], ids=["elsewhere", "another pod"])
def test_a_bind_that_cannot_be_made_any_more_is_an_error(found: bytes) -> None:
    client = FakeClient((0, DISCONNECTED), found)
    assert "status 0" in run(ClusterWrites(client).bind(POD, "a"))
    assert client.methods == ["POST", "GET"]


def test_a_bind_that_may_still_be_on_its_way_is_sent_again_to_the_same_node() -> None:
    client = FakeClient((0, TIMED_OUT), stored(), (500, "InternalError"), stored(), b"")
    assert run(ClusterWrites(client).bind(POD, "a")) == ""
    assert client.methods == ["POST", "GET", "POST", "GET", "POST"]
    assert len({body for method, _, body in client.requests if method == "POST"}) == 1


def test_a_late_bind_that_overtakes_the_second_one_is_found_out() -> None:
    client = FakeClient((0, TIMED_OUT), stored(), (409, "Conflict"), stored(node="a"))
    assert run(ClusterWrites(client).bind(POD, "a")) == ""


def test_a_bind_that_is_never_answered_is_given_up_after_four_tries() -> None:
    client = FakeClient(*[(0, TIMED_OUT), stored()] * 4)
    assert "status 0" in run(ClusterWrites(client).bind(POD, "a"))
    assert client.methods == ["POST", "GET"] * 4


def test_a_bind_that_was_refused_for_a_conflict_is_not_sent_again() -> None:
    client = FakeClient((409, "Conflict"), stored())
    assert "status 409" in run(ClusterWrites(client).bind(POD, "a"))
    assert client.methods == ["POST", "GET"]


def test_a_bind_of_a_pod_that_is_gone_is_an_error() -> None:
    assert "status 404" in run(ClusterWrites(FakeClient((0, DISCONNECTED), (404, "NotFound"))).bind(POD, "a"))


@pytest.mark.parametrize("failure", [(404, "NotFound"), (403, "Forbidden"), (0, UNREACHABLE)])
def test_a_bind_that_was_refused_is_not_asked_about(failure: tuple[int, str]) -> None:
    client = FakeClient(failure)
    assert f"status {failure[0]}" in run(ClusterWrites(client).bind(POD, "a"))
    assert client.methods == ["POST"]


def test_a_status_is_patched_for_this_very_pod() -> None:
    client = FakeClient(b"")
    assert run(ClusterWrites(client).patch_status(POD, {"nominatedNodeName": None})) == ""
    ((method, path, body),) = client.requests
    assert (method, path) == ("PATCH", "/api/v1/namespaces/default/pods/web/status")
    assert orjson.loads(body) == {"metadata": {"uid": POD.uid}, "status": {"nominatedNodeName": None}}


def test_a_pod_that_is_gone_needs_no_status() -> None:
    assert run(ClusterWrites(FakeClient((404, "NotFound"))).patch_status(POD, {})) == ""


def test_a_write_that_we_may_not_send_is_not_tried_again() -> None:
    client = FakeClient((0, NOT_ALLOWED))
    assert run(ClusterWrites(client).patch_status(POD, {}))
    assert client.methods == ["PATCH"]


def test_a_write_that_meets_trouble_is_tried_four_times() -> None:
    client = FakeClient((409, ""), (500, ""), (503, ""), b"")
    assert run(ClusterWrites(client).patch_status(POD, {})) == ""
    client = FakeClient((503, ""), (503, ""), (503, ""), (503, ""))
    assert "status 503" in run(ClusterWrites(client).patch_status(POD, {}))
    client = FakeClient((403, ""))
    assert "status 403" in run(ClusterWrites(client).patch_status(POD, {}))


def test_a_victim_is_deleted_by_its_uid_and_may_be_gone() -> None:
    client = FakeClient((404, "NotFound"))
    assert run(ClusterWrites(client).delete(POD)) == ""
    assert orjson.loads(client.requests[0][2])["preconditions"] == {"uid": POD.uid}


def test_volumes_and_claims_are_replaced_where_they_are() -> None:
    client = FakeClient(b"", (409, "Conflict"))
    writes = ClusterWrites(client)
    assert run(writes.update({"kind": "PersistentVolume", "metadata": {"name": "disk"}})) == ""
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop"}}
    assert "status 409" in run(writes.update(claim))
    assert [path for _, path, _ in client.requests] == [
        "/api/v1/persistentvolumes/disk",
        "/api/v1/namespaces/shop/persistentvolumeclaims/data",
    ]


def test_events_are_created_and_counted() -> None:
    client = FakeClient(b"", b"")
    writes = ClusterWrites(client)
    assert run(writes.event(Write("default", "web.1", {"note": "x"}))) == ""
    assert run(writes.event(Write("default", "web.1", {"series": {}}, is_patch=True))) == ""
    assert [(method, path) for method, path, _ in client.requests] == [
        ("POST", "/apis/events.k8s.io/v1/namespaces/default/events"),
        ("PATCH", "/apis/events.k8s.io/v1/namespaces/default/events/web.1"),
    ]


def test_a_binding_names_pod_uid_and_node_and_goes_to_the_subresource() -> None:
    request = binding_request("ns", "a/b", "u", "n")
    assert (request.method, request.path) == ("POST", "/api/v1/namespaces/ns/pods/a%2Fb/binding")
    api_version, kind, data = unwrap_unknown(request.body)
    assert (api_version, kind) == ("v1", "Binding")
    metadata = {"namespace": "ns", "name": "a/b", "uid": "u"}
    assert decode("Binding", data) == {"metadata": metadata, "target": {"kind": "Node", "name": "n"}}
