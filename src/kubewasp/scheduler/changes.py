"""What has changed between two states of an object, in the words of the scheduling queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.framework.cluster_events import Action

if TYPE_CHECKING:
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.k8s.resources import Resources


def node_actions(before: Node | None, after: Node) -> list[Action]:
    if before is None:
        return [Action.ADD]
    actions = []
    if before.taints != after.taints or (before.is_unschedulable and not after.is_unschedulable):
        actions.append(Action.UPDATE_NODE_TAINT)
    if before.allocatable != after.allocatable or before.max_pods != after.max_pods:
        actions.append(Action.UPDATE_NODE_ALLOCATABLE)
    if before.labels != after.labels:
        actions.append(Action.UPDATE_NODE_LABEL)
    if before.conditions != after.conditions:
        actions.append(Action.UPDATE_NODE_CONDITION)
    if before.annotations != after.annotations:
        actions.append(Action.UPDATE_NODE_ANNOTATION)
    if before.declared_features != after.declared_features:
        actions.append(Action.UPDATE_NODE_DECLARED_FEATURE)
    return actions


def pod_actions(before: Pod, after: Pod) -> list[Action]:
    actions = []
    if before.labels != after.labels:
        actions.append(Action.UPDATE_POD_LABEL)
    if _scaled_down(before.resources.requests, after.resources.requests):
        actions.append(Action.UPDATE_POD_SCALE_DOWN)
    if before.spec.scheduling_gates and not after.spec.scheduling_gates:
        actions.append(Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    if len(before.spec.tolerations) != len(after.spec.tolerations):
        actions.append(Action.UPDATE_POD_TOLERATION)
    return actions or [Action.UPDATE_OTHER]


def _scaled_down(before: Resources, after: Resources) -> bool:
    names = ["cpu", "memory", "ephemeral-storage", *before.scalars]
    return any(after.get(name) < before.get(name) for name in names)
