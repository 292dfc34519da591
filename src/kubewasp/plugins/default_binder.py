"""DefaultBinder: binding through the pod's `binding` subresource."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.framework.binding_annotations import values
from kubewasp.framework.plugin import BindPlugin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.status import Status
    from kubewasp.k8s.pods import Pod


class DefaultBinder(BindPlugin):
    """Binds pods with the scheduler's client."""

    name = "DefaultBinder"

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        self._client = handle.client

    def bind(self, state: CycleState, pod: Pod, node: str) -> Status:
        return self._client.bind(pod, node, values(state.annotations) if state.annotations else None)
