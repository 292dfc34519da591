"""Interface between a pod's cycle and the two kinds of guests: runners of hooks, their inputs and their pool.

A core module has an instance per pod (core/core_instance.py). A component has one instance for many pods, and a session
per pod (component/session.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kubewasp.framework.normalization import Method, Normalization
from kubewasp.k8s.codec import decode, encode
from kubewasp.k8s.pods import Pod, PodParser
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest_log import NO_LOG, GuestLog
from kubewasp.wasm.hooks import MAIN_HOOKS
from kubewasp.wasm.pod_fields import NO_FIELDS, PodFields, without_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from kubewasp.framework.cluster_events import ClusterEvent, RecordedEvent
    from kubewasp.framework.handle import Handle
    from kubewasp.framework.plugin import Scores
    from kubewasp.state.node_objects import Nodes
    from kubewasp.state.node_table import NodeTable
    from kubewasp.wasm.hook_failures import HookFailure
    from kubewasp.wasm.hooks import Hook
    from kubewasp.wasm.repeatable import GuestSource, Repeatable

# A pod as callers have it: parsed, as a manifest, or as protobuf.
AnyPod = Pod | Mapping[str, Any] | bytes

# Above this share of its memory limit an instance is replaced between pods: some allocators never free anything.
HIGH_WATER = 0.75


def encoded_pod(pod: AnyPod) -> bytes:
    """The pod as protobuf."""
    if isinstance(pod, Pod):
        return pod.encoded
    return pod if isinstance(pod, bytes) else encode("Pod", pod)


def parsed_pod(pod: AnyPod) -> Pod:
    """The pod's scheduling view."""
    if isinstance(pod, Pod):
        return pod
    return PodParser().parse(decode("Pod", pod) if isinstance(pod, bytes) else pod)


def pod_key(pod: AnyPod) -> str:
    """The pod's namespace and name."""
    if isinstance(pod, Pod):
        return pod.key
    metadata = (decode("Pod", pod) if isinstance(pod, bytes) else pod).get("metadata") or {}
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name') or ''}"


@dataclass(slots=True)
class HookOutcome:
    """Outcome of a hook for one or more rows: a value per row, the reasons of those values, log and payloads.

    A value is packed as `hooks.Answer` describes. `reason_numbers` count from 1, 0 is no reason; `hints` has the
    hints of some reasons by number. After a failure there are values for the rows before it only.
    """

    values: NDArray[np.int64]
    reason_numbers: NDArray[np.int64]
    reasons: list[str]
    hints: dict[int, str] = field(default_factory=dict)
    log: GuestLog = NO_LOG
    received: dict[int, bytes] = field(default_factory=dict)
    events: list[bytes] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    recorded: tuple[RecordedEvent, ...] = ()
    output: str = ""
    seconds: float = 0.0
    failure: HookFailure | None = None


def no_outcome(count: int = 0) -> HookOutcome:
    """An outcome with that many values still to come."""
    values = np.zeros(count, np.int64)
    return HookOutcome(values, values, [])


class HookInputs(Protocol):
    """Data that a guest reads in its hooks."""

    def take_pod(self, pod: AnyPod, nodes: Nodes, table: NodeTable | None, handle: Handle) -> None:
        """Sets pod, nodes and scheduler of the hooks that follow; the table has pods and numbers of those nodes."""

    def sync(self) -> None:
        """Brings the guest's view of the nodes up to date; writes changes only."""

    def set_value(self, slot: int, value: bytes | None) -> None:
        """Sets the answer of a getter."""

    def set_filler(self, slot: int, filler: Callable[[], bytes]) -> None:
        """Sets the answer of a getter, computed on the guest's first use."""

    def set_scores(self, scores: Scores) -> None:
        """Sets the scores that `normalizescore` reads, in the order of the feasible rows."""

    def take_scores(self) -> Scores | None:
        """The scores that the guest has put in their place, if it has; removes them."""

    def set_state(self, number: int) -> None:
        """Sets the cycle state of clonestate, selectstate and dropstate."""

    def set_event(self, resource: int, action: int) -> None:
        """Sets the event of queueinghint."""

    def set_queued_at(self, seconds: float) -> None:
        """Sets the pod's time of queueing, for queuesort."""


class GuestRunner(Protocol):
    """Runs hooks for one pod, on one thread at a time. After a failure it is broken and must not be used again."""

    broken: bool

    @property
    def inputs(self) -> HookInputs: ...

    @property
    def memory_bytes(self) -> int:
        """Size of the guest's memory."""

    @property
    def fuel_burnt(self) -> int:
        """Fuel since the instance was created, in an engine that counts fuel; 0 in others."""

    def take_signature(self) -> int:
        """The pod's signature, if the guest has set one since the last call; 0 otherwise."""

    def pod_fields(self) -> PodFields:
        """The fields of pods that a pure guest has read in this instance."""

    def set_guest_global(self, name: str, value: int) -> None:
        """Sets an exported mutable global of the guest."""

    def call(self, hook: Hook, *, row: int = -1) -> HookOutcome:
        """Calls a hook once, with a current node or (-1) without."""

    def call_rows(self, hook: Hook, rows: NDArray[np.int64] | int) -> HookOutcome:
        """Calls a hook for the given rows, or for the first n rows."""

    def sign(self, pods: Sequence[AnyPod]) -> HookOutcome:
        """Calls `signpod` for each pod; a value is a signature. Discards the guest's state of its current pod."""


@dataclass(slots=True)
class PoolStats:
    """Counts of instances."""

    created: int = 0
    broken: int = 0
    recycled: int = 0


@dataclass(frozen=True, slots=True)
class GuestDescription:
    """A guest's description of itself, given when it starts.

    A signature here holds for all pods. `may_sign`: some pods may have one. With a declared normalization there is no
    hook for it.
    """

    hooks: tuple[str, ...]
    cluster_events: tuple[ClusterEvent, ...]
    signature: int = 0
    may_sign: bool = False
    normalization: Normalization | None = None
    purity: Purity | None = None
    start_log: GuestLog = NO_LOG


@dataclass(frozen=True, slots=True)
class GuestSettings:
    """Settings of a guest besides its limits: the plugin's name, its configuration, WASI arguments, log severity.

    A `repeatable` guest gets random numbers and time from there, and not from the machine.
    """

    name: str = "guest"
    config: str = ""
    args: Sequence[str] = ()
    log_severity: int = 0
    repeatable: Repeatable | None = None

    def source(self, instance: int) -> GuestSource | None:
        """Random numbers and time of an instance; None for those of the machine."""
        return None if self.repeatable is None else self.repeatable.source(self.name, instance)


class RunnerPool(Protocol):
    """Instances of one guest; may be used from any thread."""

    stats: PoolStats
    description: GuestDescription

    @property
    def memory_bytes(self) -> int:
        """Memory of all instances, as last measured; may be read from any thread."""

    def acquire(self) -> GuestRunner:
        """A runner for one pod; GuestLoadError if the guest does not start any more."""

    def release(self, runner: GuestRunner) -> None:
        """Takes a runner back at the end of the pod's binding cycle."""

    def close(self) -> None:
        """Frees the idle instances and keeps none from now on. Runners in use end with their pods."""


class Purity:
    """A guest's declaration, for all profiles: what it has read of pods, and whether the declaration still counts."""

    def __init__(self, *, reports: bool) -> None:
        self.reports = reports
        self.fields = NO_FIELDS if reports else without_names()
        self.refutation = ""

    @property
    def is_believed(self) -> bool:
        return not self.refutation

    def add(self, fields: PodFields) -> None:
        self.fields = self.fields.union(fields)


def declared_normalization(method: int, reverse: int, maximum: int, hooks: Sequence[str]) -> Normalization:
    """A normalization as a guest declares it; GuestLoadError if it is none, or has no use."""
    if "score" not in hooks:
        raise GuestLoadError("wasm: the guest declares a normalization, and implements no score")
    if "normalizescore" in hooks:
        raise GuestLoadError(
            "wasm: the guest declares a normalization, and implements normalizescore: remove one of them"
        )
    try:
        return Normalization(Method(method), bool(reverse), maximum)
    except ValueError as error:
        raise GuestLoadError(f"wasm: the guest declares an unknown normalization: {error}") from None


def checked_hooks(found: tuple[str, ...]) -> tuple[str, ...]:
    """The hooks that a guest reports as implemented; GuestLoadError if they make no plugin."""
    if not any(name in MAIN_HOOKS for name in found) and found != ("prefilter",):
        raise GuestLoadError(
            "wasm: guest says that it implements "
            f"{', '.join(found) or 'nothing'}; it takes one of {', '.join(MAIN_HOOKS)}, or prefilter alone"
        )
    return found
