"""Recent decisions, explained: feasible nodes with their scores, rejected nodes with the reasons.

In memory only, bounded in number and bytes. Full traces exist for a sample of the attempts, as recording multiplies the
cost of an attempt; short traces exist for the last failed attempt of each pod, from existing data.
"""

from __future__ import annotations

import itertools
import random
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from kubewasp.explain.explanation import Explanation, NodeExplanation, explain_attempt
from kubewasp.framework.decision_record import DecisionRecord, FilterRecord, ScoreRecord
from kubewasp.framework.plugin import Verdicts
from kubewasp.k8s import timestamps
from kubewasp.k8s.json_documents import to_keep
from kubewasp.server.redaction import document_without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubewasp.clock import Clock
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.attempt import Attempt
    from kubewasp.state.node_table import NodeTable


@dataclass(frozen=True, slots=True)
class DecisionSettings:
    """Bounds of the store. `share`: sampled share of the attempts; `count` and `size`: traces and bytes, for full and
    short traces each; `nodes`: nodes per trace, the best ones in a full trace, one per reason in a short one.
    """

    share: float = 0.01
    count: int = 1000
    size: int = 16 * 1024 * 1024
    nodes: int = 20


class DecisionStore:
    """Recorder and listener of the scheduler that owns `table`. `as_json` is safe from any thread."""

    def __init__(
        self, settings: DecisionSettings, table: NodeTable, clock: Clock, *, chance: Callable[[], float] = random.random
    ) -> None:
        self._settings = settings
        self._table = table
        self._clock = clock
        self._chance = chance
        self._record: tuple[str, DecisionRecord] | None = None
        self._sampled = _Traces(settings)
        self._failed = _Traces(settings)
        self._serial = itertools.count()
        self._lock = threading.Lock()

    def attempted(self, attempt: Attempt) -> None:
        """Stores a recorded or failed attempt. Implements `AttemptListener`."""
        full = None
        if self._record is not None and self._record[0] == attempt.pod.uid:
            record, self._record = self._record[1], None
            full = self._encoded(attempt, self._explained(attempt, record), record)
        if full is None and attempt.node:
            return
        trace = full or self._encoded(attempt, self._in_short(attempt))
        with self._lock:
            if full is not None:
                self._sampled.put(str(next(self._serial)), attempt.pod.key, trace)
            if not attempt.node:
                self._failed.put(attempt.pod.key, attempt.pod.key, trace)

    def as_json(self, pod: str = "") -> bytes:
        """Decisions on all pods or on one (`namespace/name`), newest first."""
        with self._lock:
            sampled, failed = list(self._sampled.of(pod)), list(self._failed.of(pod))
            kept, size = len(self._sampled), self._sampled.size + self._failed.size
        document = {
            "sampled": self._settings.share,
            "kept": kept,
            "bytes": size,
            "decisions": list(map(_shown, sampled)),
            "failed": list(map(_shown, failed)),
        }
        return orjson.dumps(document)

    def recorded(self, pod: str) -> dict[str, Any] | None:
        """The newest full trace of a pod (`namespace/name`), without secrets; None if there is none. Any thread."""
        with self._lock:
            trace = next(self._sampled.of(pod), None)
        return None if trace is None else _shown(trace)

    def record_for(self, pod: Pod) -> DecisionRecord | None:
        """A record for a share of the attempts. Implements `DecisionRecorder`."""
        if self._chance() >= self._settings.share:
            return None
        hinted = frozenset(self._table.order()[: self._settings.nodes].tolist())
        self._record = (pod.uid, DecisionRecord(hinted_rows=hinted))
        return self._record[1]

    def _explained(self, attempt: Attempt, record: DecisionRecord) -> Explanation:
        rows = self._rows(attempt, record)
        return explain_attempt(attempt, _narrowed(record, rows), self._table, rows=rows)

    def _in_short(self, attempt: Attempt) -> Explanation:
        table = self._table
        examples = itertools.chain.from_iterable(objection.examples() for objection in attempt.objections)
        nodes = [
            NodeExplanation(table.node(row).name, {status.plugin: status})
            for row, status in itertools.islice(examples, self._settings.nodes)
        ]
        nominated, message = attempt.nominated_node or None, attempt.message or None
        return Explanation(attempt.pod, None, message, nominated, attempt.victims, nodes, {})

    def _encoded(self, attempt: Attempt, explained: Explanation, record: DecisionRecord | None = None) -> bytes:
        trace: dict[str, Any] = {
            "time": timestamps.in_seconds(int(self._clock.wall())),
            "seconds": round(attempt.seconds, 6),
            "result": _result(attempt),
            "feasible": attempt.feasible,
            "all_nodes": len(self._table),
            **explained.as_dict(),
        }
        if record is not None:
            rejections = {plugin: status.label for plugin, status in record.pre_filter if not status.is_success}
            trace["pre_filter"] = rejections
        return to_keep(orjson.dumps(trace))

    def _rows(self, attempt: Attempt, record: DecisionRecord) -> list[int]:
        """Rows of the trace: the chosen node, the best nodes, then others in the order of visits."""
        limit, table = self._settings.nodes, self._table
        found: dict[int, None] = {}
        chosen = table.row(attempt.node or attempt.nominated_node)
        if chosen is not None:
            found[chosen] = None
        if record.scored_rows is not None and record.totals is not None:
            best = np.argsort(-record.totals, kind="stable")[:limit]
            found |= dict.fromkeys(record.scored_rows[best].tolist())
        if len(found) < limit:
            found |= dict.fromkeys(table.order()[:limit].tolist())
        return list(found)[:limit]


def _shown(trace: bytes) -> Any:
    """The trace without secrets. Redaction on reading, as few traces are read and the scheduler must not wait."""
    return document_without_secrets(orjson.loads(trace))


class _Traces:
    """Newest traces by key, within the bounds; a trace replaces an older one of the same key."""

    def __init__(self, settings: DecisionSettings) -> None:
        self.size = 0
        self._settings = settings
        self._kept: dict[str, tuple[str, bytes]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, key: str, pod: str, trace: bytes) -> None:
        if key in self._kept:
            self._drop(key)
        self._kept[key] = pod, trace
        self.size += len(trace)
        while self._kept and (len(self._kept) > self._settings.count or self.size > self._settings.size):
            self._drop(next(iter(self._kept)))

    def of(self, pod: str) -> Iterator[bytes]:
        """Traces of a pod, by default of all pods; newest first."""
        return (trace for key, trace in reversed(self._kept.values()) if not pod or key == pod)

    def _drop(self, key: str) -> None:
        self.size -= len(self._kept.pop(key)[1])


def _result(attempt: Attempt) -> str:
    if attempt.node:
        return "waiting" if attempt.is_waiting else "binding" if attempt.is_binding else "scheduled"
    return "error" if attempt.is_error else "unschedulable"


def _narrowed(record: DecisionRecord, rows: list[int]) -> DecisionRecord:
    """The record restricted to those rows."""
    filters = [_of_rows(item, rows) for item in record.filters]
    if record.scored_rows is None or record.totals is None:
        return replace(record, filters=filters)
    places = np.isin(record.scored_rows, rows)
    scores = [
        ScoreRecord(item.plugin, item.weight, item.raw[places], item.normalized[places]) for item in record.scores
    ]
    return replace(
        record, filters=filters, scored_rows=record.scored_rows[places], totals=record.totals[places], scores=scores
    )


def _of_rows(item: FilterRecord, rows: list[int]) -> FilterRecord:
    places = np.isin(item.rows, rows)
    verdicts = item.verdicts
    if verdicts is not None:
        verdicts = Verdicts(verdicts.numbers[places], verdicts.statuses)
    return FilterRecord(item.plugin, item.rows[places], verdicts)
