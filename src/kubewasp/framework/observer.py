"""Who hears how long things took and what came of them: metrics, or nobody.

HOT PATH (guard: make counts): called several times a pod.

An observer gets numbers that exist anyway and must answer in well under a microsecond. Labels are those of
kube-scheduler's metrics. Everything but the requests to the API server is told by the scheduler's own thread.
"""

from __future__ import annotations

import time
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.status import SUCCESS, Status, code_label

if TYPE_CHECKING:
    from collections.abc import Callable


class SchedulerObserver(Protocol):
    """Times are in seconds. A status is told by its label: `Success`, `Error`, `Unschedulable` and so on."""

    def samples(self) -> bool:
        """Whether the plugins of the cycle that begins now are to be told of one by one."""

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        """A pod was tried; the result is `scheduled`, `unschedulable` or `error`. Binding is part of it."""

    def algorithm(self, seconds: float) -> None:
        """A node was chosen for a pod, or none was found."""

    def scheduled(self, attempts: int, seconds: float, *, after_flush: bool) -> None:
        """A pod was bound, so many tries and seconds after it could first be tried."""

    def extension_point(self, point: str, profile: str, status: str, seconds: float) -> None:
        """All plugins of an extension point were run for a pod."""

    def plugin(self, plugin: str, point: str, status: str, seconds: float) -> None:
        """One plugin was run; only in cycles that are sampled."""

    def queue_incoming(self, queue: str, event: str) -> None:
        """A pod came to a part of the queue (`active`, `backoff`, `unschedulable`) because of that event."""

    def hint(self, plugin: str, event: str, result: str, seconds: float) -> None:
        """A queueing hint was asked whether the event helps a pod: `Queue` or `QueueSkip`. Sampled."""

    def preemption(self, victims: int) -> None:
        """Preemption was tried; without victims, in vain."""

    def permit_wait(self, result: str, seconds: float) -> None:
        """A pod has waited for the permission to be bound."""

    def event_handled(self, event: str, seconds: float) -> None:
        """A change of the cluster was taken in."""

    def guest_call(self, plugin: str, hook: str, seconds: float, failure: str) -> None:
        """A hook of a wasm guest was called, for one node or many; `failure` is the kind of it, or empty."""

    def guest_failed(self, plugin: str, hook: str, kind: str) -> None:
        """A guest failed other than in a call: it does not start any more, or its answer makes no sense."""


class NoObserver:
    """Implements `SchedulerObserver`: nobody listens."""

    def samples(self) -> bool:
        return False

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        pass

    def algorithm(self, seconds: float) -> None:
        pass

    def scheduled(self, attempts: int, seconds: float, *, after_flush: bool) -> None:
        pass

    def extension_point(self, point: str, profile: str, status: str, seconds: float) -> None:
        pass

    def plugin(self, plugin: str, point: str, status: str, seconds: float) -> None:
        pass

    def queue_incoming(self, queue: str, event: str) -> None:
        pass

    def hint(self, plugin: str, event: str, result: str, seconds: float) -> None:
        pass

    def preemption(self, victims: int) -> None:
        pass

    def permit_wait(self, result: str, seconds: float) -> None:
        pass

    def event_handled(self, event: str, seconds: float) -> None:
        pass

    def guest_call(self, plugin: str, hook: str, seconds: float, failure: str) -> None:
        pass

    def guest_failed(self, plugin: str, hook: str, kind: str) -> None:
        pass


NOBODY = NoObserver()

# What happened to pods in the queue besides the events of the cluster.
POD_ADDED, ATTEMPT_FAILED = "UnschedulablePodAdd", "ScheduleAttemptFailure"
BACKOFF_OVER, POPPED_EARLY = "BackoffComplete", "PopFromBackoffQ"
FORCED, TIMED_OUT = "ForceActivate", "UnschedulableTimeout"

_GROUPS = {
    "CSINode": "storage.k8s.io/",
    "CSIDriver": "storage.k8s.io/",
    "VolumeAttachment": "storage.k8s.io/",
    "CSIStorageCapacity": "storage.k8s.io/",
    "StorageClass": "storage.k8s.io/",
    "ResourceClaim": "resource.k8s.io/",
    "ResourceSlice": "resource.k8s.io/",
    "DeviceClass": "resource.k8s.io/",
}
_ACTIONS = {Action.ALL: "All", Action.UPDATE: "Update", Action.UPDATE_OTHER: "Update"} | {
    action: "".join(word.capitalize() for word in str(action.name).split("_"))
    for action in Action
    if action is not Action.UPDATE_OTHER
}


@cache
def event_label(resource: str, action: Action) -> str:
    """An event as kube-scheduler calls it: `NodeAdd`, `AssignedPodDelete`, `storage.k8s.io/CSINodeUpdate`."""
    return f"{_GROUPS.get(resource, '')}{resource}{_ACTIONS.get(action, 'Update')}"


class PluginUse:
    """What a plugin has taken at an extension point, and how many pods or nodes it has judged there."""

    __slots__ = ("judged", "plugin", "point", "seconds")

    def __init__(self, point: str, plugin: str) -> None:
        self.point = point
        self.plugin = plugin
        self.seconds = 0.0
        self.judged = 0

    def add(self, began: float, judged: int) -> float:
        """Of a call that ends now; returns how long it took."""
        seconds = time.perf_counter() - began
        self.seconds += seconds
        self.judged += judged
        return seconds


_Run = TypeVar("_Run", bound="Callable[..., Any]")


def observed(point: str, status_of: Callable[[Any], Status]) -> Callable[[_Run], _Run]:
    """For the framework's methods: tells its observer of each run, how long it took and what came of it."""

    def decorate(run: _Run) -> _Run:
        @wraps(run)
        def timed(framework: Any, *args: Any, **kwargs: Any) -> Any:
            if framework.observer is NOBODY:
                return run(framework, *args, **kwargs)
            began = time.perf_counter()
            outcome = run(framework, *args, **kwargs)
            seconds = time.perf_counter() - began
            framework.observer.extension_point(point, framework.name, code_label(status_of(outcome).code), seconds)
            return outcome

        return cast("_Run", timed)

    return decorate


def itself(status: Status) -> Status:
    """For extension points that answer with a status."""
    return status


def always_success(_: object) -> Status:
    """For those that have no say."""
    return SUCCESS
