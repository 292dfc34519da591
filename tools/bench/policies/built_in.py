"""The policies in the style of built-in plugins: numpy over the columns of the node table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kubewasp.framework.cycle_state import StateKey
from kubewasp.framework.plugin import FilterPlugin, PreScorePlugin, ScorePlugin, Verdicts
from kubewasp.framework.status import SUCCESS, Status
from kubewasp.k8s.resources import CPU
from tools.bench.policies.constants import CLOSED, CLOSED_LABEL, FAVOURED_ZONE, FULL, ZONE, last_digit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable

_DIGIT = StateKey[int]("nodenumber")


class NodeNumber(PreScorePlugin, ScorePlugin):
    """Digits of node names are cached; only changed nodes are read again."""

    name = "nodenumber"

    def pre_score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status:
        state[_DIGIT] = last_digit(pod.name)
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        wanted = state[_DIGIT]
        if wanted < 0:
            return np.zeros(len(rows), np.int64)
        digits = table.cache.get(self.name, lambda some: _digits(table, some), of_nodes=True)
        return np.where(digits[rows] == wanted, np.int64(10), np.int64(0))


class LabelCpu(ScorePlugin):
    """Two columns."""

    name = "label-cpu"

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        zones = table.label(ZONE)
        favoured = zones.ids[rows] == zones.find(FAVOURED_ZONE)
        scores: Scores = table.requested[CPU][rows] % 49 + 50 * favoured
        return scores


class FilterReasons(FilterPlugin):
    """Three columns."""

    name = "filter-reasons"
    _STATUSES = (SUCCESS, CLOSED, FULL)

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        closed = table.label(CLOSED_LABEL)
        is_closed = closed.ids[rows] == closed.find("true")
        is_full = 5 * table.requested[CPU][rows] > 4 * table.allocatable[CPU][rows]
        numbers = np.where(is_closed, 1, 2 * is_full)
        return Verdicts(numbers, self._STATUSES) if np.count_nonzero(numbers) else None


def _digits(table: NodeTable, rows: Rows) -> NDArray[np.int8]:
    return np.fromiter((last_digit(table.node(row).name) for row in rows.tolist()), np.int8, len(rows))
