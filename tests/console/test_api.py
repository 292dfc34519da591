"""HTTP side of the API: headers, compression, methods, errors as JSON, names in paths."""

from urllib.parse import quote

from kubewasp.console.api import console_app
from kubewasp.console.page import page_routes
from tests.console.sources import source
from tests.server.asking import Client
from tests.simulation.simulating import node, pod

SOURCE = source(*(node(f"node-{number}", zone="ab"[number % 2]) for number in range(200)), pod("web"))
CLIENT = Client(console_app(SOURCE, page_routes(root=True)))


def test_answers_are_json_that_no_page_of_others_may_read_or_keep() -> None:
    answer = CLIENT.get("/api/v1/overview")
    assert (answer.status_code, answer.json()["nodes"]["total"]) == (200, 200)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_large_answers_are_compressed() -> None:
    answer = CLIENT.get("/api/v1/map", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert len(answer.json()["names"]) == 200


def test_errors_are_json_too() -> None:
    for method, path, code in (
        ("GET", "/api/v1/nowhere", 404),
        ("GET", "/elsewhere", 404),
        ("POST", "/api/v1/overview", 405),
        ("GET", "/api/v1/overview?at=x", 400),
    ):
        answer = CLIENT.ask(method, path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (code, code)


def test_names_in_paths_may_be_quoted() -> None:
    answer = CLIENT.get(f"/api/v1/nodes/{quote('no/such node', safe='')}")
    assert (answer.status_code, answer.json()["error"]["message"]) == (404, "there is no node no/such node")


def test_the_root_leads_to_the_page() -> None:
    answer = CLIENT.get("/")
    assert (answer.is_redirect, answer.headers["location"]) == (True, "/console/")
