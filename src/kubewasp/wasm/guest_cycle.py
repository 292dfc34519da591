"""One pod on one instance, from PreFilter to PostBind.  HOT PATH.

The hooks are called by the caller, in the order of the scheduling framework; evaluation.py shows that order. A hook
that fails (trap, timeout, overrun) breaks the instance: the failure policy then answers for it and for all later ones.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Self

import numpy as np
import orjson

from kubewasp.errors import KubewaspError
from kubewasp.framework.cluster_events import RESOURCES
from kubewasp.framework.messages import invalid_score
from kubewasp.framework.plugin import MAX_SCORE, MIN_SCORE
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.wasm import hook_runner as slots
from kubewasp.wasm import payloads
from kubewasp.wasm.core.abi import HOOKS
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.failures import HookFailure, failure
from kubewasp.wasm.hook_results import (
    HintResult,
    HookResult,
    NodeScores,
    NodeStatuses,
    NormalizeResult,
    PermitResult,
    PostFilterResult,
    PreFilterResult,
    SignResult,
    SortResult,
    Trace,
)
from kubewasp.wasm.pod_input import encoded_pod

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from numpy.typing import NDArray

    from kubewasp.framework.cluster_events import ClusterEvent
    from kubewasp.state.node_objects import Nodes
    from kubewasp.state.node_table import NodeTable
    from kubewasp.wasm.guest import Guest
    from kubewasp.wasm.hook_runner import AnyPod, Calls, Runner

logger = logging.getLogger(__name__)

# What a failed hook answers under `failurePolicy: Ignore`: as if the plugin were not there.
_LONGEST_KEY = 1024
_64_BITS = 2**64 - 1
_IGNORED = {"prescore": Code.SKIP, "bind": Code.SKIP, "postfilter": Code.UNSCHEDULABLE}


class NoSuchHookError(KubewaspError):
    """The guest does not export the hook that was asked for."""


class UnknownNodeError(KubewaspError):
    """A node that is not among those of the cycle."""


class Cycle:
    """The hooks of a guest for one pod. The instance goes back to the pool when the cycle is closed."""

    def __init__(self, guest: Guest, pod: AnyPod, nodes: Nodes, table: NodeTable | None = None) -> None:
        self.guest = guest
        self.pod = pod
        self.nodes = nodes
        self._states = 0
        self._forgotten: list[int] = []
        self._state = 0
        self._failure: HookFailure | None = None
        # Pods with the same one get the same answers of filter and score on the same node; 0 says nothing.
        self.signature = guest.signature
        self._signs = guest.program.uses_signatures
        self._runner: Runner | None = None
        try:
            self._runner = guest.pool.acquire()
        except GuestLoadError as error:  # it was loaded once, but does not start any more
            self._failure = HookFailure(str(error), str(error), "start")
            guest.observer.guest_failed(guest.name, "start", "start")
        else:
            self._runner.take_pod(pod, nodes, table)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._runner is not None:
            runner, self._runner = self._runner, None
            self.guest.pool.release(runner)

    @property
    def runner(self) -> Runner:
        if self._runner is None:
            raise KubewaspError(f'plugin "{self.guest.name}": the cycle is closed')
        return self._runner

    @property
    def failed(self) -> bool:
        """Whether a hook has failed: the guest is not called again, the failure policy answers."""
        return self._failure is not None

    # ------------------------------------------------------------------ hooks

    def enqueue(self) -> tuple[tuple[ClusterEvent, ...], HookResult]:
        calls, status = self._call("enqueue")
        events: tuple[ClusterEvent, ...] = ()
        if status.is_success:
            try:
                events = payloads.cluster_events(calls.received.get(slots.CLUSTER_EVENTS, b""))
            except payloads.PayloadError as error:
                status = self._broken("enqueue", str(error))
        return events, HookResult(status, _trace(calls))

    def prefilter(self) -> PreFilterResult:
        if self._signs and self._failure is None:
            self.runner.take_signature()
        calls, status = self._call("prefilter")
        if self._signs and self._failure is None:
            self.signature = self.runner.take_signature() or self.signature
        names = payloads.node_names(calls.received.get(slots.NODE_NAMES)) if status.is_success else None
        return PreFilterResult(status, _trace(calls), node_names=names)

    def signpods(self, pods: Sequence[AnyPod]) -> SignResult:
        """The signatures of those pods. What the guest has prepared for the pod of this cycle is lost."""
        self._exported("signpod")
        if self._failure is not None:
            return SignResult(self._policy("signpod", self._failure))
        calls = self.runner.sign(pods)
        self._record("signpod", calls)
        if calls.failure is not None:
            return SignResult(self._policy("signpod", calls.failure), _trace(calls))
        return SignResult(SUCCESS, _trace(calls), tuple(value & _64_BITS for value in calls.values.tolist()))

    def preenqueue(self) -> HookResult:
        calls, status = self._call("preenqueue")
        return HookResult(status, _trace(calls))

    def queuesort(self, queued_at: float) -> SortResult:
        """The key by which the pod is queued; `queued_at` is a wall-clock time."""
        if self._failure is None:
            self.runner.set_queued_at(queued_at)
        calls, status = self._call("queuesort")
        key = calls.received.get(slots.SORT_KEY, b"")
        if len(key) > _LONGEST_KEY and not self.failed:
            status = self._broken("queuesort", f"a sort key of {len(key)} bytes is over the limit of {_LONGEST_KEY}")
        return SortResult(status, _trace(calls), key=key)

    def queueinghint(self, resource: str, action: int, old: bytes = b"", new: bytes = b"") -> HintResult:
        """Whether that event may help the pod. Where the guest cannot tell, it may."""
        if self._failure is None:
            number = RESOURCES.index(resource) if resource in RESOURCES else len(RESOURCES) - 1
            self.runner.set_event(number, action)
            self.runner.set_value(slots.EVENT_OLD, old)
            self.runner.set_value(slots.EVENT_NEW, new)
        calls, status = self._call("queueinghint")
        if self.failed:
            return HintResult(status, _trace(calls), queue=True)
        return HintResult(SUCCESS, _trace(calls), queue=bool(calls.values[0]))

    def clone_state(self, number: int) -> int:
        """A copy of that cycle state, under a number of its own."""
        self.select_state(number)  # first, as the current one may be among the forgotten
        while self._forgotten:
            self._about_state("dropstate", self._forgotten.pop())
        self._states += 1
        self._about_state("clonestate", self._states)
        return self._states

    def select_state(self, number: int) -> None:
        """The cycle state that the hooks use from now on."""
        if number != self._state:
            self._about_state("selectstate", number)
            self._state = number

    def forget_state(self, number: int) -> None:
        """That state is not used any more; the guest hears of it with the next one that is copied."""
        self._forgotten.append(number)

    def _about_state(self, hook: str, number: int) -> None:
        if self._failure is None:
            self.runner.set_state(number)
            self._call(hook)

    def add_pod(self, target: AnyPod, node: str) -> HookResult:
        return self._with_target("addpod", target, node)

    def remove_pod(self, target: AnyPod, node: str) -> HookResult:
        return self._with_target("removepod", target, node)

    def filter(self, nodes: Sequence[str] | None = None) -> NodeStatuses:
        """The verdict on those nodes, or on all."""
        names, calls = self._call_nodes("filter", nodes)
        return NodeStatuses(names, calls.values, calls.reason_numbers, tuple(calls.reasons), _trace(calls))

    def postfilter(self, statuses: Mapping[str, int]) -> PostFilterResult:
        """`statuses` tells the code with which each node was rejected."""
        self._offer(slots.NODE_STATUSES, lambda: orjson.dumps(dict(statuses)))
        self._offer(slots.ROW_STATUSES, lambda: self._row_statuses(statuses))
        calls, status = self._call("postfilter")
        value = int(calls.values[0]) if len(calls.values) else 0
        nominated = calls.received.get(slots.NOMINATED_NODE, b"").decode("utf-8", "replace")
        return PostFilterResult(status, _trace(calls), nominated_node=nominated, nominating_mode=value >> 32)

    def prescore(self, feasible: Sequence[str] | None = None) -> HookResult:
        return self.prescore_rows(self._rows(feasible if feasible is not None else tuple(self.nodes)))

    def prescore_rows(self, rows: NDArray[np.int32]) -> HookResult:
        self._offer(slots.FILTERED_NODES, lambda: orjson.dumps(self._names(rows)))
        self._offer(slots.FEASIBLE_ROWS, lambda: rows.astype("<i4").tobytes())
        calls, status = self._call("prescore")
        return HookResult(status, _trace(calls))

    def score(self, nodes: Sequence[str] | None = None) -> NodeScores:
        """The scores of those nodes, or of all, as the guest gives them."""
        names, calls = self._call_nodes("score", nodes)
        codes = calls.values.astype(np.int32).astype(np.int64)
        return NodeScores(
            names, codes, calls.reason_numbers, tuple(calls.reasons), _trace(calls), scores=calls.values >> 32
        )

    def normalize_score(self, scores: Mapping[str, int]) -> NormalizeResult:
        """The scores after the guest has seen all of them."""
        rows = self._rows(tuple(scores))
        result, values = self.normalize_rows(rows, np.fromiter(scores.values(), np.int64, len(scores)))
        return NormalizeResult(result.status, result.trace, scores=dict(zip(scores, values.tolist(), strict=True)))

    def normalize_rows(
        self, rows: NDArray[np.int32], scores: NDArray[np.int64]
    ) -> tuple[HookResult, NDArray[np.int64]]:
        """The same, by row: what the hook said, and a score for each row."""
        self._offer(slots.FEASIBLE_ROWS, lambda: rows.astype("<i4").tobytes())
        self._offer(slots.NODE_SCORES, lambda: orjson.dumps(self._by_name(rows, scores)))
        self._offer(slots.ROW_SCORES, lambda: scores.astype("<i8").tobytes())
        calls, status = self._call("normalizescore")
        normalized = scores
        if status.is_success and not self.failed:
            try:
                normalized = self._normalized(calls, rows, scores)
            except payloads.PayloadError as error:
                status = self._broken("normalizescore", str(error))
            else:
                status = check_range(self.guest.name, normalized)
        if self.failed:
            normalized = np.zeros_like(scores)  # those of a guest that is not there; its own may be of any size
        return HookResult(status, _trace(calls)), normalized

    def _normalized(self, calls: Calls, rows: NDArray[np.int32], scores: NDArray[np.int64]) -> NDArray[np.int64]:
        if slots.NORMALIZED_ROWS in calls.received:
            return payloads.row_scores(calls.received[slots.NORMALIZED_ROWS], len(rows))
        sent = calls.received.get(slots.NORMALIZED_SCORES)
        if sent is None:
            return scores
        named = self._by_name(rows, scores)
        normalized = payloads.normalized_scores(sent, named)
        return np.fromiter((normalized[name] for name in named), np.int64, len(rows))

    def reserve(self, node: str) -> HookResult:
        return self._on_node("reserve", node)

    def unreserve(self, node: str) -> HookResult:
        """A failure is logged and has no other effect."""
        return self._without_effect("unreserve", node)

    def permit(self, node: str) -> PermitResult:
        calls, status = self._call("permit", node)
        value = int(calls.values[0]) if len(calls.values) else 0
        return PermitResult(status, _trace(calls), timeout_ms=value & 0xFFFFFFFF)

    def prebind(self, node: str) -> HookResult:
        return self._on_node("prebind", node)

    def bind(self, node: str) -> HookResult:
        return self._on_node("bind", node)

    def postbind(self, node: str) -> HookResult:
        """A failure is logged and has no other effect."""
        return self._without_effect("postbind", node)

    # ------------------------------------------------------------------ how they are called

    def _names(self, rows: NDArray[np.int32]) -> list[str]:
        return [self.nodes.name(row) or "" for row in rows.tolist()]

    def _by_name(self, rows: NDArray[np.int32], scores: NDArray[np.int64]) -> dict[str, int]:
        return dict(zip(self._names(rows), scores.tolist(), strict=True))

    def _row_statuses(self, statuses: Mapping[str, int]) -> bytes:
        pairs = [(row, code) for name, code in statuses.items() if (row := self.nodes.row(name)) is not None]
        return np.array(pairs, "<i4").tobytes()

    def _rows(self, names: Sequence[str]) -> NDArray[np.int32]:
        return np.fromiter(map(self._row, names), np.int32, len(names))

    def _offer(self, slot: int, value: Callable[[], bytes]) -> None:
        """What a getter answers, made only if the guest asks."""
        if self._failure is None:
            self.runner.set_filler(slot, value)

    def _on_node(self, hook: str, node: str) -> HookResult:
        calls, status = self._call(hook, node)
        return HookResult(status, _trace(calls))

    def _without_effect(self, hook: str, node: str) -> HookResult:
        result = self._on_node(hook, node)
        if not result.status.is_success:
            logger.error("failed %s: %s", hook, result.reason)
        return result

    def _with_target(self, hook: str, target: AnyPod, node: str) -> HookResult:
        encoded = encoded_pod(target)
        self.signature = 0  # what it says of other pods may change its answers from here on
        if self._failure is not None:
            return self._on_node(hook, node)
        self.runner.set_value(slots.TARGET_POD, encoded)
        try:
            return self._on_node(hook, node)
        finally:
            self.runner.set_value(slots.TARGET_POD, None)

    def _call(self, hook: str, node: str | None = None) -> tuple[Calls, Status]:
        wanted = self._exported(hook)
        row = -1
        if node is not None:
            row = self._row(node)
        if self._failure is not None:
            return _nothing(), self._policy(hook, self._failure)
        calls = self.runner.call(HOOKS[hook], row=row)
        self._record(hook, calls)
        if calls.failure is not None:
            return calls, self._policy(hook, calls.failure)
        value = int(calls.values[0])
        code = value >> 32 if wanted == "permit" else _low(value)
        reason = calls.reasons[-1] if calls.reasons and calls.reason_numbers[0] else ""
        return calls, Status(code, reason) if code != Code.SUCCESS else SUCCESS

    def _call_nodes(self, hook: str, nodes: Sequence[str] | None) -> tuple[tuple[str, ...], Calls]:
        if nodes is not None:
            names = tuple(nodes)
            return names, self.call_rows(hook, self._rows(names))
        names = tuple(self.nodes)
        return names, self.call_rows(hook, len(names) if self.nodes.is_dense else self.nodes.rows())

    def call_rows(self, hook: str, rows: NDArray[np.int32] | int) -> Calls:
        """The raw answers for those rows, or the first so many; where the guest failed, the policy's from there on."""
        self._exported(hook)
        if self._failure is not None:
            calls = _nothing()
        else:
            calls = self.runner.call_rows(HOOKS[hook], rows)
            self._record(hook, calls)
        missing = (rows if isinstance(rows, int) else len(rows)) - len(calls.values)
        if self._failure is not None and missing:
            status = self._policy(hook, self._failure)
            calls.reasons.append(status.reason)
            calls.values = np.concatenate([calls.values, np.full(missing, status.code)])
            calls.reason_numbers = np.concatenate([calls.reason_numbers, np.full(missing, len(calls.reasons))])
            if hook == "score" and status.is_success:
                calls.values[:] = 0  # points for some of the nodes would favour them
        return calls

    def _exported(self, hook: str) -> str:
        if hook not in self.guest.hooks:
            raise NoSuchHookError(
                f'plugin "{self.guest.name}" does not export {hook}; it has {", ".join(self.guest.hooks)}'
            )
        return hook

    def _row(self, node: str) -> int:
        row = self.nodes.row(node)
        if row is None:
            raise UnknownNodeError(f'there is no node "{node}" among the {len(self.nodes)} nodes given')
        return row

    def _record(self, hook: str, calls: Calls) -> None:
        """Takes note of a failure, and passes on what was logged and recorded."""
        for line in calls.logs:
            self.guest.link.log(line)
        try:
            calls.recorded = payloads.recorded_events(calls.events)
        except payloads.PayloadError as error:
            if calls.failure is None:
                calls.failure = failure(hook, self.guest.name, "payload", str(error))
                calls.values, calls.reason_numbers = calls.values[:0], calls.reason_numbers[:0]
                self.runner.broken = True
        for event in calls.recorded:
            self.guest.handle.record_event(event)
        kind = ""
        if calls.failure is not None:
            self._failure = calls.failure
            kind = calls.failure.kind
        self.guest.observer.guest_call(self.guest.name, hook, calls.seconds, kind)

    def _broken(self, hook: str, cause: str) -> Status:
        self._failure = failure(hook, self.guest.name, "payload", cause)
        self.guest.observer.guest_failed(self.guest.name, hook, "payload")
        self.runner.broken = True
        return self._policy(hook, self._failure)

    def _policy(self, hook: str, failed: HookFailure) -> Status:
        if self.guest.failure_policy == "Fail":
            return Status(Code.ERROR, failed.text)
        logger.warning("%s: failure of %s ignored: %s", self.guest.name, hook, failed.cause)
        code = _IGNORED.get(hook, Code.SUCCESS)
        return Status(code, failed.text) if code != Code.SUCCESS else SUCCESS


def _trace(calls: Calls) -> Trace:
    return Trace(tuple(calls.logs), calls.recorded, calls.output, calls.seconds)


def _low(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def _nothing() -> Calls:
    none = np.zeros(0, np.int64)
    return slots.Calls(none, none, [])


def check_range(plugin: str, scores: NDArray[np.int64]) -> Status:
    """Scores must lie between 0 and 100 once they are normalized."""
    wrong = scores[(scores < MIN_SCORE) | (scores > MAX_SCORE)]
    if len(wrong):
        return Status(Code.ERROR, invalid_score(plugin, int(wrong[0]), MIN_SCORE, MAX_SCORE))
    return SUCCESS
