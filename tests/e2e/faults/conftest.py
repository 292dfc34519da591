"""Fixtures of the fault tests: separate servers with an audit log, a wave of pods, a table of counts."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.e2e.faults.counts import SHOWN, Counts, table
from tests.e2e.faults.wave import Wave
from tests.e2e.proxy import FaultProxy
from tests.e2e.summary import TABLES
from tools.testbed import build
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import Kubewasp, StartKubewasp
from tools.testbed.nodes import LEASES, FakeNodes
from tools.testbed.servers import ApiServer, Etcd, Servers
from tools.testbed.waiting import wait_until

USER = "kubewasp"
ANYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}

StartBehind = Callable[..., Kubewasp]
StartProxy = Callable[[], FaultProxy]


@pytest.fixture(scope="package")
def servers(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        build.programs()
    folders = tmp_path_factory
    with Etcd(folders.mktemp("etcd")) as etcd, ApiServer(folders.mktemp("kube-apiserver"), etcd, audit=True) as api:
        yield Servers(etcd, api)


@pytest.fixture
def wave(cluster: Cluster, fake_nodes: FakeNodes) -> Wave:
    """Nodes are there; pods are made by the test."""
    return Wave(cluster, fake_nodes)


@pytest.fixture
def proxies(servers: Servers, cluster: Cluster) -> Iterator[StartProxy]:
    """Starts proxies, for a user who may do anything."""
    cluster.allow(USER, [ANYTHING])
    client = servers.api.client(USER)
    wait_until(lambda: client.request("GET", "/api/v1/nodes"), 30, f"the rights of {USER}")
    with ExitStack() as stack:
        yield lambda: stack.enter_context(FaultProxy(servers.api))


@pytest.fixture
def proxy(proxies: StartProxy) -> FaultProxy:
    return proxies()


@pytest.fixture
def start_behind(start_kubewasp: StartKubewasp) -> StartBehind:
    """Starts a kubewasp that reaches the API server through a proxy; `limits` are its own, as qps and burst."""

    def start(proxy: FaultProxy, *, config: dict[str, Any] | None = None, **limits: int) -> Kubewasp:
        connection = {"kubeconfig": str(proxy.kubeconfig(USER)), **limits}
        return start_kubewasp(config={**(config or {}), "clientConnection": connection})

    return start


@pytest.fixture
def election(cluster: Cluster) -> Iterator[Object]:
    """The configuration of an election on a lease in the test's namespace."""
    times = {"leaseDuration": "5s", "renewDeadline": "4s", "retryPeriod": "500ms"}
    where = {"resourceName": "kubewasp", "resourceNamespace": cluster.namespace}
    yield {"leaderElection": {"leaderElect": True, **times, **where}}
    cluster.client.delete_all("Lease", version=LEASES, namespace=cluster.namespace)


@pytest.fixture
def counts(request: pytest.FixtureRequest, wave: Wave, servers: Servers) -> Counts:
    """Results of the test, for the table."""
    made = Counts(request.node.name.removeprefix("test_").replace("_", " "), wave, servers.api)
    request.config.stash.setdefault(SHOWN, []).append(made)
    return made


def pytest_sessionfinish(session: pytest.Session) -> None:
    lines = session.config.stash.get(SHOWN, [])
    if lines:
        session.config.stash.setdefault(TABLES, {})["faults"] = table(lines)
