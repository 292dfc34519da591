"""Pods that come and go at a steady rate, with nodes that change, until the soak ends."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tools.soak.profiles import GANG, UNSCHEDULABLE, gang
from tools.testbed.client import ApiError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tools.testbed.client import Object
    from tools.testbed.cluster import Cluster
    from tools.testbed.nodes import FakeNodes

# Seconds that a pod stays after it was seen on a node; that an unschedulable one stays; between two turns, two changes
# of a node's labels, two replacements of a node.
LIFE: Final = 10.0
PENDING_LIFE: Final = 15.0
_TURN: Final = 0.5
_RELABELLED_EVERY: Final = 1.0
_REPLACED_EVERY: Final = 10.0
# Pods that are late are made up for, but not all at once.
_MOST_AT_ONCE: Final = 5.0  # seconds of the rate
# Gangs at the start, whose last members come so many seconds later: each waiting pod has an instance of its guest, and
# idle ones are kept. Without this peak at the start, memory would follow chance peaks later.
_FIRST_GANGS: Final = 10
_FIRST_GANGS_WAIT: Final = 5.0
_METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@dataclass(slots=True)
class PodLedger:
    """Pods that exist, since when, and since when they are on a node. Without a clock and an API server."""

    created: Counter[str] = field(default_factory=Counter)  # by kind
    bound: int = 0
    wrongly_bound: list[str] = field(default_factory=list)
    _pending: dict[str, tuple[str, float]] = field(default_factory=dict)  # kind and time
    _placed: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, kind: str, now: float) -> None:
        self._pending[name] = kind, now
        self.created[kind] += 1

    @property
    def pending(self) -> list[str]:
        """Schedulable pods without a node."""
        return [name for name, (kind, _) in self._pending.items() if kind != UNSCHEDULABLE]

    def seen(self, known: Collection[str], unbound: Collection[str], now: float) -> None:
        """Takes notice of a list of pods without a node, which began when the pods in `known` existed."""
        for name in known:
            if name not in unbound and name in self._pending:
                kind, _ = self._pending.pop(name)
                self._placed[name] = now
                self.bound += 1
                if kind == UNSCHEDULABLE:
                    self.wrongly_bound.append(name)

    def expired(self, now: float) -> list[str]:
        """Removes the pods whose time is over, and returns their names."""
        over = [name for name, since in self._placed.items() if now - since >= LIFE]
        over += [
            name
            for name, (kind, since) in self._pending.items()
            if kind == UNSCHEDULABLE and now - since >= PENDING_LIFE
        ]
        for name in over:
            self._placed.pop(name, None)
            self._pending.pop(name, None)
        return over

    @property
    def existing(self) -> list[str]:
        return list(self._pending)


class PodTraffic:
    """Creates, follows and deletes the pods of a soak, on a thread of its own. `rate` is in pods per second."""

    def __init__(
        self, cluster: Cluster, nodes: FakeNodes, groups: Iterator[tuple[str, list[Object]]], rate: float
    ) -> None:
        self.ledger = PodLedger()
        self.problem: BaseException | None = None
        self._cluster = cluster
        self._nodes = nodes
        self._groups = groups
        self._rate = rate
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pod traffic", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            self._flow()
        except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
            self.problem = error

    def stop(self, seconds: float) -> None:
        """Creates no more pods, and waits that long until all schedulable ones have a node."""
        self._over.set()
        self._thread.join()
        if self.problem is not None:
            raise self.problem
        until = time.monotonic() + seconds
        while self.ledger.pending and time.monotonic() < until:
            time.sleep(_TURN)
            self._look()

    def _flow(self) -> None:
        began = time.monotonic()
        made, relabelled, replaced = 0.0, 0, 0
        gangs = [gang(f"first-{number}") for number in range(_FIRST_GANGS)]
        self._create_all([(GANG, member) for members in gangs for member in members[:-1]])
        while not self._over.wait(_TURN):
            elapsed = time.monotonic() - began
            if gangs and elapsed > _FIRST_GANGS_WAIT:
                self._create_all([(GANG, members[-1]) for members in gangs])
                gangs = []
            made = max(made, (elapsed - _MOST_AT_ONCE) * self._rate)
            made += self._create(elapsed * self._rate - made)
            self._look()
            self._cluster.client.each(self._delete, self.ledger.expired(time.monotonic()))
            if elapsed > relabelled * _RELABELLED_EVERY:
                relabelled += 1
                name = self._nodes.names[relabelled % len(self._nodes.names)]
                self._cluster.client.patch("Node", name, {"metadata": {"labels": {"turn": str(relabelled)}}})
            if elapsed > (replaced + 1) * _REPLACED_EVERY:
                replaced += 1
                self._nodes.delete(self._nodes.names[0])
                self._nodes.create(1)
        self._create_all([(GANG, members[-1]) for members in gangs])

    def _create(self, count: float) -> int:
        """Creates so many pods, in whole groups, and returns their number."""
        chosen: list[tuple[str, Object]] = []
        while len(chosen) < count - 0.5:
            kind, manifests = next(self._groups)
            chosen += [(kind, manifest) for manifest in manifests]
        self._create_all(chosen)
        return len(chosen)

    def _create_all(self, chosen: Sequence[tuple[str, Object]]) -> None:
        self._cluster.create_all([manifest for _, manifest in chosen])
        now = time.monotonic()
        for kind, manifest in chosen:
            self.ledger.add(manifest["metadata"]["name"], kind, now)

    def _look(self) -> None:
        known = self.ledger.existing
        self.ledger.seen(known, self._unbound(), time.monotonic())

    def _unbound(self) -> set[str]:
        client = self._cluster.client
        path = client.path("Pod", namespace=self._cluster.namespace)
        found = client.request("GET", path, query={"fieldSelector": "spec.nodeName="}, accept=_METADATA_LIST)
        return {one["metadata"]["name"] for one in json.loads(found)["items"]}

    def _delete(self, name: str) -> None:
        try:
            self._cluster.delete("Pod", name, grace_seconds=0)
        except ApiError as error:
            if error.status != 404:
                raise
