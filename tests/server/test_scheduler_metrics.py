"""Metrics of the scheduler: attempts, waits at Permit, cluster events."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kubewasp.framework.plugin import BindPlugin, FilterPlugin, PermitPlugin, Verdicts
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.server import gauges
from kubewasp.server.metrics import Metrics
from kubewasp.server.scheduler_metrics import SchedulerMetrics
from tests.plugins.building import make_node, make_pod
from tests.scheduler.building import Cluster, cluster_of, default_cluster
from tests.server.reading import count, value, values

PROFILE = "default-scheduler"
ATTEMPTS = "scheduler_schedule_attempts_total"


def watched(make: Callable[..., Cluster], *arguments: Any, **options: Any) -> tuple[Cluster, Metrics]:
    """A cluster whose scheduler feeds metrics."""
    metrics = Metrics()
    cluster = make(*arguments, observer=SchedulerMetrics(metrics), **options)
    gauges.add_scheduler(metrics, cluster.scheduler)
    return cluster, metrics


class Broken(FilterPlugin):
    name = "Broken"

    def filter(self, *_: Any) -> Verdicts:
        return Verdicts(np.ones(1, np.int32), [SUCCESS, Status(Code.ERROR, "no idea")])


class Patient(PermitPlugin, BindPlugin):
    name = "Patient"

    def bind(self, *_: Any) -> Status:
        return SUCCESS

    def permit(self, *_: Any) -> tuple[Status, float]:
        return Status(Code.WAIT), 10.0


def test_a_pod_that_is_bound_is_an_attempt_that_succeeded() -> None:
    cluster, metrics = watched(default_cluster, [make_node("n1")])
    cluster.pod("a")
    cluster.pass_time(2.5)
    cluster.all()
    assert values(metrics, ATTEMPTS) == {("scheduled", PROFILE): 1}
    name = "scheduler_scheduling_attempt_duration_seconds"
    assert count(metrics, name, result="scheduled", profile=PROFILE) == 1
    assert 0 < value(metrics, f"{name}_sum", result="scheduled") < 2  # not what the pod waited before
    assert values(metrics, "scheduler_pod_scheduling_sli_duration_seconds_sum") == {("1",): 2.5}
    assert value(metrics, "scheduler_pod_scheduling_attempts_sum") == 1


def test_a_pod_that_fits_nowhere_is_unschedulable_and_counts_again_when_it_is_bound() -> None:
    cluster, metrics = watched(default_cluster, [make_node("n1", cpu="1")])
    cluster.pod("a", requests={"cpu": "2"})
    cluster.all()
    assert values(metrics, ATTEMPTS) == {("unschedulable", PROFILE): 1}
    assert count(metrics, "scheduler_pod_scheduling_attempts") == 0
    cluster.pass_time(20)
    cluster.node("n2", cpu="4")
    cluster.all()
    assert values(metrics, ATTEMPTS) == {("unschedulable", PROFILE): 1, ("scheduled", PROFILE): 1}
    assert values(metrics, "scheduler_pod_scheduling_sli_duration_seconds_sum") == {("2",): 20.0}
    assert value(metrics, "scheduler_pod_scheduled_after_flush_total") == 0


def test_what_goes_wrong_is_an_error() -> None:
    cluster, metrics = watched(cluster_of, Broken(), nodes=("n1",))
    cluster.pod("a")
    cluster.one()
    assert values(metrics, ATTEMPTS) == {("error", PROFILE): 1}


def test_a_bind_that_fails_is_an_error() -> None:
    cluster, metrics = watched(default_cluster, [make_node("n1")])
    cluster.errors["bind"] = "etcd is away"
    cluster.pod("a")
    cluster.one()
    assert values(metrics, ATTEMPTS) == {("error", PROFILE): 1}
    points = values(metrics, "scheduler_framework_extension_point_duration_seconds_count")
    assert points["Bind", "Error", PROFILE] == points["Unreserve", "Success", PROFILE] == 1


def test_time_behind_a_gate_does_not_count() -> None:
    cluster, metrics = watched(default_cluster, [make_node("n1")])
    gated = cluster.pod("a", schedulingGates=[{"name": "later"}])
    cluster.pass_time(100)
    cluster.put(replace(make_pod("a"), uid=gated.uid))
    cluster.pass_time(3)
    cluster.all()
    assert values(metrics, "scheduler_pod_scheduling_sli_duration_seconds_sum") == {("1",): 3.0}


def test_a_pod_that_was_flushed_and_then_bound_is_told() -> None:
    cluster, metrics = watched(default_cluster, [make_node("n1", cpu="1")])
    cluster.pod("a", requests={"cpu": "2"})
    cluster.all()
    cluster.scheduler.table.put_node(make_node("n2", cpu="4"))  # nobody heard of it
    cluster.pass_time(400)
    cluster.scheduler.flush_stuck()
    cluster.all()
    assert value(metrics, "scheduler_pod_scheduled_after_flush_total") == 1
    assert values(metrics, "scheduler_queue_incoming_pods_total")["active", "UnschedulableTimeout"] == 1


@pytest.mark.parametrize(
    ("decision", "result", "attempt"),
    [
        ("allow", "Success", "scheduled"),
        ("reject", "Unschedulable", "unschedulable"),
        ("wait", "Unschedulable", "unschedulable"),
    ],
)
def test_how_long_a_pod_waited_for_permission(decision: str, result: str, attempt: str) -> None:
    cluster, metrics = watched(cluster_of, Patient(), nodes=("n1",))
    waiting = cluster.pod("a")
    cluster.one()
    assert values(metrics, ATTEMPTS) == {}
    assert values(metrics, "scheduler_cache_size")[("assumed_pods",)] == 1
    cluster.pass_time(10 if decision == "wait" else 4)
    match decision:
        case "allow":
            cluster.allow(waiting, "Patient")
        case "reject":
            cluster.reject(waiting, "Patient", "no")
        case _:
            cluster.tick()
    assert values(metrics, "scheduler_permit_wait_duration_seconds_sum") == {(result,): 10 if decision == "wait" else 4}
    assert values(metrics, ATTEMPTS) == {(attempt, PROFILE): 1}


def test_changes_of_the_cluster_are_timed_by_what_they_are() -> None:
    cluster, metrics = watched(default_cluster, [])
    cluster.node("n1")
    cluster.node("n1", {"tier": "gold"})
    cluster.node("n1", {"tier": "gold"})
    cluster.pod("a")
    placed = cluster.pod("b", node="n1")
    cluster.delete(placed)
    cluster.scheduler.events.delete_node("n1")
    assert values(metrics, "scheduler_event_handling_duration_seconds_count") == {
        ("NodeAdd",): 1,
        ("NodeUpdateNodeLabel",): 1,
        ("UnschedulablePodAdd",): 1,
        ("AssignedPodAdd",): 1,
        ("AssignedPodDelete",): 1,
        ("NodeDelete",): 1,
    }
