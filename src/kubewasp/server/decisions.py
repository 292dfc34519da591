"""Recent decisions, explained: feasible nodes with their scores, rejected nodes with the reasons.

Kept in memory only, bounded in number and bytes. A sample of all attempts is kept in full: a recorded attempt costs
several times as much. The last failed attempt of each pod is kept in short, from data that exists anyway.
"""

from __future__ import annotations

import itertools
import random
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from kubewasp.explain.explanation import Explanation, NodeExplanation, explain
from kubewasp.framework.decision_record import DecisionRecord, FilterRecord, ScoreRecord
from kubewasp.framework.plugin import Verdicts
from kubewasp.k8s import timestamps
from kubewasp.server.redaction import document_without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubewasp.clock import Clock
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.attempt import Attempt
    from kubewasp.state.node_table import NodeTable


@dataclass(frozen=True, slots=True)
class DecisionSettings:
    """`share` of the attempts is kept in full: the last `count`, at most `size` bytes; as many are kept in short.

    At most `nodes` nodes are listed per attempt: the best ones; in short, one for each reason.
    """

    share: float = 0.01
    count: int = 1000
    size: int = 16 * 1024 * 1024
    nodes: int = 20


class DecisionStore:
    """Recorder and listener of a scheduler, whose node table it gets. Read from any thread."""

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
        """Keeps the attempt, if it was recorded or failed. Implements `AttemptListener`."""
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
        """All decisions, or those on a pod (`namespace/name`), newest first."""
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

    def record_for(self, pod: Pod) -> DecisionRecord | None:
        """A record for a share of the attempts. Implements `DecisionRecorder`."""
        if self._chance() >= self._settings.share:
            return None
        self._record = (pod.uid, DecisionRecord())
        return self._record[1]

    def _explained(self, attempt: Attempt, record: DecisionRecord) -> Explanation:
        rows = self._rows(attempt, record)
        return explain(
            attempt.pod,
            _narrowed(record, rows),
            self._table,
            node=attempt.node,
            message=attempt.message,
            nominated_node=attempt.nominated_node,
            victims=attempt.victims,
            rows=rows,
        )

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
            said = {plugin: status.label for plugin, status in record.pre_filter if not status.is_success}
            trace["pre_filter"] = said
        return orjson.dumps(trace)

    def _rows(self, attempt: Attempt, record: DecisionRecord) -> list[int]:
        """Rows to list: the chosen node, the best, then others in the order of visits."""
        most, table = self._settings.nodes, self._table
        found: dict[int, None] = {}
        chosen = table.row(attempt.node or attempt.nominated_node)
        if chosen is not None:
            found[chosen] = None
        if record.scored_rows is not None and record.totals is not None:
            best = np.argsort(-record.totals, kind="stable")[:most]
            found |= dict.fromkeys(record.scored_rows[best].tolist())
        if len(found) < most:
            found |= dict.fromkeys(table.order()[:most].tolist())
        return list(found)[:most]


def _shown(trace: bytes) -> Any:
    """Secrets are removed on reading: few traces are ever read, and the scheduler must not wait."""
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
        """Newest first; of all pods by default."""
        return (trace for about, trace in reversed(self._kept.values()) if not pod or about == pod)

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
