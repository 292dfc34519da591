"""One decision: every node with every plugin, the winner's margin, victims, logs, and the same with changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kubewasp.console.json_values import Document, name_of, owner_of, page_of, text_of, when
from kubewasp.console.views.order import sorted_places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from kubewasp.console.decision_grid import DecisionGrid
    from kubewasp.console.study import StudiedDecision
    from kubewasp.explain.plugin_logs import PluginLine
    from kubewasp.framework.plugin import Candidate
    from kubewasp.k8s.pods import Pod

MOST_NODES: Final = 10_000  # of one answer
_MOST_VICTIMS: Final = 100
_MOST_CANDIDATES: Final = 50
_MOST_LINES: Final = 200


def decision_document(
    decision: StudiedDecision, before: StudiedDecision | None, *, sort: str, only: str, after: int, limit: int
) -> Document:
    """A page of the nodes; `before` is the decision without the changes of `decision`, if it has some."""
    grid = decision.grid
    places = sorted_places(grid, sort=sort, only=only)
    shown, more = page_of(places, after, limit)
    reasons = _Reasons()
    plugins = [plugin.name for plugin in decision.plugins]
    nodes = _nodes(grid, np.asarray(shown, np.int64), plugins, reasons)
    document: Document = {
        "pod": name_of(decision.pod.key),
        "time": when(decision.time),
        "basis": "study",
        "result": decision.result,
        "node": name_of(decision.node) or None,
        "nominated_node": name_of(decision.nominated_node) or None,
        "message": text_of(decision.message) or None,
        "sample": decision.sample,
        "notes": [text_of(note) for note in decision.notes],
        "plugins": [
            {
                "name": name_of(plugin.name),
                "points": list(plugin.points),
                "weight": plugin.weight,
                "origin": plugin.origin,
                "removed": plugin.is_removed,
            }
            for plugin in decision.plugins
        ],
        "nodes": {"total": more["total"], "feasible": grid.feasible, **nodes},
        "reasons": reasons.texts,
        "margin": _margin(decision),
        "preemption": [_candidate(found, decision) for found in decision.candidates[:_MOST_CANDIDATES]],
        "victims": [name_of(victim.key) for victim in decision.victims[:_MOST_VICTIMS]],
        "logs": _logs(decision.logs),
        "what_if": None if before is None else _what_if(before, decision),
    }
    return document | ({"next": more["next"]} if "next" in more else {})


class _Reasons:
    """Texts of statuses, each once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        found = self._places.get(text)
        if found is None:
            found = self._places[text] = len(self.texts)
            self.texts.append(text_of(text))
        return found


def _nodes(grid: DecisionGrid, places: NDArray[np.int64], plugins: Sequence[str], reasons: _Reasons) -> Document:
    """Columns of the nodes at those places."""
    numbers_of = {plugin: place for place, plugin in enumerate(plugins)}
    texts = [-1] * len(grid.statuses)
    rejected_by = np.full(len(places), -1, np.int64)
    reason = np.full(len(places), -1, np.int64)
    objections: list[list[list[int]]] = [[] for _ in range(len(places))]
    for plugin, column in grid.objections.items():
        numbers = column[places]
        objecting = np.flatnonzero(numbers)
        for number in np.unique(numbers[objecting]).tolist():
            if texts[number] < 0:
                texts[number] = reasons.place(grid.statuses[number].reason)
        of_plugin = numbers_of.get(plugin, -1)
        first = objecting[rejected_by[objecting] < 0]
        rejected_by[first] = of_plugin
        reason[first] = np.array(texts, np.int64)[numbers[first]]
        for at, number in zip(objecting.tolist(), numbers[objecting].tolist(), strict=True):
            objections[at].append([of_plugin, texts[number]])
    is_scored = grid.is_scored[places].tolist()
    return {
        "names": [name_of(grid.names[place]) for place in places.tolist()],
        "status": grid.status[places].tolist(),
        "rejected_by": rejected_by.tolist(),
        "reason": reason.tolist(),
        "total_score": _optional(grid.totals[places], is_scored),
        "scores": {
            name_of(plugin): {
                "raw": _optional(scores.raw[places], is_scored),
                "normalized": _optional(scores.normalized[places], is_scored),
                "weighted": _optional(scores.normalized[places] * scores.weight, is_scored),
            }
            for plugin, scores in grid.scores.items()
        },
        "objections": objections,
        "hints": [[text_of(text) for text in grid.hints.get(place, ())] for place in places.tolist()],
    }


def _optional(numbers: NDArray[Any], is_there: Sequence[bool]) -> list[int | None]:
    return [number if there else None for number, there in zip(numbers.tolist(), is_there, strict=True)]


def _margin(decision: StudiedDecision) -> Document | None:
    """The lead of the winner, and the plugin that gives most of it."""
    grid = decision.grid
    places = grid.order[grid.is_scored[grid.order]]
    if not decision.node or not len(places) or grid.names[int(places[0])] != decision.node:
        return None
    first = int(places[0])
    found: Document = {"winner": name_of(decision.node), "total": int(grid.totals[first])}
    if len(places) < 2:
        return found | {"runner_up": None, "runner_up_total": None, "by": None}
    second = int(places[1])
    leads = {
        plugin: int(scores.normalized[first] - scores.normalized[second]) * scores.weight
        for plugin, scores in grid.scores.items()
    }
    most = max(leads, key=lambda plugin: leads[plugin], default="")
    return found | {
        "runner_up": name_of(grid.names[second]),
        "runner_up_total": int(grid.totals[second]),
        "by": most if most and leads[most] > 0 else None,
    }


def _candidate(found: Candidate, decision: StudiedDecision) -> Document:
    return {
        "node": name_of(found.node),
        "victims": [_victim(victim) for victim in found.victims[:_MOST_VICTIMS]],
        "budget_violations": found.violations,
        "reason": _candidate_reason(found, decision.nominated_node),
    }


def _candidate_reason(found: Candidate, chosen: str) -> str:
    top = found.victims[0].priority if found.victims else 0
    number = len(found.victims)
    text = f"{number} pod{'' if number == 1 else 's'} of priority up to {top}"
    if found.violations:
        text += f", {found.violations} against a PodDisruptionBudget"
    return f"chosen: {text}" if found.node == chosen else text


def _victim(pod: Pod) -> Document:
    return {"key": name_of(pod.key), "priority": pod.priority, "owner": owner_of(pod)}


def _logs(lines: Sequence[PluginLine]) -> list[Document]:
    """Lines by plugin, the last ones."""
    found: dict[str, list[str]] = {}
    for line in lines:
        found.setdefault(line.plugin, []).append(f"{line.hook}  {line.kind}  {line.text}")
    return [
        {"plugin": name_of(plugin), "lines": [text_of(text) for text in texts[-_MOST_LINES:]]}
        for plugin, texts in found.items()
    ]


def _what_if(before: StudiedDecision, after: StudiedDecision) -> Mapping[str, Any]:
    return {
        "node_before": name_of(before.node) or None,
        "total_before": _total_of(before),
        "node": name_of(after.node) or None,
        "total": _total_of(after),
        "changed": before.node != after.node,
    }


def _total_of(decision: StudiedDecision) -> int | None:
    grid = decision.grid
    if not decision.node or not len(grid.order):
        return None
    first = int(grid.order[0])
    return int(grid.totals[first]) if grid.is_scored[first] else None
