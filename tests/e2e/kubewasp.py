"""Pods, events and conditions of a cluster with `kubewasp run`."""

from typing import Any, Final

from tools.testbed.client import ApiError, Object
from tools.testbed.cluster import Cluster, pod
from tools.testbed.kubewasp import NAME
from tools.testbed.waiting import wait_until

EVENTS: Final = "events.k8s.io/v1"
SOON: Final = 60.0  # seconds; the machine may be busy


def ours(name: str, **fields: Any) -> Object:
    """A pod that kubewasp schedules."""
    return pod(name, scheduler=fields.pop("scheduler", NAME), **fields)


def condition(found: Object, kind: str = "PodScheduled") -> Object:
    """A pod's condition of that type, or empty."""
    conditions = found["status"].get("conditions", [])
    return next((one for one in conditions if one["type"] == kind), {})


def events_of(cluster: Cluster, name: str, reason: str = "") -> list[Object]:
    """The events about a pod, in the order in which they were recorded."""
    found = [
        event
        for event in cluster.list_all("Event", version=EVENTS)
        if event["regarding"].get("name") == name and reason in ("", event["reason"])
    ]
    return sorted(found, key=lambda event: str(event["eventTime"]))


def wait_events(cluster: Cluster, name: str, reason: str, count: int = 1) -> list[Object]:
    def enough() -> list[Object]:
        found = events_of(cluster, name, reason)
        return found if len(found) >= count else []

    return wait_until(enough, SOON, f"{count} {reason} events of {name}", cluster.describe)


def wait_node(cluster: Cluster, name: str, timeout: float = SOON) -> str:
    """The node of a pod, as soon as it has one."""
    return wait_until(
        lambda: str(cluster.get("Pod", name)["spec"].get("nodeName", "")),
        timeout,
        f"{name} to be bound",
        cluster.describe,
    )


def wait_unschedulable(cluster: Cluster, name: str, text: str = "") -> Object:
    """The condition of a pod that has no node, as soon as it says so, with that text."""

    def told() -> Object:
        found = condition(cluster.get("Pod", name))
        return found if found.get("status") == "False" and text in found.get("message", "") else {}

    return wait_until(told, SOON, f"{name} to be unschedulable: {text}", cluster.describe)


def is_gone(cluster: Cluster, name: str) -> bool:
    try:
        cluster.get("Pod", name)
    except ApiError as error:
        if error.status != 404:
            raise
        return True
    return False
