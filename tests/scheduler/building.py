"""A scheduler with a cluster around it that does at once what the API server and the kubelet would do."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kubewasp.framework.config.reading import default_config, read_config
from kubewasp.framework.plugin import Plugin
from kubewasp.framework.runtime import Framework
from kubewasp.k8s.nodes import Node
from kubewasp.k8s.pods import Pod
from kubewasp.scheduler import profiles
from kubewasp.scheduler.queued import QueuedPod
from kubewasp.scheduler.scheduler import Attempt, Scheduler
from tests.framework.fakes import make_framework
from tests.plugins.building import FakeClock, make_node, make_pod

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


class Cluster:
    """The client of its own scheduler. Victims go at once, or stay terminating where `victims_linger`."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.scheduler = Scheduler(self.clock, self)
        self.pods: dict[str, Pod] = {}
        self.bound: list[tuple[str, str]] = []
        self.evicted: list[str] = []
        self.errors: dict[str, str] = {}
        self.victims_linger = False

    # ------------------------------------------------------------------ what happens in it

    def node(self, name: str, labels: Mapping[str, str] | None = None, **more: Any) -> Node:
        node = make_node(name, labels, **more)
        self.scheduler.put_node(node)
        return node

    def pod(self, name: str = "", labels: Mapping[str, str] | None = None, **more: Any) -> Pod:
        """A pod that is new, or changes if its name is known."""
        return self.put(make_pod(name, labels, **more))

    def put(self, pod: Pod) -> Pod:
        before = self.pods.get(pod.uid)
        self.pods[pod.uid] = pod
        self.scheduler.put_pod(pod, before)
        return pod

    def delete(self, pod: Pod) -> None:
        self.scheduler.delete_pod(self.pods.pop(pod.uid))

    def pass_time(self, seconds: float) -> None:
        self.clock.time += seconds

    # ------------------------------------------------------------------ scheduling

    def one(self) -> Attempt:
        attempt = self.scheduler.schedule_one()
        assert attempt is not None, "no pod is to be scheduled now"
        return attempt

    def one_of(self, pod: Pod) -> Attempt:
        self.put(pod)
        return self.one()

    def all(self, most: int = 200) -> list[Attempt]:
        """Attempts until there is no pod to be scheduled now."""
        found: list[Attempt] = []
        while (attempt := self.scheduler.schedule_one()) is not None:
            found.append(attempt)
            assert len(found) < most, "the scheduler does not come to rest"
        return found

    def where(self, pod: Pod) -> str:
        return self.pods[pod.uid].node

    def queued(self, pod: Pod) -> QueuedPod:
        found = self.scheduler.queue.get(pod.uid)
        assert found is not None
        return found

    def place(self, pod: Pod) -> str:
        return self.queued(pod).place

    # ------------------------------------------------------------------ framework.handle.Client

    def bind(self, pod: Pod, node: str) -> str:
        if self.errors.get("bind"):
            return self.errors["bind"]
        known = self.pods[pod.uid]
        assert not known.node, f"{pod.key} is bound already"
        self.bound.append((pod.name, node))
        self.put(replace(known, node=node, nominated_node=""))
        return ""

    def update(self, manifest: Mapping[str, Any]) -> str:
        return self.errors.get("update", "")

    def evict(self, victims: Sequence[Pod], preemptor: Pod, node: str) -> str:
        if self.errors.get("evict"):
            return self.errors["evict"]
        for pod in victims:
            self.evicted.append(pod.name)
            if self.victims_linger:
                self.put(replace(self.pods[pod.uid], is_terminating=True, is_disrupted=True))
            else:
                self.delete(pod)
        return ""


def default_cluster(nodes: Iterable[Node] = (), **profile: Any) -> Cluster:
    """With the default plugins; what is given changes the profile."""
    cluster = Cluster()
    profiles.start(cluster.scheduler, read_config({**HEAD, "profiles": [profile]}) if profile else default_config())
    for node in nodes:
        cluster.scheduler.put_node(node)
    return cluster


def cluster_of(
    *plugins: Plugin | tuple[Plugin, int],
    points: Iterable[str] = (),
    frameworks: Iterable[Framework] = (),
    nodes: Iterable[str] = (),
    **settings: Any,
) -> Cluster:
    """With those plugins only."""
    cluster = Cluster()
    cluster.scheduler.start([make_framework(*plugins, points=points), *frameworks], **settings)
    for name in nodes:
        cluster.node(name)
    return cluster
