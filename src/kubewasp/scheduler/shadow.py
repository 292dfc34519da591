"""Shadow of a plugin: another version of it answers for the same pod and nodes, without influence.

HOT PATH (guard: make bars) while a rollout compares. Only the hooks of the other version run, and its verdicts and
weighted scores are exchanged for those of the plugin in use: if the same nodes stay feasible, the other choice is known
exactly. Otherwise the other plugins would have been asked about other nodes, and a whole cycle is run for comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.messages import invalid_score
from kubewasp.framework.plugin import MAX_SCORE, MIN_SCORE, Plugin
from kubewasp.framework.runtime import Framework, out_of_range
from kubewasp.framework.status import Code, Status
from kubewasp.scheduler.cycle import CycleTrace, SchedulingCycle, select
from kubewasp.scheduler.sampling import Rotation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.cycle import Choice
    from kubewasp.scheduler.preemption import Nominator
    from kubewasp.state.node_table import NodeTable

Kind = TypeVar("Kind", bound=Plugin)
# Extension points that a shadow runs: none of them has an effect on the cluster.
SHADOW_POINTS: Final = ("preFilter", "filter", "preScore", "score")


@dataclass(slots=True)
class Comparison:
    """The choices of two versions for one pod; an empty node means none.

    `nodes` have been judged by both, `verdicts` of them differently. `distance` is the mean distance of the scores,
    which are 0 to 100, over all scored nodes. `error` is a failure of the other version; the choice is then unknown.
    Whoever compares adds the times that both versions have taken.
    """

    pod: str
    node: str
    other: str = ""
    nodes: int = 0
    verdicts: int = 0
    distance: float = 0.0
    error: str = ""
    is_whole_cycle: bool = False
    seconds: float = 0.0
    stable_seconds: float = 0.0

    @property
    def is_other_node(self) -> bool:
        return not self.error and self.node != self.other


class _Differs(Exception):  # noqa: N818 - control flow, not an error
    """Other nodes are feasible: the choice takes a whole cycle. `verdicts` of `nodes` are known to differ."""

    def __init__(self, nodes: int = 0, verdicts: int = 0) -> None:
        super().__init__()
        self.nodes = nodes
        self.verdicts = verdicts


class _Failed(Exception):  # noqa: N818 - the plugin's, not ours
    """A hook of the other version failed."""


class ShadowCycle:
    """Comparison of one profile with one of its plugins exchanged.

    `points` are the plugins of the profile at `SHADOW_POINTS` with the other version of `plugin`. They must have no
    effect outside of themselves.
    """

    def __init__(
        self,
        plugin: str,
        points: Mapping[str, Sequence[tuple[Plugin, int]]],
        stable: SchedulingCycle,
        table: NodeTable,
        nominator: Nominator,
    ) -> None:
        self._plugin = plugin
        self._stable = stable
        self._table = table
        self._nominator = nominator
        self._framework = Framework(stable.framework.name, {"queueSort": [(stable.framework.queue_sort, 0)], **points})
        self._pre_filter = _the(self._framework.pre_filter, plugin)
        self._filter = _the(self._framework.filter, plugin)
        self._pre_score = _the(self._framework.pre_score, plugin)
        self._score = next(((item, weight) for item, weight in self._framework.score if item.name == plugin), None)
        self._weight = next((weight for item, weight in stable.framework.score if item.name == plugin), 0)

    @property
    def plugins(self) -> Mapping[str, Plugin]:
        return self._framework.plugins

    def trace(self) -> CycleTrace:
        """The trace to fill in the pod's cycle, which begins now."""
        return CycleTrace({self._plugin: _NO_SCORES})

    def compare(self, pod: Pod, choice: Choice, trace: CycleTrace) -> Comparison:
        """Compares a choice, before the pod is placed."""
        state = CycleState()
        try:
            other, nodes, verdicts, distance = self._exchanged(state, pod, choice, trace)
        except _Differs as difference:
            return self._whole_cycle(pod, choice, trace, difference)
        except _Failed as failure:
            return Comparison(pod.key, choice.node, error=str(failure))
        finally:
            state.close()
        return Comparison(pod.key, choice.node, other, nodes, verdicts, distance)

    # ------------------------------------------------------------------ one plugin exchanged

    def _exchanged(self, state: CycleState, pod: Pod, choice: Choice, trace: CycleTrace) -> tuple[str, int, int, float]:
        """The other node, the number of nodes, other verdicts, and the distance of the scores."""
        outcome, rows, narrowed = trace.outcome, trace.rows, trace.narrowed
        if outcome is None or rows is None or narrowed is None or self._plugin in narrowed.narrowed_by:
            raise _Differs
        skips = self._filter is None
        if self._pre_filter is not None:
            result = self._pre_filter.pre_filter(state, pod, self._table)
            code = result.status.code
            skips = skips or code == Code.SKIP
            if result.status.is_rejected:
                return "", len(rows), len(outcome.rows), 0.0
            if code not in (Code.SUCCESS, Code.SKIP):
                raise _Failed(result.status.reason)
            if result.nodes is not None:
                raise _Differs
        rejected = None
        if outcome.objections:
            rejected = next((item.rows for item in outcome.objections if item.plugin == self._plugin), None)
        asked = outcome.rows if rejected is None else np.concatenate([outcome.rows, rejected])
        if not skips or rejected is not None:
            failing, passed = self._rejections(state, pod, asked, skips=skips), len(outcome.rows)
            lost, won = np.count_nonzero(failing[:passed]), np.count_nonzero(~failing[passed:])
            if passed and lost == passed and not won and trace.is_whole:  # a sample would go on to other nodes
                return "", len(asked), passed, 0.0
            if lost or won:
                raise _Differs(len(asked), int(lost + won))
        feasible = trace.feasible
        if feasible is None or not len(feasible):
            return "", len(asked), 0, 0.0
        if trace.totals is None:  # a single feasible node is not scored
            return choice.node, len(asked), 0, 0.0
        before, (scores, weight) = trace.scores[self._plugin], self._scores(state, pod, feasible)
        after = scores if weight == 1 else scores * weight
        if before.tobytes() == after.tobytes():  # some times as fast as array_equal, for some thousand nodes
            return choice.node, len(asked), 0, 0.0
        totals = trace.totals.copy()
        if len(after):
            totals += after
        if len(before):
            totals -= before
        best = self._table.node(int(feasible[select(totals)])).name
        return best, len(asked), 0, self._distance(before, scores)

    def _rejections(self, state: CycleState, pod: Pod, rows: Rows, *, skips: bool) -> NDArray[np.bool_]:
        if self._filter is None or skips or not len(rows):
            return np.zeros(len(rows), np.bool_)
        verdicts = self._filter.filter(state, pod, self._table, rows)
        if verdicts is None:
            return np.zeros(len(rows), np.bool_)
        for number in np.unique(verdicts.numbers).tolist():
            status = verdicts.statuses[number]
            if number and not status.is_rejected:
                raise _Failed(status.reason)
        return np.asarray(verdicts.numbers != 0)

    def _scores(self, state: CycleState, pod: Pod, rows: Rows) -> tuple[Scores, int]:
        """The normalized scores of the other version, and their weight; no scores if it skips the pod."""
        if self._pre_score is not None:
            status = self._pre_score.pre_score(state, pod, self._table, rows)
            if status.code == Code.SKIP:
                return _NO_SCORES, 1
            if not status.is_success:
                raise _Failed(status.reason)
        if self._score is None:
            return _NO_SCORES, 1
        plugin, weight = self._score
        raw = plugin.score(state, pod, self._table, rows)
        scores = raw if isinstance(raw, Status) else plugin.normalize(state, pod, raw)
        if isinstance(scores, Status):
            raise _Failed(scores.reason)
        wrong = out_of_range(scores)
        if wrong is not None:
            raise _Failed(invalid_score(plugin.name, wrong, MIN_SCORE, MAX_SCORE))
        return scores, weight

    def _distance(self, before: Scores, after: Scores) -> float:
        mine = after if len(after) else np.zeros(len(before), np.int64)
        theirs = before // self._weight if self._weight and len(before) else np.zeros(len(mine), np.int64)
        return float(np.abs(mine - theirs).mean()) if len(mine) else 0.0

    # ------------------------------------------------------------------ a whole cycle

    def _whole_cycle(self, pod: Pod, choice: Choice, stable: CycleTrace, known: _Differs) -> Comparison:
        cycle = SchedulingCycle(
            self._framework, self._table, self._nominator, Rotation(stable.start), percentage=self._stable.percentage
        )
        trace = CycleTrace({})
        found = cycle.choose(pod, trace=trace)
        found.state.close()
        if found.is_error:
            return Comparison(pod.key, choice.node, error=found.message, is_whole_cycle=True)
        nodes, verdicts = known.nodes, known.verdicts
        if not nodes and stable.feasible is not None and stable.rows is not None:
            feasible = trace.feasible if trace.feasible is not None else stable.feasible[:0]
            nodes, verdicts = len(stable.rows), len(np.setxor1d(stable.feasible, feasible))
        return Comparison(pod.key, choice.node, found.node, nodes, verdicts, is_whole_cycle=True)


_NO_SCORES: Final[Scores] = np.zeros(0, np.int64)


def _the(plugins: Sequence[Kind], name: str) -> Kind | None:
    return next((plugin for plugin in plugins if plugin.name == name), None)
