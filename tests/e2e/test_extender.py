"""The stock kube-scheduler with `kubewasp extender`: placements follow the plugin, and failures are as documented."""

import http.server
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.kubewasp import SOON, is_gone, wait_node, wait_unschedulable
from tests.guests.build import example, wat, wat_text
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster, pod
from tools.testbed.extender import Extender, StartExtender
from tools.testbed.nodes import FakeNodes
from tools.testbed.servers import Servers, StartKubeScheduler
from tools.testbed.waiting import wait_until

NODE_2_RESERVED = {"guestConfig": '{"reserved": 2}'}
LOOP = '(module (memory (export "memory") 1) (func (export "filter") (result i32) (loop $l (br $l)) (i32.const 0)))'
TRAP = '(module (memory (export "memory") 1) (func (export "filter") (result i32) unreachable))'
RBAC = Path(__file__).parents[2] / "examples" / "extender" / "rbac.yaml"


@pytest.fixture
def start_extender(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartExtender]:
    with ExitStack() as stack:

        def start(**options: Any) -> Extender:
            options = {"guests": {"nodenumber": example("nodenumber")}} | options
            return stack.enter_context(Extender(tmp_path_factory.mktemp("extender"), servers.api, **options))

        yield start


@pytest.fixture
def start_extended(start_extender: StartExtender, start_kube_scheduler: StartKubeScheduler) -> Callable[..., Extender]:
    """Starts an extender with these options, and a kube-scheduler that asks it, with more in its entry."""

    def start(options: dict[str, Any], **more: Any) -> Extender:
        extender = start_extender(**options)
        start_kube_scheduler(config={"extenders": [extender.entry(**more)]})
        return extender

    return start


both_modes = pytest.mark.parametrize("names_only", [False, True], ids=["full-nodes", "names-only"])


@both_modes
def test_placements_follow_the_plugin(
    cluster: Cluster,
    fake_nodes: FakeNodes,
    start_extender: StartExtender,
    start_kube_scheduler: StartKubeScheduler,
    names_only: bool,
) -> None:
    nodes = fake_nodes.create(3)
    extender = start_extender(names_only=names_only, args=NODE_2_RESERVED)
    start_kube_scheduler(config={"extenders": [extender.entry()]})
    cluster.create_all([pod(f"web-{number}") for number in (1, 3, 11, 13, 23, 31, 2, 12)])
    placed = cluster.wait_bound(SOON)
    assert {name: node for name, node in placed.items() if name[-1] != "2"} == {
        name: nodes[int(name[-1]) - 1] for name in ("web-1", "web-3", "web-11", "web-13", "web-23", "web-31")
    }
    assert nodes[1] not in placed.values()  # reserved
    assert extender.answered("filter") >= 8
    assert extender.answered("prioritize") >= 8


@both_modes
def test_a_pod_that_no_node_passes_for_is_told_why_and_retried_when_a_node_comes(
    cluster: Cluster,
    fake_nodes: FakeNodes,
    start_extender: StartExtender,
    start_kube_scheduler: StartKubeScheduler,
    names_only: bool,
) -> None:
    nodes = fake_nodes.create(2)
    cluster.client.delete("Node", nodes[0])
    extender = start_extender(names_only=names_only, args=NODE_2_RESERVED)
    start_kube_scheduler(config={"extenders": [extender.entry()]})
    cluster.create(pod("web-2"))
    told = wait_unschedulable(cluster, "web-2", "1 node number 2 is reserved")
    assert told["reason"] == "Unschedulable"
    (third,) = fake_nodes.create(1)
    assert wait_node(cluster, "web-2") == third


@both_modes
def test_preemption_leaves_out_nodes_that_the_plugin_would_still_reject(
    cluster: Cluster,
    fake_nodes: FakeNodes,
    start_extender: StartExtender,
    start_kube_scheduler: StartKubeScheduler,
    names_only: bool,
) -> None:
    first, second = fake_nodes.create(2, capacity={"cpu": "4"})
    extender = start_extender(names_only=names_only, args=NODE_2_RESERVED)
    start_kube_scheduler(config={"extenders": [extender.entry()]})
    low, high = f"{cluster.namespace}-low", f"{cluster.namespace}-high"
    for name, value in ((low, 10), (high, 1000)):
        cluster.create(
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        )
    cluster.create(pod("seen", cpu="1m"))  # so that the nodes were sent once
    wait_node(cluster, "seen")
    # Left alone, kube-scheduler would take the less important victim, which is on the reserved node.
    cluster.create(pod("victim-1", cpu="3", nodeName=first, priorityClassName=low))
    cluster.create(pod("victim-2", cpu="3", nodeName=second))
    cluster.create(pod("important", cpu="3", priorityClassName=high))
    assert wait_node(cluster, "important") == first
    assert is_gone(cluster, "victim-1")
    assert not is_gone(cluster, "victim-2")
    assert extender.answered("preempt") >= 1


def test_the_extender_binds_and_tells_why_it_cannot(
    cluster: Cluster, fake_nodes: FakeNodes, start_extender: StartExtender, start_kube_scheduler: StartKubeScheduler
) -> None:
    nodes = fake_nodes.create(2)
    cluster.allow("kubewasp", _rules("ClusterRole"))
    extender = start_extender(names_only=True, user="kubewasp", flags=["--bind"])
    start_kube_scheduler(config={"extenders": [extender.entry(bindVerb="bind")]})
    cluster.create(pod("web-2"))
    told = wait_unschedulable(cluster, "web-2", "forbidden")  # reading is not enough
    assert told["reason"] == "SchedulerError"
    cluster.allow("kubewasp", [{"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]}])
    assert wait_node(cluster, "web-2") == nodes[1]
    assert extender.answered("bind") >= 2


def test_both_sides_can_have_certificates(
    cluster: Cluster, fake_nodes: FakeNodes, start_extender: StartExtender, start_kube_scheduler: StartKubeScheduler
) -> None:
    nodes = fake_nodes.create(2)
    extender = start_extender(names_only=True, tls=True)
    start_kube_scheduler(config={"extenders": [extender.entry(tlsConfig=extender.tls_config)]})
    cluster.create(pod("web-2"))
    assert wait_node(cluster, "web-2") == nodes[1]
    assert extender.answered("prioritize") == 1
    with pytest.raises((urllib.error.URLError, ssl.SSLError, ConnectionError)):  # without a certificate
        urllib.request.urlopen(f"{extender.url}/healthz", context=ssl._create_unverified_context(), timeout=5)


def test_pods_without_a_managed_resource_are_not_sent(
    cluster: Cluster, fake_nodes: FakeNodes, start_extender: StartExtender, start_kube_scheduler: StartKubeScheduler
) -> None:
    fake_nodes.create(2, capacity={"example.com/gpu": "4"})
    extender = start_extender(names_only=True, args=NODE_2_RESERVED, flags=["--managed-resource=example.com/gpu"])
    entry = extender.entry(managedResources=[{"name": "example.com/gpu", "ignoredByScheduler": False}])
    start_kube_scheduler(config={"extenders": [entry]})
    cluster.create(pod("plain-2"))
    wait_node(cluster, "plain-2")
    assert extender.answered("filter") == 0
    wants_gpu = {"limits": {"example.com/gpu": "1"}, "requests": {"example.com/gpu": "1"}}
    made = pod("gpu-2")
    made["spec"]["containers"][0]["resources"] = wants_gpu
    cluster.create(made)
    assert wait_node(cluster, "gpu-2").endswith("-1")
    assert extender.answered("filter") == 1


@pytest.mark.parametrize("ignorable", [False, True])
def test_an_extender_that_is_down(
    cluster: Cluster,
    fake_nodes: FakeNodes,
    start_extender: StartExtender,
    start_kube_scheduler: StartKubeScheduler,
    ignorable: bool,
) -> None:
    nodes = fake_nodes.create(2)
    extender = start_extender(names_only=True, args=NODE_2_RESERVED)
    start_kube_scheduler(config={"extenders": [extender.entry(ignorable=ignorable)]})
    extender.kill()
    cluster.create(pod("web-1"))
    if ignorable:
        wait_node(cluster, "web-1")
        return
    told = wait_unschedulable(cluster, "web-1", "connection refused")
    assert told["reason"] == "SchedulerError"
    extender.start()
    assert wait_node(cluster, "web-1") == nodes[0]


GUESTS_LIMIT, PATIENCE = ("200ms", "time limit of 0.2 s exceeded"), ("20s", "Client.Timeout exceeded")


@pytest.mark.parametrize("ignorable", [False, True])
@pytest.mark.parametrize("limit", [GUESTS_LIMIT, PATIENCE], ids=["the guest is stopped", "kube-scheduler gives up"])
def test_a_plugin_that_is_slow(
    cluster: Cluster,
    fake_nodes: FakeNodes,
    start_extended: Callable[..., Extender],
    limit: tuple[str, str],
    ignorable: bool,
) -> None:
    fake_nodes.create(2)
    limits, text = {"callTimeout": limit[0]}, limit[1]
    slow = {"names_only": True, "guests": {"slow": wat_text(LOOP)}, "args": {"limits": limits}}
    extender = start_extended(slow, ignorable=ignorable, httpTimeout="2s")
    cluster.create(pod("web-1"))
    if ignorable:
        wait_node(cluster, "web-1")
    else:
        assert wait_unschedulable(cluster, "web-1", text)["reason"] == "SchedulerError"
    assert extender.get("/healthz") == "ok"


def test_a_plugin_that_traps_is_named_in_the_pods_condition(
    cluster: Cluster, fake_nodes: FakeNodes, start_extender: StartExtender, start_kube_scheduler: StartKubeScheduler
) -> None:
    fake_nodes.create(2)
    extender = start_extender(names_only=False, guests={"broken": wat_text(TRAP)})
    start_kube_scheduler(config={"extenders": [extender.entry()]})
    cluster.create(pod("web-1"))
    told = wait_unschedulable(cluster, "web-1", 'running "broken" filter plugin')
    assert told["reason"] == "SchedulerError"


def test_a_score_that_fails_costs_the_score_alone(
    cluster: Cluster, fake_nodes: FakeNodes, start_extender: StartExtender, start_kube_scheduler: StartKubeScheduler
) -> None:
    fake_nodes.create(2)
    trap = '(module (memory (export "memory") 1) (func (export "score") (result i64) unreachable))'
    extender = start_extender(names_only=True, guests={"broken": wat_text(trap)})
    start_kube_scheduler(config={"extenders": [extender.entry()]})
    cluster.create(pod("web-1"))
    wait_node(cluster, "web-1")
    assert extender.answered("prioritize", 500) == 1


@pytest.mark.parametrize("answer", [b"not JSON", b'{"NodeNames": ["nowhere"]}'])
@pytest.mark.parametrize("ignorable", [False, True])
def test_what_kube_scheduler_makes_of_an_extender_that_answers_nonsense(
    cluster: Cluster, fake_nodes: FakeNodes, start_kube_scheduler: StartKubeScheduler, ignorable: bool, answer: bytes
) -> None:
    fake_nodes.create(2)
    with _answering(answer) as url:
        entry = {"urlPrefix": url, "filterVerb": "filter", "nodeCacheCapable": True, "ignorable": ignorable}
        start_kube_scheduler(config={"extenders": [entry]})
        cluster.create(pod("web-1"))
        if ignorable:
            wait_node(cluster, "web-1")
        else:
            assert wait_unschedulable(cluster, "web-1")["reason"] == "SchedulerError"


def test_the_example_roles_are_enough_and_a_node_is_known_as_soon_as_it_is_watched(
    cluster: Cluster, fake_nodes: FakeNodes, start_extender: StartExtender, start_kube_scheduler: StartKubeScheduler
) -> None:
    cluster.allow("kubewasp", _rules("ClusterRole"))
    extender = start_extender(names_only=True, user="kubewasp", guests={"pass": wat("filter")})
    start_kube_scheduler(config={"extenders": [extender.entry()]})
    (node,) = fake_nodes.create(1)
    cluster.create(pod("web-1"))
    assert wait_node(cluster, "web-1") == node
    wait_until(lambda: extender.answered("filter") >= 1, SOON, "the extender to be asked")


def _rules(kind: str) -> list[Object]:
    return next(item["rules"] for item in yaml.safe_load_all(RBAC.read_text()) if item["kind"] == kind)


@contextmanager
def _answering(body: bytes) -> Iterator[str]:
    """An extender that always says the same."""

    class Same(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Same) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
