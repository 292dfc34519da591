"""A wasm guest as a plugin of the scheduling framework: the same interfaces as any other plugin."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from kubewasp.framework.config import ConfigError, Problem
from kubewasp.framework.events import ALL_EVENTS, Action
from kubewasp.framework.plugin import (
    BindPlugin,
    EnqueueExtensions,
    FilterPlugin,
    PermitPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Registration,
    ReservePlugin,
    ScorePlugin,
    Verdicts,
)
from kubewasp.framework.status import SUCCESS, Code, Status, code_label
from kubewasp.wasm.errors import KubewaspError
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.limits import Limits
from kubewasp.wasm.results import known
from kubewasp.wasm.sharing import SharedAnswers, Unshared

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kubewasp.cluster.table import NodeTable
    from kubewasp.framework.config import WasmPluginSettings
    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.k8s.pods import Pod
    from kubewasp.wasm.cycle import Cycle

# Which exported hook makes a guest take part in which extension point.
_POINTS = {
    "prefilter": "preFilter",
    "filter": "filter",
    "postfilter": "postFilter",
    "prescore": "preScore",
    "score": "score",
    "reserve": "reserve",
    "permit": "permit",
    "prebind": "preBind",
    "bind": "bind",
    "postbind": "postBind",
}


class WasmPlugin(
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
        self._scored = f"{name}: scored nodes"
        guest.handle = handle

    def _cycle(self, state: CycleState, pod: Pod) -> Cycle:
        """The pod's instance; a guest sees `prefilter` first, whatever it is asked for."""
        cycle: Cycle | None = state.shared(self.name)
        if cycle is None:
            cycle = self._begin(state, pod)
            if "prefilter" in self.guest.hooks:
                cycle.prefilter()
        return cycle

    def _signature(self, state: CycleState) -> int:
        """That of the pod, if the guest has seen it; else the one that holds for all pods."""
        cycle: Cycle | None = state.shared(self.name)
        return self.guest.signature if cycle is None else cycle.signature

    def _begin(self, state: CycleState, pod: Pod) -> Cycle:
        cycle = self.guest.cycle(pod.encoded, self._handle.table.objects)
        state.share(self.name, cycle)
        return cycle

    def _missing(self, node: str) -> Status:
        """A node may be deleted while a pod waits to go there: a guest cannot be asked about it."""
        return SUCCESS if self._handle.table.row(node) is not None else Status(Code.ERROR, f'node "{node}" not found')

    # ------------------------------------------------------------------ scheduling cycle

    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult:
        result = self._begin(state, pod).prefilter()
        names = None if result.node_names is None else frozenset(result.node_names)
        return PreFilterResult(known(result.status), names)

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, row: int, table: NodeTable) -> Status:
        if "addpod" not in self.guest.hooks:
            return SUCCESS
        return known(self._cycle(state, pod).add_pod(added.encoded, table.node(row).name).status)

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, row: int, table: NodeTable) -> Status:
        if "removepod" not in self.guest.hooks:
            return SUCCESS
        return known(self._cycle(state, pod).remove_pod(removed.encoded, table.node(row).name).status)

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        signature = self._signature(state)
        if signature:
            with suppress(Unshared):
                return self._shared.filter(signature, lambda: self._cycle(state, pod), table, rows)
        calls = self._cycle(state, pod).call_rows("filter", rows)
        if not calls.values.any():
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
        names = [table.node(row).name for row in rows.tolist()]
        return known(self._cycle(state, pod).prescore(names).status)

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        if "normalizescore" in self.guest.hooks:
            state[self._scored] = [table.node(row).name for row in rows.tolist()]
        signature = self._signature(state)
        if signature:
            with suppress(Unshared):
                return self._shared.score(signature, lambda: self._cycle(state, pod), table, rows)
        calls = self._cycle(state, pod).call_rows("score", rows)
        codes = calls.values.astype(np.int32)
        if codes.any():
            first = int(np.flatnonzero(codes)[0])
            number = int(calls.reason_numbers[first])
            return Status(Code.ERROR, calls.reasons[number - 1] if number else code_label(int(codes[first])))
        return calls.values >> 32

    def normalize(self, state: CycleState, pod: Pod, scores: Scores) -> Scores | Status:
        if "normalizescore" not in self.guest.hooks:
            return scores
        names = state[self._scored]
        result = self._cycle(state, pod).normalize_score(dict(zip(names, scores.tolist(), strict=True)))
        if not result.status.is_success:
            return known(result.status)
        return np.fromiter((result.scores[name] for name in names), np.int64, len(names))

    # ------------------------------------------------------------------ binding

    def reserve(self, state: CycleState, pod: Pod, node: str) -> Status:
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

    def events(self) -> Sequence[Registration]:
        if self.guest.cluster_events == ALL_EVENTS:
            return [Registration("*", Action.ALL)]
        return [Registration(event.resource, Action(event.action & Action.ALL)) for event in self.guest.cluster_events]


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


def _status(pair: int, reasons: Sequence[str]) -> Status:
    number = pair & 0xFFFFFFFF
    return known(Status(pair >> 32, reasons[number - 1] if number else ""))
