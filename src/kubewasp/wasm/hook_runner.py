"""What a cycle needs of whatever runs a guest's hooks, and what it gets back.

There are two kinds: an instance of a core module, which serves one pod at a time (instance.py), and a pod's session
with a component, whose one instance serves many (component_session.py). A pool hands them out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from kubewasp.framework.cluster_events import ClusterEvent, RecordedEvent
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_objects import Nodes
    from kubewasp.state.node_table import NodeTable
    from kubewasp.wasm.core.abi import Hook
    from kubewasp.wasm.failures import HookFailure
    from kubewasp.wasm.klog import LogLine

    AnyPod = Pod | Mapping[str, Any] | bytes

# What getters answer, by slot; the adapter has the same order.
POD, TARGET_POD, CONFIG, FILTERED_NODES, NODE_STATUSES, NODE_SCORES = range(6)
# The same for kubewasp/v1, as numbers where the classic ABI has JSON.
POD_REQUESTS, FEASIBLE_ROWS, ROW_SCORES, ROW_STATUSES, EVENT_OLD, EVENT_NEW, WAITING_PODS = range(6, 13)
SLOTS = 13

# What hooks hand over besides their answer; the adapter has the same order.
CLUSTER_EVENTS, NODE_NAMES, NOMINATED_NODE, NORMALIZED_SCORES, EVENT, NORMALIZED_ROWS, SORT_KEY = range(7)


@dataclass(slots=True)
class Calls:
    """What a run of a hook gave: one value a row, the reasons they refer to, and what was said on the way.

    A value is packed as abi.Answer says; `reason_numbers` count from 1, 0 is no reason. After a failure there are only
    the values of the rows before it.
    """

    values: NDArray[np.int64]
    reason_numbers: NDArray[np.int64]
    reasons: list[str]
    logs: list[LogLine] = field(default_factory=list)
    received: dict[int, bytes] = field(default_factory=dict)
    events: list[bytes] = field(default_factory=list)
    recorded: tuple[RecordedEvent, ...] = ()
    output: str = ""
    seconds: float = 0.0
    failure: HookFailure | None = None


class Runner(Protocol):
    """Runs hooks for one pod, on one thread at a time. After a failure it is broken and must not be used again."""

    broken: bool

    @property
    def memory_bytes(self) -> int:
        """How much memory the guest has."""

    @property
    def fuel_burnt(self) -> int:
        """What the guest has done since it was made, in an engine that counts; else 0."""

    def take_pod(self, pod: AnyPod, nodes: Nodes, table: NodeTable | None) -> None:
        """The pod and the nodes that are asked about from now on; the table has pods and numbers of those nodes."""

    def sync(self) -> None:
        """Shows the guest the nodes as they are now. Only what changed since the last time is written."""

    def set_value(self, slot: int, value: bytes | None) -> None:
        """What a getter answers: the bytes, or nothing."""

    def set_filler(self, slot: int, filler: Callable[[], bytes]) -> None:
        """What a getter answers, made only if the guest asks."""

    def set_state(self, number: int) -> None:
        """The cycle state that clonestate, selectstate and dropstate are about."""

    def set_event(self, resource: int, action: int) -> None:
        """The event that queueinghint is about."""

    def set_queued_at(self, seconds: float) -> None:
        """When the pod was queued, for queuesort."""

    def take_signature(self) -> int:
        """What the guest said of the pod since it was last asked; 0 if nothing."""

    def set_guest_global(self, name: str, value: int) -> None:
        """Sets an exported mutable global of the guest."""

    def call(self, hook: Hook, *, row: int = -1) -> Calls:
        """Calls a hook once, with a node at hand or (-1) without."""

    def call_rows(self, hook: Hook, rows: NDArray[np.int32] | int) -> Calls:
        """Calls a hook for those rows, or for the first so many."""

    def sign(self, pods: Sequence[AnyPod]) -> Calls:
        """Calls `signpod` for those pods; a value is a signature. What the guest remembers of its own pod is gone."""


@dataclass(slots=True)
class PoolStats:
    """How instances came and went."""

    created: int = 0
    broken: int = 0
    recycled: int = 0


@dataclass(frozen=True, slots=True)
class Description:
    """What a guest says of itself when it starts."""

    hooks: tuple[str, ...]
    cluster_events: tuple[ClusterEvent, ...]
    signature: int = 0  # one that holds for all pods
    start_logs: tuple[LogLine, ...] = ()


class Pool(Protocol):
    """The instances of one guest; may be used from any thread."""

    stats: PoolStats
    description: Description

    @property
    def memory_bytes(self) -> int:
        """The memory of all instances, as far as it is known; may be asked from any thread."""

    def acquire(self) -> Runner:
        """Something to run one pod's hooks with; GuestLoadError if the guest does not start any more."""

    def release(self, runner: Runner) -> None:
        """To be called when the pod's binding cycle is over."""
