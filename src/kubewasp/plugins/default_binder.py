"""Binds a pod through the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.framework.plugin import BindPlugin
from kubewasp.framework.status import SUCCESS, Code, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.k8s.pods import Pod


class DefaultBinder(BindPlugin):
    """The `binding` subresource."""

    name = "DefaultBinder"

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        self._client = handle.client

    def bind(self, state: CycleState, pod: Pod, node: str) -> Status:
        error = self._client.bind(pod, node)
        if error is None:
            return Status(Code.WAIT)
        return Status(Code.ERROR, error) if error else SUCCESS
