"""Metrics observer interface; no-op by default.  HOT PATH (guard: make counts): called several times per pod.

An observer gets numbers that exist anyway and must return in well under a microsecond. Labels are those of
kube-scheduler's metrics. All methods are called on the scheduler's thread.
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
    """Durations are in seconds. Statuses are labels: `Success`, `Error`, `Unschedulable` and so on."""

    def samples(self) -> bool:
        """Whether the plugins of the cycle that begins now are observed one by one."""

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        """End of an attempt, binding included: `scheduled`, `unschedulable` or `error`."""

    def algorithm(self, seconds: float) -> None:
        """End of a scheduling cycle."""

    def scheduled(self, attempts: int, seconds: float, *, after_flush: bool) -> None:
        """A pod bound: number of attempts, and seconds since its first activation."""

    def extension_point(self, point: str, profile: str, status: str, seconds: float) -> None:
        """Run of all plugins of an extension point for a pod."""

    def plugin(self, plugin: str, point: str, status: str, seconds: float) -> None:
        """Run of one plugin; in sampled cycles only."""

    def queue_incoming(self, queue: str, event: str) -> None:
        """Move of a pod to a part of the queue (`active`, `backoff`, `unschedulable`), and its event."""

    def hint(self, plugin: str, event: str, result: str, seconds: float) -> None:
        """Run of a queueing hint: `Queue` or `QueueSkip`. Sampled."""

    def preemption(self, victims: int) -> None:
        """Run of preemption; without victims, unsuccessful."""

    def permit_wait(self, result: str, seconds: float) -> None:
        """End of a wait on Permit."""

    def event_handled(self, event: str, seconds: float) -> None:
        """A cluster event taken in."""

    def unexpected_error(self, where: str) -> None:
        """An exception that no code expects, at a place such as `attempt`, `hint` or `event`."""

    def guest_call(self, plugin: str, hook: str, seconds: float, failure: str) -> None:
        """Call of a guest's hook, for one node or many; `failure` is its kind, or empty."""

    def guest_failed(self, plugin: str, hook: str, kind: str) -> None:
        """Failure of a guest outside a call: a failing start, or an invalid answer."""


class NoObserver:
    """Observer that ignores everything."""

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

    def unexpected_error(self, where: str) -> None:
        pass

    def guest_call(self, plugin: str, hook: str, seconds: float, failure: str) -> None:
        pass

    def guest_failed(self, plugin: str, hook: str, kind: str) -> None:
        pass


NO_OBSERVER = NoObserver()

# Events of pods in the queue, besides those of the cluster.
POD_ADDED, ATTEMPT_FAILED = "UnschedulablePodAdd", "ScheduleAttemptFailure"
BACKOFF_OVER, POPPED_EARLY = "BackoffComplete", "PopFromBackoffQ"
FORCED, TIMED_OUT, RELOADED = "ForceActivate", "UnschedulableTimeout", "PluginReload"

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
    """Event label as in kube-scheduler: `NodeAdd`, `AssignedPodDelete`, `storage.k8s.io/CSINodeUpdate`."""
    return f"{_GROUPS.get(resource, '')}{resource}{_ACTIONS.get(action, 'Update')}"


class PluginUse:
    """Account of a plugin at an extension point: time spent, pods or nodes judged."""

    __slots__ = ("judged", "plugin", "point", "seconds")

    def __init__(self, point: str, plugin: str) -> None:
        self.point = point
        self.plugin = plugin
        self.seconds = 0.0
        self.judged = 0

    def add(self, began: float, judged: int) -> float:
        """Adds a call that ends now; returns its duration."""
        seconds = time.perf_counter() - began
        self.seconds += seconds
        self.judged += judged
        return seconds


_Run = TypeVar("_Run", bound="Callable[..., Any]")


def observed(point: str, status_of: Callable[[Any], Status]) -> Callable[[_Run], _Run]:
    """Decorator of the framework's methods: reports duration and status of each run to its observer."""

    def decorate(run: _Run) -> _Run:
        @wraps(run)
        def timed(framework: Any, *args: Any, **kwargs: Any) -> Any:
            if framework.observer is NO_OBSERVER:
                return run(framework, *args, **kwargs)
            began = time.perf_counter()
            outcome = run(framework, *args, **kwargs)
            seconds = time.perf_counter() - began
            framework.observer.extension_point(point, framework.name, code_label(status_of(outcome).code), seconds)
            return outcome

        return cast("_Run", timed)

    return decorate


def itself(status: Status) -> Status:
    """Status of an extension point that returns one."""
    return status


def always_success(_: object) -> Status:
    """Status of an extension point that cannot fail."""
    return SUCCESS
