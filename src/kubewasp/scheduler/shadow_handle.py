"""Plugin handle of a shadow: the scheduler can be read, and nothing in it or in the cluster is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewasp.framework.handle import ReadOnlyClient
from kubewasp.framework.status import Code, Status

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from kubewasp.clock import Clock
    from kubewasp.framework.cluster_events import RecordedEvent
    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import Client, SchedulerHandle
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable
    from kubewasp.state.object_store import ObjectStore

_REFUSED: Final = Status(Code.ERROR, "a shadow has no effect")


class ShadowHandle:
    """Implements `SchedulerHandle` without effects: events are dropped, decisions on waiting pods refused."""

    def __init__(self, inner: SchedulerHandle) -> None:
        self._inner = inner
        self.clock: Clock = inner.clock
        self.table: NodeTable = inner.table
        self.store: ObjectStore = inner.store
        self.client: Client = ReadOnlyClient()

    def get_waiting_pod(self, uid: str) -> bytes | None:
        return self._inner.get_waiting_pod(uid)

    def waiting_pods(self) -> Sequence[bytes]:
        return self._inner.waiting_pods()

    def allow_waiting_pod(self, uid: str, plugin: str) -> bool:
        return False

    def reject_waiting_pod(self, uid: str, plugin: str = "", reason: str = "") -> bool:
        return False

    def record_event(self, event: RecordedEvent) -> None:
        pass

    def new_random(self) -> random.Random:
        return self._inner.new_random()

    def check(self, state: CycleState, pod: Pod, row: int) -> Status:
        return _REFUSED

    def judges_by_counts(self, state: CycleState, pod: Pod) -> bool:
        return False

    def put_on(self, state: CycleState, pod: Pod, other: Pod, row: int) -> Status:
        return _REFUSED

    def take_off(self, state: CycleState, pod: Pod, other: Pod, row: int) -> Status:
        return _REFUSED

    def is_evicted(self, uid: str) -> bool:
        return self._inner.is_evicted(uid)

    def is_preempting(self, uid: str) -> bool:
        return self._inner.is_preempting(uid)

    def nominated_pods(self, node: str) -> Sequence[Pod]:
        return self._inner.nominated_pods(node)

    def withdraw_nomination(self, pod: Pod) -> None:
        pass

    def preempt_waiting_pod(self, uid: str) -> bool:
        return False

    def upcoming_pods(self, count: int) -> Sequence[Pod]:
        return self._inner.upcoming_pods(count)

    def activate(self, pod: Pod) -> None:
        pass
