"""The hand-written guest with host functions in Python: a guest call for each node, a Python call for each question.

`nodenumber` keeps to the classic ABI. The other two ask for what is requested on a node, which the classic ABI does not
have: the host answers those questions of our extension in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from kubewasp.framework.cycle_state import StateKey
from kubewasp.framework.plugin import FilterPlugin, PreScorePlugin, ScorePlugin, Verdicts
from kubewasp.framework.status import SUCCESS, Status
from kubewasp.wasm.core.callback_host import CallbackHost
from kubewasp.wasm.core.core_engine import core_engine
from kubewasp.wasm.core.core_module import load_core_module
from kubewasp.wasm.limits import Limits
from tools.bench import guests
from tools.bench.forms.form import TableForm

if TYPE_CHECKING:
    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable
    from tools.bench.policies.clusters import Cluster

_POD: StateKey[Pod] = StateKey("callbacks: pod")


class Callbacks(TableForm):
    def __init__(self, policy: str, cluster: Cluster) -> None:
        super().__init__(policy, cluster)
        self._wasm = guests.guest(policy, "wat")

    def prepare(self) -> None:
        core_engine(Limits().stack)

    def make(self, *, use_cache: bool) -> CallbackPlugin:
        program = load_core_module(self._wasm.read_bytes(), Limits(), use_cache=use_cache)
        return CallbackPlugin(self.policy, CallbackHost(program), self.table)


class CallbackPlugin(FilterPlugin, PreScorePlugin, ScorePlugin):
    """A guest on a `CallbackHost`, as a plugin of the framework."""

    def __init__(self, name: str, host: CallbackHost, table: NodeTable) -> None:
        self.name = name
        self._host = host
        host.nodes, host.table = table.objects, table

    def pre_score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status:
        self._take(state, pod)
        return self._status(self._host.call("prescore"))

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        self._take(state, pod)
        host, nodes = self._host, table.objects
        statuses: list[Status] = [SUCCESS]
        known: dict[tuple[int, bytes], int] = {(0, b""): 0}
        numbers = np.zeros(len(rows), np.int64)
        for place, row in enumerate(rows.tolist()):
            found = host.call("filter", cast("str", nodes.name(row))), host.reason
            if found not in known:
                known[found] = len(statuses)
                statuses.append(self._status(found[0]))
            numbers[place] = known[found]
        return Verdicts(numbers, statuses) if len(statuses) > 1 else None

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        self._take(state, pod)
        host, nodes = self._host, table.objects
        scores = np.zeros(len(rows), np.int64)
        for place, row in enumerate(rows.tolist()):
            value = host.call("score", cast("str", nodes.name(row)))
            if value & 0xFFFFFFFF:
                return self._status(value & 0xFFFFFFFF)
            scores[place] = value >> 32
        return scores

    def _take(self, state: CycleState, pod: Pod) -> None:
        if _POD not in state:
            state[_POD] = pod
            self._host.pod = pod.encoded
            self._host.cycle += 1

    def _status(self, code: int) -> Status:
        return Status(code, self._host.reason.decode()) if code else SUCCESS
