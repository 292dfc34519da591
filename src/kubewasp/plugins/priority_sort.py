"""PrioritySort: orders the queue by priority, then by time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.framework.plugin import QueueSortPlugin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.k8s.pods import Pod


class PrioritySort(QueueSortPlugin):
    """Higher priority first, then the earlier time."""

    name = "PrioritySort"

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        pass

    def sort_key(self, pod: Pod, queued_at: float) -> tuple[int, float]:
        return -pod.priority, queued_at
