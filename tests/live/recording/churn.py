"""A recorded scheduler in a fake cluster whose API server answers later, in an order of its own."""

import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kubewasp.framework.config.model import SchedulerConfig
from kubewasp.framework.config.reading import default_config
from kubewasp.framework.observer import NO_OBSERVER
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.codec import encode
from kubewasp.k8s.pods import Pod
from kubewasp.live.mirror import Mirror
from kubewasp.live.recording.header import header_of
from kubewasp.live.recording.recorder import Recorder, Recording
from kubewasp.live.recording.turn_log import NotedClient, NotedSampling
from kubewasp.rollout.ledger import Ledger
from kubewasp.rollout.process_version import resolved
from kubewasp.rollout.staging import Stager
from kubewasp.scheduler.composition import Environment
from kubewasp.scheduler.scheduler import Scheduler
from kubewasp.wasm.guest_log import LOGGER_SINK
from tests.plugins.building import FakeClock

WAIT = Status(Code.WAIT)
PROFILE = "default-scheduler"
SIZE = 64 << 20


class Untapped:
    """A scheduler and its mirror, in place of their recorder."""

    def __init__(self, recording: Recording, scheduler: Scheduler, mirror: Mirror) -> None:
        self._clock = recording.clock
        self._parts = (scheduler, mirror)

    def __getattr__(self, name: str) -> Any:
        self._clock.advance()
        return next(getattr(part, name) for part in self._parts if hasattr(part, name))


class RecordedCluster:
    """Client of its scheduler: writes take effect, and their results come, with `deliver`."""

    def __init__(
        self,
        folder: Path,
        config: SchedulerConfig | None = None,
        *,
        seed: int = 0,
        limit: int = SIZE,
        is_recorded: bool = True,
        fails: bool = True,
    ) -> None:
        """Without `is_recorded`, turns go to the scheduler itself; without `fails`, no write is refused."""
        self._fails = fails
        self.random = random.Random(seed)
        self.clock = FakeClock()
        self.recording = Recording(folder, limit, self.clock, seed=seed)
        self.writer = self.recording.writer
        self.attempts: list[str] = []
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}
        self._versions = 0
        self._pending: deque[Callable[[], None]] = deque()
        config = default_config() if config is None else config
        self.stager = Stager(
            Ledger(None), NO_OBSERVER, LOGGER_SINK, repeatable=self.recording.repeatable, keep=self.writer.keep_guest
        )
        self.version = resolved(config, self.stager.stage(config, ()), NO_OBSERVER)
        self.scheduler = self.version.setup.scheduler(
            Environment(
                clock=self.recording.clock,
                client=NotedClient(self, self.recording.notes),
                recorder=NotedSampling(None, self.recording.notes),
                make_random=self.recording.make_random,
                seed=self.recording.seed,
            )
        )
        mirror = Mirror(self.scheduler.events, self.scheduler.store)
        self.tap: Any = (
            Recorder(self.recording, self.scheduler, mirror, lambda: header_of(self.version))
            if is_recorded
            else Untapped(self.recording, self.scheduler, mirror)
        )

    # ------------------------------------------------------------------ framework.handle.Client

    def bind(self, pod: Pod, node: str, annotations: Mapping[str, str] | None = None) -> Status:
        self._pending.append(lambda: self._bound(pod, node, annotations or {}))
        return WAIT

    def update(self, manifest: Mapping[str, Any]) -> Status:
        return SUCCESS

    def evict(self, victims: Sequence[Pod], preemptor: Pod, node: str) -> Status:
        for victim in victims:
            self.tap.evicting(victim, preemptor)
            self._pending.append(partial(self._evicted, victim, preemptor))
        return WAIT

    def _bound(self, pod: Pod, node: str, annotations: Mapping[str, str]) -> None:
        known = self.objects.get(("Pod", pod.name))
        if known is None or known["metadata"]["uid"] != pod.uid:
            status = Status(Code.ERROR, "not found")
        elif self._fails and self.random.random() < 0.05:
            status = Status(Code.ERROR, "too many requests")
        else:
            status = SUCCESS
            merged = {**(known["metadata"].get("annotations") or {}), **annotations}
            metadata = {**known["metadata"], "annotations": merged}
            self.put("Pod", {"metadata": metadata, "spec": {**known["spec"], "nodeName": node}})
        self.later(lambda: self.tap.bound(pod.uid, status))

    def _evicted(self, victim: Pod, preemptor: Pod) -> None:
        is_refused = self.random.random() < 0.1
        ended = self.tap.not_evicted if is_refused else self.tap.evicted
        if not is_refused and ("Pod", victim.name) in self.objects:
            self.delete("Pod", victim.name)
        self.later(lambda: ended(victim, preemptor))

    # ------------------------------------------------------------------ API server

    def later(self, action: Callable[[], None]) -> None:
        self._pending.append(action)

    def put(self, kind: str, manifest: Mapping[str, Any]) -> None:
        self._versions += 1
        name = manifest["metadata"]["name"]
        known = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": str(self._versions)}}
        change = "MODIFIED" if (kind, name) in self.objects else "ADDED"
        self.objects[kind, name] = known
        raw = encode(kind, known)
        self.later(lambda: self.tap.changed(kind, change, raw))

    def delete(self, kind: str, name: str) -> None:
        raw = encode(kind, self.objects.pop((kind, name)))
        self.later(lambda: self.tap.changed(kind, "DELETED", raw))

    def deliver(self, count: int) -> None:
        for _ in range(min(count, len(self._pending))):
            self._pending.popleft()()

    # ------------------------------------------------------------------ scheduler's thread

    def step(self) -> None:
        """A step of the scheduling loop."""
        self.tap.settle()
        self.tap.tick()
        attempt = self.tap.schedule_one()
        if attempt is not None:
            self.attempts.append(attempt.pod.key)

    def close(self) -> None:
        self.recording.close()


class Churn:
    """Random changes of a recorded cluster."""

    def __init__(self, cluster: RecordedCluster, nodes: int = 8, *, priorities: bool = True) -> None:
        self.cluster = cluster
        self._random = cluster.random
        self._priorities = priorities
        self._made = 0
        self._taken = nodes
        for number in range(nodes):
            self.node(f"n{number}")
        raw = [encode("Namespace", {"metadata": {"name": "default", "resourceVersion": "1"}})]
        cluster.later(lambda: cluster.tap.replaced("Namespace", raw))

    def node(self, name: str) -> None:
        labels = {"topology.kubernetes.io/zone": f"z{self._random.randrange(3)}", "kubernetes.io/hostname": name}
        room = {"cpu": "4", "memory": "16Gi", "pods": "20"}
        self.cluster.put("Node", {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": room}})

    def pod(self, *, is_plain: bool = False) -> str:
        self._made += 1
        name = f"p{self._made}"
        spec: dict[str, Any] = {
            "schedulerName": PROFILE,
            "priority": self._random.choice((0, 0, 0, 10)) if self._priorities else 0,
            "containers": [
                {
                    "name": "c",
                    "image": "app:1",
                    "env": [{"name": "PASSWORD", "value": "hunter2"}],
                    "resources": {"requests": {"cpu": f"{self._random.choice((100, 500, 1500))}m"}},
                }
            ],
        }
        if not is_plain and self._random.random() < 0.3:
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": 1,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": self._random.choice(("DoNotSchedule", "ScheduleAnyway")),
                    "labelSelector": {"matchLabels": {"app": "web"}},
                }
            ]
        if not is_plain and self._random.random() < 0.1:
            spec["nodeSelector"] = {"disk": "ssd"}
        metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": {"app": "web"}}
        self.cluster.put("Pod", {"metadata": metadata, "spec": spec})
        return name

    def _some(self, kind: str) -> str:
        names = [name for found, name in self.cluster.objects if found == kind]
        return self._random.choice(names) if names else ""

    def _relabel(self) -> None:
        name = self._some("Node")
        if name:
            node = self.cluster.objects["Node", name]
            labels = {**node["metadata"]["labels"], "disk": self._random.choice(("ssd", "hdd"))}
            self.cluster.put("Node", {**node, "metadata": {**node["metadata"], "labels": labels}})

    def _replace_node(self) -> None:
        name = self._some("Node")
        if name and sum(kind == "Node" for kind, _ in self.cluster.objects) > 3:
            self.cluster.delete("Node", name)
        self._taken += 1
        self.node(f"n{self._taken}")

    def step(self) -> None:
        """Some of everything."""
        chance, cluster = self._random.random(), self.cluster
        if chance < 0.3:
            self.pod()
        elif chance < 0.4 and (name := self._some("Pod")):
            cluster.delete("Pod", name)
        elif chance < 0.43:
            self._relabel()
        elif chance < 0.45:
            self._replace_node()
        cluster.clock.time += self._random.choice((0.0, 0.001, 0.1, 3.0))
        cluster.deliver(self._random.randrange(4))
        cluster.step()
        if self._random.random() < 0.01:
            cluster.tap.flush_stuck()
            cluster.clock.time += 301.0

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()
