"""DynamicResources: rejects pods with resource claims, which are not supported yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.cycle_state import StateKey
from kubewasp.framework.plugin import (
    EnqueueExtensions,
    FilterPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    Registration,
    ReservePlugin,
    ScorePlugin,
    Verdicts,
    rejection,
)
from kubewasp.framework.status import SUCCESS, Code, Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable

_SEEN = StateKey[bool]("DynamicResources")


class DynamicResources(
    PreEnqueuePlugin,
    PreFilterPlugin,
    FilterPlugin,
    PostFilterPlugin,
    ScorePlugin,
    ReservePlugin,
    PreBindPlugin,
    EnqueueExtensions,
):
    """For pods without claims, the results of kube-scheduler's plugin: Skip, score 0, nothing to deallocate."""

    name = "DynamicResources"

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        pass

    def pre_enqueue(self, pod: Pod) -> Status:
        if pod.spec.has_claims:
            return rejection("resource claims are not supported by kubewasp yet", resolvable=False)
        return SUCCESS

    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult:
        state[_SEEN] = True
        return PreFilterResult(Status(Code.SKIP))

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        return None

    def post_filter(
        self, state: CycleState, pod: Pod, table: NodeTable, statuses: Mapping[str, Status]
    ) -> PostFilterResult:
        if _SEEN not in state:
            return PostFilterResult(Status(Code.ERROR, "not found"))
        return PostFilterResult(rejection("no new claims to deallocate", resolvable=True))

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        return np.zeros(len(rows), np.int64)

    def reserve(self, state: CycleState, pod: Pod, node: str) -> Status:
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node: str) -> None:
        pass

    def pre_bind(self, state: CycleState, pod: Pod, node: str) -> Status:
        return SUCCESS

    def events(self) -> Sequence[Registration]:
        return [Registration("Node", Action.ADD)]
