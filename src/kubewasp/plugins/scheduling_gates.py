"""SchedulingGates: gates pods with `spec.schedulingGates`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.plugin import EnqueueExtensions, PreEnqueuePlugin, Registration, rejection
from kubewasp.framework.status import SUCCESS, Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.k8s.pods import Pod


class SchedulingGates(PreEnqueuePlugin, EnqueueExtensions):
    """A pod enters the queue without its last gate."""

    name = "SchedulingGates"

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        pass

    def pre_enqueue(self, pod: Pod) -> Status:
        gates = pod.spec.scheduling_gates
        if not gates:
            return SUCCESS
        return rejection(f"waiting for scheduling gates: [{' '.join(gates)}]", resolvable=False)

    def events(self) -> Sequence[Registration]:
        return [Registration("Pod", Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, is_same_pod)]


def is_same_pod(pod: Pod, _old: Pod | None, new: Pod | None) -> bool:
    """Queueing hint: the changed pod is the waiting pod itself."""
    return new is not None and new.uid == pod.uid
