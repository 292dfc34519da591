"""The last decisions, explained: which nodes a pod could go to, how they scored, why the others were turned down.

Kept in memory and nowhere else; bounded in number and bytes. Off unless asked for, and then a sample: a pod whose
decision is recorded costs a few times what it costs otherwise.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from kubewasp.framework.plugin import Verdicts
from kubewasp.framework.record import DecisionRecord, FilterRecord, ScoreRecord
from kubewasp.k8s import timestamps
from kubewasp.scheduler.explanation import explain
from kubewasp.serve.secrets import document_without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.scheduler import Attempt, Scheduler


@dataclass(frozen=True, slots=True)
class DecisionSettings:
    """`share` of the attempts is kept, the last `count`, `size` bytes at most; of the nodes, the `nodes` best."""

    share: float = 0.01
    count: int = 1000
    size: int = 16 * 1024 * 1024
    nodes: int = 20


class DecisionStore:
    """Written on the scheduler's thread, which must tell of every attempt at once; read on any."""

    def __init__(
        self, scheduler: Scheduler, settings: DecisionSettings, *, chance: Callable[[], float] = random.random
    ) -> None:
        self._scheduler = scheduler
        self._settings = settings
        self._chance = chance
        self._record: tuple[str, DecisionRecord] | None = None
        self._kept: deque[tuple[str, bytes]] = deque()
        self._size = 0
        self._lock = threading.Lock()
        scheduler.record_for = self._record_for

    def take(self, attempt: Attempt) -> None:
        """Keeps the attempt, if it was recorded. The table must still be as it was decided on."""
        if self._record is None or self._record[0] != attempt.pod.uid:
            return
        record, self._record = self._record[1], None
        trace = orjson.dumps(document_without_secrets(self._trace(attempt, record)))
        with self._lock:
            self._kept.append((attempt.pod.key, trace))
            self._size += len(trace)
            while self._kept and (len(self._kept) > self._settings.count or self._size > self._settings.size):
                self._size -= len(self._kept.popleft()[1])

    def as_json(self, pod: str = "") -> bytes:
        """All decisions, or those about a pod (`namespace/name`), the newest first."""
        with self._lock:
            found = [trace for key, trace in reversed(self._kept) if not pod or key == pod]
            kept, size = len(self._kept), self._size
        head = orjson.dumps({"sampled": self._settings.share, "kept": kept, "bytes": size})
        return head[:-1] + b',"decisions":[' + b",".join(found) + b"]}"

    def _record_for(self, pod: Pod) -> DecisionRecord | None:
        if self._chance() >= self._settings.share:
            return None
        self._record = (pod.uid, DecisionRecord())
        return self._record[1]

    def _trace(self, attempt: Attempt, record: DecisionRecord) -> dict[str, Any]:
        table = self._scheduler.table
        rows = self._rows(attempt, record)
        explained = explain(
            attempt.pod,
            _narrowed(record, rows),
            table,
            node=attempt.node,
            message=attempt.message,
            nominated_node=attempt.nominated_node,
            victims=attempt.victims,
            rows=rows,
        )
        told = explained.as_dict()
        return {
            "time": timestamps.in_seconds(int(self._scheduler.clock.wall())),
            "seconds": round(attempt.seconds, 6),
            "result": _result(attempt),
            "feasible": attempt.feasible,
            "all_nodes": len(table),
            "pre_filter": {plugin: status.label for plugin, status in record.pre_filter if not status.is_success},
            **told,
        }

    def _rows(self, attempt: Attempt, record: DecisionRecord) -> list[int]:
        """The nodes worth telling of: the one that was chosen, the best, then others in the order of visits."""
        most, table = self._settings.nodes, self._scheduler.table
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


def _result(attempt: Attempt) -> str:
    if attempt.node:
        return "waiting" if attempt.is_waiting else "binding" if attempt.is_binding else "scheduled"
    return "error" if attempt.is_error else "unschedulable"


def _narrowed(record: DecisionRecord, rows: list[int]) -> DecisionRecord:
    """What the record says of those rows."""
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
