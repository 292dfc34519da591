"""Schedulers side by side on one real API server: pods bound a second, and CPU time a pod.

kube-scheduler alone, kube-scheduler with a Python extender, and kubewasp with a wasm Score plugin that sees every node.
Needs the servers of the end-to-end tests; they are built once (minutes). Not part of `make bench`: `--only live`.
"""

from __future__ import annotations

import http.server
import json
import os
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from tests.guests import build as guests

from bench.bars import Bar
from kubewasp.testbed import build as servers_build
from kubewasp.testbed.cluster import Cluster, pod
from kubewasp.testbed.nodes import FakeNodes
from kubewasp.testbed.servers import ApiServer, Etcd, KubeScheduler
from kubewasp.testbed.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubewasp.testbed.client import Client

CASES = ((500, 1000), (5000, 1000), (500, 5000), (5000, 5000))
_LONGEST = 120.0
_LOOK_EVERY = 0.1
_ONLY_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Run:
    """One scheduler, one cluster: how long binding took from the first pod to the last, and the scheduler's CPU."""

    pods: int
    seconds: float
    cpu: float

    @property
    def rate(self) -> float:
        return self.pods / self.seconds

    def __str__(self) -> str:
        return f"{self.rate:,.0f} pods/s, {self.cpu * 1e3 / self.pods:.1f} ms CPU a pod"


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    step("servers (built once)")
    servers_build.programs()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        for nodes, pods in cases():
            with (
                Etcd(root / f"etcd-{nodes}-{pods}") as etcd,
                ApiServer(root / f"api-{nodes}-{pods}", etcd) as api,
                FakeNodes(api.client()) as fakes,
            ):
                fakes.create(nodes)
                step(f"{nodes:,} nodes, {pods:,} pods: kube-scheduler")
                alone = measured(api, pods, partial(kube_scheduler, root, api))
                step(f"{nodes:,} nodes, {pods:,} pods: kube-scheduler with a Python extender")
                extended = measured(api, min(pods, 500), partial(with_extender, root, api))
                step(f"{nodes:,} nodes, {pods:,} pods: kubewasp with a wasm Score plugin")
                ours = measured(api, pods, partial(_kubewasp, root, api))
            note = f"kubewasp {ours}; kube-scheduler {alone}; with an extender {extended}"
            yield Bar(f"{nodes:,} nodes, {pods:,} pods: kubewasp with a plugin against kube-scheduler without",
                      ours.rate / alone.rate, "x", at_least=1.0, note=note)  # fmt: skip


def cases() -> list[tuple[int, int]]:
    """All, or those of $BENCH_LIVE, e.g. `500x1000 5000x1000`."""
    wanted = os.environ.get("BENCH_LIVE", "").split()
    return [tuple(map(int, item.split("x"))) for item in wanted] or list(CASES)  # type: ignore[misc]


def measured(api: ApiServer, pods: int, scheduler: Callable[[], Any]) -> Run:
    """The pods are there before the scheduler is."""
    client = api.client()
    cluster = Cluster(client, "bench")
    try:
        cluster.create_all([pod(f"pod-{number}") for number in range(pods)])
        wait_until(lambda: _unbound(client, cluster.namespace) == pods, 30, "all pods in the API server's cache")
        with scheduler() as pid:
            counted, seconds = _binding_seconds(client, cluster.namespace, pods)
            return Run(counted, seconds, _cpu_seconds(pid) * counted / pods)
    finally:
        cluster.remove()


def _binding_seconds(client: Client, namespace: str, pods: int) -> tuple[int, float]:
    """How many pods were bound after the first look that found some bound, and in how many seconds."""
    give_up = time.monotonic() + _LONGEST
    first: tuple[int, float] | None = None
    while True:
        left = _unbound(client, namespace)
        now = time.monotonic()
        if first is None and left < pods:
            first = left, now
        if not left and first is not None:
            return first[0], now - first[1]
        if now > give_up:
            raise RuntimeError(f"{left} of {pods} pods were not bound in {_LONGEST:g} s")
        time.sleep(_LOOK_EVERY)


def _unbound(client: Client, namespace: str) -> int:
    """Cheap for the API server, which has something else to do: from its cache, and without the pods' contents."""
    query = {"fieldSelector": "spec.nodeName=", "resourceVersion": "0"}
    path = f"/api/v1/namespaces/{namespace}/pods"
    return client.request("GET", path, query=query, accept=_ONLY_METADATA).count(b'"uid":')


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


@contextmanager
def kube_scheduler(root: Path, api: ApiServer, **config: Any) -> Iterator[int]:
    with KubeScheduler(root / f"kube-scheduler-{time.monotonic_ns()}", api, config=config) as scheduler:
        yield scheduler.pid


@contextmanager
def with_extender(root: Path, api: ApiServer) -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Extender) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        extender = {
            "urlPrefix": f"http://127.0.0.1:{server.server_address[1]}",
            "prioritizeVerb": "prioritize",
            "weight": 1,
            "nodeCacheCapable": False,
            "httpTimeout": "30s",
        }
        with kube_scheduler(root, api, extenders=[extender]) as pid:
            yield pid
        server.shutdown()


class _Extender(http.server.BaseHTTPRequestHandler):
    """Scores nodes by the last digit of their names, as the wasm plugin does."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        digit = asked["Pod"]["metadata"]["name"][-1]
        names = [node["metadata"]["name"] for node in asked["Nodes"]["items"]]
        answer = json.dumps([{"Host": name, "Score": 10 if name[-1] == digit else 0} for name in names]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_arguments: Any) -> None:
        pass


@contextmanager
def _kubewasp(root: Path, api: ApiServer) -> Iterator[int]:
    plugin = {"enabled": [{"name": "nodenumber"}]}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(api.kubeconfig()), "qps": 100000, "burst": 100000},
        "leaderElection": {"leaderElect": False},
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {"preFilter": plugin, "score": plugin},  # it looks at the pod first, then scores every node
                "pluginConfig": [{"name": "nodenumber", "args": {"guestURL": str(guests.example("nodenumber"))}}],
            }
        ],
    }
    path = root / "kubewasp.yaml"
    path.write_text(yaml.safe_dump(config))
    command = [str(Path(sys.executable).parent / "kubewasp"), "run", "--port=0", "--config", str(path)]
    with (root / "kubewasp.log").open("ab") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield process.pid
        finally:
            process.terminate()
