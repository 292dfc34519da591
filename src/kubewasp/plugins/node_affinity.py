"""NodeAffinity: `nodeSelector`, and required and preferred node affinity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.normalization import normalized
from kubewasp.framework.plugin import (
    EnqueueExtensions,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Registration,
    RejectionHints,
    ScorePlugin,
    Verdicts,
    rejection,
)
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.pods import PreferredTerm
from kubewasp.k8s.selectors import Requirement, node_selector_term, node_selector_terms
from kubewasp.plugins.hint_texts import labels_lacking, lacking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod, PodSpec
    from kubewasp.k8s.selectors import NodeSelectorTerm
    from kubewasp.state.node_table import NodeTable

_SKIP = Status(Code.SKIP)
_STATUSES = (
    SUCCESS,
    rejection("node(s) didn't match scheduler-enforced node affinity", resolvable=False),
    rejection("node(s) didn't match Pod's node affinity/selector", resolvable=False),
)
_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


class NodeAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, EnqueueExtensions, RejectionHints):
    """Matches are cached per spec and node, and computed again for changed nodes only."""

    name = "NodeAffinity"

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        added = args.get("addedAffinity") or {}
        required = added.get(_REQUIRED)
        self._added = None if required is None else node_selector_terms(required.get("nodeSelectorTerms") or ())
        self._added_preferred = tuple(
            PreferredTerm(item.get("weight") or 0, node_selector_term(item.get("preference") or {}))
            for item in added.get(_PREFERRED) or ()
        )

    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult:
        spec = pod.spec
        if spec.required_affinity is None and self._added is None and spec.node_selector is None:
            return PreFilterResult(_SKIP)
        names = _named(spec.required_affinity)
        if names is None:
            return PreFilterResult()
        if not names:
            return PreFilterResult(rejection("pod affinity terms conflict", resolvable=False))
        return PreFilterResult(nodes=names)

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        verdicts = table.cache.get(
            (self, "filter", pod.spec), lambda wanted: self._verdicts(pod.spec, table, wanted), of_nodes=True
        )
        return Verdicts(verdicts[rows], _STATUSES)

    def _verdicts(self, spec: PodSpec, table: NodeTable, rows: Rows) -> NDArray[np.int8]:
        return np.fromiter((self._verdict(spec, table.node(row)) for row in rows.tolist()), np.int8, len(rows))

    def _verdict(self, spec: PodSpec, node: Node) -> int:
        if self._added is not None and not _any_matches(self._added, node):
            return 1
        return 0 if matches_required(spec, node) else 2

    def pre_score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status:
        if not pod.spec.preferred_affinity and not self._added_preferred:
            return _SKIP
        for preferred in pod.spec.preferred_affinity:
            if preferred.weight and preferred.term.invalid:
                return Status(Code.ERROR, preferred.term.invalid)
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        terms = [*self._added_preferred, *pod.spec.preferred_affinity]

        def compute(wanted: Rows) -> Scores:
            nodes = [table.node(row) for row in wanted.tolist()]
            sums = (sum(p.weight for p in terms if p.weight and p.term.matches(n.name, n.labels)) for n in nodes)
            return np.fromiter(sums, np.int64, len(nodes))

        return table.cache.get((self, "score", pod.spec), compute, of_nodes=True)[rows]

    def normalize(self, state: CycleState, pod: Pod, scores: Scores) -> Scores | Status:
        return normalized(scores)

    def pod_hints(self, state: CycleState, pod: Pod, table: NodeTable) -> Sequence[str]:
        return ["terms of node affinity that name a common node"]

    def node_hints(self, state: CycleState, pod: Pod, table: NodeTable, row: int) -> Sequence[str]:
        node, spec = table.node(row), pod.spec
        wanted = [Requirement(key, "In", (value,)) for key, value in (spec.node_selector or {}).items()]
        found = [lacking(item, node.labels) for item in wanted if not item.matches(node.labels)]
        if spec.required_affinity is not None and not _any_matches(spec.required_affinity, node):
            found += labels_lacking(spec.required_affinity, node) or ["a term of node affinity that is not empty"]
        if self._added is not None and not _any_matches(self._added, node):
            found += [f"{text} (addedAffinity of the profile)" for text in labels_lacking(self._added, node)]
        return found

    def events(self) -> Sequence[Registration]:
        return [Registration("Node", Action.ADD | Action.UPDATE_NODE_LABEL, self._matches_now)]

    def _matches_now(self, pod: Pod, old: Node | None, new: Node | None) -> bool:
        if new is None or self._verdict(pod.spec, new):
            return False
        return old is None or bool(self._verdict(pod.spec, old))


def matches_required(spec: PodSpec, node: Node) -> bool:
    """Whether a node matches `nodeSelector` and the required affinity of a pod."""
    for key, value in (spec.node_selector or {}).items():
        if node.labels.get(key) != value:
            return False
    return spec.required_affinity is None or _any_matches(spec.required_affinity, node)


def _any_matches(terms: Sequence[NodeSelectorTerm], node: Node) -> bool:
    return any(term.matches(node.name, node.labels) for term in terms)


def _named(terms: Sequence[NodeSelectorTerm] | None) -> frozenset[str] | None:
    """The nodes named by the terms, if every term names nodes."""
    if not terms:
        return None
    named = [term.names() for term in terms]
    if any(names is None for names in named):
        return None
    return frozenset().union(*(names for names in named if names is not None))
