"""One pod's cycle in a guest, from PreFilter to PostBind.  HOT PATH (guard: make counts).

The caller calls the hooks, in the order of the scheduling framework (evaluation.py is an example). A hook that fails
(trap, timeout, overrun) breaks the instance: the failure policy answers for it and for all later hooks.
"""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
import orjson

from kubewasp.framework.cluster_events import RESOURCES
from kubewasp.framework.messages import invalid_score
from kubewasp.framework.plugin import MAX_SCORE, MIN_SCORE
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.wasm import hooks as slots
from kubewasp.wasm import payloads
from kubewasp.wasm.guest_runner import encoded_pod, no_outcome
from kubewasp.wasm.hook_caller import HookCaller
from kubewasp.wasm.hook_results import (
    AnnotatedResult,
    HintResult,
    HookResult,
    NodeScores,
    NodeStatuses,
    NormalizeResult,
    PermitResult,
    PostFilterHookResult,
    PreFilterHookResult,
    SignResult,
    SortResult,
    Trace,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from numpy.typing import NDArray

    from kubewasp.framework.cluster_events import ClusterEvent
    from kubewasp.framework.handle import Handle
    from kubewasp.state.node_objects import Nodes
    from kubewasp.state.node_table import NodeTable
    from kubewasp.wasm.guest import Guest
    from kubewasp.wasm.guest_runner import AnyPod, GuestRunner, HookOutcome

logger = logging.getLogger(__name__)

_LONGEST_KEY = 1024
_64_BITS = 2**64 - 1


class GuestCycle:
    """The hooks of a guest for one pod; use it in a `with` statement.

    It has a method per hook of the framework, and so more than 25. Calls themselves are HookCaller's job (`hooks`),
    cycle states CycleStates' (`states`).
    """

    def __init__(self, guest: Guest, pod: AnyPod, nodes: Nodes, table: NodeTable | None, handle: Handle) -> None:
        self.guest = guest
        self.pod = pod
        self.nodes = nodes
        # Pods with equal signatures get equal answers of filter and score for the same node; 0 is no signature.
        self.signature = guest.signature
        self.has_changed_pods = False  # other pods were added or removed, for a trial
        self._signs = guest.module.uses_signatures
        self.hooks = HookCaller(guest, pod, nodes, table, handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.hooks.close()

    def close(self) -> None:
        """Ends the cycle; the instance goes back to the pool."""
        self.hooks.close()

    @property
    def runner(self) -> GuestRunner:
        return self.hooks.runner

    @cached_property
    def states(self) -> CycleStates:
        """The cycle states of a guest that has them."""
        return CycleStates(self.hooks)

    @property
    def failed(self) -> bool:
        """Whether a hook has failed: the guest is not called again, the failure policy answers."""
        return self.hooks.failure is not None

    # ------------------------------------------------------------------ queue

    def enqueue(self) -> tuple[tuple[ClusterEvent, ...], HookResult]:
        """The cluster events that may make a pod schedulable."""
        outcome, status = self.hooks.call("enqueue")
        events: tuple[ClusterEvent, ...] = ()
        if status.is_success:
            try:
                events = payloads.cluster_events(outcome.received.get(slots.CLUSTER_EVENTS, b""))
            except payloads.PayloadError as error:
                status = self.hooks.reject_payload("enqueue", str(error))
        return events, HookResult(status, _trace(outcome))

    def preenqueue(self) -> HookResult:
        return self._called("preenqueue")

    def queuesort(self, queued_at: float) -> SortResult:
        """The pod's sort key in the queue; `queued_at` is a wall-clock time."""
        if self.hooks.failure is None:
            self.runner.inputs.set_queued_at(queued_at)
        outcome, status = self.hooks.call("queuesort")
        key = outcome.received.get(slots.SORT_KEY, b"")
        if len(key) > _LONGEST_KEY and not self.failed:
            cause = f"a sort key of {len(key)} bytes is over the limit of {_LONGEST_KEY}"
            status = self.hooks.reject_payload("queuesort", cause)
        return SortResult(status, _trace(outcome), key=key)

    def queueinghint(self, resource: str, action: int, old: bytes = b"", new: bytes = b"") -> HintResult:
        """Whether the event may make the pod schedulable; it may, if the guest fails."""
        if self.hooks.failure is None:
            inputs = self.runner.inputs
            inputs.set_event(RESOURCES.index(resource) if resource in RESOURCES else len(RESOURCES) - 1, action)
            inputs.set_value(slots.EVENT_OLD, old)
            inputs.set_value(slots.EVENT_NEW, new)
        outcome, status = self.hooks.call("queueinghint")
        if self.failed:
            return HintResult(status, _trace(outcome), queue=True)
        return HintResult(SUCCESS, _trace(outcome), queue=bool(outcome.values[0]))

    # ------------------------------------------------------------------ scheduling cycle

    def signpods(self, pods: Sequence[AnyPod]) -> SignResult:
        """The signatures of pods. Discards the guest's state of this cycle's pod."""
        outcome, status = self.hooks.sign(pods)
        if self.failed:
            return SignResult(status, _trace(outcome))
        return SignResult(SUCCESS, _trace(outcome), tuple(value & _64_BITS for value in outcome.values.tolist()))

    def prefilter(self) -> PreFilterHookResult:
        hooks = self.hooks
        if self._signs and hooks.failure is None:
            hooks.runner.take_signature()
        outcome, status = hooks.call("prefilter")
        if self._signs and hooks.failure is None:
            self.signature = hooks.runner.take_signature() or self.signature
        names = None
        if status.is_success:
            try:
                names = payloads.node_names(outcome.received.get(slots.NODE_NAMES), len(self.nodes))
            except payloads.PayloadError as error:
                status = hooks.reject_payload("prefilter", str(error))
        return PreFilterHookResult(status, _trace(outcome), node_names=names)

    def add_pod(self, target: AnyPod, node: str) -> HookResult:
        return self._with_target("addpod", target, node)

    def remove_pod(self, target: AnyPod, node: str) -> HookResult:
        return self._with_target("removepod", target, node)

    def filter(self, nodes: Sequence[str] | None = None) -> NodeStatuses:
        """The verdicts on the given nodes, or on all."""
        names, outcome = self._for_nodes("filter", nodes)
        return NodeStatuses(
            names, outcome.values, outcome.reason_numbers, tuple(outcome.reasons), _trace(outcome), outcome.hints
        )

    def postfilter(self, statuses: Mapping[str, int]) -> PostFilterHookResult:
        """`statuses` has the status code of each rejected node."""
        nodes = self.nodes
        self.hooks.offer(slots.NODE_STATUSES, lambda: orjson.dumps(dict(statuses)))
        self.hooks.offer(slots.ROW_STATUSES, lambda: _row_statuses(nodes, statuses))
        outcome, status = self.hooks.call("postfilter")
        value = int(outcome.values[0]) if len(outcome.values) else 0
        nominated = outcome.received.get(slots.NOMINATED_NODE, b"").decode("utf-8", "replace")
        return PostFilterHookResult(status, _trace(outcome), nominated_node=nominated, nominating_mode=value >> 32)

    def prescore(self, feasible: Sequence[str] | None = None) -> HookResult:
        return self.prescore_rows(self.hooks.rows(feasible if feasible is not None else tuple(self.nodes)))

    def prescore_rows(self, rows: NDArray[np.int64]) -> HookResult:
        """`prescore` by row."""
        nodes = self.nodes
        self.hooks.offer(slots.FILTERED_NODES, lambda: orjson.dumps(_names(nodes, rows)))
        self.hooks.offer(slots.FEASIBLE_ROWS, lambda: rows.astype("<i4").tobytes())
        outcome, status = self.hooks.call("prescore")
        return HookResult(status, _trace(outcome))

    def score(self, nodes: Sequence[str] | None = None) -> NodeScores:
        """The raw scores of the given nodes, or of all."""
        names, outcome = self._for_nodes("score", nodes)
        codes = outcome.values.astype(np.int32).astype(np.int64)
        return NodeScores(
            names, codes, outcome.reason_numbers, tuple(outcome.reasons), _trace(outcome), scores=outcome.values >> 32
        )

    def normalize_score(self, scores: Mapping[str, int]) -> NormalizeResult:
        """The normalized scores, by node."""
        rows = self.hooks.rows(tuple(scores))
        result, values = self.normalize_rows(rows, np.fromiter(scores.values(), np.int64, len(scores)))
        return NormalizeResult(result.status, result.trace, scores=dict(zip(scores, values.tolist(), strict=True)))

    def normalize_rows(
        self, rows: NDArray[np.int64], scores: NDArray[np.int64]
    ) -> tuple[HookResult, NDArray[np.int64]]:
        """`normalize_score` by row: the hook's result, and a score per row. A declared normalization needs no guest."""
        declared = self.guest.normalization
        if declared is not None:
            return HookResult(SUCCESS, _NO_TRACE), declared.of(scores)
        nodes = self.nodes
        self.hooks.offer(slots.FEASIBLE_ROWS, lambda: rows.astype("<i4").tobytes())
        self.hooks.offer(slots.NODE_SCORES, lambda: orjson.dumps(_by_name(nodes, rows, scores)))
        if self.hooks.failure is None:
            self.runner.inputs.set_scores(scores)
        outcome, status = self.hooks.call("normalizescore")
        placed = None if self.hooks.failure is not None else self.runner.inputs.take_scores()
        normalized = scores if placed is None else placed
        if status.is_success and not self.failed:
            try:
                normalized = _normalized(outcome, nodes, rows, normalized)
            except payloads.PayloadError as error:
                status = self.hooks.reject_payload("normalizescore", str(error))
        if self.failed:
            normalized = np.zeros_like(scores)  # as without the plugin; the raw scores may have any size
        return HookResult(status, _trace(outcome)), normalized

    # ------------------------------------------------------------------ binding cycle

    def reserve(self, node: str) -> AnnotatedResult:
        return self._annotating("reserve", node)

    def unreserve(self, node: str) -> HookResult:
        """A failure is logged and has no other effect."""
        return self._without_effect("unreserve", node)

    def permit(self, node: str) -> PermitResult:
        outcome, status = self.hooks.call("permit", node)
        value = int(outcome.values[0]) if len(outcome.values) else 0
        return PermitResult(status, _trace(outcome), timeout_ms=value & 0xFFFFFFFF)

    def prebind(self, node: str) -> AnnotatedResult:
        return self._annotating("prebind", node)

    def bind(self, node: str) -> HookResult:
        return self._called("bind", node)

    def postbind(self, node: str) -> HookResult:
        """A failure is logged and has no other effect."""
        return self._without_effect("postbind", node)

    # ------------------------------------------------------------------ calls

    def _called(self, hook: str, node: str | None = None) -> HookResult:
        outcome, status = self.hooks.call(hook, node)
        return HookResult(status, _trace(outcome))

    def _annotating(self, hook: str, node: str) -> AnnotatedResult:
        outcome, status = self.hooks.call(hook, node)
        annotations = outcome.annotations if status.is_success and outcome.failure is None else {}
        return AnnotatedResult(status, _trace(outcome), annotations=annotations)

    def _without_effect(self, hook: str, node: str) -> HookResult:
        result = self._called(hook, node)
        if not result.status.is_success:
            logger.error("Guest hook failed", extra={"plugin": self.guest.name, "hook": hook, "cause": result.reason})
        return result

    def _with_target(self, hook: str, target: AnyPod, node: str) -> HookResult:
        encoded = encoded_pod(target)
        self.signature = 0  # other pods may change the guest's answers from here on
        self.has_changed_pods = True
        if self.hooks.failure is not None:
            return self._called(hook, node)
        inputs = self.runner.inputs
        inputs.set_value(slots.TARGET_POD, encoded)
        try:
            return self._called(hook, node)
        finally:
            inputs.set_value(slots.TARGET_POD, None)

    def _for_nodes(self, hook: str, nodes: Sequence[str] | None) -> tuple[tuple[str, ...], HookOutcome]:
        if nodes is not None:
            names = tuple(nodes)
            return names, self.hooks.call_rows(hook, self.hooks.rows(names))
        names = tuple(self.nodes)
        return names, self.hooks.call_rows(hook, len(names) if self.nodes.is_dense else self.nodes.rows())


class CycleStates:
    """Cycle states inside a guest, by number; 0 is the first."""

    def __init__(self, hooks: HookCaller) -> None:
        self._hooks = hooks
        self._newest = 0
        self._selected = 0
        self._forgotten: list[int] = []

    def clone(self, number: int) -> int:
        """Copies a state; returns the number of the copy."""
        self.select(number)  # first, as the selected one may be among the forgotten
        while self._forgotten:
            self._call("dropstate", self._forgotten.pop())
        self._newest += 1
        self._call("clonestate", self._newest)
        return self._newest

    def select(self, number: int) -> None:
        """Selects the state of the hooks that follow."""
        if number != self._selected:
            self._call("selectstate", number)
            self._selected = number

    def forget(self, number: int) -> None:
        """Drops a state, with the next `clone`."""
        self._forgotten.append(number)

    def _call(self, hook: str, number: int) -> None:
        if self._hooks.failure is None:
            self._hooks.runner.inputs.set_state(number)
            self._hooks.call(hook)


def check_range(plugin: str, scores: NDArray[np.int64]) -> Status:
    """Success if all normalized scores are between 0 and 100."""
    wrong = scores[(scores < MIN_SCORE) | (scores > MAX_SCORE)]
    if len(wrong):
        return Status(Code.ERROR, invalid_score(plugin, int(wrong[0]), MIN_SCORE, MAX_SCORE))
    return SUCCESS


def _trace(outcome: HookOutcome) -> Trace:
    return Trace(outcome.log, outcome.recorded, outcome.output, outcome.seconds)


_NO_TRACE = _trace(no_outcome())


def _names(nodes: Nodes, rows: NDArray[np.int64]) -> list[str]:
    return [nodes.name(row) or "" for row in rows.tolist()]


def _by_name(nodes: Nodes, rows: NDArray[np.int64], scores: NDArray[np.int64]) -> dict[str, int]:
    return dict(zip(_names(nodes, rows), scores.tolist(), strict=True))


def _row_statuses(nodes: Nodes, statuses: Mapping[str, int]) -> bytes:
    pairs = [(row, code) for name, code in statuses.items() if (row := nodes.row(name)) is not None]
    return np.array(pairs, "<i4").tobytes()


def _normalized(
    outcome: HookOutcome, nodes: Nodes, rows: NDArray[np.int64], scores: NDArray[np.int64]
) -> NDArray[np.int64]:
    if slots.NORMALIZED_ROWS in outcome.received:
        return payloads.row_scores(outcome.received[slots.NORMALIZED_ROWS], len(rows))
    sent = outcome.received.get(slots.NORMALIZED_SCORES)
    if sent is None:
        return scores
    named = _by_name(nodes, rows, scores)
    normalized = payloads.normalized_scores(sent, named)
    return np.fromiter((normalized[name] for name in named), np.int64, len(rows))
