"""The console of a running scheduler: views under churn, event streams, access by the cluster's RBAC."""

import http.client
import json
import random
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from tests.deploy.manifests import cluster_rules, console_rules
from tests.e2e.kubewasp import SOON, ours, wait_node, wait_unschedulable
from tests.e2e.test_run_churn import Churn, zone
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import NAME, Kubewasp, StartKubewasp
from tools.testbed.nodes import FakeNodes
from tools.testbed.process import free_port
from tools.testbed.servers import Servers
from tools.testbed.waiting import wait_until

NODES: Final = 300
STREAMS: Final = 10
VIEWS: Final = (
    "/session",
    "/overview",
    "/pending",
    "/map",
    "/map?by=zone",
    "/queue",
    "/queue?part=active",
    "/plugins",
    "/search?q=pod",
)


@dataclass
class Console:
    """Client of a console. `token`: a bearer token."""

    port: int
    token: str = ""
    tls: ssl.SSLContext | None = None
    cookies: str = ""

    def _connection(self, timeout: float = 30.0) -> http.client.HTTPConnection:
        if self.tls is None:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.tls)

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> tuple[int, bytes, http.client.HTTPMessage]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            named["Authorization"] = f"Bearer {self.token}"
        if self.cookies:
            named["Cookie"] = self.cookies
        with closing(self._connection()) as connection:
            connection.request(method, path, body or None, named)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers

    def get(self, path: str) -> Any:
        """The answer of the API; AssertionError unless it is one."""
        status, body, _ = self.ask("GET", f"/api/v1{path}")
        assert status == 200, (path, status, body[:500])
        return json.loads(body)

    def status(self, path: str) -> int:
        return self.ask("GET", f"/api/v1{path}")[0]

    def act(self, path: str, csrf: str) -> int:
        return self.ask("POST", f"/api/v1{path}", X_CSRF_Token=csrf)[0]

    def events(self) -> Iterator[tuple[float, int]]:
        """Moments and generations of changes, until the stream ends."""
        with closing(self._connection(timeout=60.0)) as connection:
            connection.request("GET", "/api/v1/events", headers=self._credentials())
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            while line := answer.readline():
                if line.startswith(b"data: "):
                    yield time.monotonic(), json.loads(line[6:])["generation"]

    def _credentials(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


@dataclass
class Stream:
    """A page that follows the events in the background."""

    console: Console
    changes: list[tuple[float, int]] = field(default_factory=list)
    problems: list[BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()

    def _follow(self) -> None:
        try:
            self.changes.extend(self.console.events())
        except OSError:
            pass  # the process has ended
        except BaseException as error:  # noqa: BLE001 - told by the test
            self.problems.append(error)


class ConsoleKubewasp(Kubewasp):
    """A scheduler with a console on loopback."""

    def __init__(self, *args: Any, console: tuple[str, ...] = (), **options: Any) -> None:
        self.console_port = free_port()
        flags = ("--console", f"--console-listen=127.0.0.1:{self.console_port}", *console)
        super().__init__(*args, flags=flags, **options)


@contextmanager
def watched(scheduler: ConsoleKubewasp, count: int = STREAMS) -> Iterator[list[Stream]]:
    streams = [Stream(Console(scheduler.console_port)) for _ in range(count)]
    yield streams
    assert [problem for stream in streams for problem in stream.problems] == []


def started(start: StartKubewasp, **options: Any) -> ConsoleKubewasp:
    found = start(make=ConsoleKubewasp, **options)
    assert isinstance(found, ConsoleKubewasp)
    return found


def test_views_and_events_follow_a_scheduler_under_churn(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    fake_nodes.create(NODES, labels=zone, capacity={"cpu": "4000m"})
    scheduler = started(start_kubewasp)
    console, churn = Console(scheduler.console_port), Churn(cluster, fake_nodes)
    with watched(scheduler) as streams:
        churn.fill()
        until, asked = time.monotonic() + 20, 0
        while time.monotonic() < until:
            churn.step()
            for view in VIEWS:
                status, body, _ = console.ask("GET", f"/api/v1{view}")
                assert status in (200, 503), (view, status, body[:500])
                asked += status == 200
            assert scheduler.running, scheduler.log_tail()
        assert asked >= len(VIEWS)
        churn.collect()

        def agrees() -> bool:
            pods = console.get("/overview")["pods"]
            return bool(pods["placed"] == len(cluster.placements()) and pods["pending"] == len(cluster.unbound()))

        wait_until(agrees, SOON, "the console to show what the API server has", scheduler.log_tail)
        nodes = console.get("/overview")["nodes"]
        assert nodes["total"] == len(cluster.list_all("Node"))
        _has_decisions(cluster, console)
        wait_until(lambda: all(len(stream.changes) > 3 for stream in streams), SOON, "events", scheduler.log_tail)
        for stream in streams:
            moments = [moment for moment, _ in stream.changes]
            generations = [generation for _, generation in stream.changes]
            assert generations == sorted(set(generations))
            assert len(moments) <= (moments[-1] - moments[0]) / 0.9 + 2
    assert "ERROR" not in scheduler.log_text


def _has_decisions(cluster: Cluster, console: Console) -> None:
    cluster.create(ours("huge", cpu="100"))
    wait_unschedulable(cluster, "huge")
    place = f"/pods/{cluster.namespace}/huge"

    def decided() -> Any:
        status, body, _ = console.ask("GET", f"/api/v1{place}/decision?limit=5")
        return json.loads(body) if status == 200 else {}

    decision = wait_until(decided, SOON, "a decision")
    assert decision["result"] == "unschedulable"
    assert decision["nodes"]["feasible"] == 0
    groups = console.get("/pending")["groups"]
    assert any("Insufficient cpu" in group["reason"] for group in groups)
    name, node = next(iter(cluster.placements().items()))
    assert console.get(f"/pods/{cluster.namespace}/{name}")["node"] == node
    assert name in {pod["key"].rpartition("/")[2] for pod in console.get(f"/nodes/{node}")["pods"]}


def test_streams_end_with_the_process_and_begin_again_with_the_next(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    fake_nodes.create(2)
    scheduler = started(start_kubewasp)
    with watched(scheduler) as streams:
        wait_until(lambda: all(stream.changes for stream in streams), SOON, "streams", scheduler.log_tail)
        began = time.monotonic()
        scheduler.stop()
        assert time.monotonic() - began < 15
        for stream in streams:
            stream.thread.join(SOON)
            assert not stream.thread.is_alive()
    scheduler.start()
    with watched(scheduler) as streams:
        cluster.create(ours("later"))
        wait_node(cluster, "later")
        wait_until(lambda: all(stream.changes for stream in streams), SOON, "streams", scheduler.log_tail)
        scheduler.stop()
        assert "Traceback" not in scheduler.log_text


@dataclass(frozen=True)
class Secured:
    """A console with TLS and the rights of deploy/, and tokens of three users."""

    scheduler: ConsoleKubewasp
    tls: ssl.SSLContext

    def of(self, token: str = "") -> Console:
        return Console(self.scheduler.console_port, token, self.tls)


def account(cluster: Cluster, name: str, *verbs: str) -> str:
    """A bearer token of a service account with rights on the console."""
    cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
    if verbs:
        user = f"system:serviceaccount:{cluster.namespace}:{name}"
        cluster.allow(user, [{"nonResourceURLs": ["/console"], "verbs": list(verbs)}])
    return new_token(cluster, name)


def new_token(cluster: Cluster, name: str) -> str:
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = cluster.client.path("ServiceAccount", "v1", cluster.namespace, name, "token")
    return str(json.loads(cluster.client.request("POST", path, request))["status"]["token"])


@pytest.fixture
def secured(cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, servers: Servers) -> Secured:
    fake_nodes.create(2)
    cluster.allow(NAME, cluster_rules())
    cluster.allow(NAME, console_rules())
    pair = servers.api.authority.issue("console")
    tls = ssl.create_default_context(cafile=str(servers.api.authority.certificate))
    flags = ("--console-access=kubernetes", f"--console-cert={pair.certificate}", f"--console-key={pair.key}")
    return Secured(started(start_kubewasp, user=NAME, console=flags), tls)


def test_rbac_decides_who_may_view_and_act(cluster: Cluster, secured: Secured) -> None:
    viewer = secured.of(account(cluster, "viewer", "get"))
    operator = secured.of(account(cluster, "operator", "get", "update"))
    stranger = secured.of(account(cluster, "stranger"))
    wait_until(lambda: viewer.status("/overview") == 200, SOON, "the right to view", secured.scheduler.log_tail)
    wait_until(lambda: operator.get("/session")["capabilities"]["actions"], SOON, "the right to act")
    assert secured.of().status("/overview") == 401
    assert secured.of("not-a-token").status("/overview") == 401
    assert secured.of(viewer.token[:-8] + "AAAAAAAA").status("/overview") == 401
    assert stranger.status("/overview") == 403
    assert stranger.status("/events") == 403
    session = viewer.get("/session")
    assert session["capabilities"]["actions"] is False
    assert viewer.act("/plugins/p/promote", session["csrf"]) == 403
    assert operator.act("/plugins/p/promote", session["csrf"]) == 403
    assert operator.act("/plugins/p/promote", operator.get("/session")["csrf"]) == 409
    for token in (viewer.token, operator.token, stranger.token):
        assert token not in secured.scheduler.log_text


def test_a_browser_signs_in_and_a_lost_right_ends_its_session(cluster: Cluster, secured: Secured) -> None:
    token = account(cluster, "viewer", "get")
    wait_until(lambda: secured.of(token).status("/overview") == 200, SOON, "the right to view")
    browser = secured.of()
    origin = f"https://127.0.0.1:{browser.port}"
    form = {"Content_Type": "application/x-www-form-urlencoded", "Origin": origin, "Sec_Fetch_Site": "same-origin"}
    status, _, headers = browser.ask("POST", "/console/sign-in", f"token={token}", **form)
    assert status == 303
    browser.cookies = headers["set-cookie"].partition(";")[0]
    assert browser.status("/overview") == 200
    cluster.delete("ServiceAccount", "viewer")
    wait_until(lambda: browser.status("/overview") == 401, 60.0, "the session to end", secured.scheduler.log_tail)


def test_a_scheduler_without_the_right_to_review_says_so(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    fake_nodes.create(1)
    cluster.allow(NAME, cluster_rules())
    scheduler = started(start_kubewasp, user=NAME, console=("--console-access=kubernetes",))
    token = account(cluster, "viewer", "get")
    status, body, _ = Console(scheduler.console_port, token).ask("GET", "/api/v1/overview")
    assert status == 503
    assert "see the scheduler's log" in body.decode()
    assert "tokenreviews and subjectaccessreviews" in scheduler.log_text
    assert token not in scheduler.log_text


def test_hostile_requests_get_an_error_and_scheduling_goes_on(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    fake_nodes.create(3)
    scheduler = started(start_kubewasp)
    console, dice = Console(scheduler.console_port), random.Random(7)
    cluster.create(ours("a"))
    wait_node(cluster, "a")
    words = [
        "run",
        "at",
        "limit",
        "after",
        "weights",
        "without",
        "sort",
        "only",
        "by",
        "pod",
        "plugin",
        "part",
        "q",
        "x",
    ]
    values = [
        "",
        "-1",
        "0",
        "9" * 30,
        "%00",
        "%F0%9F%92%A9",
        "a" * 5000,
        "..%2f..",
        "A:1,B:%2B2",
        "default/a",
        "%3Cb%3E",
    ]
    paths = [*VIEWS, f"/pods/{cluster.namespace}/a", f"/pods/{cluster.namespace}/a/decision", "/map/scores", "/nodes/x"]
    for _ in range(300):
        path = dice.choice(paths).partition("?")[0]
        query = "&".join(f"{dice.choice(words)}={dice.choice(values)}" for _ in range(dice.randrange(5)))
        status = console.status(f"{path}?{query}")
        assert status in (200, 400, 404, 409, 503), (path, query, status)
    cluster.create(ours("b"))
    wait_node(cluster, "b")
    assert scheduler.healthy
    assert "Traceback" not in scheduler.log_text
