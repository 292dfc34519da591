"""A wasm guest as a plugin of the scheduling framework.  HOT PATH (guard: make counts)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from kubewasp.framework.cluster_events import ALL_EVENTS, Action
from kubewasp.framework.cycle_state import StateKey
from kubewasp.framework.plugin import (
    BindingResult,
    BindPlugin,
    EnqueueExtensions,
    FilterPlugin,
    PermitPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueueSortPlugin,
    Registration,
    ReservePlugin,
    ScorePlugin,
    Verdicts,
)
from kubewasp.framework.status import SUCCESS, Code, Status, code_label
from kubewasp.k8s.nodes import Node
from kubewasp.k8s.pods import Pod
from kubewasp.wasm.answer_cache import AnswerCache, NotCacheable
from kubewasp.wasm.answer_sharing import AnswerSharing
from kubewasp.wasm.hook_results import known
from kubewasp.wasm.pod_cycles import PodCycles
from kubewasp.wasm.pod_signer import PodSigner
from kubewasp.wasm.purity import CHECK_EVERY, PurePods

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.state.node_table import NodeTable
    from kubewasp.wasm.guest import Guest
    from kubewasp.wasm.guest_cycle import GuestCycle
    from kubewasp.wasm.guest_runner import HookOutcome
    from kubewasp.wasm.hook_results import AnnotatedResult

logger = logging.getLogger(__name__)


class WasmPlugin(
    PreEnqueuePlugin,
    QueueSortPlugin,
    PreFilterPlugin,
    FilterPlugin,
    PostFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    ReservePlugin,
    PermitPlugin,
    PreBindPlugin,
    BindPlugin,
    PostBindPlugin,
    EnqueueExtensions,
):
    """Implements all extension points; a profile has it at those whose hooks the guest exports.

    It has a method per hook of the framework, and so more than 25.
    """

    def __init__(self, name: str, guest: Guest, handle: SchedulerHandle, *, check_every: int = CHECK_EVERY) -> None:
        self.name = name
        self.guest = guest
        self._handle = handle
        self._cycles = PodCycles(name, guest, handle)
        self._cached = AnswerCache()
        self._pure = PurePods(name, guest, guest.purity, handle, check_every) if guest.purity is not None else None
        self._sharing = AnswerSharing(self._cycles, self._pure, handle)
        self._signer = PodSigner(guest, handle) if "signpod" in guest.hooks else None
        self._scored: StateKey[Rows] = StateKey(f"{name}: scored rows")
        self._unprepared: StateKey[Rows | None] = StateKey(f"{name}: rows to be scored")
        self._normalizes_by_hook = "normalizescore" in guest.hooks
        self._prepares_score_only = not self._cycles.is_bound and not self._normalizes_by_hook

    @property
    def shared_answers(self) -> int:
        """Number of answers for all nodes that came from the cache alone."""
        return self._cached.hits

    def _missing(self, node: str) -> Status:
        """An error for a node that was deleted while the pod waited: guests have no view of it."""
        return SUCCESS if self._handle.table.row(node) is not None else Status(Code.ERROR, f'node "{node}" not found')

    def close(self) -> None:
        """Drops the cached answers. The guest may have other plugins, and is closed by its owner."""
        self._handle.table.cache.forget([self._cached])

    # ------------------------------------------------------------------ scheduling cycle

    def asks_each_node(self, state: CycleState) -> bool:
        return not self._cycles.signature(state) and self._sharing.pure_pods(state) is None

    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult:
        if self._signer is not None:
            status, state[self._cycles.signature_key] = self._signer.sign(pod)
            if "prefilter" not in self.guest.hooks or not status.is_success:
                return PreFilterResult(known(status))
        if self._pure is None:
            return self._prefiltered(state, pod)
        shared = self._sharing.of(state, pod)
        if shared is None or shared.of_nodes:
            return self._prefiltered(state, pod)
        kept = self._cached.prefiltered(shared.key)
        if kept is not None and not self._pure.is_checked(state):
            return kept
        result = self._prefiltered(state, pod)
        self._sharing.learn(state)
        shared = self._sharing.of(state, pod)  # the guest may have read more
        cycle = self._cycles.begun(state)
        if shared is None or shared.of_nodes or cycle is None or cycle.failed:
            return result
        kept = self._cached.prefiltered(shared.key)
        if kept is not None and kept != result:
            self._pure.refute(pod, "prefilter", "", _shown(kept), _shown(result))
        self._cached.keep_prefiltered(shared.key, result)
        return result

    def _prefiltered(self, state: CycleState, pod: Pod) -> PreFilterResult:
        result = self._cycles.begin(state, pod).prefilter()
        names = None if result.node_names is None else frozenset(result.node_names)
        return PreFilterResult(known(result.status), names)

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, row: int, table: NodeTable) -> Status:
        if "addpod" not in self.guest.hooks:
            return SUCCESS
        return known(self._cycles.changing(state, pod).add_pod(added.encoded, table.node(row).name).status)

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, row: int, table: NodeTable) -> Status:
        if "removepod" not in self.guest.hooks:
            return SUCCESS
        return known(self._cycles.changing(state, pod).remove_pod(removed.encoded, table.node(row).name).status)

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        shared = self._sharing.of(state, pod)
        if shared is None:
            return self._filtered(state, pod, rows)
        try:
            kept = self._cached.filter(shared, lambda: self._cycles.cycle(state, pod), table, rows)
        except NotCacheable:
            return self._filtered(state, pod, rows)  # the guest is called directly
        self._sharing.learn(state)
        if not self._sharing.is_checked(state, shared):
            return kept
        asked = self._filtered(state, pod, rows)
        pairs = zip(_statuses(kept, len(rows)), _statuses(asked, len(rows)), strict=True)
        self._sharing.compare(state, pod, "filter", rows, pairs)
        return asked

    def _filtered(self, state: CycleState, pod: Pod, rows: Rows) -> Verdicts | None:
        outcome = self._cycles.cycle(state, pod).hooks.call_rows("filter", rows)
        if not np.count_nonzero(outcome.values):
            return None
        # A verdict is a pair of code and reason; each pair that occurs gets a number.
        failing = outcome.values != 0
        pairs, places = np.unique(outcome.values[failing] << 32 | outcome.reason_numbers[failing], return_inverse=True)
        numbers = np.zeros(len(rows), np.int64)
        numbers[failing] = places + 1
        return Verdicts(numbers, [SUCCESS, *(_status(pair, outcome) for pair in pairs.tolist())])

    def post_filter(
        self, state: CycleState, pod: Pod, table: NodeTable, statuses: Mapping[str, Status]
    ) -> PostFilterResult:
        codes = {name: int(status.code) for name, status in statuses.items()}
        result = self._cycles.cycle(state, pod).postfilter(codes)
        nominated = result.nominated_node if result.nominating_mode == 1 else None
        return PostFilterResult(known(result.status), nominated)

    def pre_score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status:
        """Postponed for pods whose scores are likely cached: the guest prepares scoring only if it has to score."""
        shared = self._sharing.of(state, pod)
        if shared is not None and self._prepares_score_only and self._cached.is_prepared(shared.key):
            state[self._unprepared] = rows
            return SUCCESS
        status = known(self._cycles.cycle(state, pod).prescore_rows(rows).status)
        self._sharing.learn(state)
        shared = self._sharing.of(state, pod)
        if shared is not None and status.is_success:
            self._cached.prepared(shared.key)
        return status

    def _scoring(self, state: CycleState, pod: Pod) -> GuestCycle:
        """The pod's cycle after `prescore`. If that fails, scoring fails as well."""
        cycle = self._cycles.cycle(state, pod)
        rows = state.get(self._unprepared)
        if rows is not None:
            state[self._unprepared] = None
            cycle.prescore_rows(rows)
        return cycle

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        if self._normalizes_by_hook:
            state[self._scored] = rows
        shared = self._sharing.of(state, pod)
        if shared is None:
            return self._scored_rows(state, pod, rows)
        try:
            kept = self._cached.score(shared, lambda: self._scoring(state, pod), table, rows)
        except NotCacheable:
            return self._scored_rows(state, pod, rows)  # the guest is called directly
        self._sharing.learn(state)
        if not self._sharing.is_checked(state, shared):
            return kept
        asked = self._scored_rows(state, pod, rows)
        if not isinstance(asked, Status):
            self._sharing.compare(state, pod, "score", rows, zip(kept.tolist(), asked.tolist(), strict=True))
        return asked

    def _scored_rows(self, state: CycleState, pod: Pod, rows: Rows) -> Scores | Status:
        outcome = self._scoring(state, pod).hooks.call_rows("score", rows)
        codes = outcome.values.astype(np.int32)
        if np.count_nonzero(codes):
            first = int(np.flatnonzero(codes)[0])
            number = int(outcome.reason_numbers[first])
            return Status(Code.ERROR, outcome.reasons[number - 1] if number else code_label(int(codes[first])))
        return outcome.values >> 32

    def normalize(self, state: CycleState, pod: Pod, scores: Scores) -> Scores | Status:
        if not self._normalizes_by_hook:
            declared = self.guest.normalization
            return scores if declared is None else declared.of(scores)
        result, normalized = self._cycles.cycle(state, pod).normalize_rows(state[self._scored], scores)
        return normalized if result.status.is_success else known(result.status)

    # ------------------------------------------------------------------ binding

    def reserve(self, state: CycleState, pod: Pod, node: str) -> Status | BindingResult:
        if "reserve" not in self.guest.hooks:  # the guest has `unreserve` only
            return SUCCESS
        return _binding_result(self._cycles.cycle(state, pod).reserve(node))

    def unreserve(self, state: CycleState, pod: Pod, node: str) -> None:
        if "unreserve" in self.guest.hooks and self._missing(node).is_success:
            self._cycles.cycle(state, pod).unreserve(node)

    def permit(self, state: CycleState, pod: Pod, node: str) -> tuple[Status, float]:
        result = self._cycles.cycle(state, pod).permit(node)
        return known(result.status), result.timeout_ms / 1000

    def pre_bind(self, state: CycleState, pod: Pod, node: str) -> Status | BindingResult:
        missing = self._missing(node)
        return missing if not missing.is_success else _binding_result(self._cycles.cycle(state, pod).prebind(node))

    def bind(self, state: CycleState, pod: Pod, node: str) -> Status:
        missing = self._missing(node)
        status = missing if not missing.is_success else known(self._cycles.cycle(state, pod).bind(node).status)
        if status.is_success and state.annotations:  # a guest has no way to write them
            lost = {"plugin": self.name, "pod": pod.key, "annotations": ", ".join(state.annotations)}
            logger.warning("Binding annotations lost: a guest has bound the pod", extra=lost)
        return status

    def post_bind(self, state: CycleState, pod: Pod, node: str) -> None:
        if self._missing(node).is_success:
            self._cycles.cycle(state, pod).postbind(node)

    # ------------------------------------------------------------------ queue

    def pre_enqueue(self, pod: Pod) -> Status:
        with self._cycles.new(pod) as cycle:
            return known(cycle.preenqueue().status)

    def sort_key(self, pod: Pod, queued_at: float) -> tuple[int, bytes, float]:
        """The guest's sort key, then the time of queueing. Pods for which the guest fails come last."""
        clock = self._handle.clock
        with self._cycles.new(pod) as cycle:
            result = cycle.queuesort(clock.wall() - clock.now() + queued_at)
        if result.status.is_success and not cycle.failed:
            return 0, result.key, queued_at
        logger.error("No sort key", extra={"plugin": self.name, "pod": pod.key, "cause": result.reason})
        return 1, b"", queued_at

    def events(self) -> Sequence[Registration]:
        hints = "queueinghint" in self.guest.hooks
        if self.guest.cluster_events == ALL_EVENTS:
            found = [("*", Action.ALL)]
        else:
            found = [(event.resource, Action(event.action & Action.ALL)) for event in self.guest.cluster_events]
        hint = self._hint if hints else None
        return [Registration(resource, actions, event_hint=hint) for resource, actions in found]

    def _hint(self, pod: Pod, resource: str, action: Action, old: Any, new: Any) -> bool:
        kind = "Pod" if isinstance(old or new, Pod) else resource  # the queue has several resource names for pods
        with self._cycles.new(pod) as cycle:
            return cycle.queueinghint(kind, action, _encoded(old), _encoded(new)).queue


def _statuses(verdicts: Verdicts | None, count: int) -> Sequence[Status]:
    """The status of each row."""
    if verdicts is None:
        return [SUCCESS] * count
    return [verdicts.statuses[number] for number in verdicts.numbers.tolist()]


def _shown(result: PreFilterResult) -> str:
    nodes = "" if result.nodes is None else f" with {len(result.nodes)} nodes"
    return f"{result.status}{nodes}"


def _encoded(item: Any) -> bytes:
    return item.encoded if isinstance(item, Pod | Node) else b""


def _binding_result(result: AnnotatedResult) -> Status | BindingResult:
    status = known(result.status)
    return BindingResult(status, result.annotations) if result.annotations else status


def _status(pair: int, outcome: HookOutcome) -> Status:
    number = pair & 0xFFFFFFFF
    reason, hint = outcome.reasons[number - 1] if number else "", outcome.hints.get(number, "")
    return known(Status(pair >> 32, reason, hint=hint))
