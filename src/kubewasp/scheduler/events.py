"""Cluster events: changes of nodes, pods and other objects, taken into the node table and the queue."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.observer import event_label
from kubewasp.scheduler.queued_pod import ClusterChange

if TYPE_CHECKING:
    from kubewasp.framework.observer import SchedulerObserver
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.k8s.resources import Resources
    from kubewasp.scheduler.assumed_pods import AssumedPods
    from kubewasp.scheduler.binding import BindingCycle
    from kubewasp.scheduler.preemption import Evictions, Nominator
    from kubewasp.scheduler.profile_set import ActiveProfiles
    from kubewasp.scheduler.queue import SchedulingQueue
    from kubewasp.scheduler.waiting import WaitingPods
    from kubewasp.state.node_table import NodeTable


class ClusterEvents:
    """Intake of changes, one after the other. Pods of other schedulers count only once they have a node."""

    def __init__(
        self,
        *,
        table: NodeTable,
        queue: SchedulingQueue,
        nominator: Nominator,
        evictions: Evictions,
        assumed: AssumedPods,
        waiting: WaitingPods,
        binding: BindingCycle,
        profiles: ActiveProfiles,
        observer: SchedulerObserver,
    ) -> None:
        self._table = table
        self._queue = queue
        self._nominator = nominator
        self._evictions = evictions
        self._assumed = assumed
        self._waiting = waiting
        self._binding = binding
        self._profiles = profiles
        self._observer = observer

    # ------------------------------------------------------------------ nodes

    def put_node(self, node: Node) -> None:
        """Handles a new or changed node."""
        began = time.perf_counter()
        row = self._table.row(node.name)
        before = None if row is None else self._table.nodes[row]
        self._table.put_node(node)
        for action in node_actions(before, node):
            self._queue.move(ClusterChange("Node", action, before, node))
            self._handled("Node", action, began)

    def delete_node(self, name: str) -> None:
        row = self._table.row(name)
        if row is not None:
            began = time.perf_counter()
            before = self._table.node(row)
            self._table.remove_node(name)
            self._queue.move(ClusterChange("Node", Action.DELETE, before, None))
            self._handled("Node", Action.DELETE, began)

    # ------------------------------------------------------------------ pods

    def put_pod(self, pod: Pod, before: Pod | None = None) -> None:
        """Handles a new or changed pod."""
        began = time.perf_counter()
        if pod.is_finished:
            if before is not None:
                self.delete_pod(before)
        elif pod.node:
            self._put_assigned(pod, before)
            is_new = before is None or not before.node
            self._handled("AssignedPod", Action.ADD if is_new else Action.UPDATE, began)
        elif pod.uid in self._assumed:
            self._put_assumed(pod, before)
        elif pod.spec.scheduler_name in self._profiles.frameworks:
            is_new = self._queue.get(pod.uid) is None
            self._put_pending(pod, before)
            self._handled("UnschedulablePod", Action.ADD if is_new else Action.UPDATE, began)

    def _put_pending(self, pod: Pod, before: Pod | None) -> None:
        known = self._queue.get(pod.uid)
        if known is None:
            if not self._queue.add(pod).gated_by:  # as in kube-scheduler: a gated pod's counts later
                self._nominator.nominate(pod, pod.nominated_node)
            return
        before = before or known.pod
        if before.resource_version and (before.resource_version, before.encoded) == (pod.resource_version, pod.encoded):
            return
        nominated = self._nominator.node_of(pod.uid)
        if nominated and not before.nominated_node and not pod.nominated_node:
            pod = replace(pod, nominated_node=nominated)  # written before the nomination was known
        self._nominator.nominate(pod, pod.nominated_node)
        for action in pod_actions(before, pod):
            self._queue.update(pod, action, before)
        if nominated and nominated != pod.nominated_node:
            self._queue.nomination_ended(replace(before, nominated_node=nominated))

    def _put_assumed(self, pod: Pod, before: Pod | None) -> None:
        """Handles a change of an assumed pod: after a failure, the pod is retried in its new state."""
        known = self._queue.get(pod.uid)
        if known is not None:
            before = before or known.pod
            for action in pod_actions(before, pod):
                self._queue.update(pod, action, before)

    def _put_assigned(self, pod: Pod, before: Pod | None) -> None:
        self._assumed.confirm(pod)
        self._nominator.withdraw(pod.uid)
        if before is None or not before.node:
            self._queue.delete(pod.uid)
            self._queue.move(ClusterChange("AssignedPod", Action.ADD, None, pod))
        else:
            for action in pod_actions(before, pod):
                self._queue.move(ClusterChange("AssignedPod", action, before, pod))

    def delete_pod(self, pod: Pod) -> None:
        began = time.perf_counter()
        self._queue.delete(pod.uid)  # before the rollback of its placement, which requeues known pods
        self._evictions.pod_gone(pod.uid)
        self._binding.remove(pod.uid, self._waiting.remove(pod.uid))
        nominated = self._nominator.node_of(pod.uid)
        self._nominator.withdraw(pod.uid)
        placed = self._assumed.remove(pod)
        if placed is not None:
            self._queue.move(ClusterChange("AssignedPod", Action.DELETE, placed, None))
        elif nominated:
            self._queue.nomination_ended(replace(pod, nominated_node=nominated))
        self._handled("AssignedPod" if pod.node else "UnschedulablePod", Action.DELETE, began)

    # ------------------------------------------------------------------ other objects

    def object_changed(self, kind: str, before: Any, after: Any) -> None:
        """Handles a change of the object store."""
        action = Action.ADD if before is None else Action.DELETE if after is None else Action.UPDATE
        began = time.perf_counter()
        self._queue.move(ClusterChange(kind, action, before, after))
        self._handled(kind, action, began)

    def _handled(self, resource: str, action: Action, began: float) -> None:
        self._observer.event_handled(event_label(resource, action), time.perf_counter() - began)


def node_actions(before: Node | None, after: Node) -> list[Action]:
    """The difference between two states of a node."""
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
    """The difference between two states of a pod."""
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
