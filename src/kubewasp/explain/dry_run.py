"""Dry run: the decision on one pod in an unchanged cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubewasp.errors import KubewaspError
from kubewasp.explain.explanation import Explanation, explain
from kubewasp.framework.decision_record import DecisionRecord
from kubewasp.framework.status import SUCCESS, Status
from kubewasp.k8s.pods import DEFAULT_SCHEDULER, placed_on

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kubewasp.explain.plugin_logs import PluginLogs
    from kubewasp.framework.binding_annotations import Annotation
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.cycle import Choice
    from kubewasp.scheduler.scheduler import Scheduler


class ExplainError(KubewaspError):
    """The pod cannot be explained; the text has the cause and the remedy."""


def as_pending(
    manifest: Mapping[str, Any], profile: str, profiles: Collection[str]
) -> tuple[dict[str, Any], list[str]]:
    """The pod without its node and with the profile (its own, if empty), and notes on these changes."""
    key = f"{manifest['metadata'].get('namespace') or 'default'}/{manifest['metadata']['name']}"
    spec = dict(manifest.get("spec") or {})
    phase = (manifest.get("status") or {}).get("phase")
    if phase in ("Succeeded", "Failed"):
        raise ExplainError(f"pod {key} has finished ({phase}) and is not scheduled again")
    if profile and profile not in profiles:
        raise ExplainError(f"there is no profile {profile}; there are: {', '.join(profiles)}")
    notes = []
    node = spec.pop("nodeName", "")
    if node:
        notes.append(f"bound to {node}: explained as pending, without its requests there")
    name = spec.get("schedulerName") or DEFAULT_SCHEDULER
    if profile and profile != name:
        spec["schedulerName"] = profile
        notes.append(f"schedulerName {name}: explained with profile {profile}")
    elif name not in profiles:
        there = ", ".join(profiles)
        raise ExplainError(
            f"no profile has the schedulerName {name} of pod {key}; there are: {there}. "
            f"Choose one of them with --profile"
        )
    if manifest["metadata"].get("deletionTimestamp"):
        notes.append("being deleted: schedulers skip it")
    return {**manifest, "spec": spec}, notes


@dataclass(frozen=True, slots=True)
class DryAttempt:
    """An attempt without effects. `node` is empty where a Reserve plugin refuses the choice."""

    record: DecisionRecord
    choice: Choice
    node: str
    message: str
    is_error: bool
    annotations: tuple[Annotation, ...]


def dry_attempt(scheduler: Scheduler, pod: Pod, record: DecisionRecord) -> DryAttempt:
    """An attempt of a pod, with preemption and Reserve: the scheduler's client must be read-only."""
    choice = scheduler.evaluate(pod, record)
    try:
        reserved, annotations = _reserved(scheduler, pod, choice)
    finally:
        choice.state.close()
    is_error = choice.is_error or not (reserved.is_success or reserved.is_rejected)
    node = choice.node if reserved.is_success else ""
    return DryAttempt(record, choice, node, choice.message or reserved.reason, is_error, annotations)


def dry_run(scheduler: Scheduler, pod: Pod, notes: Sequence[str] = (), logs: PluginLogs | None = None) -> Explanation:
    """Explains an attempt of a pod in the queue, with preemption: the scheduler's client must be read-only."""
    queued = scheduler.queue.get(pod.uid)
    if queued is not None and queued.gated_by:
        raise ExplainError(f"pod {pod.key} is gated by {queued.gated_by}: {queued.gate_reason}")
    tried = dry_attempt(scheduler, pod, DecisionRecord())
    choice = tried.choice
    if tried.is_error and logs is not None:
        logs.take_error(pod.key, tried.message)
    found = explain(
        pod,
        tried.record,
        scheduler.table,
        node=tried.node,
        message=tried.message,
        nominated_node=choice.nominated_node,
        victims=choice.victims,
        annotations=tried.annotations,
    )
    found.candidates, found.notes, found.is_error = choice.candidates, notes, tried.is_error
    return found


def _reserved(scheduler: Scheduler, pod: Pod, choice: Choice) -> tuple[Status, tuple[Annotation, ...]]:
    """Result of Reserve for the chosen node, undone at once, and the annotations that it adds to the binding."""
    if not choice.node:
        return SUCCESS, ()
    framework, state, assumed = scheduler.profiles.cycle_for(pod).framework, choice.state, placed_on(pod, choice.node)
    status = framework.run_reserve(state, assumed, choice.node)
    annotations = tuple(state.annotations.values())
    if status.is_success:
        framework.run_unreserve(state, assumed, choice.node)
    return status, annotations
