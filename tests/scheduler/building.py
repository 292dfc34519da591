"""Scheduler in a fake cluster with an immediate API server and kubelet."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kubewasp.framework.config.reading import default_config, read_config
from kubewasp.framework.handle import SchedulerHandle
from kubewasp.framework.observer import NO_OBSERVER, SchedulerObserver
from kubewasp.framework.plugin import Plugin
from kubewasp.framework.runtime import Framework
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.nodes import Node
from kubewasp.k8s.pods import Pod
from kubewasp.scheduler.attempt import Attempt
from kubewasp.scheduler.composition import Environment, compose, set_up
from kubewasp.scheduler.profile_set import Tuning
from kubewasp.scheduler.queued_pod import QueuedPod
from tests.framework.fakes import make_framework
from tests.plugins.building import FakeClock, make_node, make_pod

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


class Cluster:
    """Client of its scheduler. Victims go at once, or stay terminating where `victims_linger`."""

    def __init__(
        self,
        make_frameworks: Callable[[SchedulerHandle], Iterable[Framework]],
        tuning: Tuning | None = None,
        observer: SchedulerObserver = NO_OBSERVER,
        **environment: Any,
    ) -> None:
        self.clock = FakeClock()
        self.attempts: list[Attempt] = []
        self._returned: list[Attempt] = []
        surroundings = Environment(clock=self.clock, client=self, **environment)
        self.scheduler = compose(surroundings, make_frameworks, tuning, observer)
        self.scheduler.subscribe(self)
        self.pods: dict[str, Pod] = {}
        self.bound: list[tuple[str, str]] = []
        self.annotations: dict[str, dict[str, str]] = {}  # of bound pods
        self.evicted: list[str] = []
        self.errors: dict[str, str] = {}
        self.victims_linger = False

    # ------------------------------------------------------------------ what happens in it

    def node(self, name: str, labels: Mapping[str, str] | None = None, **more: Any) -> Node:
        node = make_node(name, labels, **more)
        self.scheduler.events.put_node(node)
        self.scheduler.settle()
        return node

    def pod(self, name: str = "", labels: Mapping[str, str] | None = None, **more: Any) -> Pod:
        """A pod that is new, or changes if its name is known."""
        return self.put(make_pod(name, labels, **more))

    def put(self, pod: Pod) -> Pod:
        self._put(pod)
        self.scheduler.settle()
        return pod

    def _put(self, pod: Pod) -> None:
        before = self.pods.get(pod.uid)
        self.pods[pod.uid] = pod
        self.scheduler.events.put_pod(pod, before)

    def delete(self, pod: Pod) -> None:
        self._delete(pod)
        self.scheduler.settle()

    def _delete(self, pod: Pod) -> None:
        self.scheduler.events.delete_pod(self.pods.pop(pod.uid))

    def allow(self, pod: Pod, plugin: str) -> bool:
        """A plugin allows a waiting pod, outside of any hook."""
        found = self.scheduler.handle.allow_waiting_pod(pod.uid, plugin)
        self.scheduler.settle()
        return found

    def reject(self, pod: Pod, plugin: str = "", reason: str = "") -> bool:
        found = self.scheduler.handle.reject_waiting_pod(pod.uid, plugin, reason)
        self.scheduler.settle()
        return found

    def tick(self) -> list[Attempt]:
        """Acts on what is due; returns the attempts that this ended."""
        before = len(self.attempts)
        self.scheduler.tick()
        return self.attempts[before:]

    @property
    def settled(self) -> list[Attempt]:
        """Attempts that ended outside of `schedule_one`, or beside the one that it returned."""
        return [attempt for attempt in self.attempts if not any(attempt is one for one in self._returned)]

    def pass_time(self, seconds: float) -> None:
        self.clock.time += seconds

    # ------------------------------------------------------------------ scheduling

    def one(self) -> Attempt:
        attempt = self.scheduler.schedule_one()
        assert attempt is not None, "no pod is to be scheduled now"
        self._returned.append(attempt)
        return attempt

    def one_of(self, pod: Pod) -> Attempt:
        self.put(pod)
        return self.one()

    def all(self, most: int = 200) -> list[Attempt]:
        """Attempts until there is no pod to be scheduled now."""
        found: list[Attempt] = []
        while (attempt := self.scheduler.schedule_one()) is not None:
            found.append(attempt)
            self._returned.append(attempt)
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

    def bind(self, pod: Pod, node: str, annotations: Mapping[str, str] | None = None) -> Status:
        if self.errors.get("bind"):
            return Status(Code.ERROR, self.errors["bind"])
        known = self.pods[pod.uid]
        assert not known.node, f"{pod.key} is bound already"
        self.bound.append((pod.name, node))
        self.annotations[pod.name] = dict(annotations or {})
        self._put(replace(known, node=node, nominated_node=""))
        return SUCCESS

    def update(self, manifest: Mapping[str, Any]) -> Status:
        return Status(Code.ERROR, self.errors["update"]) if self.errors.get("update") else SUCCESS

    def evict(self, victims: Sequence[Pod], preemptor: Pod, node: str) -> Status:
        if self.errors.get("evict"):
            return Status(Code.ERROR, self.errors["evict"])
        for pod in victims:
            self.evicted.append(pod.name)
            if self.victims_linger:
                self._put(replace(self.pods[pod.uid], is_terminating=True, is_disrupted=True))
            else:
                self._delete(pod)
        return SUCCESS

    # ------------------------------------------------------------------ AttemptListener

    def attempted(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)


def default_cluster(
    nodes: Iterable[Node] = (), *, observer: SchedulerObserver = NO_OBSERVER, **profile: Any
) -> Cluster:
    """With the default plugins; what is given changes the profile."""
    config = read_config({**HEAD, "profiles": [profile]}) if profile else default_config()
    setup = set_up(config, observer=observer)

    def frameworks(handle: SchedulerHandle) -> Iterable[Framework]:
        return [
            Framework(item.scheduler_name, setup.registry.create(item, handle), observer) for item in setup.profiles
        ]

    cluster = Cluster(frameworks, setup.tuning, observer=observer)
    for node in nodes:
        cluster.scheduler.events.put_node(node)
    return cluster


def cluster_of(
    *plugins: Plugin | tuple[Plugin, int] | type[Plugin],
    points: Iterable[str] = (),
    frameworks: Iterable[Framework] = (),
    nodes: Iterable[str] = (),
    environment: Mapping[str, Any] | None = None,
    observer: SchedulerObserver = NO_OBSERVER,
    **settings: Any,
) -> Cluster:
    """With those plugins only; classes are built-in plugins, made with the scheduler's handle."""

    def made(handle: SchedulerHandle) -> list[Framework]:
        built = [_made(plugin, handle) if isinstance(plugin, type) else plugin for plugin in plugins]
        return [make_framework(*built, points=points, observer=observer), *frameworks]

    cluster = Cluster(made, Tuning(**settings), observer=observer, **(environment or {}))
    for name in nodes:
        cluster.node(name)
    return cluster


def _made(plugin: Any, handle: SchedulerHandle) -> Plugin:
    found: Plugin = plugin({}, handle)
    return found
