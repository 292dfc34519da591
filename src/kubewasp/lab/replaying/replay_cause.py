"""Cause of a difference: the plugin whose verdict or score changed, as far as two cycles on the same state can tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubewasp.explain.explanation import NodeExplanation, explain
from kubewasp.framework.decision_record import DecisionRecord

if TYPE_CHECKING:
    from kubewasp.k8s.pods import Pod
    from kubewasp.lab.replaying.replay_differences import Decision
    from kubewasp.scheduler.cycle import SchedulingCycle
    from kubewasp.state.node_table import NodeTable


@dataclass(frozen=True, slots=True)
class PluginScores:
    """Weighted scores of one plugin for the recorded and the present node: now and, if known, then."""

    plugin: str
    then_node: int
    now_node: int
    before: tuple[int, int] | None = None

    @property
    def change(self) -> int:
        """Change in favour of the present node; all of it, if the scores of then are unknown."""
        now = self.now_node - self.then_node
        return now if self.before is None else now - (self.before[1] - self.before[0])


@dataclass(frozen=True, slots=True)
class Cause:
    """`plugin` is empty if it cannot be said."""

    text: str
    plugin: str = ""
    scores: tuple[PluginScores, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "plugin": self.plugin or None,
            "scores": [
                {
                    "plugin": item.plugin,
                    "then_node": item.then_node,
                    "now_node": item.now_node,
                    "before": None
                    if item.before is None
                    else {"then_node": item.before[0], "now_node": item.before[1]},
                }
                for item in self.scores
            ],
        }


def cause(
    pod: Pod, then: Decision, now: Decision, *, table: NodeTable, cycle: SchedulingCycle, before: SchedulingCycle | None
) -> Cause:
    """Asks both sides again: `cycle` decides now, `before` with the recorded configuration, if that is another one."""
    present = _nodes(pod, table, cycle)
    earlier = {} if before is None else _nodes(pod, table, before)
    if then.node and not now.node and then.node not in present:
        return Cause(f"{then.node} is not known")
    there = present.get(then.node)
    if there is not None and not there.is_feasible:
        return Cause(f"{there.rejected_by} rejects {then.node}: {', '.join(there.reasons)}", there.rejected_by or "")
    once = earlier.get(now.node)
    if once is not None and not once.is_feasible:
        text = f"{once.rejected_by} rejected {now.node} then: {', '.join(once.reasons)}"
        return Cause(text, once.rejected_by or "")
    if there is None or now.node not in present:
        return Cause("")
    return _by_scores(then.node, now.node, present, earlier)


def _by_scores(then: str, now: str, present: dict[str, NodeExplanation], earlier: dict[str, NodeExplanation]) -> Cause:
    one, other = present[then].weighted, present[now].weighted
    before, before_now = (earlier[name].weighted if name in earlier else None for name in (then, now))
    plugins = dict.fromkeys((*one, *other, *(before or ()), *(before_now or ())))
    scores = [
        PluginScores(
            plugin,
            one.get(plugin, 0),
            other.get(plugin, 0),
            None if not before or not before_now else (before.get(plugin, 0), before_now.get(plugin, 0)),
        )
        for plugin in plugins
    ]
    scores.sort(key=lambda item: -abs(item.change))
    if not scores or not scores[0].change:
        return Cause("both nodes have the same scores as then: the order of nodes decides", "", tuple(scores))
    best = max(scores, key=lambda item: item.change)
    parts = [f"{best.plugin} gives {now} {best.now_node:,} and {then} {best.then_node:,}"]
    if best.before is not None:
        parts.append(f"then {best.before[1]:,} and {best.before[0]:,}")
    return Cause("; ".join(parts), best.plugin, tuple(item for item in scores if item.change or item is best))


def _nodes(pod: Pod, table: NodeTable, cycle: SchedulingCycle) -> dict[str, NodeExplanation]:
    record = DecisionRecord()
    choice = cycle.choose(pod, record)
    choice.state.close()
    found = explain(pod, record, table, node=choice.node, message=choice.message)
    return {node.name: node for node in found.nodes}
