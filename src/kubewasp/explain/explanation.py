"""Explanation of one attempt: matrix of nodes and plugins, and the changes that would make nodes feasible."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kubewasp.framework.decision_record import ALL_ROWS, DecisionRecord
from kubewasp.framework.status import Code, Status

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kubewasp.framework.binding_annotations import Annotation
    from kubewasp.framework.plugin import Candidate
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.attempt import Attempt
    from kubewasp.state.node_table import NodeTable

_MOST_NAMES: Final = 3


@dataclass(slots=True)
class NodeExplanation:
    """Verdicts and scores of one node."""

    name: str
    objections: dict[str, Status] = field(default_factory=dict)
    raw: dict[str, int] = field(default_factory=dict)
    normalized: dict[str, int] = field(default_factory=dict)
    weighted: dict[str, int] = field(default_factory=dict)
    total: int | None = None
    hints: list[str] = field(default_factory=list)
    skipped: str = ""  # reason for not being evaluated
    in_sample: bool = True  # False for a feasible node that is not scored

    @property
    def is_feasible(self) -> bool:
        return not self.objections and not self.skipped

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons of the deciding plugin."""
        first = next(iter(self.objections.values()), None)
        return tuple(first.reasons) if first is not None else (self.skipped,) if self.skipped else ()

    @property
    def rejected_by(self) -> str | None:
        """The deciding plugin: the first one that rejects the node."""
        return next(iter(self.objections), None)

    def as_dict(self) -> dict[str, Any]:
        status = next(iter(self.objections.values()), Status())
        return {
            "name": self.name,
            "feasible": self.is_feasible,
            "in_sample": self.in_sample,
            "rejected_by": self.rejected_by,
            "code": int(status.code),
            "reasons": list(self.reasons),
            "scores": self.weighted,
            "raw_scores": self.raw,
            "normalized_scores": self.normalized,
            "total": self.total,
            "objections": {plugin: list(found.reasons) for plugin, found in self.objections.items()},
            "hints": self.hints,
        }


@dataclass(slots=True)
class Explanation:
    """Explanation of one attempt of one pod."""

    pod: Pod
    node: str | None
    message: str | None
    nominated_node: str | None
    victims: Sequence[Pod]
    nodes: list[NodeExplanation]
    weights: dict[str, int]
    candidates: Sequence[Candidate] = ()  # nodes where preemption would help
    notes: Sequence[str] = ()  # differences from the real cluster
    is_error: bool = False  # a plugin failed
    sample: str = ""  # nodes that are scored; empty if no search took place
    warnings: Sequence[str] = ()  # of the input: configuration and manifests
    annotations: Sequence[Annotation] = ()  # that go with the binding

    def as_dict(self) -> dict[str, Any]:
        return {
            "pod": self.pod.key,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "node": self.node,
            "message": self.message,
            "nominated_node": self.nominated_node,
            "victims": [victim.key for victim in self.victims],
            "candidates": [
                {
                    "node": candidate.node,
                    "victims": [victim.key for victim in candidate.victims],
                    "budget_violations": candidate.violations,
                }
                for candidate in self.candidates
            ],
            "annotations": [asdict(annotation) for annotation in self.annotations],
            "sample": self.sample,
            "weights": self.weights,
            "nodes": [node.as_dict() for node in self.nodes],
        }


def explain(
    pod: Pod,
    record: DecisionRecord,
    table: NodeTable,
    *,
    node: str,
    message: str,
    nominated_node: str | None = None,
    victims: Sequence[Pod] = (),
    annotations: Sequence[Annotation] = (),
    rows: Sequence[int] | None = None,
) -> Explanation:
    """Explanation of a record, while the table still has its nodes.

    With `rows`, only those are explained; the record must contain no others.
    """
    listed = table.order().tolist() if rows is None else rows
    found = {row: NodeExplanation(table.node(row).name) for row in listed}
    _rejections(record, found)
    _scores(record, found)
    for row, item in found.items():
        item.hints = hints_of(record, row, item.name, item.objections)
    nodes = sorted(found.values(), key=_nearest)
    weights = {item.plugin: item.weight for item in record.scores}
    sample = "" if record.sample is None else str(record.sample)
    return Explanation(
        pod,
        node or None,
        message or None,
        nominated_node or None,
        victims,
        nodes,
        weights,
        sample=sample,
        annotations=annotations,
    )


def explain_attempt(
    attempt: Attempt, record: DecisionRecord, table: NodeTable, *, rows: Sequence[int] | None = None
) -> Explanation:
    """Explanation of an attempt; `rows` as for `explain`."""
    return explain(
        attempt.pod,
        record,
        table,
        node=attempt.node,
        message=attempt.message,
        nominated_node=attempt.nominated_node,
        victims=attempt.victims,
        annotations=attempt.annotations,
        rows=rows,
    )


class Explainer:
    """Explanations of the last attempts of some pods. Recorder and listener of the scheduler that owns `table`."""

    def __init__(self, table: NodeTable, pods: Collection[str]) -> None:
        self.last: dict[str, Explanation] = {}
        self._table = table
        self._pods = pods
        self._records: dict[str, DecisionRecord] = {}

    def record_for(self, pod: Pod) -> DecisionRecord | None:
        """Implements `DecisionRecorder`."""
        if pod.key not in self._pods:
            return None
        self._records[pod.key] = DecisionRecord()
        return self._records[pod.key]

    def attempted(self, attempt: Attempt) -> None:
        """Implements `AttemptListener`."""
        record = self._records.get(attempt.pod.key)
        if record is not None:
            self.last[attempt.pod.key] = explain_attempt(attempt, record, self._table)


def _nearest(item: NodeExplanation) -> tuple[int, int, str]:
    """Sort key: best first; rejected nodes by the number of rejecting plugins."""
    return len(item.objections) + bool(item.skipped), -(item.total or 0), item.name


def _rejections(record: DecisionRecord, found: Mapping[int, NodeExplanation]) -> None:
    for plugin, status in record.pre_filter:
        if not status.is_success and status.code != Code.SKIP:
            for item in found.values():
                item.objections.setdefault(plugin, status)
    evaluated: set[int] = set()
    for filtered in record.filters:
        evaluated.update(filtered.rows.tolist())
        if filtered.verdicts is None:
            continue
        numbers = np.asarray(filtered.verdicts.numbers).astype(np.int64)
        for place in np.flatnonzero(numbers).tolist():
            row = int(filtered.rows[place])
            found[row].objections.setdefault(filtered.plugin, filtered.verdicts.statuses[int(numbers[place])])
    if record.filters:
        reason = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(record.narrowed))}]"
        for row in found.keys() - evaluated:
            item = found[row]
            for plugin, names in record.narrowed.items():
                if item.name not in names:
                    item.objections[plugin] = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reason)
            if not item.objections:
                item.skipped = "not evaluated: the pod fits on its nominated node"


def _scores(record: DecisionRecord, found: Mapping[int, NodeExplanation]) -> None:
    if record.scored_rows is None or record.totals is None:
        return
    scored = record.scored_rows.tolist()
    for row in found.keys() - set(scored):
        found[row].in_sample = not found[row].is_feasible
    for place, row in enumerate(scored):
        item = found[row]
        item.total = int(record.totals[place])
        for score in record.scores:
            item.raw[score.plugin] = int(score.raw[place])
            item.normalized[score.plugin] = int(score.normalized[place])
            item.weighted[score.plugin] = int(score.normalized[place]) * score.weight


def hints_of(record: DecisionRecord, row: int, name: str, objections: Mapping[str, Status]) -> list[str]:
    """What the node would need for all its objections; the reason of a plugin without hints, unless shown anyway."""
    found: list[str] = []
    rejected_by = next(iter(objections), None)
    for plugin, status in objections.items():
        of_plugin = record.hints.get(plugin, {})
        texts = of_plugin.get(row) or of_plugin.get(ALL_ROWS) or ()
        if not texts and name not in (names := record.narrowed.get(plugin, {name})):
            texts = (f"to be {_few(sorted(names))}",)
        if not texts and plugin != rejected_by:
            texts = tuple(f"{plugin}: {reason}" for reason in status.reasons)
        found += texts
    return found


def _few(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMES:
        return " or ".join(names)
    return f"one of {len(names)} nodes such as {', '.join(names[:_MOST_NAMES])}"
