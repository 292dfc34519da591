"""Endpoints of reloads and rollouts: on loopback only, not for web pages, refusals in one line."""

from typing import Any

import pytest

from kubewasp.rollout.controller import NothingToDoError
from kubewasp.server.endpoints import create_app
from kubewasp.server.health import Health
from kubewasp.server.metrics import Metrics
from kubewasp.server.rollout_endpoints import rollout_routes
from tests.server.asking import Client

POSTS = ("/reload", "/rollout/promote", "/rollout/abort")


class Control:
    """Records requests."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def reload(self, cause: str, *, forgive: bool = False) -> None:
        self.asked.append((cause, forgive))

    def status(self) -> dict[str, Any]:
        return {"plugins": [], "reloads": {"lastFailure": "https://user:secret@host/x failed"}}

    async def promote(self, plugin: str = "") -> str:
        self.asked.append(("promote", plugin))
        return "promoted"

    async def abort(self, plugin: str = "") -> str:
        raise NothingToDoError(f"plugin {plugin} has no version on trial")


def client(control: Control, host: str = "127.0.0.1") -> Client:
    return Client(create_app(Health(), Metrics(), dict, routes=rollout_routes(control)), host)


def test_the_status_is_a_document_without_secrets() -> None:
    answer = client(Control()).get("/rollout")
    assert answer.status_code == 200
    assert answer.json()["plugins"] == []
    assert "secret" not in answer.text
    assert answer.headers["cache-control"] == "no-store"


def test_a_reload_is_requested() -> None:
    control = Control()
    assert client(control).ask("POST", "/reload").status_code == 202
    client(control).ask("POST", "/reload?retry=true")
    assert control.asked == [("POST /reload", False), ("POST /reload", True)]


def test_a_version_is_promoted() -> None:
    control = Control()
    assert client(control).ask("POST", "/rollout/promote?plugin=policy").json() == {"message": "promoted"}
    assert control.asked == [("promote", "policy")]


def test_a_refusal_is_one_line() -> None:
    answer = client(Control()).ask("POST", "/rollout/abort?plugin=policy")
    assert (answer.status_code, answer.text) == (409, "plugin policy has no version on trial\n")


def test_a_name_that_is_too_long_is_refused() -> None:
    assert client(Control()).ask("POST", f"/rollout/abort?plugin={'x' * 300}").status_code == 400


@pytest.mark.parametrize("path", POSTS)
def test_a_change_takes_a_post(path: str) -> None:
    control = Control()
    assert client(control).get(path).status_code == 405
    assert control.asked == []


@pytest.mark.parametrize("path", ["/rollout", *POSTS])
def test_other_machines_have_no_control(path: str) -> None:
    control = Control()
    answer = client(control, "10.0.0.1").ask("GET" if path == "/rollout" else "POST", path)
    assert answer.status_code == 403
    assert "loopback only" in answer.text
    assert control.asked == []


@pytest.mark.parametrize("path", ["/rollout", *POSTS])
@pytest.mark.parametrize("headers", [{"Origin": "http://127.0.0.1:10259"}, {"Sec-Fetch-Site": "cross-site"}])
def test_web_pages_have_no_control(path: str, headers: dict[str, str]) -> None:
    control = Control()
    answer = client(control).ask("GET" if path == "/rollout" else "POST", path, headers=headers)
    assert answer.status_code == 403
    assert control.asked == []
