"""All metrics: their names, labels and buckets. Those of kube-scheduler are called as there, so dashboards fit.

docs/metrics.md has the same list for readers; a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """One metric. A histogram has the upper bounds of its buckets."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Multiplied step by step, as client_golang does: the bounds are the same to the last digit."""
    bounds = [start]
    for _ in range(count - 1):
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


_ATTEMPT = exponential(0.001, 2, 15)
_POINT = exponential(0.0001, 2, 12)
_PLUGIN = exponential(0.00001, 1.5, 20)
_LONG = exponential(0.01, 2, 20)
_REQUEST = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_BYTES = (64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)

METRICS: Final = (
    # ------------------------------------------------------------------ kube-scheduler's
    MetricInfo(
        "scheduler_schedule_attempts_total",
        "counter",
        "Tries to schedule a pod: scheduled, unschedulable (no node fits), or error (something went wrong).",
        ("result", "profile"),
    ),
    MetricInfo(
        "scheduler_scheduling_attempt_duration_seconds",
        "histogram",
        "How long a try took, binding included.",
        ("result", "profile"),
        _ATTEMPT,
    ),
    MetricInfo(
        "scheduler_scheduling_algorithm_duration_seconds",
        "histogram",
        "How long it took to choose a node, preemption included.",
        (),
        _ATTEMPT,
    ),
    MetricInfo(
        "scheduler_pod_scheduling_sli_duration_seconds",
        "histogram",
        "From the moment a pod could first be tried until it was bound, by the number of tries.",
        ("attempts",),
        _LONG,
    ),
    MetricInfo(
        "scheduler_pod_scheduling_attempts",
        "histogram",
        "How many tries a pod took to be bound.",
        (),
        exponential(1, 2, 5),
    ),
    MetricInfo(
        "scheduler_pod_scheduled_after_flush_total",
        "counter",
        "Pods bound after they were tried again only because they had waited long. "
        "If this grows, a plugin misses an event.",
    ),
    MetricInfo(
        "scheduler_framework_extension_point_duration_seconds",
        "histogram",
        "How long all plugins of an extension point took for a pod.",
        ("extension_point", "status", "profile"),
        _POINT,
    ),
    MetricInfo(
        "scheduler_plugin_execution_duration_seconds",
        "histogram",
        "How long one plugin took at an extension point, for all nodes; of a tenth of the pods.",
        ("plugin", "extension_point", "status"),
        _PLUGIN,
    ),
    MetricInfo(
        "scheduler_plugin_evaluation_total",
        "counter",
        "What plugins have judged: pods in PreFilter and PreScore, nodes in Filter and Score.",
        ("plugin", "extension_point", "profile"),
    ),
    MetricInfo(
        "scheduler_pending_pods",
        "gauge",
        "Pods that wait: in the active queue, for their backoff, for an event, or behind a gate.",
        ("queue",),
    ),
    MetricInfo(
        "scheduler_unschedulable_pods",
        "gauge",
        "Pods that a plugin turned down. A pod counts for each plugin that did.",
        ("plugin", "profile"),
    ),
    MetricInfo(
        "scheduler_queue_incoming_pods_total",
        "counter",
        "Pods that came to a part of the queue, by what brought them there.",
        ("queue", "event"),
    ),
    MetricInfo("scheduler_preemption_attempts_total", "counter", "How often preemption was tried."),
    MetricInfo(
        "scheduler_preemption_victims", "histogram", "How many pods a preemption removed.", (), exponential(1, 2, 7)
    ),
    MetricInfo(
        "scheduler_permit_wait_duration_seconds",
        "histogram",
        "How long pods waited for the permission to be bound.",
        ("result",),
        _ATTEMPT,
    ),
    MetricInfo(
        "scheduler_event_handling_duration_seconds",
        "histogram",
        "How long it took to take in a change of the cluster.",
        ("event",),
        _POINT,
    ),
    MetricInfo(
        "scheduler_queueing_hint_execution_duration_seconds",
        "histogram",
        "How long a plugin took to tell whether an event helps a pod; of a tenth of the calls.",
        ("plugin", "event", "hint"),
        _PLUGIN,
    ),
    MetricInfo(
        "scheduler_inflight_events",
        "gauge",
        "Events that are remembered for the pods which are being tried (PodPopped: these pods).",
        ("event",),
    ),
    MetricInfo(
        "scheduler_goroutines",
        "gauge",
        "What goes on at the same time: binding counts the pods on their way to a node.",
        ("operation",),
    ),
    MetricInfo("scheduler_cache_size", "gauge", "Nodes, pods and assumed pods that the scheduler knows.", ("type",)),
    MetricInfo(
        "leader_election_master_status", "gauge", "1 where this process has the lease of that name, else 0.", ("name",)
    ),
    MetricInfo(
        "rest_client_requests_total",
        "counter",
        "Requests to the API server, by HTTP status; <error> where none came.",
        ("code", "method", "host"),
    ),
    MetricInfo(
        "rest_client_request_duration_seconds",
        "histogram",
        "How long a request to the API server took.",
        ("verb", "host"),
        _REQUEST,
    ),
    MetricInfo(
        "rest_client_rate_limiter_duration_seconds",
        "histogram",
        "How long a request was held back by the client's own limit (qps, burst).",
        ("verb", "host"),
        _REQUEST,
    ),
    MetricInfo(
        "rest_client_request_size_bytes",
        "histogram",
        "How long the body of a request was, of those that succeeded.",
        ("verb", "host"),
        _BYTES,
    ),
    MetricInfo(
        "rest_client_response_size_bytes",
        "histogram",
        "How long the body of such an answer was. Watches have no size.",
        ("verb", "host"),
        _BYTES,
    ),
    MetricInfo(
        "rest_client_request_retries_total",
        "counter",
        "Requests that were sent again, by the status that they got before.",
        ("code", "verb", "host"),
    ),
    # ------------------------------------------------------------------ ours
    MetricInfo(
        "kubewasp_build_info", "gauge", "Always 1; the versions are its labels.", ("version", "python", "wasmtime")
    ),
    MetricInfo(
        "kubewasp_guest_calls_total",
        "counter",
        "Calls of a wasm guest's hook. Filter and Score are one call for all nodes.",
        ("plugin", "hook", "result"),
    ),
    MetricInfo(
        "kubewasp_guest_call_duration_seconds",
        "histogram",
        "How long the guest ran in such a call.",
        ("plugin", "hook"),
        _PLUGIN,
    ),
    MetricInfo(
        "kubewasp_guest_failures_total",
        "counter",
        "Failures of a guest: trap, timeout, overrun (of a limit), exit, exception, payload, host, start.",
        ("plugin", "hook", "kind"),
    ),
    MetricInfo(
        "kubewasp_guest_memory_bytes",
        "gauge",
        "Memory of a guest's instances, as of the last time each of them was free.",
        ("plugin",),
    ),
    MetricInfo("kubewasp_guest_instances_created_total", "counter", "Instances started.", ("plugin",)),
    MetricInfo("kubewasp_guest_instances_broken_total", "counter", "Instances lost to a failure.", ("plugin",)),
    MetricInfo(
        "kubewasp_guest_instances_recycled_total", "counter", "Instances replaced as they had grown.", ("plugin",)
    ),
    MetricInfo(
        "kubewasp_guest_cache_hits_total",
        "counter",
        "Work saved: the guest was compiled before (compiled), or had judged all nodes for a like pod (answers).",
        ("plugin", "cache"),
    ),
    MetricInfo(
        "kubewasp_reflector_lists_total",
        "counter",
        "Complete lists of a resource: one, and one a relist.",
        ("resource",),
    ),
    MetricInfo(
        "kubewasp_reflector_watches_total", "counter", "Watches begun; each lasts 5 to 10 minutes.", ("resource",)
    ),
    MetricInfo(
        "kubewasp_reflector_restarts_total",
        "counter",
        "Watches that broke off or were too old, and had to begin again.",
        ("resource",),
    ),
    MetricInfo("kubewasp_reflector_events_total", "counter", "Changes of objects that watches brought.", ("resource",)),
    MetricInfo(
        "kubewasp_extender_requests_total",
        "counter",
        "Requests of kube-scheduler to the extender, by HTTP status.",
        ("verb", "code"),
    ),
    MetricInfo(
        "kubewasp_extender_request_duration_seconds",
        "histogram",
        "How long such a request took, reading it included.",
        ("verb",),
        _POINT,
    ),
    MetricInfo(
        "kubewasp_extender_sent_nodes_total",
        "counter",
        "Whole nodes that came with requests: known already by their resourceVersion (known), or not (read).",
        ("result",),
    ),
)

# Metrics of kube-scheduler that are not here, and why.
NOT_OFFERED: Final = {
    "scheduler_preemption_goroutines_duration_seconds": "each victim has requests of its own: see rest_client_*",
    "scheduler_preemption_goroutines_execution_total": "as above",
    "scheduler_batch_attempts_total": "there is no opportunistic batching: all nodes are judged at once anyway",
    "scheduler_batch_cache_flushed_total": "as above",
    "scheduler_get_node_hint_duration_seconds": "as above",
    "scheduler_store_schedule_results_duration_seconds": "as above",
    "scheduler_volume_binder_cache_requests_total": "the volume binder looks at the store, it has no cache",
    "scheduler_volume_scheduling_stage_error_total": "failures of VolumeBinding are counted with its extension points",
    "scheduler_resourceclaim_creates_total": "dynamic resource allocation is not offered",
    "scheduler_dra_bindingconditions_allocations_total": "as above",
    "scheduler_dra_bindingconditions_wait_duration_seconds": "as above",
    "rest_client_dns_resolution_duration_seconds": "part of rest_client_request_duration_seconds",
    "rest_client_exec_plugin_call_total": "a plugin that fails is told in the log",
    "rest_client_exec_plugin_certificate_rotation_age": "as above",
    "rest_client_exec_plugin_ttl_seconds": "as above",
    "rest_client_transport_cache_entries": "there is one transport, not a cache of them",
    "rest_client_transport_cert_rotation_gc_calls_total": "as above",
    "rest_client_transport_create_calls_total": "as above",
    "leader_election_slowpath_total": "renewing the lease is one request; rest_client_* tells of it",
    "workqueue_adds_total": "the work queues of Go's client, which is not used here",
    "workqueue_depth": "as above",
    "workqueue_longest_running_processor_seconds": "as above",
    "workqueue_queue_duration_seconds": "as above",
    "workqueue_retries_total": "as above",
    "workqueue_unfinished_work_seconds": "as above",
    "workqueue_work_duration_seconds": "as above",
}
