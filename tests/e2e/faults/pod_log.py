"""History of a namespace's pods across API server faults: their nodes, and over-committed nodes.

A watch has changes in order, so that a node with too many pods is found even if one of them is deleted at once.
"""

import contextlib
import http.client
import json
import threading
from collections import defaultdict
from types import TracebackType
from typing import Any, Final, Self

from tools.testbed.client import ApiError, Object
from tools.testbed.cluster import Cluster, pod

_LAST: Final = "the-last-pod"
_SCALES: Final = {"m": 0.001, "Mi": 2.0**20, "Gi": 2.0**30}
_JOIN_SECONDS: Final = 60.0


class PodLog:
    """Use it in a `with` block; afterwards it has all that happened within."""

    def __init__(self, cluster: Cluster) -> None:
        self.nodes_of: defaultdict[str, set[str]] = defaultdict(set)  # by uid
        self.names: dict[str, str] = {}  # by uid
        self.gone: set[str] = set()  # uids
        self.over_committed: dict[str, str] = {}  # node: what was too much, the first time
        self._cluster = cluster
        self._room: dict[str, dict[str, float]] = {}
        self._on_node: defaultdict[str, dict[str, dict[str, float]]] = defaultdict(dict)
        self._is_over = False
        self._thread = threading.Thread(target=self._follow, name="log of pods", daemon=True)
        self._problem: BaseException | None = None

    @property
    def moved(self) -> list[str]:
        """Pods that have been on more than one node."""
        return [self.names[uid] for uid, nodes in self.nodes_of.items() if len(nodes) > 1]

    def __enter__(self) -> Self:
        for node in self._cluster.client.list_all("Node"):
            allocatable = node["status"]["allocatable"]
            self._room[node["metadata"]["name"]] = {what: _number(allocatable[what]) for what in _used_by({})}
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._is_over = True  # at the next change; nobody waits for it
            return
        self._cluster.create(pod(_LAST, scheduler="nobody"))
        self._thread.join(_JOIN_SECONDS)
        self._cluster.delete("Pod", _LAST)
        assert not self._thread.is_alive()
        if self._problem is not None:
            raise self._problem

    def _follow(self) -> None:
        try:
            while not self._is_over:
                # The server may be away on purpose, or end the watch.
                with contextlib.suppress(OSError, http.client.HTTPException, ApiError, ValueError):
                    self._list_and_watch()
        except BaseException as error:  # noqa: BLE001 - told by the test, not by its thread
            self._problem = error

    def _list_and_watch(self) -> None:
        client, namespace = self._cluster.client, self._cluster.namespace
        answer = json.loads(client.request("GET", client.path("Pod", namespace=namespace)))
        there = {found["metadata"]["uid"] for found in answer["items"]}
        for uid in [uid for uid in self.names if uid not in there]:
            self._forget(uid)
        for found in answer["items"]:
            self._see(found)
        version = answer["metadata"]["resourceVersion"]
        with client.watch("Pod", namespace=namespace, resourceVersion=version) as changes:
            for kind, found in changes:
                if kind == "ERROR":
                    return
                if kind == "DELETED":
                    self._forget(found["metadata"]["uid"])
                else:
                    self._see(found)
                if self._is_over:
                    return

    def _see(self, found: Object) -> None:
        uid, name = found["metadata"]["uid"], found["metadata"]["name"]
        if name == _LAST:
            self._is_over = True
            return
        self.names[uid] = name
        node = found["spec"].get("nodeName")
        if node is None or uid in self._on_node[node]:
            return
        self.nodes_of[uid].add(node)
        self._on_node[node][uid] = _used_by(found)
        for what, room in self._room.get(node, {}).items():
            used = sum(request[what] for request in self._on_node[node].values())
            if used > room:
                self.over_committed.setdefault(node, f"{used:g} of {room:g} {what} by {name}")

    def _forget(self, uid: str) -> None:
        self.gone.add(uid)
        for pods in self._on_node.values():
            pods.pop(uid, None)


def _used_by(found: Object) -> dict[str, float]:
    containers = found.get("spec", {}).get("containers", [])
    requests: list[dict[str, Any]] = [one["resources"]["requests"] for one in containers]
    used = {what: sum(_number(request.get(what, "0")) for request in requests) for what in ("cpu", "memory")}
    return used | {"pods": 1.0}


def _number(quantity: str) -> float:
    suffix = next((suffix for suffix in _SCALES if quantity.endswith(suffix)), "")
    return float(quantity.removesuffix(suffix)) * _SCALES.get(suffix, 1.0)
