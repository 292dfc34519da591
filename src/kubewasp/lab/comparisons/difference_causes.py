"""Causes of differences: the plugin whose verdict or score sends a pod elsewhere.

Runs are repeated with records of the decisions on some pods. Up to the first difference both runs have the same
state, so its cause is the configuration. Later ones may follow from earlier ones: the cause then is the plugin that
sees the other state.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from kubewasp.lab.experiments import experiment
from kubewasp.lab.experiments.pending_reasons import reason_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.explain.explanation import NodeExplanation
    from kubewasp.lab.comparisons.pod_differences import PodDifference
    from kubewasp.lab.experiments.experiment import Candidate, LabInput


class CauseKind(StrEnum):
    """Ways in which a plugin makes a difference."""

    SCORE = "score"  # both nodes are feasible in both runs, and scores differ
    FILTER = "filter"  # a node is rejected in one of the runs
    SAMPLE = "sample"  # a node is not scored in one of the runs
    TIE = "tie"  # equal scores
    PREEMPTION = "preemption"  # another pod takes the node
    OTHER = "other"  # an error, a nominated node, a gate


@dataclass(frozen=True, slots=True)
class Cause:
    """Cause of a difference.

    `leads` are by how much the weighted score of the candidate's node exceeds that of the baseline's node, in the
    baseline and in the candidate, by plugin.
    """

    kind: CauseKind
    text: str
    plugin: str = ""
    leads: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        leads = {name: {"baseline": old, "candidate": new} for name, (old, new) in self.leads.items()}
        return {"kind": self.kind.value, "plugin": self.plugin or None, "text": self.text, "leads": leads}


@dataclass(frozen=True, slots=True)
class SeenNode:
    """A node in a decision: the rejecting plugin and its reason, or weighted scores."""

    rejected_by: str = ""
    reason: str = ""
    scores: Mapping[str, int] = field(default_factory=dict)
    total: int | None = None


@dataclass(frozen=True, slots=True)
class SeenDecision:
    """The last attempt of a pod, with the nodes of interest by name."""

    nodes: Mapping[str, SeenNode]
    message: str


def seen_decisions(
    given: LabInput, candidate: Candidate, seed: int, /, *, wanted: Mapping[str, frozenset[str]], until: float
) -> dict[str, SeenDecision]:
    """Runs an experiment again for the decisions on some pods, given with their nodes of interest."""
    if given.trace is not None:
        given = replace(given, trace=replace(given.trace, until=min(given.trace.until, until)))
    found = experiment.run(given, candidate, seed, watched=wanted.keys())
    return {
        pod: SeenDecision(
            {node.name: _seen(node) for node in explanation.nodes if node.name in wanted[pod]},
            explanation.message or "",
        )
        for pod, explanation in found.report.explanations.items()
    }


def cause_of(difference: PodDifference, baseline: SeenDecision | None, candidate: SeenDecision | None) -> Cause | None:
    """The cause of a difference, from the decisions of both runs; None if they have none."""
    if baseline is None or candidate is None:
        return None
    old, new = difference.baseline, difference.node
    for name, seen, what in ((old, candidate, "rejects"), (new, baseline, "no longer rejects")):
        node = seen.nodes.get(name)
        if node is not None and node.rejected_by:
            text = f"{node.rejected_by} {what} {name}: {node.reason}"
            return Cause(CauseKind.FILTER, text, node.rejected_by)
        if node is not None and node.reason:
            return Cause(CauseKind.OTHER, f"{name}: {node.reason}")
    message = candidate.message if not new else baseline.message if not old else ""
    if message or not (old and new):
        return Cause(CauseKind.OTHER, reason_of(message))
    return _by_scores(difference, baseline, candidate)


def _by_scores(difference: PodDifference, baseline: SeenDecision, candidate: SeenDecision) -> Cause | None:
    old, new = difference.baseline, difference.node
    sides = [(seen.nodes.get(old), seen.nodes.get(new)) for seen in (baseline, candidate)]
    (old_before, new_before), (old_after, new_after) = sides
    if old_before is None or new_before is None or old_after is None or new_after is None:
        return None  # a node that only one of the runs has
    for name, node, run in ((new, new_before, "the baseline"), (old, old_after, "the candidate")):
        if node.total is None:
            return Cause(CauseKind.SAMPLE, f"{name} is not scored in {run}: other nodes suffice, or a single one fits")
    plugins = dict.fromkeys((*new_before.scores, *new_after.scores))
    leads = {
        name: (
            new_before.scores.get(name, 0) - old_before.scores.get(name, 0),
            new_after.scores.get(name, 0) - old_after.scores.get(name, 0),
        )
        for name in plugins
    }
    leads = {name: lead for name, lead in leads.items() if lead != (0, 0)}
    plugin = max(leads, key=lambda name: leads[name][1] - leads[name][0], default="")
    if not plugin or leads[plugin][0] >= leads[plugin][1]:
        return Cause(CauseKind.TIE, f"{old} and {new} have equal scores", leads=leads)
    before, after = leads[plugin]
    return Cause(CauseKind.SCORE, f"{plugin}: {new} {after:+} over {old}, before {before:+}", plugin, leads)


def _seen(node: NodeExplanation) -> SeenNode:
    return SeenNode(node.rejected_by or "", ", ".join(node.reasons), dict(node.weighted), node.total)
