"""The page over a scheduler on a real API server while it schedules: views, a restart, signing in and out."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.console.served import Served
from tests.e2e.kubewasp import SOON, ours, wait_node, wait_unschedulable
from tests.e2e.test_run_churn import Churn, zone
from tests.e2e.test_run_console import ConsoleKubewasp, account, secured, started
from tools.testbed.nodes import FakeNodes
from tools.testbed.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.console.conftest import OpenPage
    from tests.e2e.console.opened import Opened
    from tests.e2e.test_run_console import Secured
    from tools.testbed.cluster import Cluster
    from tools.testbed.kubewasp import StartKubewasp

__all__ = ["secured"]  # a fixture
NODES = 200
LOST = ("Failed to load resource", "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE")
# While pods are scheduled, an answer may be that of a later turn.
BUSY = ("status of 503",)


def page_of(scheduler: ConsoleKubewasp, scheme: str = "http") -> Served:
    port = scheduler.console_port
    return Served(f"{scheme}://127.0.0.1:{port}/console/", port)


@contextmanager
def churning(churn: Churn) -> Iterator[None]:
    """Pods and nodes come and go until the block ends."""
    ends, problems = threading.Event(), []

    def work() -> None:
        try:
            while not ends.wait(0.1):
                churn.step()
        except Exception as error:  # noqa: BLE001 - told by the test
            problems.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join(60)
    assert problems == []


@pytest.fixture
def calm_nodes(cluster: Cluster) -> Iterator[FakeNodes]:
    """Nodes that no churn replaces."""
    with FakeNodes(cluster.client, prefix=f"{cluster.namespace}-calm") as nodes:
        yield nodes


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_views_work_while_pods_are_scheduled(  # noqa: PLR0917 - fixtures
    cluster: Cluster,
    fake_nodes: FakeNodes,
    calm_nodes: FakeNodes,
    start_kubewasp: StartKubewasp,
    open_page: OpenPage,
    dark: bool,
) -> None:
    fake_nodes.create(NODES, labels=zone, capacity={"cpu": "4000m"})
    calm_nodes.create(1, labels={"calm": "yes"})
    scheduler = started(start_kubewasp)
    for pod in (ours("huge", cpu="100"), ours("settled", nodeSelector={"calm": "yes"})):
        cluster.create(pod)
    wait_unschedulable(cluster, "huge")
    node = wait_node(cluster, "settled")
    churn = Churn(cluster, fake_nodes)
    churn.fill()
    opened = open_page("#/overview", console=page_of(scheduler), dark=dark, allowed=BUSY)
    opened.page.wait_for_selector(".status.live")
    placed = opened.page.inner_text(".tile-value >> nth=0")
    with churning(churn):
        opened.wait("text => document.querySelector('.tile-value').textContent !== text", placed)
        for address, text in {
            "overview": "Pods placed",
            "pending": "Insufficient cpu",
            "map?by=zone": "nodes in",
            f"node/{node}": "settled",
            "queue?part=unschedulable": "huge",
            "plugins": "NodeResourcesFit",
            "search?q=huge": "huge",
            f"pod/{cluster.namespace}/huge": "Explain the decision",
        }.items():
            opened.go(f"#/{address}")
            opened.wait("text => document.querySelector('main').innerText.includes(text)", text)
            assert opened.violations() == []
        _explains(opened, cluster)
        assert scheduler.running, scheduler.log_tail()
    assert "Traceback" not in scheduler.log_text


def _explains(opened: Opened, cluster: Cluster) -> None:
    opened.go(f"#/decision/{cluster.namespace}/huge")
    opened.page.wait_for_selector(".verdict")
    assert "nodes is feasible" in opened.text()
    switch = opened.page.get_by_role("switch", name="NodeResourcesFit takes part")
    switch.set_checked(False, force=True)
    opened.wait("location.hash.includes('without=NodeResourcesFit')")
    opened.wait("document.querySelector('.outcome').textContent.includes('before no node')")
    assert opened.violations() == []


def test_a_restarted_scheduler_is_followed_again(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, open_page: OpenPage
) -> None:
    fake_nodes.create(2)
    scheduler = started(start_kubewasp)
    opened = open_page("#/overview", console=page_of(scheduler), allowed=LOST)
    opened.page.wait_for_selector(".status.live")
    scheduler.stop()
    opened.page.wait_for_selector(".status.lost")
    scheduler.start()
    opened.page.wait_for_selector(".status.live", timeout=40_000)
    cluster.create(ours("later"))
    wait_node(cluster, "later")
    opened.wait("document.querySelector('main').innerText.includes('later')")


def test_a_shared_address_survives_the_sign_in_and_a_session_can_be_ended(
    cluster: Cluster, secured: Secured, open_page: OpenPage
) -> None:
    token = account(cluster, "viewer", "get")
    wait_until(lambda: secured.of(token).status("/overview") == 200, SOON, "the right to view")
    found = page_of(secured.scheduler, "https")
    options = {"ignore_https_errors": True}
    opened = open_page("#/map?by=zone", console=found, allowed=("status of 401",), context=options)
    page = opened.page
    page.wait_for_url("**/console/sign-in")
    assert opened.violations() == []
    page.get_by_label("Token").fill("wrong" * 5)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").wait_for()
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Cluster map").wait_for()
    assert page.evaluate("location.hash") == "#/map?by=zone"
    assert opened.violations() == []
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/console/sign-in")
    page.goto(found.address)
    page.wait_for_url("**/console/sign-in")
    kept: Any = page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])")
    assert token not in kept
