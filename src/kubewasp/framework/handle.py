"""What a plugin may ask of the scheduler that runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from kubewasp.clock import SYSTEM_CLOCK, Clock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.cluster_events import RecordedEvent
    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.status import Status
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable
    from kubewasp.state.object_store import ObjectStore


class Handle(Protocol):
    """Implemented by the scheduler; plugins may call it from any thread."""

    @property
    def clock(self) -> Clock: ...

    def get_waiting_pod(self, uid: str) -> bytes | None:
        """The encoded pod that waits for permission under that uid."""

    def waiting_pods(self) -> Sequence[bytes]:
        """All pods that wait for permission, encoded, with their nodes."""

    def allow_waiting_pod(self, uid: str, plugin: str) -> bool:
        """Whether a pod was waiting under that uid; if so, that plugin no longer holds it back."""

    def reject_waiting_pod(self, uid: str, plugin: str = "", reason: str = "") -> bool:
        """Whether a pod was waiting under that uid; if so, it is rejected."""

    def record_event(self, event: RecordedEvent) -> None:
        """Takes note of an event about an object."""


class NoScheduler:
    """The handle where no scheduler runs: no pod waits, and events go no further."""

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
    """What the scheduler changes in the cluster. Each call returns an error text, empty if it succeeded."""

    def bind(self, pod: Pod, node: str) -> str | None:
        """None: it is under way, and the scheduler will be told what came of it."""

    def update(self, manifest: Mapping[str, Any]) -> str:
        """Writes an object (a PersistentVolume or a claim, on the way to a bound pod)."""

    def evict(self, victims: Sequence[Pod], preemptor: Pod, node: str) -> str:
        """Deletes victims of preemption, with the condition that says so. An error is of one of them at least."""


class Onlooker:
    """The client of a scheduler that only looks. Victims of preemption are said to be gone, and are left alone."""

    _REFUSED = "this scheduler only looks"

    def bind(self, pod: Pod, node: str) -> str:
        return self._REFUSED

    def update(self, manifest: Mapping[str, Any]) -> str:
        return self._REFUSED

    def evict(self, victims: Sequence[Pod], preemptor: Pod, node: str) -> str:
        return ""


class SchedulerHandle(Handle, Protocol):
    """What built-in plugins are made with."""

    @property
    def table(self) -> NodeTable: ...

    @property
    def store(self) -> ObjectStore: ...

    @property
    def client(self) -> Client: ...

    def check(self, state: CycleState, pod: Pod, row: int) -> Status:
        """The verdict of all filters on one node as it stands in the table, pods nominated to it counted."""

    def judges_by_counts(self, state: CycleState, pod: Pod) -> bool:
        """Whether nodes that are the same in what is counted on them are the same to all filters of the pod."""

    def put_on(self, state: CycleState, pod: Pod, other: Pod, row: int) -> Status:
        """Adds another pod to a node, in the table and in the plugins' state, for a trial that the caller undoes."""

    def take_off(self, state: CycleState, pod: Pod, other: Pod, row: int) -> Status:
        """Takes another pod off its node, as `put_on` puts one on."""

    def is_evicted(self, uid: str) -> bool:
        """Whether that pod is being deleted to make room: this was asked for, and the pod is still there."""

    def is_preempting(self, uid: str) -> bool:
        """Whether that pod makes room for itself, and the API server has yet to hear of some of its victims."""

    def nominated_pods(self, node: str) -> Sequence[Pod]:
        """The pods that wait for room on that node."""

    def withdraw_nomination(self, pod: Pod) -> None:
        """The pod no longer waits for the node it was nominated to."""

    def preempt_waiting_pod(self, uid: str) -> bool:
        """Whether a pod was waiting for permission under that uid; if so, it goes back to the queue, to be retried."""

    def upcoming_pods(self, count: int) -> Sequence[Pod]:
        """At most so many of the pods that are tried next if nothing else happens, of any profile."""

    def activate(self, pod: Pod) -> None:
        """Tries a pod again as soon as possible, whatever it waits for."""
