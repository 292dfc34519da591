"""Gauges of a running scheduler."""

import threading
from pathlib import Path
from typing import Any

from kubewasp.apiserver.api_resources import RESOURCES
from kubewasp.apiserver.auth import fixed
from kubewasp.apiserver.client import ApiClient
from kubewasp.apiserver.http_connection import Access
from kubewasp.apiserver.reflector import Counters, Reflector
from kubewasp.server import gauges
from kubewasp.server.metrics import Metrics
from kubewasp.server.scheduler_metrics import SchedulerMetrics
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from tests.guests import MISBEHAVIOURS
from tests.guests.build import example
from tests.rollout import policies
from tests.rollout.bench import Bench
from tests.server.reading import count, value, values
from tests.simulation.simulating import Object, config, filled, node, pod, priority_class, profile, steered, wasm
from tests.wasm.steering import bit

UNSCHEDULABLE = 2
PROFILE = "default-scheduler"


def run(*objects: Object, sampled: bool = False, **settings: Any) -> tuple[EmbeddedCluster, Metrics]:
    cluster, metrics = observed(*objects, sampled=sampled, **settings)
    cluster.settle()
    return cluster, metrics


def observed(*objects: Object, sampled: bool = False, **settings: Any) -> tuple[EmbeddedCluster, Metrics]:
    metrics = Metrics()
    observer = SchedulerMetrics(metrics, chance=lambda: 0.0 if sampled else 1.0)
    cluster = filled(*objects, observer=observer, **settings)
    gauges.add_scheduler(metrics, cluster.scheduler)
    gauges.add_plugins(metrics, cluster.scheduler)
    return cluster, metrics


def points(metrics: Metrics) -> dict[tuple[str, ...], float]:
    found = values(metrics, "scheduler_framework_extension_point_duration_seconds_count")
    return {(point, status): number for (point, status, _), number in found.items()}


def test_each_extension_point_is_timed_once_a_pod() -> None:
    _, metrics = run(node("n1"), node("n2"), pod("a"), pod("b"))
    wanted = (
        "PreEnqueue",
        "PreFilter",
        "Filter",
        "PreScore",
        "Score",
        "Reserve",
        "Permit",
        "PreBind",
        "Bind",
        "PostBind",
    )
    assert {
        point: number for (point, status), number in points(metrics).items() if status == "Success"
    } == dict.fromkeys(wanted, 2)
    assert count(metrics, "scheduler_scheduling_algorithm_duration_seconds") == 2
    assert all(
        seconds > 0 for seconds in values(metrics, "scheduler_framework_extension_point_duration_seconds_sum").values()
    )


def test_the_status_of_an_extension_point_is_told() -> None:
    _, metrics = run(node("n1"), pod("huge", cpu="64"))
    assert (
        points(metrics)["Filter", "Success"] == 1
    )  # as in kube-scheduler: that no node passed is no failure of Filter
    assert points(metrics)["PostFilter", "Unschedulable"] == 1
    assert ("Score", "Success") not in points(metrics)


def test_trials_of_preemption_are_not_told_as_filter() -> None:
    objects = [node("n1", cpu="1"), priority_class("high", 100), pod("low", cpu="900m", on="n1")]
    cluster, metrics = run(*objects, pod("urgent", cpu="900m", priorityClassName="high"))
    assert len(cluster.objects.preemptions) == 1
    assert points(metrics)["Filter", "Success"] == 2
    assert points(metrics)["PreFilterExtensionRemovePod", "Success"] >= 1
    assert value(metrics, "scheduler_preemption_attempts_total") == 1
    assert value(metrics, "scheduler_preemption_victims_sum") == 1


def test_plugins_are_timed_in_cycles_that_are_sampled() -> None:
    name = "scheduler_plugin_execution_duration_seconds_count"
    objects = (node("n1"), node("n2"), pod("a"))
    assert values(run(*objects)[1], name) == {}
    found = values(run(*objects, sampled=True)[1], name)
    assert found["NodeResourcesFit", "Filter", "Success"] == 1
    assert found["NodeResourcesFit", "Score", "Success"] == 1
    assert found["NodeAffinity", "PreFilter", "Skip"] == 1
    assert found["DefaultBinder", "Bind", "Success"] == 1
    assert found["TaintToleration", "ScoreExtensionNormalize", "Success"] == 1


def test_evaluations_count_pods_before_the_nodes_and_nodes_after() -> None:
    _, metrics = run(node("n1"), node("n2"), node("n3"), pod("a"), pod("b"))
    found = values(metrics, "scheduler_plugin_evaluation_total")
    assert found["NodeResourcesFit", "PreFilter", PROFILE] == 2
    assert found["NodeResourcesFit", "Filter", PROFILE] == 6
    assert found["NodeResourcesFit", "Score", PROFILE] == 6
    assert ("NodeAffinity", "PreFilter", PROFILE) not in found  # it has nothing to say of these pods


def test_pods_are_counted_where_they_wait() -> None:
    gated = pod("gated", schedulingGates=[{"name": "later"}])
    _, metrics = run(node("n1"), pod("huge", cpu="64"), gated, pod("fits"))
    assert values(metrics, "scheduler_pending_pods") == {
        ("active",): 0,
        ("backoff",): 0,
        ("unschedulable",): 1,
        ("gated",): 1,
    }
    assert values(metrics, "scheduler_unschedulable_pods") == {
        ("NodeResourcesFit", PROFILE): 1,
        ("SchedulingGates", PROFILE): 1,
    }


def test_pods_come_to_the_queue_for_a_reason() -> None:
    cluster, metrics = observed(config=None)
    for item in (node("n1"), pod("huge", cpu="64"), pod("gated", schedulingGates=[{"name": "later"}])):
        cluster.apply(item)
    cluster.settle()
    name = "scheduler_queue_incoming_pods_total"
    assert values(metrics, name) == {
        ("active", "UnschedulablePodAdd"): 1,
        ("unschedulable", "UnschedulablePodAdd"): 1,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
    }
    cluster.apply(node("n2", cpu="80"))
    cluster.settle()
    assert values(metrics, name)["backoff", "NodeAdd"] + values(metrics, name).get(("active", "NodeAdd"), 0) == 1


def test_hints_are_timed_when_sampled() -> None:
    cluster, metrics = run(node("n1"), pod("huge", cpu="64"), sampled=True)
    cluster.apply(node("n2", cpu="1"))
    cluster.apply(node("n3", cpu="80"))
    found = values(metrics, "scheduler_queueing_hint_execution_duration_seconds_count")
    assert found["NodeResourcesFit", "NodeAdd", "QueueSkip"] == 1
    assert found["NodeResourcesFit", "NodeAdd", "Queue"] == 1


def test_the_size_of_the_cache() -> None:
    _, metrics = run(node("n1"), node("n2"), pod("a"), pod("there", on="n2"))
    assert values(metrics, "scheduler_cache_size") == {("nodes",): 2, ("pods",): 2, ("assumed_pods",): 0}
    assert values(metrics, "scheduler_goroutines") == {("binding",): 0}
    assert values(metrics, "scheduler_inflight_events") == {("PodPopped",): 0}


def test_leadership_is_read_when_asked_for() -> None:
    metrics = Metrics()
    state = [True]
    gauges.add_leadership(metrics, "kubewasp", lambda: state[0])
    assert values(metrics, "leader_election_master_status") == {("kubewasp",): 1}
    state[0] = False
    assert values(metrics, "leader_election_master_status") == {("kubewasp",): 0}


# ---------------------------------------------------------------------- guests


def test_calls_of_a_guest_are_counted_once_for_all_nodes() -> None:
    guest = wasm("NodeNumber", example("nodenumber"))
    nodes = [node(f"node-{number}") for number in range(5)]
    _, metrics = run(*nodes, pod("web-3"), pod("web-4"), config=config(profile(guest)))
    hooks = ("prefilter", "filter", "score")
    assert values(metrics, "kubewasp_guest_calls_total") == {("NodeNumber", hook, "success"): 2 for hook in hooks}
    assert values(metrics, "kubewasp_guest_call_duration_seconds_count") == {("NodeNumber", hook): 2 for hook in hooks}
    assert values(metrics, "kubewasp_guest_failures_total") == {}
    assert value(metrics, "kubewasp_guest_instances_created_total", plugin="NodeNumber") >= 1
    assert value(metrics, "kubewasp_guest_memory_bytes", plugin="NodeNumber") >= 65536
    assert set(values(metrics, "kubewasp_guest_cache_hits_total")) == {
        ("NodeNumber", "compiled"),
        ("NodeNumber", "answers"),
    }


def test_answers_that_were_there_already_are_hits() -> None:
    guest = wasm("policy", example("prefer_label"), guestConfig="tier=gold")
    nodes = [node("node-1"), node("node-2")]
    _, metrics = run(*nodes, pod("a"), pod("b"), pod("c"), config=config(profile(guest)))
    assert values(metrics, "kubewasp_guest_calls_total")["policy", "score", "success"] == 1
    assert value(metrics, "kubewasp_guest_cache_hits_total", plugin="policy", cache="answers") == 2


def test_a_guest_that_traps_is_counted_and_its_instance_is_broken() -> None:
    guest = wasm("policy", steered("misbehave", what=MISBEHAVIOURS.index("unreachable"), where=bit("filter")))
    _, metrics = run(node("n1"), pod("web"), config=config(profile(guest)))
    failures = values(metrics, "kubewasp_guest_failures_total")
    assert failures["policy", "filter", "trap"] >= 1
    assert (
        values(metrics, "kubewasp_guest_calls_total")["policy", "filter", "failure"]
        == failures["policy", "filter", "trap"]
    )
    assert (
        value(metrics, "kubewasp_guest_instances_broken_total", plugin="policy") == failures["policy", "filter", "trap"]
    )


def test_memory_of_instances_that_are_gone_does_not_count() -> None:
    guest = wasm("policy", steered("misbehave", what=MISBEHAVIOURS.index("unreachable"), where=bit("filter")))
    cluster, metrics = run(node("n1"), config=config(profile(guest)))
    before = value(metrics, "kubewasp_guest_memory_bytes", plugin="policy")
    cluster.apply(pod("web"))
    cluster.settle()
    assert value(metrics, "kubewasp_guest_instances_broken_total", plugin="policy") > 1
    assert value(metrics, "kubewasp_guest_memory_bytes", plugin="policy") <= before


def test_metrics_may_be_read_while_the_scheduler_runs() -> None:
    cluster, metrics = observed(*(node(f"n{number}") for number in range(20)))
    for number in range(300):
        cluster.apply(pod(f"p{number}", cpu="64" if number % 3 else "10m"))
    errors: list[Exception] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                metrics.exposed()
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    cluster.settle()
    done.set()
    thread.join()
    assert errors == []
    assert value(metrics, "scheduler_pending_pods", queue="unschedulable") == 200


def test_it_is_told_how_each_resource_is_followed() -> None:
    metrics, reflectors = Metrics(), list[Reflector]()
    gauges.add_reflectors(metrics, reflectors)
    assert values(metrics, "kubewasp_reflector_lists_total") == {}
    client = ApiClient(fixed(Access("http://127.0.0.1:1")))
    reflectors += [Reflector(client, RESOURCES[name], Nobody()) for name in ("pods", "nodes")]
    reflectors[0].counters = Counters(lists=1, watches=2, restarts=3, events=4)
    for number, what in enumerate(("lists", "watches", "restarts", "events"), start=1):
        assert values(metrics, f"kubewasp_reflector_{what}_total") == {("pods",): number, ("nodes",): 0}


class Nobody:
    """`Handler` that ignores all changes."""

    def replaced(self, items: object) -> None: ...

    def changed(self, kind: object, item: object) -> None: ...


def test_counters_of_guests_do_not_fall_with_a_reload(tmp_path: Path) -> None:
    bench, metrics = Bench(tmp_path), Metrics()
    gauges.add_plugins(metrics, bench.cluster.scheduler)
    bench.pods(3)
    created = "kubewasp_guest_instances_created_total"
    judged = "scheduler_plugin_evaluation_total"
    before = values(metrics, created), values(metrics, judged)
    assert sum(before[0].values()) >= 1
    bench.reload(policies.wasm("v2"))
    bench.controller.promote()
    bench.cluster.tick()
    bench.work()
    bench.pods(1, "next")
    after = values(metrics, created), values(metrics, judged)
    assert after[0].keys() == before[0].keys()
    assert all(after[0][labels] > count for labels, count in before[0].items())
    assert all(after[1][labels] >= count for labels, count in before[1].items())
