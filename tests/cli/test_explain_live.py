"""`kubewasp explain` without manifests: a cluster, or the record of a running scheduler."""

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.server.decisions import DecisionSettings, DecisionStore
from kubewasp.server.endpoints import create_app
from kubewasp.server.health import Health
from kubewasp.server.http_server import Address, AppServer
from kubewasp.server.metrics import Metrics
from kubewasp.state.node_table import NodeTable
from tests.apiserver.fake_server import FakeServer
from tests.cli.conftest import Kubewasp
from tests.live.test_snapshot import lay_out, stored
from tests.simulation.simulating import Object, filled, node, pod

SOON = 20.0


@contextmanager
def in_background(server: FakeServer | AppServer) -> Iterator[None]:
    """Serves on a thread: the command has its own event loop."""
    up, loop = threading.Event(), asyncio.new_event_loop()
    down = asyncio.Event()

    async def serve() -> None:
        if isinstance(server, FakeServer):
            async with server:
                up.set()
                await down.wait()
        else:
            await server.start()
            up.set()
            await down.wait()
            await server.stop()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert up.wait(SOON)
        yield
    finally:
        loop.call_soon_threadsafe(down.set)
        thread.join()
        loop.close()


def kubeconfig(folder: Path, server: str, namespace: str = "") -> Path:
    context = {"cluster": "c", "user": "u", **({"namespace": namespace} if namespace else {})}
    content = {
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "it", "context": context}],
        "current-context": "it",
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of a cluster with a pod `shop/web`."""
    server = FakeServer()
    objects: list[Object] = [node("a"), node("b", cpu="1"), pod("web", cpu="2")]
    lay_out(server, *map(stored, objects))
    with in_background(server):
        yield kubeconfig(tmp_path, server.url, "shop")
        assert {request.method for request in server.requests} <= {"GET"}


@pytest.mark.parametrize("words", [("web",), ("shop/web",), ("web", "-n", "shop")])
def test_a_pod_of_a_cluster_is_explained(kubewasp: Kubewasp, api: Path, words: tuple[str, ...]) -> None:
    ended = kubewasp("explain", *words, "--kubeconfig", api, "-o", "json")
    assert (ended.code, ended.err) == (0, "")
    assert (ended.json["pod"], ended.json["node"]) == ("shop/web", "a")
    table = kubewasp("explain", *words, "--kubeconfig", api).out
    assert re.search(r"pod +shop/web\nnode +a\n", table)
    assert re.search(r"\nb +NodeResourcesFit +Insufficient cpu +1 more cpu \(allocatable 1\)\n", table)


def test_the_kubeconfig_of_the_environment_is_used(
    kubewasp: Kubewasp, api: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(api))
    assert kubewasp("explain", "web", "-o", "json").json["node"] == "a"


def test_a_cluster_that_cannot_be_reached_is_told(kubewasp: Kubewasp, tmp_path: Path) -> None:
    ended = kubewasp("explain", "web", "--kubeconfig", tmp_path / "none")
    assert (ended.code, ended.err) == (1, f"error: {tmp_path / 'none'}: no such kubeconfig file\n")


# ---------------------------------------------------------------------- recorded decisions


@pytest.fixture
def url() -> Iterator[str]:
    """Address of a decision record: `default/web` was placed, `default/huge` was not."""
    table = NodeTable()
    store = DecisionStore(DecisionSettings(share=0.01), table, SYSTEM_CLOCK, chance=iter((0.0, 0.5)).__next__)
    objects = (node("a"), node("b", cpu="2"), pod("web"), pod("huge", cpu="64"))
    filled(*objects, table=table, recorder=store, listeners=[store]).settle()
    server = AppServer(create_app(Health(), Metrics(), dict, store), Address(port=0))
    with in_background(server):
        yield server.url


def test_what_was_recorded_is_shown(kubewasp: Kubewasp, url: str) -> None:
    found = kubewasp("explain", "web", "--recorded", url, "-o", "json").json
    assert (found["pod"], found["failed"]) == ("default/web", [])
    assert [decision["node"] for decision in found["decisions"]] == ["a"]
    out = kubewasp("explain", "web", "--recorded", url).out
    assert re.search(r"result +scheduled, 2 of 2 nodes fit\nnode +a\n", out)
    assert re.search(r"\nFEASIBLE +TOTAL", out)


def test_a_failure_is_shown_in_short(kubewasp: Kubewasp, url: str) -> None:
    out = kubewasp("explain", "huge", "--recorded", url).out
    assert re.search(r"result +unschedulable, 0 of 2 nodes fit\nnode +none\nmessage +0/2 nodes are available", out)
    assert re.search(r"REJECTED +BY +REASON\n[ab] +NodeResourcesFit +Insufficient cpu\n", out)


def test_what_cannot_be_shown_is_told(kubewasp: Kubewasp, url: str, api: Path) -> None:
    ended = kubewasp("explain", "other", "--recorded", url)
    said = f"error: {url}: nothing was recorded of pod default/other; 1% of all decisions are\n"
    assert (ended.code, ended.err) == (1, said)
    assert "such as http://127.0.0.1:10259" in kubewasp("explain", "web", "--recorded", "127.0.0.1:1").err
    assert "no decisions are shown there" in kubewasp("explain", "web", "--recorded", f"{url}/healthz").err
    assert (
        "recorded decisions take no other option"
        in kubewasp("explain", "web", "--recorded", url, "--kubeconfig", api).usage_error
    )
