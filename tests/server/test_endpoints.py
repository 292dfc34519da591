"""HTTP endpoints of the process."""

from collections.abc import Callable
from typing import Any

import pytest

from kubewasp.framework.registry import Registry
from kubewasp.server.endpoints import create_app, shown_configuration
from kubewasp.server.health import Health
from kubewasp.server.metrics import Metrics
from kubewasp.wasm.guest_loader import GuestLoader
from tests.framework.configs import read
from tests.guests.build import example
from tests.server.asking import Client


def client(health: Health | None = None, configuration: Callable[[], Any] = dict) -> Client:
    return Client(create_app(health or Health(), Metrics(), configuration))


def failing() -> Health:
    health = Health()
    health.add("informer-sync", lambda: "pods: waiting for the first list", to=("readyz",))
    health.add("leaderElection", lambda: "", to=("healthz", "readyz"))
    return health


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_all_is_well(path: str) -> None:
    answer = client().get(path)
    assert (answer.status_code, answer.text) == (200, "ok")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_checks_are_listed_where_asked_for() -> None:
    assert client(failing()).get("/healthz?verbose").text == "[+]ping ok\n[+]leaderElection ok\nhealthz check passed\n"


def test_a_check_that_fails_is_told_without_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "kubewasp")
    answer = client(failing()).get("/readyz")
    assert answer.status_code == 500
    assert answer.text == (
        "[+]ping ok\n[-]informer-sync failed: reason withheld\n[+]leaderElection ok\nreadyz check failed\n"
    )
    (record,) = [record for record in caplog.records if record.name == "kubewasp.server.health"]
    assert record.__dict__["problem"] == "pods: waiting for the first list"


def test_a_check_concerns_only_its_endpoints() -> None:
    found = client(failing())
    assert [found.get(path).status_code for path in ("/healthz", "/livez", "/readyz")] == [200, 200, 500]


def test_checks_can_be_excluded() -> None:
    found = client(failing())
    assert found.get("/readyz?exclude=informer-sync").text == "ok"
    answer = found.get("/readyz?verbose&exclude=informer-sync&exclude=nothing")
    assert answer.text == (
        "[+]ping ok\n[+]informer-sync excluded: ok\n[+]leaderElection ok\n"
        'warn: some health checks cannot be excluded: no matches for "nothing"\nreadyz check passed\n'
    )


def test_a_check_can_be_asked_alone() -> None:
    found = client(failing())
    assert found.get("/readyz/leaderElection").text == "ok"
    answer = found.get("/readyz/informer-sync")
    assert (answer.status_code, answer.text) == (500, "internal server error: reason withheld\n")
    assert found.get("/livez/informer-sync").status_code == 404


def test_a_check_that_raises_has_failed() -> None:
    health = Health()
    health.add("broken", lambda: str(1 // 0))
    answer = client(health).get("/livez")
    assert answer.status_code == 500
    assert "[-]broken failed: reason withheld\n" in answer.text
    assert "ZeroDivisionError" not in answer.text


def test_a_check_that_heals_passes() -> None:
    problems = ["not yet", ""]
    health = Health()
    health.add("sync", lambda: problems.pop(0))
    found = client(health)
    assert [found.get("/readyz").status_code for _ in range(2)] == [500, 200]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", "text/plain; version=0.0.4"),
        ("application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5", "application/openmetrics-text"),
    ],
)
def test_metrics_come_in_the_format_that_is_asked_for(accept: str, kind: str) -> None:
    answer = client().get("/metrics", headers={"accept": accept})
    assert answer.headers["content-type"].startswith(kind)
    assert "scheduler_preemption_attempts_total 0.0\n" in answer.text
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.text.endswith("# EOF\n") == kind.startswith("application")


def test_the_configuration_is_shown_as_kube_scheduler_shows_it_and_without_secrets() -> None:
    guest = {
        "guestURL": f"file://{example('nodenumber')}",
        "guestConfig": "log in as joe with hunter2",
        "args": ["--pin", "hunter2"],
    }
    config = read(
        profiles=[{"plugins": {"score": {"enabled": [{"name": "P"}]}}, "pluginConfig": [{"name": "P", "args": guest}]}],
        extenders=[{"urlPrefix": "https://joe:hunter2@extender.example/", "filterVerb": "filter"}],
    )
    profiles = Registry(wasm=GuestLoader()).profiles(config)
    answer = client(configuration=lambda: shown_configuration(config, profiles)).get("/configz")
    assert answer.headers["content-type"] == "application/json"
    assert "hunter2" not in answer.text
    document = answer.json()["componentconfig"]
    assert document["kind"] == "KubeSchedulerConfiguration"
    assert document["extenders"][0]["urlPrefix"] == "https://REDACTED@extender.example/"
    (args,) = [item["args"] for item in document["profiles"][0]["pluginConfig"] if item["name"] == "P"]
    assert (args["guestConfig"], args["args"]) == ("REDACTED", ["REDACTED", "REDACTED"])
    assert args["guestURL"] == guest["guestURL"]


def test_guests_without_texts_show_none_and_other_plugins_show_their_args() -> None:
    guest = {"guestURL": f"file://{example('nodenumber')}"}
    config = read(
        profiles=[{"plugins": {"score": {"enabled": [{"name": "P"}]}}, "pluginConfig": [{"name": "P", "args": guest}]}]
    )
    shown = shown_configuration(config, Registry(wasm=GuestLoader()).profiles(config))["componentconfig"]
    args = {item["name"]: item["args"] for item in shown["profiles"][0]["pluginConfig"]}
    assert (args["P"]["guestConfig"], args["P"]["args"]) == ("", [])
    assert args["NodeResourcesFit"]["scoringStrategy"]["type"] == "LeastAllocated"


def test_credentials_in_the_url_of_a_guest_are_not_shown() -> None:
    from kubewasp.framework.config.model import Profile, WasmPluginSettings

    url = "https://joe:hunter2@guests.example/p.wasm?X-Amz-Signature=hunter2"
    profile = Profile("default-scheduler", 0, {}, {}, {"P": WasmPluginSettings(url)})
    shown = shown_configuration(read(), [profile])["componentconfig"]
    args = shown["profiles"][0]["pluginConfig"][0]["args"]
    assert args["guestURL"] == "https://REDACTED@guests.example/p.wasm?X-Amz-Signature=REDACTED"


@pytest.mark.parametrize("path", ["/", "/debug/decisions", "/debug/pprof", "/metrics/x", "/readyz/a/b", "/healthzz"])
def test_there_is_nothing_else(path: str) -> None:
    answer = client().get(path)
    assert (answer.status_code, answer.text) == (404, "404 page not found\n")


def test_nothing_can_be_written() -> None:
    found = client()
    assert [found.ask("POST", path).status_code for path in ("/metrics", "/configz", "/livez")] == [405, 405, 405]
    assert found.ask("HEAD", "/livez").status_code == 200


def test_an_error_of_ours_shows_no_traceback() -> None:
    answer = client(configuration=lambda: {"a": 1 // 0}).get("/configz")
    assert answer.status_code == 500
    assert "Error" not in answer.text.replace("Internal Server Error", "")
