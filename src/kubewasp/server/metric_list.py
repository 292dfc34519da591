"""Metrics of all processes: names, types, labels, buckets and help. Metrics of kube-scheduler keep their names.

A test compares the list with docs/metrics.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """One metric. `buckets` are the upper bounds of a histogram."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Exponential buckets. Step-by-step multiplication, as in client_golang: the bounds are equal to the last digit."""
    bounds = [start]
    for _ in range(count - 1):
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


_ATTEMPT = exponential(0.001, 2, 15)
_POINT = exponential(0.0001, 2, 12)
_PLUGIN = exponential(0.00001, 1.5, 20)
_SLI = exponential(0.01, 2, 20)
_REQUEST = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_BYTES = (64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)

METRICS: Final = (
    # ------------------------------------------------------------------ kube-scheduler
    MetricInfo(
        "scheduler_schedule_attempts_total",
        "counter",
        "Scheduling attempts: scheduled, unschedulable (no node fits), or error.",
        ("result", "profile"),
    ),
    MetricInfo(
        "scheduler_scheduling_attempt_duration_seconds",
        "histogram",
        "Duration of an attempt, with binding.",
        ("result", "profile"),
        _ATTEMPT,
    ),
    MetricInfo(
        "scheduler_scheduling_algorithm_duration_seconds",
        "histogram",
        "Duration of the choice of a node, with preemption.",
        (),
        _ATTEMPT,
    ),
    MetricInfo(
        "scheduler_pod_scheduling_sli_duration_seconds",
        "histogram",
        "Time from a pod's first possible attempt to its binding, by number of attempts.",
        ("attempts",),
        _SLI,
    ),
    MetricInfo("scheduler_pod_scheduling_attempts", "histogram", "Attempts per bound pod.", (), exponential(1, 2, 5)),
    MetricInfo(
        "scheduler_pod_scheduled_after_flush_total",
        "counter",
        "Pods bound in an attempt that only the periodic flush caused. Growth means that a plugin misses an event.",
    ),
    MetricInfo(
        "scheduler_framework_extension_point_duration_seconds",
        "histogram",
        "Duration of all plugins of an extension point, per pod.",
        ("extension_point", "status", "profile"),
        _POINT,
    ),
    MetricInfo(
        "scheduler_plugin_execution_duration_seconds",
        "histogram",
        "Duration of one plugin at an extension point, for all nodes; sampled for a tenth of the pods.",
        ("plugin", "extension_point", "status"),
        _PLUGIN,
    ),
    MetricInfo(
        "scheduler_plugin_evaluation_total",
        "counter",
        "Evaluations by plugins: pods in PreFilter and PreScore, nodes in Filter and Score.",
        ("plugin", "extension_point", "profile"),
    ),
    MetricInfo(
        "scheduler_pending_pods", "gauge", "Pending pods: active, in backoff, unschedulable, or gated.", ("queue",)
    ),
    MetricInfo(
        "scheduler_unschedulable_pods",
        "gauge",
        "Pods rejected by a plugin. A pod counts for each such plugin.",
        ("plugin", "profile"),
    ),
    MetricInfo(
        "scheduler_queue_incoming_pods_total",
        "counter",
        "Pods added to a part of the queue, by event.",
        ("queue", "event"),
    ),
    MetricInfo("scheduler_preemption_attempts_total", "counter", "Preemption attempts."),
    MetricInfo("scheduler_preemption_victims", "histogram", "Victims per preemption.", (), exponential(1, 2, 7)),
    MetricInfo("scheduler_permit_wait_duration_seconds", "histogram", "Time in Permit.", ("result",), _ATTEMPT),
    MetricInfo(
        "scheduler_event_handling_duration_seconds",
        "histogram",
        "Duration of the handling of a cluster event.",
        ("event",),
        _POINT,
    ),
    MetricInfo(
        "scheduler_queueing_hint_execution_duration_seconds",
        "histogram",
        "Duration of a queueing hint; sampled for a tenth of the calls.",
        ("plugin", "event", "hint"),
        _PLUGIN,
    ),
    MetricInfo(
        "scheduler_inflight_events",
        "gauge",
        "Events recorded for pods in their scheduling cycle (PodPopped: these pods).",
        ("event",),
    ),
    MetricInfo(
        "scheduler_goroutines",
        "gauge",
        "Concurrent operations: binding counts the pods in their binding cycle.",
        ("operation",),
    ),
    MetricInfo("scheduler_cache_size", "gauge", "Nodes, pods and assumed pods in the scheduler's state.", ("type",)),
    MetricInfo(
        "leader_election_master_status", "gauge", "1 if this process holds the lease of that name, else 0.", ("name",)
    ),
    MetricInfo(
        "rest_client_requests_total",
        "counter",
        "Requests to the API server, by HTTP status; <error> without a response.",
        ("code", "method", "host"),
    ),
    MetricInfo(
        "rest_client_request_duration_seconds",
        "histogram",
        "Duration of a request to the API server.",
        ("verb", "host"),
        _REQUEST,
    ),
    MetricInfo(
        "rest_client_rate_limiter_duration_seconds",
        "histogram",
        "Delay of a request by the client's own limit (qps, burst).",
        ("verb", "host"),
        _REQUEST,
    ),
    MetricInfo(
        "rest_client_request_size_bytes", "histogram", "Body size of successful requests.", ("verb", "host"), _BYTES
    ),
    MetricInfo(
        "rest_client_response_size_bytes",
        "histogram",
        "Body size of their responses. Watches have none.",
        ("verb", "host"),
        _BYTES,
    ),
    MetricInfo(
        "rest_client_request_retries_total",
        "counter",
        "Repeated requests, by the status of the previous response.",
        ("code", "verb", "host"),
    ),
    # ------------------------------------------------------------------ kubewasp
    MetricInfo(
        "kubewasp_build_info", "gauge", "Always 1; the labels are the versions.", ("version", "python", "wasmtime")
    ),
    MetricInfo(
        "kubewasp_guest_calls_total",
        "counter",
        "Hook calls of a wasm guest. Filter and Score are one call for all nodes.",
        ("plugin", "hook", "result"),
    ),
    MetricInfo(
        "kubewasp_guest_call_duration_seconds",
        "histogram",
        "Duration of such a call inside the guest.",
        ("plugin", "hook"),
        _PLUGIN,
    ),
    MetricInfo(
        "kubewasp_guest_failures_total",
        "counter",
        "Guest failures: trap, timeout, overrun (of a limit), exit, exception, payload, host, start, impure.",
        ("plugin", "hook", "kind"),
    ),
    MetricInfo(
        "kubewasp_unexpected_errors_total",
        "counter",
        "Exceptions that ended one attempt, hint, gate, hook or listener: bugs of kubewasp or of an in-process plugin.",
        ("place",),
    ),
    MetricInfo(
        "kubewasp_guest_memory_bytes",
        "gauge",
        "Memory and tables of a guest's instances, as of each one's last release.",
        ("plugin",),
    ),
    MetricInfo("kubewasp_guest_instances_created_total", "counter", "Instances created.", ("plugin",)),
    MetricInfo("kubewasp_guest_instances_broken_total", "counter", "Instances lost to a failure.", ("plugin",)),
    MetricInfo(
        "kubewasp_guest_instances_recycled_total",
        "counter",
        "Instances replaced at the memory high-water mark.",
        ("plugin",),
    ),
    MetricInfo(
        "kubewasp_guest_cache_hits_total",
        "counter",
        "Cache hits: compiled code (compiled), answers for all nodes from an equal pod (answers).",
        ("plugin", "cache"),
    ),
    MetricInfo(
        "kubewasp_plugin_version_info",
        "gauge",
        "Always 1; digests of a wasm plugin by stage: stable, shadow, canary, probation (unproven), previous.",
        ("plugin", "digest", "stage"),
    ),
    MetricInfo("kubewasp_reloads_total", "counter", "Reloads of the configuration: success or failure.", ("result",)),
    MetricInfo(
        "kubewasp_swap_duration_seconds",
        "histogram",
        "Duration of a swap of profiles, between two pods.",
        (),
        exponential(0.0001, 2, 12),
    ),
    MetricInfo(
        "kubewasp_rollbacks_total",
        "counter",
        "Versions taken back, by the stage that they broke a bound in.",
        ("plugin", "stage"),
    ),
    MetricInfo(
        "kubewasp_shadow_pods_total",
        "counter",
        "Pods compared by a shadow: same node, other node, or an error of the new version.",
        ("plugin", "result"),
    ),
    MetricInfo(
        "kubewasp_shadow_verdicts_total",
        "counter",
        "Nodes judged by both versions of a plugin: same verdict, or another one.",
        ("plugin", "result"),
    ),
    MetricInfo(
        "kubewasp_shadow_score_distance",
        "histogram",
        "Mean distance of the scores of both versions, per pod; scores are 0 to 100.",
        ("plugin",),
        (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0),
    ),
    MetricInfo(
        "kubewasp_shadow_duration_seconds",
        "histogram",
        "Time of a plugin per pod: of the new version (candidate) and of the one in use (stable).",
        ("plugin", "version"),
        _PLUGIN,
    ),
    MetricInfo("kubewasp_canary_pods_total", "counter", "Attempts that a canary has decided.", ("plugin",)),
    MetricInfo(
        "kubewasp_reflector_lists_total",
        "counter",
        "Complete lists of a resource: the first one, and one per relist.",
        ("resource",),
    ),
    MetricInfo(
        "kubewasp_reflector_watches_total", "counter", "Watches started; each lasts 5 to 10 minutes.", ("resource",)
    ),
    MetricInfo(
        "kubewasp_reflector_restarts_total", "counter", "Watches restarted after a break or expiry.", ("resource",)
    ),
    MetricInfo("kubewasp_reflector_events_total", "counter", "Events received through watches.", ("resource",)),
    MetricInfo("kubewasp_recording_bytes_total", "counter", "Bytes written by `run --record`."),
    MetricInfo("kubewasp_recording_entries_total", "counter", "Events and decisions recorded."),
    MetricInfo("kubewasp_recording_active", "gauge", "1 while a recording is written, 0 once it has stopped."),
    MetricInfo(
        "kubewasp_extender_requests_total",
        "counter",
        "Requests of kube-scheduler to the extender, by HTTP status.",
        ("verb", "code"),
    ),
    MetricInfo(
        "kubewasp_extender_request_duration_seconds",
        "histogram",
        "Duration of such a request, with reading it.",
        ("verb",),
        _POINT,
    ),
    MetricInfo(
        "kubewasp_extender_sent_nodes_total",
        "counter",
        "Whole nodes in requests: known by resourceVersion (known), or new (read).",
        ("result",),
    ),
)

# Missing metrics of kube-scheduler, with the reasons.
NOT_OFFERED: Final = {
    "scheduler_preemption_goroutines_duration_seconds": "each victim has its own requests: see rest_client_*",
    "scheduler_preemption_goroutines_execution_total": "as above",
    "scheduler_batch_attempts_total": "no opportunistic batching: all nodes are judged in one call",
    "scheduler_batch_cache_flushed_total": "as above",
    "scheduler_get_node_hint_duration_seconds": "as above",
    "scheduler_store_schedule_results_duration_seconds": "as above",
    "scheduler_volume_binder_cache_requests_total": "the volume binder reads the store, without a cache",
    "scheduler_volume_scheduling_stage_error_total": "failures of VolumeBinding count at its extension points",
    "scheduler_resourceclaim_creates_total": "no dynamic resource allocation",
    "scheduler_dra_bindingconditions_allocations_total": "as above",
    "scheduler_dra_bindingconditions_wait_duration_seconds": "as above",
    "rest_client_dns_resolution_duration_seconds": "part of rest_client_request_duration_seconds",
    "rest_client_exec_plugin_call_total": "failures are in the log",
    "rest_client_exec_plugin_certificate_rotation_age": "as above",
    "rest_client_exec_plugin_ttl_seconds": "as above",
    "rest_client_transport_cache_entries": "one transport, no cache",
    "rest_client_transport_cert_rotation_gc_calls_total": "as above",
    "rest_client_transport_create_calls_total": "as above",
    "leader_election_slowpath_total": "a renewal is one request: see rest_client_*",
    "workqueue_adds_total": "work queues of Go's client, which is not used",
    "workqueue_depth": "as above",
    "workqueue_longest_running_processor_seconds": "as above",
    "workqueue_queue_duration_seconds": "as above",
    "workqueue_retries_total": "as above",
    "workqueue_unfinished_work_seconds": "as above",
    "workqueue_work_duration_seconds": "as above",
}
