"""Paths of resources, and requests in RBAC terms."""

import pytest

from kubewasp.apiserver.api_resources import LEASES, NODES, PODS, RESOURCES, RequestInfo, Resource, request_info
from kubewasp.k8s.kinds import message_name
from kubewasp.state.object_kinds import CLUSTER_SCOPED, KINDS


def test_all_that_the_store_keeps_can_be_listed() -> None:
    assert {resource.kind for resource in RESOURCES.values()} >= KINDS.keys() | {"Pod", "Node"}
    for resource in RESOURCES.values():
        assert resource.namespaced == (resource.kind not in CLUSTER_SCOPED)


@pytest.mark.parametrize("resource", RESOURCES.values(), ids=lambda resource: resource.name)
def test_each_kind_and_its_list_stand_in_the_wire_table(resource: Resource) -> None:
    assert message_name(resource.api_version, resource.kind)
    assert message_name(resource.api_version, f"{resource.kind}List")


def test_paths() -> None:
    assert PODS.path == "/api/v1/pods"
    assert PODS.path_in("ns") == "/api/v1/namespaces/ns/pods"
    assert PODS.path_of("ns", "a", "status") == "/api/v1/namespaces/ns/pods/a/status"
    assert NODES.path_of("whatever", "a") == "/api/v1/nodes/a"
    assert LEASES.path_of("ns", "a") == "/apis/coordination.k8s.io/v1/namespaces/ns/leases/a"
    assert PODS.path_of("../x", "?") == "/api/v1/namespaces/..%2Fx/pods/%3F"


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", "/api/v1/pods", {}, RequestInfo("list", "", "v1", "pods")),
        ("GET", "/api/v1/pods", {"watch": "1"}, RequestInfo("watch", "", "v1", "pods")),
        ("GET", "/api/v1/nodes/a", {}, RequestInfo("get", "", "v1", "nodes", "", "a")),
        ("GET", "/api/v1/namespaces", {}, RequestInfo("list", "", "v1", "namespaces")),
        ("GET", "/api/v1/namespaces/ns", {}, RequestInfo("get", "", "v1", "namespaces", "", "ns")),
        ("PUT", "/api/v1/namespaces/ns/status", {}, RequestInfo("update", "", "v1", "namespaces/status", "", "ns")),
        ("DELETE", "/api/v1/namespaces/ns/pods/a", {}, RequestInfo("delete", "", "v1", "pods", "ns", "a")),
        ("DELETE", "/api/v1/namespaces/ns/pods", {}, RequestInfo("deletecollection", "", "v1", "pods", "ns")),
        ("POST", "/api/v1/namespaces/ns/pods/a/binding", {},
         RequestInfo("create", "", "v1", "pods/binding", "ns", "a")),
        ("PATCH", "/api/v1/namespaces/ns/pods/a/status", {}, RequestInfo("patch", "", "v1", "pods/status", "ns", "a")),
        ("POST", "/apis/events.k8s.io/v1/namespaces/ns/events", {},
         RequestInfo("create", "events.k8s.io", "v1", "events", "ns")),
        ("GET", "/healthz", {}, RequestInfo("get", "", "", "/healthz")),
    ],
)  # fmt: skip
def test_a_request_in_the_words_of_rbac(method: str, path: str, query: dict[str, str], expected: RequestInfo) -> None:
    assert request_info(method, path, query) == expected


def test_a_request_is_named_in_one_line() -> None:
    assert str(request_info("POST", "/api/v1/namespaces/ns/pods/a/binding")) == "create pods/binding ns/a"
    assert str(request_info("GET", "/api/v1/pods")) == "list pods"
    assert request_info("GET", "/apis/apps/v1/replicasets").api_version == "apps/v1"
