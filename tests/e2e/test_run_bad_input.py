"""Permanent errors end with one line and exit code 1; transient errors are logged and retried."""

import http.server
import json
import socket
import stat
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest
import yaml

from tests.deploy.manifests import cluster_rules
from tests.e2e import commands
from tests.e2e.kubewasp import SOON, ours, wait_events, wait_node, wait_unschedulable
from tools.testbed.certificates import Authority
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster, pod
from tools.testbed.kubewasp import NAME, Kubewasp, StartKubewasp
from tools.testbed.nodes import FakeNodes
from tools.testbed.process import free_port
from tools.testbed.servers import ADMIN, NOBODY, ApiServer, Servers
from tools.testbed.waiting import wait_until

LIST_FAILED: Final = '"List or watch failed"'


class Hopeful(Kubewasp):
    """Is not waited for: it may never be ready."""

    def ready(self) -> bool:
        return True


Start = Callable[..., Hopeful]


@pytest.fixture
def start(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts a scheduler with a kubeconfig, or with Kubewasp's keyword arguments; it is stopped after the test."""
    servers.ensure_running()
    with ExitStack() as stack:

        def started(kubeconfig: Path | None = None, **options: Any) -> Hopeful:
            if kubeconfig is not None:
                options["config"] = {"clientConnection": {"kubeconfig": str(kubeconfig)}, **options.get("config", {})}
            return stack.enter_context(Hopeful(tmp_path_factory.mktemp(NAME), servers.api, **options))

        yield started


Write = Callable[..., Path]


@pytest.fixture
def kubeconfig(servers: Servers, tmp_path: Path) -> Write:
    """The kubeconfig of a user, with other fields of its cluster and its user."""

    def written(user: str = ADMIN, cluster: Object | None = None, **fields: Any) -> Path:
        content = yaml.safe_load(servers.api.kubeconfig(user).read_text())
        content["clusters"][0]["cluster"] |= cluster or {}
        if fields:
            content["users"][0]["user"] = fields
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump(content))
        return path

    return written


def problem(scheduler: Kubewasp) -> str:
    """The one line with which it ended by itself."""
    assert scheduler.wait_ended() == 1, scheduler.log_tail()
    lines = scheduler.log_text.splitlines()
    errors = [line for line in lines if not line.startswith("I")]
    assert len(errors) == 1, scheduler.log_tail()
    assert errors == lines[-1:]
    return errors[0]


def wait_told(scheduler: Kubewasp, text: str, times: int = 1) -> list[str]:
    """The warnings and errors, as soon as so many of them have that text."""

    def told() -> list[str]:
        return [line for line in scheduler.log_text.splitlines() if line[0] in "WE" and text in line]

    wait_until(lambda: len(told()) >= times, SOON, f"to be told {text}", scheduler.log_tail)
    assert "Traceback" not in scheduler.log_text
    return told()


def wait_ready(scheduler: Kubewasp) -> None:
    wait_until(lambda: "Cluster state synced" in scheduler.log_text, SOON, "it to be ready", scheduler.log_tail)


# ---------------------------------------------------------------------- the server


def test_a_server_that_is_not_there_is_waited_for(start: Start, kubeconfig: Write, servers: Servers) -> None:
    port = free_port()
    scheduler = start(kubeconfig(cluster={"server": f"https://127.0.0.1:{port}"}))
    lines = wait_told(scheduler, "API server unavailable", times=2)
    text = f"https://127.0.0.1:{port} cannot be reached: Connection refused (is the API server running"
    assert all(text in line for line in lines)
    with forwarded(port, servers.api.port):
        wait_ready(scheduler)
        before_contact = scheduler.log_text.partition('"Connected to the API server"')[0]
        assert all(text in line for line in before_contact.splitlines() if line.startswith("W"))  # and nothing else


@contextmanager
def forwarded(port: int, target: int) -> Iterator[None]:
    """Lets the server at another port of this machine be reached at this one."""

    def pump(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            end.close()

    def accept(listening: socket.socket) -> None:
        while True:
            try:
                near, _ = listening.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", target))
            for pair in ((near, far), (far, near)):
                threading.Thread(target=pump, args=pair, daemon=True).start()

    with socket.create_server(("127.0.0.1", port)) as listening:
        threading.Thread(target=accept, args=(listening,), daemon=True).start()
        yield
        listening.shutdown(socket.SHUT_RDWR)


def test_a_server_of_another_authority_is_not_trusted(start: Start, kubeconfig: Write, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other", "another authority")
    text = problem(start(kubeconfig(cluster={"certificate-authority": str(other.certificate)})))
    assert text.startswith("error: cannot get /version: the certificate of https://127.0.0.1:")
    assert text.endswith(" (the certificate authority of the kubeconfig must be the one of this cluster)")


def test_a_server_of_another_name_is_not_trusted(start: Start, kubeconfig: Write) -> None:
    text = problem(start(kubeconfig(cluster={"tls-server-name": "other.example"})))
    assert "is not trusted: Hostname mismatch, certificate is not valid for 'other.example'" in text
    assert "(the server of the kubeconfig, or its tls-server-name, must be one that the certificate names)" in text


class OldServer(http.server.BaseHTTPRequestHandler):
    """Serves its version, and nothing else."""

    minor: ClassVar = "20"

    def do_GET(self) -> None:
        told = {"major": "1", "minor": self.minor, "gitVersion": f"v1.{self.minor}.15"}
        found = self.path == "/version"
        self.send_response(200 if found else 404)
        body = json.dumps(told).encode() if found else b"404 page not found"
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 as it is called there
        """No log output."""


class NewServerWithoutGroups(OldServer):
    minor = "36"


@pytest.fixture
def serve() -> Iterator[Callable[[type[OldServer]], int]]:
    """Serves plain HTTP until the test ends; returns the port."""
    with ExitStack() as stack:

        def served(handler: type[OldServer]) -> int:
            server = stack.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
            return int(server.server_address[1])

        yield served


def test_a_server_without_tls_is_told(start: Start, kubeconfig: Write, serve: Callable[[type[OldServer]], int]) -> None:
    port = serve(OldServer)
    text = problem(start(kubeconfig(cluster={"server": f"https://127.0.0.1:{port}"})))
    assert f"no TLS connection to https://127.0.0.1:{port}: wrong version number (does it speak plain HTTP?)" in text


def test_plain_http_to_a_server_with_tls_is_told(start: Start, kubeconfig: Write, servers: Servers) -> None:
    text = problem(start(kubeconfig(cluster={"server": f"http://127.0.0.1:{servers.api.port}"})))
    assert text.startswith("error: cannot get /version: HTTP status 400")
    assert "Client sent an HTTP request to an HTTPS server" in text


def test_a_server_that_is_too_old_is_refused(
    start: Start, kubeconfig: Write, serve: Callable[[type[OldServer]], int]
) -> None:
    port = serve(OldServer)
    text = problem(start(kubeconfig(cluster={"server": f"http://127.0.0.1:{port}"})))
    assert text == (
        f"error: http://127.0.0.1:{port} is Kubernetes v1.20.15: its version is too old; kubewasp needs 1.24 or newer"
    )


def test_a_server_without_a_resource_is_told_which_and_asked_again(
    start: Start, kubeconfig: Write, serve: Callable[[type[OldServer]], int]
) -> None:
    """Server with disabled API groups."""
    scheduler = start(kubeconfig(cluster={"server": f"http://127.0.0.1:{serve(NewServerWithoutGroups)}"}))
    lines = wait_told(scheduler, "cannot list poddisruptionbudgets", times=2)
    assert all("the API server has no poddisruptionbudgets of policy/v1" in line for line in lines)


def test_something_else_than_an_api_server_is_told(start: Start, kubeconfig: Write, servers: Servers) -> None:
    text = problem(start(kubeconfig(cluster={"server": servers.etcd.url})))
    assert f"not an answer of a Kubernetes API server: is {servers.etcd.url} its address?" in text


# ---------------------------------------------------------------------- credentials


REFUSED: Final = (
    "the API server does not accept the credentials: the token or client certificate has expired or is wrong"
)


def test_a_token_that_the_server_does_not_know_ends_it(start: Start, kubeconfig: Write) -> None:
    text = problem(start(kubeconfig(token="expired-s3cret")))
    assert text == f"error: cannot get /version: Unauthorized ({REFUSED})"


def test_an_expired_client_certificate_ends_it(start: Start, kubeconfig: Write, servers: Servers) -> None:
    pair = servers.api.authority.issue("late", ["system:masters"], life=timedelta(seconds=-1))
    files = {"client-certificate-data": pair.certificate.read_bytes(), "client-key-data": pair.key.read_bytes()}
    text = problem(start(kubeconfig(**{name: b64encode(content).decode() for name, content in files.items()})))
    assert text == f"error: cannot get /version: Unauthorized ({REFUSED})"


def test_a_token_file_is_waited_for_until_it_has_a_good_token(
    start: Start, kubeconfig: Write, servers: Servers, cluster: Cluster, tmp_path: Path
) -> None:
    cluster.allow("alice", cluster_rules())
    file = tmp_path / "token"
    file.write_text("expired-s3cret")
    scheduler = start(kubeconfig("alice", tokenFile=str(file)))
    lines = wait_told(scheduler, "API server unavailable", times=2)
    assert all(REFUSED in line for line in lines)
    file.write_text(servers.api.users["alice"].token)
    wait_ready(scheduler)
    assert "s3cret" not in scheduler.log_text


def test_a_token_that_is_rotated_is_picked_up(
    servers: Servers, cluster: Cluster, fake_nodes: FakeNodes, tmp_path: Path
) -> None:
    cluster.allow(NAME, cluster_rules())
    fake_nodes.create(2)
    file = tmp_path / "token"
    with ApiServer(tmp_path / "kube-apiserver", servers.etcd) as api:
        content = yaml.safe_load(api.kubeconfig(NAME).read_text())
        content["users"][0]["user"] = {"tokenFile": str(file)}
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(content))
        file.write_text(api.users[NAME].token)
        config = {"clientConnection": {"kubeconfig": str(kubeconfig)}}
        with Kubewasp(tmp_path / NAME, api, config=config) as scheduler:
            cluster.create(ours("before"))
            wait_node(cluster, "before")
            file.write_text("new-s3cret")
            api.change_token(NAME, "new-s3cret")
            api.restart()
            cluster.create(ours("after"))
            wait_node(cluster, "after")
            assert "s3cret" not in scheduler.log_text


def test_an_exec_plugin_that_fails_ends_it(start: Start, kubeconfig: Write, tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    plugin.write_text("#!/bin/sh\necho s3cret >&2\nexit 3\n")
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    entry = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "interactiveMode": "Never"}
    text = problem(start(kubeconfig(exec=entry)))
    assert 'context "tests": the exec plugin "/' in text
    assert text.endswith('" failed with exit code 3; run it by hand to see why')


def test_an_exec_plugin_that_is_not_installed_ends_it(start: Start, kubeconfig: Write) -> None:
    entry = {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin", "interactiveMode": "Never"}
    text = problem(start(kubeconfig(exec=entry)))
    assert text.endswith('the exec plugin "no-such-plugin" cannot be run: No such file or directory; is it installed?')


# ---------------------------------------------------------------------- rights


def test_a_missing_right_is_named_and_waited_for(
    start: Start, cluster: Cluster, fake_nodes: FakeNodes, servers: Servers
) -> None:
    fake_nodes.create(1)
    cluster.allow("bob", [_without(rule, "nodes") for rule in cluster_rules()])
    scheduler = start(user="bob")
    (line, *_) = wait_told(scheduler, LIST_FAILED, times=2)
    assert 'RBAC must allow the verb \\"list\\" on \\"nodes\\" of API group \\"\\" in the whole cluster' in line
    assert all('resource="nodes"' in line for line in wait_told(scheduler, LIST_FAILED))
    assert "Cluster state synced" not in scheduler.log_text
    cluster.allow("bob", [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}])
    cluster.create(ours("patient"))
    wait_node(cluster, "patient")


def _without(rule: Any, resource: str) -> Object:
    return {**rule, "resources": [name for name in rule["resources"] if name != resource]}


def test_a_missing_right_to_bind_is_named_to_the_pod_and_waited_for(
    start: Start, cluster: Cluster, fake_nodes: FakeNodes
) -> None:
    fake_nodes.create(1)
    cluster.allow("bob", [rule for rule in cluster_rules() if "pods/binding" not in rule["resources"]])
    start(user="bob")
    cluster.create(ours("patient"))
    named = 'RBAC must allow the verb "create" on "pods/binding" of API group "" in namespace'
    assert named in wait_unschedulable(cluster, "patient")["message"]
    assert named in wait_events(cluster, "patient", "FailedScheduling")[0]["note"]
    cluster.allow("bob", [{"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]}])
    wait_node(cluster, "patient")


def test_a_missing_right_to_the_lease_is_named_and_waited_for(
    start: Start, cluster: Cluster, fake_nodes: FakeNodes
) -> None:
    cluster.allow("bob", cluster_rules())
    election = {"leaderElect": True, "resourceNamespace": cluster.namespace, "resourceName": NAME}
    times = {"leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms"}
    scheduler = start(user="bob", config={"leaderElection": election | times})
    (line, *_) = wait_told(scheduler, "Cannot get or renew the lease", times=2)
    assert 'RBAC must allow the verb \\"get\\" on \\"leases\\" of API group \\"coordination.k8s.io\\"' in line
    assert f"in namespace {cluster.namespace}" in line
    rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]}
    cluster.allow("bob", [rule])
    wait_until(lambda: scheduler.leads, SOON, "it to lead", scheduler.log_tail)
    cluster.client.delete_all("Lease", version="coordination.k8s.io/v1", namespace=cluster.namespace)


# ---------------------------------------------------------------------- the cluster


def test_pods_of_other_schedulers_are_told_if_there_are_no_others(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    fake_nodes.create(1)
    cluster.create_all(pod(f"theirs-{number}") for number in range(3))
    scheduler = start_kubewasp()
    (line,) = wait_told(scheduler, "No pending pod names a profile of this scheduler")
    assert 'profiles=["kubewasp"] foreign={"default-scheduler":3}' in line


def test_without_nodes_the_log_and_the_pod_say_so(cluster: Cluster, start_kubewasp: StartKubewasp) -> None:
    scheduler = start_kubewasp()
    wait_told(scheduler, "No nodes: pods stay pending")
    cluster.create(ours("early"))
    assert wait_unschedulable(cluster, "early")["message"] == "no nodes available to schedule pods"
    assert wait_events(cluster, "early", "FailedScheduling")[0]["note"] == "no nodes available to schedule pods"


def test_a_lease_that_another_one_has_is_told(cluster: Cluster, start: Start) -> None:
    spec = {"holderIdentity": "kube-scheduler-1", "leaseDurationSeconds": 600}
    metadata = {"name": NAME}
    cluster.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})
    election = {"leaderElect": True, "resourceNamespace": cluster.namespace, "resourceName": NAME}
    scheduler = start(config={"leaderElection": election})
    text = f'"New leader elected" lease="{cluster.namespace}/{NAME}" identity="kube-scheduler-1"'
    wait_until(lambda: text in scheduler.log_text, SOON, "the leader's name", scheduler.log_tail)
    assert not scheduler.leads


# ---------------------------------------------------------------------- files and ports


def run(*arguments: object) -> str:
    """The one error with which `kubewasp run` ends at once; what it counts up stands on further lines."""
    ended = commands.run("run", *arguments)
    assert (ended.code, ended.out) == (1, "")
    first, *more = ended.err.splitlines()
    assert all(line.startswith("  ") for line in more), ended.err
    return first


def test_a_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert run("--kubeconfig", missing) == f"error: {missing}: no such kubeconfig file"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("token: [s3cret\n", ", line 2: not valid YAML"),
        ("just some text", ": not a kubeconfig: it has no clusters, contexts and users"),
        ("contexts: []\nclusters: []\nusers: []\n", ": no current-context; name one of: none"),
    ],
)
def test_a_kubeconfig_that_cannot_be_read(tmp_path: Path, content: str, text: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(content)
    assert run("--kubeconfig", path) == f"error: {path}{text}"


def test_a_kubeconfig_without_its_context(tmp_path: Path, servers: Servers) -> None:
    content = yaml.safe_load(servers.api.kubeconfig(NOBODY).read_text())
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump({**content, "current-context": "other"}))
    assert run("--kubeconfig", path) == f'error: {path}: no context "other"; there are: tests'


def test_a_configuration_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "missing.yaml"
    assert str(missing) in run("--config", missing)


@pytest.mark.parametrize("content", ["profiles: [", "kind: Pod\napiVersion: v1\n", "\0\1\2"])
def test_a_configuration_that_cannot_be_read(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(content)
    assert str(path) in run("--config", path)


def test_a_port_that_is_taken(servers: Servers) -> None:
    taken = servers.api.port
    line = run("--port", taken, "--kubeconfig", servers.api.kubeconfig())
    assert line == (f"error: cannot listen on 127.0.0.1:{taken}: the port is in use; choose another (0: any free port)")
