"""Metrics: names, labels and buckets, and their values after observer calls."""

import re
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.observer import NO_OBSERVER, NoObserver, event_label
from kubewasp.server.metric_list import METRICS, NOT_OFFERED, exponential
from kubewasp.server.metrics import Metrics
from kubewasp.server.request_metrics import RequestMetrics
from kubewasp.server.scheduler_metrics import SchedulerMetrics
from tests.server.reading import count, value, values

ROOT = Path(__file__).parent.parent.parent

# Written by hand: name, type, labels, and the first and the last bound and the number of the buckets.
EXPECTED = """
scheduler_schedule_attempts_total                       counter    result profile
scheduler_scheduling_attempt_duration_seconds           histogram  result profile                   0.001 16.384 15
scheduler_scheduling_algorithm_duration_seconds         histogram  -                                0.001 16.384 15
scheduler_pod_scheduling_sli_duration_seconds           histogram  attempts                         0.01 5242.88 20
scheduler_pod_scheduling_attempts                       histogram  -                                1 16 5
scheduler_pod_scheduled_after_flush_total               counter    -
scheduler_framework_extension_point_duration_seconds    histogram  extension_point status profile   0.0001 0.2048 12
scheduler_plugin_execution_duration_seconds             histogram  plugin extension_point status    1e-05 0.0221684 20
scheduler_plugin_evaluation_total                       counter    plugin extension_point profile
scheduler_pending_pods                                  gauge      queue
scheduler_unschedulable_pods                            gauge      plugin profile
scheduler_queue_incoming_pods_total                     counter    queue event
scheduler_preemption_attempts_total                     counter    -
scheduler_preemption_victims                            histogram  -                                1 64 7
scheduler_permit_wait_duration_seconds                  histogram  result                           0.001 16.384 15
scheduler_event_handling_duration_seconds               histogram  event                            0.0001 0.2048 12
scheduler_queueing_hint_execution_duration_seconds      histogram  plugin event hint                1e-05 0.0221684 20
scheduler_inflight_events                               gauge      event
scheduler_goroutines                                    gauge      operation
scheduler_cache_size                                    gauge      type
leader_election_master_status                           gauge      name
rest_client_requests_total                              counter    code method host
rest_client_request_duration_seconds                    histogram  verb host                        0.005 60 12
rest_client_rate_limiter_duration_seconds               histogram  verb host                        0.005 60 12
rest_client_request_size_bytes                          histogram  verb host                        64 1.67772e+07 11
rest_client_response_size_bytes                         histogram  verb host                        64 1.67772e+07 11
rest_client_request_retries_total                       counter    code verb host
kubewasp_build_info                                     gauge      version python wasmtime
kubewasp_guest_calls_total                              counter    plugin hook result
kubewasp_guest_call_duration_seconds                    histogram  plugin hook                      1e-05 0.0221684 20
kubewasp_guest_failures_total                           counter    plugin hook kind
kubewasp_unexpected_errors_total                        counter    place
kubewasp_guest_memory_bytes                             gauge      plugin
kubewasp_guest_instances_created_total                  counter    plugin
kubewasp_guest_instances_broken_total                   counter    plugin
kubewasp_guest_instances_recycled_total                 counter    plugin
kubewasp_guest_cache_hits_total                         counter    plugin cache
kubewasp_plugin_version_info                            gauge      plugin digest stage
kubewasp_reloads_total                                  counter    result
kubewasp_swap_duration_seconds                          histogram  - 0.0001 0.2048 12
kubewasp_rollbacks_total                                counter    plugin stage
kubewasp_shadow_pods_total                              counter    plugin result
kubewasp_shadow_verdicts_total                          counter    plugin result
kubewasp_shadow_score_distance                          histogram  plugin 0 100 8
kubewasp_shadow_duration_seconds                        histogram  plugin version 1e-05 0.0221684 20
kubewasp_canary_pods_total                              counter    plugin
kubewasp_reflector_lists_total                          counter    resource
kubewasp_reflector_watches_total                        counter    resource
kubewasp_reflector_restarts_total                       counter    resource
kubewasp_reflector_events_total                         counter    resource
kubewasp_recording_bytes_total                          counter    -
kubewasp_recording_entries_total                        counter    -
kubewasp_recording_active                               gauge      -
kubewasp_extender_requests_total                        counter    verb code
kubewasp_extender_request_duration_seconds              histogram  verb 0.0001 0.2048 12
kubewasp_extender_sent_nodes_total                      counter    result
"""
# Metrics of kube-scheduler that dashboards may ask for.
KUBE_SCHEDULER = """
schedule_attempts_total scheduling_attempt_duration_seconds scheduling_algorithm_duration_seconds
pod_scheduling_sli_duration_seconds pod_scheduling_attempts pod_scheduled_after_flush_total
framework_extension_point_duration_seconds plugin_execution_duration_seconds plugin_evaluation_total pending_pods
unschedulable_pods queue_incoming_pods_total preemption_attempts_total preemption_victims
preemption_goroutines_duration_seconds preemption_goroutines_execution_total permit_wait_duration_seconds
event_handling_duration_seconds queueing_hint_execution_duration_seconds inflight_events goroutines cache_size
batch_attempts_total batch_cache_flushed_total get_node_hint_duration_seconds store_schedule_results_duration_seconds
volume_binder_cache_requests_total volume_scheduling_stage_error_total resourceclaim_creates_total
dra_bindingconditions_allocations_total dra_bindingconditions_wait_duration_seconds
"""


def test_names_types_labels_and_buckets_are_the_expected_ones() -> None:
    found = []
    for metric in METRICS:
        line = [metric.name, metric.kind, *(metric.labels or ["-"])]
        if metric.buckets:
            line += [f"{metric.buckets[0]:g}", f"{metric.buckets[-1]:g}", str(len(metric.buckets))]
        found.append(line)
    assert found == [line.split() for line in EXPECTED.strip().splitlines()]


def test_every_metric_of_kube_scheduler_is_offered_or_explained() -> None:
    offered = {metric.name for metric in METRICS}
    names = {f"scheduler_{name}" for name in KUBE_SCHEDULER.split()}
    assert names - offered == {name for name in NOT_OFFERED if name.startswith("scheduler_")}
    assert not NOT_OFFERED.keys() & offered


def test_prometheus_is_told_of_every_metric_from_the_start() -> None:
    text = Metrics().exposed()[0].decode()
    told = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)
    assert [(metric.name, metric.kind) for metric in METRICS if (metric.name, metric.kind) not in told] == []
    assert {"process_cpu_seconds_total", "process_resident_memory_bytes"} <= {name for name, _ in told}


def observed() -> tuple[Metrics, SchedulerMetrics]:
    metrics = Metrics()
    return metrics, SchedulerMetrics(metrics)


def test_metrics_without_labels_begin_with_zero() -> None:
    metrics = Metrics()
    assert value(metrics, "scheduler_preemption_attempts_total") == 0
    assert count(metrics, "scheduler_preemption_victims") == 0


def test_bounds_are_multiplied_step_by_step() -> None:
    assert exponential(0.001, 2, 4) == (0.001, 0.002, 0.004, 0.008)
    assert exponential(0.00001, 1.5, 3)[-1] == 0.00001 * 1.5 * 1.5


def test_buckets_are_cumulative_and_a_bound_belongs_to_its_bucket() -> None:
    metrics, observer = observed()
    for seconds in (0.0005, 0.001, 0.0011, 100.0):
        observer.attempt("scheduled", "default-scheduler", seconds)
    name = "scheduler_scheduling_attempt_duration_seconds"
    labels = {"result": "scheduled", "profile": "default-scheduler"}
    found = {le: value(metrics, f"{name}_bucket", **labels, le=le) for le in ("0.001", "0.002", "16.384", "+Inf")}
    assert found == {"0.001": 2, "0.002": 3, "16.384": 3, "+Inf": 4}
    assert value(metrics, f"{name}_sum", **labels) == pytest.approx(100.0026)
    assert count(metrics, name, **labels) == 4
    assert value(metrics, "scheduler_schedule_attempts_total", **labels) == 4


@pytest.mark.parametrize(("attempts", "label"), [(1, "1"), (14, "14"), (15, "15+"), (400, "15+")])
def test_many_attempts_share_a_label(attempts: int, label: str) -> None:
    metrics, observer = observed()
    observer.scheduled(attempts, 2.5, after_flush=False)
    assert values(metrics, "scheduler_pod_scheduling_sli_duration_seconds_sum") == {(label,): 2.5}
    assert value(metrics, "scheduler_pod_scheduling_attempts_sum") == attempts
    assert value(metrics, "scheduler_pod_scheduled_after_flush_total") == 0


def test_pods_scheduled_after_a_flush_are_counted() -> None:
    metrics, observer = observed()
    observer.scheduled(2, 400.0, after_flush=True)
    assert value(metrics, "scheduler_pod_scheduled_after_flush_total") == 1


def test_preemption_in_vain_has_no_victims() -> None:
    metrics, observer = observed()
    observer.preemption(0)
    observer.preemption(3)
    assert value(metrics, "scheduler_preemption_attempts_total") == 2
    assert count(metrics, "scheduler_preemption_victims") == 1
    assert value(metrics, "scheduler_preemption_victims_sum") == 3


def test_a_tenth_of_the_cycles_is_sampled() -> None:
    chances = iter((0.0, 0.0999, 0.1, 0.9))
    observer = SchedulerMetrics(Metrics(), chance=lambda: next(chances))
    assert [observer.samples() for _ in range(4)] == [True, True, False, False]


def test_calls_of_guests_are_counted_by_result_and_kind_of_failure() -> None:
    metrics, observer = observed()
    observer.guest_call("Policy", "score", 0.5, "")
    observer.guest_call("Policy", "score", 1.0, "timeout")
    observer.guest_failed("Policy", "normalizescore", "payload")
    assert values(metrics, "kubewasp_guest_calls_total") == {
        ("Policy", "score", "success"): 1,
        ("Policy", "score", "failure"): 1,
    }
    assert values(metrics, "kubewasp_guest_failures_total") == {
        ("Policy", "score", "timeout"): 1,
        ("Policy", "normalizescore", "payload"): 1,
    }
    assert values(metrics, "kubewasp_guest_call_duration_seconds_sum") == {("Policy", "score"): 1.5}


def test_requests_are_counted_by_status_and_those_without_an_answer_as_errors() -> None:
    metrics = Metrics()
    told = RequestMetrics(metrics, "10.0.0.1:443")
    told.limited("POST", 0.2)
    told.answered("POST", "/api/v1/namespaces/default/pods/web/binding", 201, 0.01)
    told.transferred("POST", 300, 20)
    told.answered("POST", "/api/v1/namespaces/default/pods/web/binding", 0, 1.0)
    told.retried("POST", 0)
    told.retried("POST", 429)
    assert values(metrics, "rest_client_requests_total") == {
        ("201", "POST", "10.0.0.1:443"): 1,
        ("<error>", "POST", "10.0.0.1:443"): 1,
    }
    assert values(metrics, "rest_client_request_duration_seconds_sum") == {("POST", "10.0.0.1:443"): 1.01}
    assert values(metrics, "rest_client_rate_limiter_duration_seconds_sum") == {("POST", "10.0.0.1:443"): 0.2}
    assert values(metrics, "rest_client_request_size_bytes_sum") == {("POST", "10.0.0.1:443"): 300}
    assert values(metrics, "rest_client_response_size_bytes_sum") == {("POST", "10.0.0.1:443"): 20}
    assert values(metrics, "rest_client_request_retries_total") == {
        ("<error>", "POST", "10.0.0.1:443"): 1,
        ("429", "POST", "10.0.0.1:443"): 1,
    }


def test_the_other_calls_of_the_observer_end_in_their_metric() -> None:
    metrics, observer = observed()
    observer.algorithm(0.25)
    observer.extension_point("Filter", "default-scheduler", "Success", 0.125)
    observer.plugin("NodeName", "Filter", "Success", 0.5)
    observer.queue_incoming("active", "NodeAdd")
    observer.hint("NodeName", "NodeAdd", "Queue", 0.75)
    observer.permit_wait("Success", 3.0)
    observer.event_handled("NodeAdd", 0.0625)
    assert value(metrics, "scheduler_scheduling_algorithm_duration_seconds_sum") == 0.25
    point = "scheduler_framework_extension_point_duration_seconds_sum"
    assert values(metrics, point) == {("Filter", "Success", "default-scheduler"): 0.125}
    assert values(metrics, "scheduler_plugin_execution_duration_seconds_sum") == {
        ("NodeName", "Filter", "Success"): 0.5
    }
    assert values(metrics, "scheduler_queue_incoming_pods_total") == {("active", "NodeAdd"): 1}
    hint = "scheduler_queueing_hint_execution_duration_seconds_sum"
    assert values(metrics, hint) == {("NodeName", "NodeAdd", "Queue"): 0.75}
    assert values(metrics, "scheduler_permit_wait_duration_seconds_sum") == {("Success",): 3.0}
    assert values(metrics, "scheduler_event_handling_duration_seconds_sum") == {("NodeAdd",): 0.0625}


def test_two_schedulers_do_not_mix() -> None:
    (_, one), (other, _) = observed(), observed()
    one.preemption(0)
    assert value(other, "scheduler_preemption_attempts_total") == 0


def test_both_formats_can_be_read_again() -> None:
    metrics, observer = observed()
    observer.attempt("scheduled", "default-scheduler", 0.5)
    observer.guest_call('"Quoted"\nname', "score", 0.5, "trap")
    text, kind = metrics.exposed("text/plain")
    assert kind.startswith("text/plain; version=0.0.4")
    assert {family.name for family in text_string_to_metric_families(text.decode())} >= {"scheduler_pending_pods"}
    text, kind = metrics.exposed("application/openmetrics-text; version=1.0.0,text/plain;q=0.5")
    assert kind.startswith("application/openmetrics-text")
    (calls,) = [family for family in open_metrics(text.decode()) if family.name == "kubewasp_guest_calls"]
    assert calls.samples[0].labels["plugin"] == '"Quoted"\nname'


def test_the_observer_that_does_nothing_has_all_calls() -> None:
    names = {name for name in dir(NoObserver) if not name.startswith("_")}
    assert names <= set(dir(SchedulerMetrics))
    assert NO_OBSERVER.samples() is False


@pytest.mark.parametrize(
    ("resource", "action", "label"),
    [
        ("Node", Action.ADD, "NodeAdd"),
        ("Node", Action.UPDATE_NODE_LABEL, "NodeUpdateNodeLabel"),
        ("AssignedPod", Action.DELETE, "AssignedPodDelete"),
        ("AssignedPod", Action.UPDATE_OTHER, "AssignedPodUpdate"),
        ("AssignedPod", Action.UPDATE_POD_LABEL, "AssignedPodUpdatePodLabel"),
        ("PersistentVolumeClaim", Action.ADD, "PersistentVolumeClaimAdd"),
        ("CSINode", Action.UPDATE, "storage.k8s.io/CSINodeUpdate"),
        ("ResourceClaim", Action.DELETE, "resource.k8s.io/ResourceClaimDelete"),
        ("PodDisruptionBudget", Action.ADD, "PodDisruptionBudgetAdd"),
    ],
)
def test_events_are_called_as_kube_scheduler_calls_them(resource: str, action: Action, label: str) -> None:
    assert event_label(resource, action) == label


def test_the_documentation_lists_every_metric() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| ([^|]*) \| ([^|]*) \|$", page, re.MULTILINE)
    listed = [(name, kind, tuple(re.findall(r"\w+", labels)), meaning) for name, kind, labels, meaning in rows]
    assert listed == [(metric.name, metric.kind, metric.labels, metric.help) for metric in METRICS]
    explained = dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|$", page, re.MULTILINE))
    assert explained == NOT_OFFERED
