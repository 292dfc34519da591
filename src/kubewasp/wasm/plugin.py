"""A wasm guest as a plugin of the scheduling framework: the same interfaces as any other plugin."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kubewasp.errors import KubewaspError
from kubewasp.framework.cluster_events import ALL_EVENTS, Action
from kubewasp.framework.config.model import ConfigError, Problem
from kubewasp.framework.cycle_state import StateKey
from kubewasp.framework.plugin import (
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
from kubewasp.wasm.answer_cache import SharedAnswers, Unshared
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.hook_results import known
from kubewasp.wasm.limits import Limits
from kubewasp.wasm.signing import PodSigner

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kubewasp.framework.config.model import WasmPluginSettings
    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.state.node_table import NodeTable
    from kubewasp.wasm.guest_cycle import Cycle

logger = logging.getLogger(__name__)

# Which exported hook makes a guest take part in which extension point.
_POINTS = {
    "preenqueue": "preEnqueue",
    "queuesort": "queueSort",
    "prefilter": "preFilter",
    "signpod": "preFilter",
    "filter": "filter",
    "postfilter": "postFilter",
    "prescore": "preScore",
    "score": "score",
    "reserve": "reserve",
    "unreserve": "reserve",
    "permit": "permit",
    "prebind": "preBind",
    "bind": "bind",
    "postbind": "postBind",
}


_BINDING_HOOKS = ("reserve", "unreserve", "permit", "prebind", "bind", "postbind")


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
    """Has all extension points; the profile asks only those whose hooks the guest exports."""

    def __init__(self, name: str, guest: Guest, handle: SchedulerHandle) -> None:
        self.name = name
        self.guest = guest
        self._handle = handle
        self._shared = SharedAnswers()
        self._signer = PodSigner(guest, handle) if "signpod" in guest.hooks else None
        self._taken: StateKey[Cycle] = StateKey(name)
        self._guest_state = StateKey[GuestState](name)
        self._signed = StateKey[int](f"{name}: signature")
        self._scored: StateKey[Rows] = StateKey(f"{name}: scored rows")
        self._unprepared: StateKey[Rows | None] = StateKey(f"{name}: rows to be scored")
        self._has_states = "clonestate" in guest.hooks
        # Whether the guest has a say after a node was chosen; if not, its instance need not wait for the pod.
        self._is_bound = any(hook in guest.hooks for hook in _BINDING_HOOKS)
        self._prepares_score_only = not self._is_bound and "normalizescore" not in guest.hooks
        guest.handle = handle

    @property
    def shared_answers(self) -> int:
        """How often what the guest had said of nodes before was all that was needed."""
        return self._shared.hits

    def _cycle(self, state: CycleState, pod: Pod) -> Cycle:
        """The pod's instance; a guest sees `prefilter` first, whatever it is asked for."""
        cycle = state.shared(self._taken)
        if cycle is None:
            cycle = self._begin(state, pod)
            if "prefilter" in self.guest.hooks:
                cycle.prefilter()
        if self._has_states:
            if self._guest_state not in state:  # the instance was taken in a trial
                state[self._guest_state] = GuestState(cycle)
            state[self._guest_state].select()
        return cycle

    def _changing(self, state: CycleState, pod: Pod) -> Cycle:
        """The pod's instance, about to change what it remembers in this state and in no other."""
        cycle = self._cycle(state, pod)
        if self._has_states:
            state[self._guest_state].own()
        return cycle

    def _signature(self, state: CycleState) -> int:
        """That of the pod, if the guest gave it one; else the one that holds for all pods."""
        cycle = state.shared(self._taken)
        if cycle is not None:
            return cycle.signature
        return state.get(self._signed) or self.guest.signature

    def _begin(self, state: CycleState, pod: Pod) -> Cycle:
        cycle = self.guest.cycle(pod, self._handle.table)
        cycle.signature = state.get(self._signed) or cycle.signature
        state.share(self._taken, cycle, until_chosen=not self._is_bound)
        if self._has_states:
            state[self._guest_state] = GuestState(cycle)
        return cycle

    def _missing(self, node: str) -> Status:
        """A node may be deleted while a pod waits to go there: a guest cannot be asked about it."""
        return SUCCESS if self._handle.table.row(node) is not None else Status(Code.ERROR, f'node "{node}" not found')

    # ------------------------------------------------------------------ scheduling cycle

    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult:
        if self._signer is not None:
            status, state[self._signed] = self._signer.sign(pod)
            if "prefilter" not in self.guest.hooks or not status.is_success:
                return PreFilterResult(known(status))
        result = self._begin(state, pod).prefilter()
        names = None if result.node_names is None else frozenset(result.node_names)
        return PreFilterResult(known(result.status), names)

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, row: int, table: NodeTable) -> Status:
        if "addpod" not in self.guest.hooks:
            return SUCCESS
        return known(self._changing(state, pod).add_pod(added.encoded, table.node(row).name).status)

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, row: int, table: NodeTable) -> Status:
        if "removepod" not in self.guest.hooks:
            return SUCCESS
        return known(self._changing(state, pod).remove_pod(removed.encoded, table.node(row).name).status)

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        signature = self._signature(state)
        if signature:
            try:
                return self._shared.filter(signature, lambda: self._cycle(state, pod), table, rows)
            except Unshared:
                pass  # and is asked directly
        calls = self._cycle(state, pod).call_rows("filter", rows)
        if not np.count_nonzero(calls.values):
            return None
        # A verdict is a pair of code and reason; each pair that occurs gets a number.
        failing = calls.values != 0
        pairs, places = np.unique(calls.values[failing] << 32 | calls.reason_numbers[failing], return_inverse=True)
        numbers = np.zeros(len(rows), np.int64)
        numbers[failing] = places + 1
        return Verdicts(numbers, [SUCCESS, *(_status(pair, calls.reasons) for pair in pairs.tolist())])

    def post_filter(
        self, state: CycleState, pod: Pod, table: NodeTable, statuses: Mapping[str, Status]
    ) -> PostFilterResult:
        codes = {name: int(status.code) for name, status in statuses.items()}
        result = self._cycle(state, pod).postfilter(codes)
        nominated = result.nominated_node if result.nominating_mode == 1 else None
        return PostFilterResult(known(result.status), nominated)

    def pre_score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status:
        """What the guest prepares here, it needs only if it is asked about a node: for alike pods, it seldom is."""
        signature = self._signature(state)
        if signature and self._prepares_score_only and self._shared.is_prepared(signature):
            state[self._unprepared] = rows
            return SUCCESS
        status = known(self._cycle(state, pod).prescore_rows(rows).status)
        if signature and status.is_success:
            self._shared.prepared(signature)
        return status

    def _scoring(self, state: CycleState, pod: Pod) -> Cycle:
        """The pod's instance, prepared to score. One that fails in that fails in scoring as well."""
        cycle = self._cycle(state, pod)
        rows = state.get(self._unprepared)
        if rows is not None:
            state[self._unprepared] = None
            cycle.prescore_rows(rows)
        return cycle

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        if "normalizescore" in self.guest.hooks:
            state[self._scored] = rows
        signature = self._signature(state)
        if signature:
            try:
                return self._shared.score(signature, lambda: self._scoring(state, pod), table, rows)
            except Unshared:
                pass  # and is asked directly
        calls = self._scoring(state, pod).call_rows("score", rows)
        codes = calls.values.astype(np.int32)
        if np.count_nonzero(codes):
            first = int(np.flatnonzero(codes)[0])
            number = int(calls.reason_numbers[first])
            return Status(Code.ERROR, calls.reasons[number - 1] if number else code_label(int(codes[first])))
        return calls.values >> 32

    def normalize(self, state: CycleState, pod: Pod, scores: Scores) -> Scores | Status:
        if "normalizescore" not in self.guest.hooks:
            return scores
        result, normalized = self._cycle(state, pod).normalize_rows(state[self._scored], scores)
        return normalized if result.status.is_success else known(result.status)

    # ------------------------------------------------------------------ binding

    def reserve(self, state: CycleState, pod: Pod, node: str) -> Status:
        if "reserve" not in self.guest.hooks:  # it only gives back
            return SUCCESS
        return known(self._cycle(state, pod).reserve(node).status)

    def unreserve(self, state: CycleState, pod: Pod, node: str) -> None:
        if "unreserve" in self.guest.hooks and self._missing(node).is_success:
            self._cycle(state, pod).unreserve(node)

    def permit(self, state: CycleState, pod: Pod, node: str) -> tuple[Status, float]:
        result = self._cycle(state, pod).permit(node)
        return known(result.status), result.timeout_ms / 1000

    def pre_bind(self, state: CycleState, pod: Pod, node: str) -> Status:
        missing = self._missing(node)
        return missing if not missing.is_success else known(self._cycle(state, pod).prebind(node).status)

    def bind(self, state: CycleState, pod: Pod, node: str) -> Status:
        missing = self._missing(node)
        return missing if not missing.is_success else known(self._cycle(state, pod).bind(node).status)

    def post_bind(self, state: CycleState, pod: Pod, node: str) -> None:
        if self._missing(node).is_success:
            self._cycle(state, pod).postbind(node)

    # ------------------------------------------------------------------ queue

    def pre_enqueue(self, pod: Pod) -> Status:
        with self.guest.cycle(pod, self._handle.table) as cycle:
            return known(cycle.preenqueue().status)

    def sort_key(self, pod: Pod, queued_at: float) -> tuple[int, bytes, float]:
        """What the guest says; pods that it fails on come last. Among equals, who came first is first."""
        clock = self._handle.clock
        with self.guest.cycle(pod, self._handle.table) as cycle:
            result = cycle.queuesort(clock.wall() - clock.now() + queued_at)
        if result.status.is_success and not cycle.failed:
            return 0, result.key, queued_at
        logger.error("%s: no sort key for pod %s: %s", self.name, pod.key, result.reason)
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
        kind = "Pod" if isinstance(old or new, Pod) else resource  # the queue has more than one word for pods
        with self.guest.cycle(pod, self._handle.table) as cycle:
            return cycle.queueinghint(kind, action, _encoded(old), _encoded(new)).queue


class GuestLoader:
    """Makes plugins of the `pluginConfig` entries that have a `guestURL`; a guest is loaded once."""

    def __init__(self) -> None:
        self._guests: dict[tuple[str, int], tuple[WasmPluginSettings, Guest]] = {}

    def points(self, name: str, settings: WasmPluginSettings) -> Collection[str]:
        return {_POINTS[hook] for hook in self._guest(name, settings).hooks if hook in _POINTS}

    def create(self, name: str, settings: WasmPluginSettings, handle: SchedulerHandle) -> WasmPlugin:
        return WasmPlugin(name, self._guest(name, settings), handle)

    def _guest(self, name: str, settings: WasmPluginSettings) -> Guest:
        key = (name, id(settings))  # kept with the guest, so that the id stays theirs
        if key not in self._guests:
            try:
                self._guests[key] = settings, _load(name, settings)
            except KubewaspError as error:
                raise ConfigError([Problem("", f'plugin "{name}": {error}')]) from None
        return self._guests[key][1]


def _load(name: str, settings: WasmPluginSettings) -> Guest:
    return Guest.load(
        settings.guest_url,
        name=name,
        sha256=settings.sha256 or None,
        config=settings.guest_config,
        log_severity=settings.log_severity,
        args=settings.args,
        limits=Limits.from_config(settings.limits),
        failure_policy=settings.failure_policy,
    )


class GuestState:
    """A cycle state inside a guest, as it stands in a `CycleState`. A clone shares it until one of them changes it."""

    def __init__(self, cycle: Cycle, version: _Version | None = None) -> None:
        self._cycle = cycle
        # The first one is never changed: what a trial begins with must be there for the next one.
        self._version = version or _Version(0, users=1)
        self._version.users += 1

    def clone(self) -> GuestState:
        return GuestState(self._cycle, self._version)

    def select(self) -> None:
        self._cycle.select_state(self._version.number)

    def own(self) -> None:
        """Makes a copy of the state if others use it too, and selects it."""
        if self._version.users > 1:
            self._version.users -= 1
            self._version = _Version(self._cycle.clone_state(self._version.number), users=1)
        self.select()

    def __del__(self) -> None:
        self._version.users -= 1
        if not self._version.users and self._version.number:
            self._cycle.forget_state(self._version.number)


@dataclass(slots=True)
class _Version:
    """A state that the guest keeps under a number, and how many use it."""

    number: int
    users: int = 0


def _encoded(item: Any) -> bytes:
    return item.encoded if isinstance(item, Pod | Node) else b""


def _status(pair: int, reasons: Sequence[str]) -> Status:
    number = pair & 0xFFFFFFFF
    return known(Status(pair >> 32, reasons[number - 1] if number else ""))
