"""Fixtures of the end-to-end tests: one etcd and one API server for all of a process, a namespace for each test.

In several processes (`-n 2 --dist loadfile`) the tests of a file run in one of them, with servers of its own.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import summary
from tools.testbed import build
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import Kubewasp, StartKubewasp
from tools.testbed.nodes import FakeNodes
from tools.testbed.servers import ApiServer, Etcd, KubeScheduler, Servers, StartKubeScheduler

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """End-to-end tests run only when selected by path: building the servers takes minutes."""
    asked = (Path(config.invocation_params.dir, arg.partition("::")[0]).resolve() for arg in config.args)
    return None if any(path.is_relative_to(HERE) for path in asked) else True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    summary.show(terminalreporter, config)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Hook of pytest-xdist: a worker has ended."""
    summary.receive(node.config, getattr(node, "workeroutput", {}))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    summary.send(session.config)


@pytest.fixture(scope="session")
def servers(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        build.programs()
    folders = tmp_path_factory
    with Etcd(folders.mktemp("etcd")) as etcd, ApiServer(folders.mktemp("kube-apiserver"), etcd) as api:
        yield Servers(etcd, api)


@pytest.fixture
def cluster(servers: Servers) -> Iterator[Cluster]:
    """A separate namespace; its objects are removed after the test."""
    servers.ensure_running()
    made = Cluster(servers.api.client())
    yield made
    servers.ensure_running()
    made.remove()


@pytest.fixture
def fake_nodes(cluster: Cluster, servers: Servers) -> Iterator[FakeNodes]:
    """Nodes for this test; none is left from another."""
    with FakeNodes(cluster.client, prefix=f"{cluster.namespace}-node") as nodes:
        yield nodes
        servers.ensure_running()


@pytest.fixture
def start_kube_scheduler(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartKubeScheduler]:
    """Starts a kube-scheduler, with KubeScheduler's keyword arguments, that is stopped after the test."""
    with ExitStack() as stack:

        def start(**options: Any) -> KubeScheduler:
            folder = tmp_path_factory.mktemp("kube-scheduler")
            return stack.enter_context(KubeScheduler(folder, servers.api, **options))

        yield start


@pytest.fixture
def start_kubewasp(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartKubewasp]:
    """Starts a kubewasp, with Kubewasp's keyword arguments, that is stopped after the test."""
    with ExitStack() as stack:

        def start(make: type[Kubewasp] = Kubewasp, **options: Any) -> Kubewasp:
            folder = tmp_path_factory.mktemp("kubewasp")
            return stack.enter_context(make(folder, servers.api, **options))

        yield start
