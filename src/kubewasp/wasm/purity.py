"""Pure guests: guests whose answers depend on the pod and on one node with its pods.  HOT PATH (guard: make counts).

A pure guest is asked again about nodes that have changed since it answered for an equal pod (answer_cache.py). Pods are
equal by the fields that the guest has read so far. A field that it reads for the first time makes other keys, so an
answer that depends on that field is never found under a key without it.

The declaration is checked on some pods by asking all the same. A difference refutes it: the guest is asked each time
from then on.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from kubewasp.framework.cluster_events import ObjectReference, RecordedEvent
from kubewasp.framework.cycle_state import StateKey
from kubewasp.wasm.pod_fields import PodFields, key_of

if TYPE_CHECKING:
    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.k8s.pods import Pod
    from kubewasp.wasm.guest import Guest
    from kubewasp.wasm.guest_cycle import GuestCycle
    from kubewasp.wasm.guest_runner import Purity

logger = logging.getLogger(__name__)

# One of so many pods is checked.
CHECK_EVERY: Final = 128
REFUTED: Final = "ImpurePlugin"


class _Key(NamedTuple):
    pod: Pod
    fields: PodFields
    key: tuple[PodFields, bytes]


class PurePods:
    """The pods of a pure guest, for one plugin of one profile."""

    def __init__(self, plugin: str, guest: Guest, purity: Purity, handle: SchedulerHandle, check_every: int) -> None:
        self._plugin = plugin
        self._guest = guest
        self._purity = purity
        self._handle = handle
        self._check_every = check_every
        self._pods = 0
        self._key: StateKey[_Key] = StateKey(f"{plugin}: key")
        self._is_checked: StateKey[bool] = StateKey(f"{plugin}: checked")

    @property
    def is_believed(self) -> bool:
        return self._purity.is_believed

    def is_checked(self, state: CycleState) -> bool:
        """Whether this pod is a check: the guest is asked about it in any case."""
        known = state.get(self._is_checked)
        if known is None:
            self._pods += 1
            known = state[self._is_checked] = self._pods % self._check_every == 0
        return known

    def key(self, state: CycleState, pod: Pod) -> tuple[PodFields, bytes]:
        """The key of a pod by all fields that the guest has read so far."""
        fields = self._purity.fields
        known = state.get(self._key)
        if known is not None and known.pod is pod and known.fields == fields:
            return known.key
        key = (fields, key_of(pod, fields))
        state[self._key] = _Key(pod, fields, key)
        return key

    def learn(self, cycle: GuestCycle | None) -> None:
        """Adds the fields that the guest has read in this cycle."""
        if cycle is not None and self._purity.reports and not cycle.failed:
            self._purity.add(cycle.runner.pod_fields())

    def refute(self, pod: Pod, hook: str, node: str, kept: str, asked: str) -> None:
        """Ends the sharing of answers: an answer that was kept for equal pods differs from that for this one."""
        where = f"{hook} of node {node}" if node else hook
        text = f"declares itself pure, but {where} is {asked}, and was {kept} for an equal pod and the same node"
        self._purity.refutation = f"{text} (pod {pod.key})"
        fields = {"plugin": self._plugin, "hook": hook, "pod": pod.key, "node": node, "kept": kept, "asked": asked}
        logger.error("Plugin is not pure: it is asked about every node from now on", extra=fields)
        self._guest.observer.guest_failed(self._plugin, hook, "impure")
        regarding = ObjectReference("Pod", "v1", pod.name, pod.namespace, pod.uid)
        note = f"Plugin {self._plugin} {text}; it is asked about every node from now on"
        self._handle.record_event(RecordedEvent(regarding, ObjectReference(), "Warning", REFUTED, "Scheduling", note))
