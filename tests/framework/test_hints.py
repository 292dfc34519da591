"""Hints in decision records: bounded, by row, and without influence on the attempt."""

from collections.abc import Sequence

import numpy as np
import pytest

from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.decision_record import ALL_ROWS, DecisionRecord
from kubewasp.framework.hints import MAX_CHARACTERS, HintRecorder
from kubewasp.framework.plugin import Plugin, RejectionHints, Verdicts
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.pods import Pod
from kubewasp.state.node_table import NodeTable
from tests.plugins.building import make_pod

NO = Status(Code.UNSCHEDULABLE, "no", hint="a hint of the status")


class Silent(Plugin):
    """No hints of its own."""

    name = "Silent"


class Talking(RejectionHints):
    """Hints with the number of the row."""

    name = "Talking"

    def __init__(self, text: str = "row") -> None:
        self._text = text

    def pod_hints(self, state: CycleState, pod: Pod, table: NodeTable) -> Sequence[str]:
        return [self._text, self._text, ""]

    def node_hints(self, state: CycleState, pod: Pod, table: NodeTable, row: int) -> Sequence[str]:
        return [f"{self._text} {row}"] if row < 9 else [str(number) for number in range(1000)]


class Failing(RejectionHints):
    """Hints with a bug."""

    name = "Failing"

    def node_hints(self, state: CycleState, pod: Pod, table: NodeTable, row: int) -> Sequence[str]:
        raise ZeroDivisionError


def recorder(record: DecisionRecord) -> HintRecorder:
    return HintRecorder(record, CycleState(), make_pod(), NodeTable())


def of_nodes(plugin: Plugin, status: Status, *, hinted_rows: frozenset[int] | None = None) -> DecisionRecord:
    """The record after rows 3 and 9 of 2, 3 and 9 were rejected."""
    record = DecisionRecord(hinted_rows=hinted_rows)
    verdicts = Verdicts(np.array([0, 1, 1]), (SUCCESS, status))
    recorder(record).of_nodes(plugin, np.array([2, 3, 9]), verdicts)
    return record


def test_a_plugin_is_asked_for_each_rejected_row() -> None:
    found = of_nodes(Talking(), Status(Code.UNSCHEDULABLE, "no")).hints["Talking"]
    assert found[3] == ("row 3",)
    assert len(found[9]) == 10


def test_a_status_may_have_the_hint() -> None:
    assert of_nodes(Silent(), NO).hints == {"Silent": dict.fromkeys((3, 9), ("a hint of the status",))}
    assert of_nodes(Silent(), Status(Code.UNSCHEDULABLE, "no")).hints == {}
    assert NO.of("x").hint == NO.hint


def test_the_rows_may_be_limited() -> None:
    assert of_nodes(Silent(), NO, hinted_rows=frozenset((2, 9))).hints["Silent"].keys() == {9}


def test_hints_for_the_whole_pod_are_kept_once_and_shortened() -> None:
    record = DecisionRecord()
    recorder(record).of_pod(Talking("x" * 1000), NO)
    assert record.hints == {"Talking": {ALL_ROWS: ("x" * (MAX_CHARACTERS - 1) + "…", "a hint of the status")}}


def test_the_first_hints_for_a_row_stay() -> None:
    record = of_nodes(Silent(), NO)
    verdicts = Verdicts(np.array([1]), (SUCCESS, Status(Code.UNSCHEDULABLE, "no", hint="another")))
    recorder(record).of_nodes(Silent(), np.array([3]), verdicts)
    assert record.hints["Silent"][3] == ("a hint of the status",)


def test_a_failure_of_hints_is_logged_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    record = of_nodes(Failing(), NO)
    assert record.hints["Failing"][3] == ("a hint of the status",)
    assert "Failed to get hints of plugin Failing" in caplog.text
