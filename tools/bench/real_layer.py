"""Schedulers on a real API server, by turns on the same cluster.

The pods that are measured are there before the scheduler starts, so that it need not wait for the API server to make
them. Its start is no part of the figures: time and CPU count from the first thing that it does in the cluster (a pod
that is bound, or one that is removed for another) until the last measured pod is bound. Clients have no limits.
"""

from __future__ import annotations

import json
import math
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from http import HTTPStatus
from http.client import HTTPException
from typing import TYPE_CHECKING, Final

from tools.bench.contenders import EXTENDER, KUBEWASP, guests_of, packages, profile
from tools.bench.figures import Figures, RunError, TooSlowError, algorithm_mean, histogram, histogram_quantile
from tools.bench.workloads import INITIAL, MEASURED, PART, problems
from tools.testbed.client import ApiError
from tools.testbed.cluster import Cluster
from tools.testbed.extender import Extender
from tools.testbed.kubewasp import Kubewasp
from tools.testbed.nodes import FakeNodes
from tools.testbed.servers import ApiServer, Etcd, KubeScheduler
from tools.testbed.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tools.bench.contenders import Contender
    from tools.bench.workloads import Object, Workload
    from tools.testbed.process import Server

    _Scheduler = Kubewasp | KubeScheduler

_METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_PREPARED_SECONDS: Final = 60.0


@contextmanager
def api_server(folder: Path) -> Iterator[ApiServer]:
    with Etcd(folder / "etcd") as etcd, ApiServer(folder / "kube-apiserver", etcd) as api:
        yield api


class RealCluster:
    """The cluster of one workload; schedulers run in it one after the other."""

    def __init__(self, api: ApiServer, what: Workload, folder: Path) -> None:
        self._api = api
        self._what = what
        self._folder = folder
        self._client = api.client()
        self._cluster = Cluster(self._client, "bench")
        self._runs = 0

    @contextmanager
    def prepared(self) -> Iterator[RealCluster]:
        """Creates the nodes and all objects common to the runs."""
        with FakeNodes(self._client, heartbeat_seconds=0) as nodes:
            nodes.create(self._what.nodes, labels=self._what.node_labels, capacity=self._what.capacity)
            for manifest in self._what.objects:
                with _as_it_may_be():
                    self._cluster.create(manifest)
            yield self
            self._client.delete_all("Pod", namespace=self._cluster.namespace)

    def figures(self, contender: Contender, longest: float) -> Figures:
        """One run of one scheduler."""
        self._make_pods()
        self._runs += 1
        folder = self._folder / f"{self._what.name}-{self._what.nodes}-{self._runs}"
        try:
            with ExitStack() as stack:
                found = self._measured(*self._servers(contender, folder, stack), longest)
            self._check(contender)
        except (AssertionError, RuntimeError, OSError) as error:
            raise RunError(f"{self._what.name}, {contender}, on a real API server: {error}") from error
        finally:
            self._remove_pods()
        return found

    # ------------------------------------------------------------------ pods

    def _make_pods(self) -> None:
        """Creates running pods that the last run has removed."""
        there = {found["metadata"]["name"] for found in self._cluster.list_all("Pod")}
        initial = [found for found in self._what.initial_pods() if found["metadata"]["name"] not in there]
        pending = self._what.pending_pods()
        self._cluster.create_all([*initial, *pending])
        wait_until(
            lambda: self._unbound() == len(pending), _PREPARED_SECONDS, "all pods to be in the API server's cache"
        )

    def _unbound(self) -> int:
        """Reads from the API server's cache, like a starting scheduler."""
        query = {"fieldSelector": "spec.nodeName=", "resourceVersion": "0"}
        path = self._client.path("Pod", namespace=self._cluster.namespace)
        return self._client.request("GET", path, query=query, accept=_METADATA_LIST).count(b'"uid":')

    def _remove_pods(self) -> None:
        selector = f"{PART} notin ({INITIAL})"
        self._client.delete_all("Pod", namespace=self._cluster.namespace, labelSelector=selector)

    def _check(self, contender: Contender) -> None:
        placements = {
            found["metadata"]["name"]: (found["metadata"]["labels"].get(PART, ""), found["spec"].get("nodeName", ""))
            for found in self._cluster.list_all("Pod")
        }
        wrong = problems(self._what, placements)
        if wrong:
            raise RunError(f"{self._what.name}, {contender}, on a real API server came out wrong: {'; '.join(wrong)}")

    # ------------------------------------------------------------------ schedulers

    def _servers(self, contender: Contender, folder: Path, stack: ExitStack) -> tuple[_Scheduler, list[Extender]]:
        """The scheduler, not started yet, and its companion processes."""
        if contender.scheduler == KUBEWASP:
            plugins = packages(contender, self._folder / "packages")
            return Kubewasp(folder, self._api, profiles=[profile(contender)], packages=plugins), []
        if contender.plugins != EXTENDER:
            return KubeScheduler(folder, self._api), []
        extender = Extender(folder / EXTENDER, self._api, names_only=True, guests=guests_of(EXTENDER))
        stack.enter_context(extender)
        entry = extender.entry(weight=1, httpTimeout="30s")
        return KubeScheduler(folder, self._api, config={"extenders": [entry]}), [extender]

    def _measured(self, scheduler: _Scheduler, besides: Sequence[Extender], longest: float) -> Figures:
        servers: list[Server] = [scheduler, *besides]

        def spent() -> float:
            return sum(server.cpu_seconds() for server in servers)

        with self._changes() as changes, ExitStack() as stack:
            bindings = _Bindings(changes, self._what.measured.count, spent)
            bindings.start()
            stack.enter_context(scheduler)
            with self._meanwhile(bindings):
                bindings.wait(longest)
            metrics = self._complete_metrics(scheduler)
            attempts = histogram(metrics)
            return Figures(
                rate=bindings.rate,
                attempts={share: histogram_quantile(share, attempts) for share in Figures.SHARES},
                algorithm=algorithm_mean(metrics),
                cpu=bindings.cpu_a_pod,
                memory=sum(server.peak_memory() for server in servers),
            )

    def _complete_metrics(self, scheduler: _Scheduler) -> str:
        """A scheduler counts an attempt after the API server has bound the pod."""

        def complete() -> str:
            metrics = scheduler.metrics()
            return metrics if histogram(metrics).get(math.inf, 0) >= self._what.measured.count else ""

        return wait_until(complete, _PREPARED_SECONDS, "all attempts in the metrics")

    @contextmanager
    def _changes(self) -> Iterator[Iterator[tuple[str, Object]]]:
        """Watch events of pods with a node.

        The API server ends slow watches; after a new list, the pods in it are repeated.
        """
        client, namespace, over = self._client, self._cluster.namespace, threading.Event()
        chosen = {"fieldSelector": "spec.nodeName!=", "labelSelector": f"{PART} in ({INITIAL},{MEASURED})"}

        def follow(stack: ExitStack, changes: Iterator[tuple[str, Object]]) -> Iterator[tuple[str, Object]]:
            while not over.is_set():
                with suppress(HTTPException):
                    yield from changes
                path = client.path("Pod", namespace=namespace)
                there = json.loads(client.request("GET", path, query=chosen, accept=_METADATA_LIST))
                bound = (item for item in there["items"] if item["metadata"]["labels"][PART] == MEASURED)
                yield from (("ADDED", item) for item in bound)
                since = there["metadata"]["resourceVersion"]
                changes = stack.enter_context(watch(resourceVersion=since))

        watch = partial(client.watch, "Pod", namespace=namespace, accept=_METADATA, **chosen)
        with ExitStack() as stack:
            try:
                yield follow(stack, stack.enter_context(watch()))
            finally:
                over.set()

    # ------------------------------------------------------------------ concurrent changes

    @contextmanager
    def _meanwhile(self, bindings: _Bindings) -> Iterator[None]:
        """Applies the turns from the first binding to the last."""
        meanwhile = self._what.meanwhile
        if meanwhile is None:
            yield
            return

        def go_on() -> None:
            number = 0
            bindings.begun.wait()
            while not bindings.done.wait(meanwhile.every_seconds):
                self._happen(*meanwhile.turn(number))
                number += 1

        thread = threading.Thread(target=go_on, name="what happens meanwhile", daemon=True)
        thread.start()
        try:
            yield
        finally:
            bindings.stop()
            thread.join()
            for objects, deletes in map(meanwhile.turn, range(len(meanwhile.turns))):
                if not deletes:
                    self._happen(objects, deletes=True)

    def _happen(self, objects: Sequence[Object], deletes: bool) -> None:
        for manifest in objects:
            with _as_it_may_be():
                if deletes:
                    self._cluster.delete(manifest["kind"], manifest["metadata"]["name"], grace_seconds=0)
                else:
                    self._cluster.create(manifest)


@contextmanager
def _as_it_may_be() -> Iterator[None]:
    """Creates an object that may exist, or deletes one that may be gone."""
    try:
        yield
    except ApiError as error:
        if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
            raise


class _Bindings(threading.Thread):
    """Watch until all measured pods are bound, with time and CPU of the first and the last change."""

    def __init__(self, changes: Iterator[tuple[str, Object]], expected: int, spent: Callable[[], float]) -> None:
        super().__init__(name="bindings", daemon=True)
        self.begun, self.done = threading.Event(), threading.Event()
        self._changes = changes
        self._expected = expected
        self._spent = spent
        self._bound: set[str] = set()
        self._at_first = 0
        self._seconds = self._cpu = 0.0
        self._problem: BaseException | None = None

    def run(self) -> None:
        try:
            self._follow()
        except Exception as error:  # noqa: BLE001 - raised in the waiting thread
            self._problem = error
        finally:
            self.stop()

    def _follow(self) -> None:
        for _, found in self._changes:
            metadata = found["metadata"]
            if metadata["labels"][PART] == MEASURED:
                self._bound.add(metadata["uid"])
            if not self.begun.is_set():
                self._seconds, self._cpu, self._at_first = time.monotonic(), self._spent(), len(self._bound)
                self.begun.set()
            if len(self._bound) == self._expected:
                self._seconds, self._cpu = time.monotonic() - self._seconds, self._spent() - self._cpu
                return

    def stop(self) -> None:
        self.done.set()
        self.begun.set()

    def wait(self, longest: float) -> None:
        """Waits until all pods are bound; TooSlowError after the deadline."""
        in_time = self.done.wait(longest)
        if self._problem is not None and not isinstance(self._problem, TimeoutError):
            raise RunError(f"the bindings could not be followed: {self._problem!r}") from self._problem
        if not in_time or self._problem is not None:
            since = f"{longest:g} s" if not in_time else "a while without any binding"
            raise TooSlowError(f"{len(self._bound):,} of {self._expected:,} pods were bound after {since}")

    @property
    def rate(self) -> float:
        return (self._expected - self._at_first) / self._seconds

    @property
    def cpu_a_pod(self) -> float:
        return self._cpu / (self._expected - self._at_first)
