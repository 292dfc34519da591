"""Actions of the console: through the rollout service, by viewers with the right."""

import logging

import pytest
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from kubewasp.console.actions import action_routes
from kubewasp.console.viewer import Viewer, note_viewer
from tests.server.asking import Client
from tests.server.test_rollout_endpoints import Control

PATH = "/api/v1/plugins/my%20policy"


def client(control: Control, *, may_act: bool = True) -> Client:
    app = Starlette(routes=action_routes(control))

    async def viewed(scope: Scope, receive: Receive, send: Send) -> None:
        note_viewer(scope, Viewer("anna", may_act=may_act))
        await app(scope, receive, send)

    return Client(viewed)


def test_a_version_is_promoted_and_the_log_names_the_viewer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    control = Control()
    answer = client(control).ask("POST", f"{PATH}/promote")
    assert answer.json() == {"state": "promoted"}
    assert control.asked == [("promote", "my policy")]
    (record,) = caplog.records[:1]
    assert (record.message, record.__dict__["viewer"]) == ("Console action", "anna")


def test_nothing_on_trial_is_a_conflict() -> None:
    answer = client(Control()).ask("POST", f"{PATH}/abort")
    assert answer.status_code == 409
    assert answer.json()["error"]["message"] == "plugin my policy has no version on trial"


def test_without_the_right_nothing_happens() -> None:
    control = Control()
    assert client(control, may_act=False).ask("POST", f"{PATH}/promote").status_code == 403
    assert control.asked == []


def test_other_requests_are_refused() -> None:
    control = Control()
    assert client(control).get(f"{PATH}/promote").status_code == 405
    assert client(control).ask("POST", f"{PATH}/promote?x=1").status_code == 400
    assert client(control).ask("POST", f"/api/v1/plugins/{'a' * 300}/promote").status_code == 400
    assert control.asked == []
