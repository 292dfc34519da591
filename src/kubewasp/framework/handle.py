"""Interfaces between plugins and the scheduler: plugin handle and cluster client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from kubewasp.clock import SYSTEM_CLOCK, Clock
from kubewasp.framework.status import SUCCESS, Code, Status

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.cluster_events import RecordedEvent
    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable
    from kubewasp.state.object_store import ObjectStore


class Handle(Protocol):
    """The scheduler as any plugin sees it. Every method may be called from any thread.

    A decision on a waiting pod takes effect on the scheduler's thread, after the hook that is running has returned.
    """

    @property
    def clock(self) -> Clock: ...

    def get_waiting_pod(self, uid: str) -> bytes | None:
        """The encoded pod that waits on Permit under that uid."""

    def waiting_pods(self) -> Sequence[bytes]:
        """All pods that wait on Permit, encoded, with their nodes."""

    def allow_waiting_pod(self, uid: str, plugin: str) -> bool:
        """Ends that plugin's hold on a waiting pod. False if no pod waits under that uid."""

    def reject_waiting_pod(self, uid: str, plugin: str = "", reason: str = "") -> bool:
        """Rejects a waiting pod. False if no pod waits under that uid."""

    def record_event(self, event: RecordedEvent) -> None:
        """Records an event about an object."""


class DetachedHandle:
    """Handle outside a scheduler: no pod waits, and events are dropped."""

    def __init__(self) -> None:
        self.clock: Clock = SYSTEM_CLOCK

    def get_waiting_pod(self, uid: str) -> bytes | None:
        return None

    def waiting_pods(self) -> Sequence[bytes]:
        return ()

    def allow_waiting_pod(self, uid: str, plugin: str) -> bool:
        return False

    def reject_waiting_pod(self, uid: str, plugin: str = "", reason: str = "") -> bool:
        return False

    def record_event(self, event: RecordedEvent) -> None:
        pass


class Client(Protocol):
    """Writes of the scheduler to the cluster. `Wait` means: under way, the result goes to the `ClientListener`s."""

    def bind(self, pod: Pod, node: str, annotations: Mapping[str, str] | None = None) -> Status:
        """Binds a pod to a node, and adds the annotations to it, in one request."""

    def update(self, manifest: Mapping[str, Any]) -> Status:
        """Writes an object: a PersistentVolume or a claim, before the pod is bound. Never `Wait`."""

    def evict(self, victims: Sequence[Pod], preemptor: Pod, node: str) -> Status:
        """Deletes victims of preemption, with the condition that names the cause. An error concerns at least one."""


class ClientListener(Protocol):
    """Results of writes that a client returned `Wait` for. Called on the scheduler's thread."""

    def bound(self, uid: str, status: Status) -> None:
        """Result of a bind."""

    def evicting(self, victim: Pod, preemptor: Pod) -> None:
        """Eviction of a victim sent."""

    def evicted(self, victim: Pod, preemptor: Pod) -> None:
        """Eviction of a victim accepted by the API server."""

    def not_evicted(self, victim: Pod, preemptor: Pod) -> None:
        """Eviction of a victim failed."""


class ReadOnlyClient:
    """Client that writes nothing. Evictions count as done, so that preemption can be explained."""

    _REFUSED: Final = Status(Code.ERROR, "this scheduler is read-only")

    def bind(self, pod: Pod, node: str, annotations: Mapping[str, str] | None = None) -> Status:
        return self._REFUSED

    def update(self, manifest: Mapping[str, Any]) -> Status:
        return self._REFUSED

    def evict(self, victims: Sequence[Pod], preemptor: Pod, node: str) -> Status:
        return SUCCESS


class SchedulerHandle(Handle, Protocol):
    """The scheduler as built-in plugins see it. What `Handle` does not have is for the scheduler's thread only."""

    @property
    def table(self) -> NodeTable: ...

    @property
    def store(self) -> ObjectStore: ...

    @property
    def client(self) -> Client: ...

    def new_random(self) -> random.Random:
        """A generator of random numbers, with the seed of the scheduler."""

    def check(self, state: CycleState, pod: Pod, row: int) -> Status:
        """Verdict of all filters on one node of the table, nominated pods counted."""

    def judges_by_counts(self, state: CycleState, pod: Pod) -> bool:
        """Whether all filters of the pod judge by counted resources alone, so that equal nodes get equal verdicts."""

    def put_on(self, state: CycleState, pod: Pod, other: Pod, row: int) -> Status:
        """Adds another pod to a node, in the table and in the plugins' state: a trial that the caller undoes."""

    def take_off(self, state: CycleState, pod: Pod, other: Pod, row: int) -> Status:
        """Removes another pod from its node, in the table and in the plugins' state: a trial that the caller undoes."""

    def is_evicted(self, uid: str) -> bool:
        """Whether that pod is a victim whose eviction was sent, and still exists."""

    def is_preempting(self, uid: str) -> bool:
        """Whether the eviction of some of that pod's victims is still to be accepted by the API server."""

    def nominated_pods(self, node: str) -> Sequence[Pod]:
        """The pods nominated to that node."""

    def withdraw_nomination(self, pod: Pod) -> None:
        """Ends the pod's nomination."""

    def preempt_waiting_pod(self, uid: str) -> bool:
        """Sends a pod that waits on Permit back to the queue. False if no pod waits under that uid."""

    def upcoming_pods(self, count: int) -> Sequence[Pod]:
        """At most that many pods of the head of the active queue, of any profile."""

    def activate(self, pod: Pod) -> None:
        """Moves a pod to the active queue."""
