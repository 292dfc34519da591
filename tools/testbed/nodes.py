"""Fake nodes: registered like a kubelet's, ready, with leases renewed by one thread."""

import contextlib
import http.client
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self

from tools.testbed.client import ApiError, Client, Object

LEASES: Final = "coordination.k8s.io/v1"
_LEASE_NAMESPACE: Final = "kube-node-lease"
_LEASE_SECONDS: Final = 40
_CONDITIONS: Final = (
    ("Ready", "True", "KubeletReady"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID"),
)


def node(
    name: str, *, labels: Mapping[str, str] | None = None, capacity: Mapping[str, str] | None = None, **spec: Any
) -> Object:
    """A node manifest that is ready; `spec` takes more fields, for example taints."""
    size = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi", **(capacity or {})}
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = [
        {"type": kind, "status": status, "reason": reason, "lastHeartbeatTime": now, "lastTransitionTime": now}
        for kind, status, reason in _CONDITIONS
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {
            "capacity": size,
            "allocatable": size,
            "conditions": conditions,
            "nodeInfo": {"kubeletVersion": "v1.36.0", "operatingSystem": "linux", "architecture": "amd64"},
        },
    }


class FakeNodes:
    """Nodes with heartbeats, until the block ends; then they are removed.

    Every node's lease is renewed once in `heartbeat_seconds`, spread over that time; with 0 there are no leases.
    """

    def __init__(self, client: Client, prefix: str = "node", heartbeat_seconds: float = 10.0) -> None:
        self.names: list[str] = []
        self.heartbeats = 0
        self._client = client
        self._prefix = prefix
        self._heartbeat_seconds = heartbeat_seconds
        self._numbers = itertools.count(1)
        self._ended = threading.Event()
        self._heart: threading.Thread | None = None

    def create(
        self,
        count: int,
        *,
        labels: Mapping[str, str] | Callable[[int], Mapping[str, str]] | None = None,
        capacity: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> Sequence[str]:
        """Nodes PREFIX-1, PREFIX-2 and so on; later calls count on. `labels` may be a function of that number."""
        made = []
        for number in itertools.islice(self._numbers, count):
            own = labels(number) if callable(labels) else labels
            made.append(node(f"{self._prefix}-{number}", labels=own, capacity=capacity, **spec))
        self._client.each(self._register, made)
        names = [one["metadata"]["name"] for one in made]
        self.names += names
        if self._heartbeat_seconds and self._heart is None:
            self._heart = threading.Thread(target=self._beat, name="heartbeats of fake nodes", daemon=True)
            self._heart.start()
        return names

    def delete(self, name: str) -> None:
        self.names.remove(name)
        self._unregister(name)

    def remove(self) -> None:
        """Stops the heartbeats and deletes all nodes."""
        self._ended.set()
        if self._heart is not None:
            self._heart.join()
        self._client.each(self._unregister, self.names)
        self.names.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def _register(self, manifest: Object) -> None:
        self._client.create(manifest)
        if self._heartbeat_seconds:
            name = manifest["metadata"]["name"]
            self._client.create(
                {
                    "apiVersion": LEASES,
                    "kind": "Lease",
                    "metadata": {"name": name, "namespace": _LEASE_NAMESPACE},
                    "spec": {"holderIdentity": name, "leaseDurationSeconds": _LEASE_SECONDS, "renewTime": _now()},
                }
            )

    def _unregister(self, name: str) -> None:
        kinds = [("Node", "v1", ""), ("Lease", LEASES, _LEASE_NAMESPACE)]
        for kind, version, namespace in kinds if self._heartbeat_seconds else kinds[:1]:
            try:
                self._client.delete(kind, name, version=version, namespace=namespace)
            except ApiError as error:
                if error.status != 404:
                    raise

    def _beat(self) -> None:
        while not self._ended.is_set():
            names = list(self.names)
            for name in names:
                # The API server may be down on purpose, or the node gone: the next heartbeat follows anyway.
                with contextlib.suppress(OSError, http.client.HTTPException, ApiError):
                    renewed = {"spec": {"renewTime": _now()}}
                    self._client.patch("Lease", name, renewed, version=LEASES, namespace=_LEASE_NAMESPACE)
                    self.heartbeats += 1
                if self._ended.wait(self._heartbeat_seconds / len(names)):
                    return
            if not names and self._ended.wait(self._heartbeat_seconds):
                return


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
