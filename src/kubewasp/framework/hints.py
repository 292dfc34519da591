"""Hints of plugins in decision records: called only for recorded attempts, bounded, without influence on decisions."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from kubewasp.framework.decision_record import ALL_ROWS
from kubewasp.framework.plugin import RejectionHints

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.decision_record import DecisionRecord
    from kubewasp.framework.plugin import Plugin, Rows, Verdicts
    from kubewasp.framework.status import Status
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable

logger = logging.getLogger(__name__)

MAX_CHARACTERS: Final = 200
_MOST_TEXTS: Final = 10


@dataclass(frozen=True, slots=True)
class HintRecorder:
    """Adds hints to the record of an attempt, with the state and the table of the rejection."""

    record: DecisionRecord
    state: CycleState
    pod: Pod
    table: NodeTable

    def of_pod(self, plugin: Plugin, status: Status) -> None:
        """The hints of a plugin whose PreFilter has rejected the pod."""
        texts: Sequence[str] = ()
        if isinstance(plugin, RejectionHints):
            texts = _asked(plugin, partial(plugin.pod_hints, self.state, self.pod, self.table))
        self._add(plugin, ALL_ROWS, texts, status)

    def of_nodes(self, plugin: Plugin, rows: Rows, verdicts: Verdicts) -> None:
        """The hints of a plugin on the rows that its Filter has rejected."""
        numbers = np.asarray(verdicts.numbers).astype(np.int64)
        wanted = self.record.hinted_rows
        for place in np.flatnonzero(numbers).tolist():
            row = int(rows[place])
            if wanted is None or row in wanted:
                texts: Sequence[str] = ()
                if isinstance(plugin, RejectionHints):
                    texts = _asked(plugin, partial(plugin.node_hints, self.state, self.pod, self.table, row))
                self._add(plugin, row, texts, verdicts.statuses[int(numbers[place])])

    def _add(self, plugin: Plugin, row: int, texts: Sequence[str], status: Status) -> None:
        found = dict.fromkeys(_shortened(text) for text in (*texts, status.hint) if text)
        if found:
            self.record.hints.setdefault(plugin.name, {}).setdefault(row, tuple(found)[:_MOST_TEXTS])


def _asked(plugin: Plugin, ask: Callable[[], Sequence[str]]) -> Sequence[str]:
    try:
        return ask()
    except Exception:
        # An attempt must not fail because it is explained.
        logger.exception("Failed to get hints of plugin %s", plugin.name)
        return ()


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"
